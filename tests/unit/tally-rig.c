/* SPDX-License-Identifier: Apache-2.0 */
/* A tally of the running kernel: see tally-rig.h. */
#include "tests/unit/tally-rig.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/hierarchy.h"
#include "tests/unit/test.h"

const struct tally_event tally_rig_events[2] = {{.source = TALLY_READ, .gives_times = 1}, {.source = TALLY_READ}};

/* The counters of the CPUs */

static int open_event(unsigned cpu, uint64_t config, int leader)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = config,
        .disabled = leader < 0,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };

    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static void open_cpu(unsigned cpu, int fds[2])
{
    fds[0] = open_event(cpu, PERF_COUNT_SW_TASK_CLOCK, -1);
    if (fds[0] < 0)
        skip_because("perf_event_open() on CPU %u: %s", cpu, strerror(errno));
    fds[1] = open_event(cpu, PERF_COUNT_SW_PAGE_FAULTS, fds[0]);
    assert_true(fds[1] >= 0);
}

static void close_cpu(const int fds[2])
{
    close(fds[1]);
    close(fds[0]);
}

/*
 * The leader alone, which the others follow: Linux 6.18 does not count a page-faults that was disabled and enabled
 * again in a group of a clock.
 */
void tally_rig_count(const struct tally_rig *rig, bool enabled)
{
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        assert_int_equal(ioctl(rig->fds[cpu][0], enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0), 0);
}

void tally_rig_read(const struct tally_rig *rig, unsigned cpu, uint64_t words[WORDS])
{
    uint64_t group[3 + 2];

    assert_int_equal(read(rig->fds[cpu][0], group, sizeof(group)), sizeof(group));
    memcpy(words, group + 3, 2 * sizeof(*words));
    memcpy(words + 2, group + 1, 2 * sizeof(*words));
}

void tally_rig_reopen(struct tally_rig *rig)
{
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++) {
        close_cpu(rig->fds[cpu]);
        open_cpu(cpu, rig->fds[cpu]);
    }
}

/* The tally */

static char *made; /* the cgroup that is there */

int tally_rig_teardown(void **state)
{
    int r = made ? rmdir(made) : 0;

    (void)state;
    free(made);
    made = NULL;
    return r;
}

static void rig_make_cgroup(struct tally_rig *rig)
{
    struct hierarchy hierarchy;

    assert_int_equal(hierarchy_find(&rig->sys, &hierarchy, NULL), 0);
    snprintf(rig->cgroup, sizeof(rig->cgroup), "%s/test-tally-XXXXXX", hierarchy.path);
    enum hierarchy_kind kind = hierarchy.kind;
    hierarchy_done(&hierarchy);
    if (kind != HIERARCHY_V2)
        skip_because("perf counts cgroups of v1 here");
    if (!mkdtemp(rig->cgroup))
        skip_because("%s: %s", rig->cgroup, strerror(errno));
    made = strdup(rig->cgroup);
    rig->cgroup_fd = open(rig->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(rig->cgroup_fd >= 0);
}

static size_t rig_map_size(const struct tally_rig *rig)
{
    return (size_t)rig->shape.cpus * SLOTS * WORDS * sizeof(uint64_t);
}

void tally_rig_start(struct tally_rig *rig)
{
    struct error error = {0};
    int r = rig->sys.tally->start(&rig->sys, &rig->shape, &rig->maps, &error);

    if (r == -EACCES || r == -EINVAL) /* the verifier's words, where a machine without the right gives -EPERM */
        fail_msg("%s", error.message);
    if (r < 0) {
        tally_loader_free(rig->loader);
        skip_because("%s", error.message);
    }
    rig->counts = mmap(NULL, rig_map_size(rig), PROT_READ, MAP_SHARED, rig->maps.counts, 0);
    assert_ptr_not_equal(rig->counts, MAP_FAILED);
}

void tally_rig_stop(struct tally_rig *rig)
{
    munmap((void *)rig->counts, rig_map_size(rig));
    close(rig->maps.counts);
    close(rig->maps.records);
}

void tally_rig_set_cpus(struct tally_rig *rig)
{
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        assert_int_equal(rig->sys.tally->set_cpu(&rig->sys, cpu, tally_rig_events, rig->fds[cpu]), 0);
}

void tally_rig_assign(struct tally_rig *rig)
{
    assert_int_equal(rig->sys.tally->assign(&rig->sys, rig->cgroup_fd, SLOT, &rig->id), 0);
}

void tally_rig_init(struct tally_rig *rig)
{
    *rig = (struct tally_rig){
        .shape = {.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF), .slots = SLOTS, .events = 2, .groups = 1}};
    sys_init(&rig->sys);
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        open_cpu(cpu, rig->fds[cpu]);
    rig_make_cgroup(rig);
    assert_int_equal(tally_loader_new(&rig->loader), 0);
    tally_loader_bind(rig->loader, &rig->sys);
    tally_rig_start(rig);
    tally_rig_set_cpus(rig);
    tally_rig_assign(rig);
}

void tally_rig_done(struct tally_rig *rig)
{
    tally_loader_free(rig->loader);
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        close_cpu(rig->fds[cpu]);
    tally_rig_stop(rig);
    close(rig->cgroup_fd);
    assert_int_equal(tally_rig_teardown(NULL), 0);
}

void tally_rig_attach(struct tally_rig *rig, bool attached)
{
    assert_int_equal(rig->sys.tally->attach(&rig->sys, attached), 0);
}

uint64_t tally_rig_sum_cpu(const struct tally_rig *rig, unsigned cpu, unsigned word)
{
    uint64_t sum = 0;

    for (uint32_t slot = 0; slot < SLOTS; slot++)
        sum += rig->counts[((size_t)cpu * SLOTS + slot) * WORDS + word];
    return sum;
}

uint64_t tally_rig_sum_slot(const struct tally_rig *rig, uint32_t slot, unsigned word)
{
    uint64_t sum = 0;

    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        sum += rig->counts[((size_t)cpu * SLOTS + slot) * WORDS + word];
    return sum;
}

/* The load */

static void touch_pages(void)
{
    char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * 4096] = 1;
    munmap(pages, PAGES * 4096);
}

void tally_rig_run(const struct tally_rig *rig)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int procs = openat(rig->cgroup_fd, "cgroup.procs", O_WRONLY);
        if (write(procs, "0", 1) != 1)
            _exit(1);
        touch_pages();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
