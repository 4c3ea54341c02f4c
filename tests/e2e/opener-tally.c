/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts cgroups by a real opener in its filter of system calls, which loads the real program into this kernel. Prints
 * a line for each step; exit status 1 where one is not as it should be, 77 with the reason where the kernel or this
 * process cannot have a tally.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/capabilities.h"
#include "opener/opener.h"
#include "perf/hierarchy.h"
#include "perf/tally/tally.h"

#define SKIPPED 77

enum { SLOTS = 256, CPUS_MAX = 64 };

struct rig {
    struct sys sys;
    struct opener *opener;
    struct tally_shape shape;
    struct tally_maps maps;
    int fds[CPUS_MAX][2];
    int root; /* of the cgroups */
};

static bool check(const char *name, int r, int expected)
{
    bool fine = r == expected;

    printf("%s  %s", fine ? "ok    " : "NOT OK", name);
    if (r < 0 || !fine)
        printf(": %s", r < 0 ? error_name(r) : "0");
    if (!fine)
        printf(", not %s", expected < 0 ? error_name(expected) : "0");
    printf("\n");
    return fine;
}

static bool rig_start_opener(struct rig *rig, uint32_t slots)
{
    struct opener_permissions permissions = {.tally_slots = slots};
    const struct user user = {0};
    struct error error;

    *rig = (struct rig){.root = -1};
    sys_init(&rig->sys);
    if (opener_start(&rig->sys, &permissions, &user, -1, &rig->opener, &error) < 0) {
        printf("NOT OK  %s\n", error.message);
        return false;
    }
    rig->shape =
        (struct tally_shape){.cpus = rig->opener->client.rules.n_cpus, .slots = SLOTS, .events = 2, .groups = 1};
    return true;
}

static bool rig_open_counters(struct rig *rig)
{
    struct perf_event_attr attrs[2];

    memset(attrs, 0, sizeof(attrs));
    for (size_t i = 0; i < 2; i++)
        attrs[i] = (struct perf_event_attr){.size = sizeof(attrs[i]),
                                            .type = PERF_TYPE_SOFTWARE,
                                            .config = i ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_TASK_CLOCK,
                                            .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                           PERF_FORMAT_TOTAL_TIME_RUNNING};
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++) {
        const struct sys_group group = {
            .attrs = attrs, .n = 2, .pid = -1, .cpu = (int)cpu, .leader = -1, .flags = PERF_FLAG_FD_CLOEXEC};
        rig->sys.open_group(&rig->sys, &group, rig->fds[cpu]);
        if (rig->fds[cpu][0] < 0 || rig->fds[cpu][1] < 0)
            return false;
    }
    return true;
}

static int rig_set_cpus(struct rig *rig)
{
    static const struct tally_event events[] = {{.source = TALLY_READ, .gives_times = 1}, {.source = TALLY_READ}};
    int r = 0;

    for (unsigned cpu = 0; cpu < rig->shape.cpus && r == 0; cpu++)
        r = rig->sys.tally->set_cpu(&rig->sys, cpu, events, rig->fds[cpu]);
    return r;
}

static int rig_open_root(struct rig *rig)
{
    struct hierarchy hierarchy;
    int r = hierarchy_find(&rig->sys, &hierarchy, NULL);

    if (r < 0)
        return r;
    rig->root = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = rig->root < 0 ? -errno : 0;
    hierarchy_done(&hierarchy);
    return r;
}

/* Of all CPUs that the program has looked at, how many say that the root runs there. */
static int count_roots(const struct rig *rig)
{
    size_t size = rig->shape.cpus * sizeof(struct tally_record);
    const struct tally_record *records = mmap(NULL, size, PROT_READ, MAP_SHARED, rig->maps.records, 0);
    int n = 0;

    if (records == MAP_FAILED)
        return -errno;
    for (unsigned cpu = 0; cpu < rig->shape.cpus; cpu++)
        n += records[cpu].slot == TALLY_SLOT_ROOT;
    munmap((void *)(uintptr_t)records, size);
    return n;
}

static bool try_start(struct rig *rig, int expected)
{
    struct error error = {0};
    int r = rig->sys.tally->start(&rig->sys, &rig->shape, &rig->maps, &error);

    if (r < 0)
        printf("        %s\n", error.message);
    return check("the program is loaded", r, expected);
}

static bool try_counting(struct rig *rig)
{
    const struct tally_calls *tally = rig->sys.tally;
    uint64_t id = 0;
    bool fine = check("counters are set", rig_set_cpus(rig), 0);

    fine &= check("the root has its slot", tally->assign(&rig->sys, rig->root, TALLY_SLOT_ROOT, &id), 0) && id > 0;
    fine &= check("the program is attached", tally->attach(&rig->sys, true), 0);
    fine &= check("it looks at all CPUs", tally->flush(&rig->sys), 0);
    int n = count_roots(rig);
    printf("%s  %d of %u CPUs run what the root has\n", n > 0 ? "ok    " : "NOT OK", n, rig->shape.cpus);
    fine &= check("an id that no slot has", tally->withdraw(&rig->sys, UINT64_MAX), -ENOENT);
    fine &= check("no slot", tally->assign(&rig->sys, rig->root, TALLY_SLOT_UNKNOWN, &id), -EBADRQC);
    fine &= check("another slot", tally->assign(&rig->sys, rig->root, SLOTS - 1, &id), 0);
    fine &= check("it is withdrawn", tally->withdraw(&rig->sys, id), 0);
    _cleanup_(closep) int directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fine &= check("a directory that is no cgroup", tally->assign(&rig->sys, directory, 2, &id), -EXDEV);
    return fine && n > 0;
}

static void rig_done(struct rig *rig)
{
    opener_free(rig->opener);
    if (rig->root >= 0)
        close(rig->root);
}

static int run(void)
{
    struct rig rig;
    bool fine = rig_start_opener(&rig, SLOTS) && rig_open_counters(&rig) && rig_open_root(&rig) == 0;
    struct error error = {0};

    if (!fine)
        return EXIT_FAILURE;
    int r = rig.sys.tally->start(&rig.sys, &rig.shape, &rig.maps, &error);
    if (r == -ENOSYS || r == -ENOENT) {
        printf("skipped: %s\n", error.message);
        return SKIPPED;
    }
    fine = check("the program is loaded", r, 0) && try_counting(&rig);
    for (int i = 0; i < 2; i++) /* one takes the place of another */
        fine = fine && try_start(&rig, 0) && try_counting(&rig);
    rig.sys.tally->stop(&rig.sys);
    fine &= check("no tally counts", rig.sys.tally->flush(&rig.sys), -EINVAL);
    rig.shape.slots = SLOTS + 1;
    fine &= try_start(&rig, -EUNATCH);
    rig_done(&rig);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_without(void)
{
    struct rig rig;
    bool fine = rig_start_opener(&rig, 0) && try_start(&rig, -EUNATCH);

    rig_done(&rig);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* In a process each, since starting an opener takes the privileges away. */
static int run_apart(int (*function)(void))
{
    int status;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int r = function();
        fflush(stdout);
        _exit(r);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(void)
{
    if (!capabilities_are_privileged()) {
        printf("skipped: this needs CAP_PERFMON or CAP_SYS_ADMIN\n");
        return SKIPPED;
    }
    int with = run_apart(run), without = run_apart(run_without);
    return without ? without : with;
}
