/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program that counts cgroups, on the running kernel: loading it, event sources, slots, and tasks that are
 * moved.
 */
#include <fcntl.h>
#include <glob.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/loader.h"
#include "bpf/program.h"
#include "cgroups/cgroupfs.h"
#include "perf/sys.h"
#include "process/privileges.h"
#include "tests/unit/test.h"

#define CPUS_MAX 512
#define SLOTS 256
#define WORDS 4
#define SLOT 7
#define PAGES 500

/*
 * The BPF program of the current test: a group {task-clock, page-faults} on each CPU, and one cgroup with the slot
 * SLOT.
 */
static struct bpf_rig {
    struct sys sys;
    struct bpf_calls bpf;
    struct bpf_loader *loader;
    struct bpf_shape shape;
    struct bpf_maps maps;
    int fds[CPUS_MAX][2];
    char cgroup[256];
    int cgroup_fd;
    uint64_t id;
    const uint64_t *counts;
} rig;

static const struct bpf_event plain_events[2] = {{.source = SOURCE_READ, .gives_times = 1}, {.source = SOURCE_READ}};

#define TYPES "/sys/kernel/btf"

static bool has_types(void)
{
    return access(TYPES "/vmlinux", F_OK) == 0;
}

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
        skip_because("the right to count on CPUs");
    fds[1] = open_event(cpu, PERF_COUNT_SW_PAGE_FAULTS, fds[0]);
    assert_true(fds[1] >= 0);
}

static void close_cpu(const int fds[2])
{
    close(fds[1]);
    close(fds[0]);
}

/*
 * Enables or disables the leaders, which is enough for their groups. Linux 6.18 does not count page-faults after it was
 * disabled and enabled again in a group whose leader is a clock.
 */
static void count(bool enabled)
{
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        assert_int_equal(ioctl(rig.fds[cpu][0], enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0), 0);
}

static void read_counters(unsigned cpu, uint64_t words[WORDS])
{
    uint64_t group[3 + 2];

    assert_int_equal(read(rig.fds[cpu][0], group, sizeof(group)), sizeof(group));
    memcpy(words, group + 3, 2 * sizeof(*words));
    memcpy(words + 2, group + 1, 2 * sizeof(*words));
}

static void reopen(void)
{
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        close_cpu(rig.fds[cpu]);
        open_cpu(cpu, rig.fds[cpu]);
    }
}

/* The BPF program */

static char *made; /* the path of the test's cgroup while it exists */

/* Removes the cgroup. This function is also the teardown, for tests that fail. */
static int teardown(void **state)
{
    int r = made ? rmdir(made) : 0;

    free(made);
    made = NULL;
    return r;
}

static void make_cgroup(void)
{
    struct hierarchy hierarchy;

    assert_int_equal(hierarchy_find(&rig.sys, &hierarchy, NULL), 0);
    snprintf(rig.cgroup, sizeof(rig.cgroup), "%s/test-bpf-XXXXXX", hierarchy.path);
    enum hierarchy_kind kind = hierarchy.kind;
    hierarchy_done(&hierarchy);
    if (kind != HIERARCHY_V2)
        skip_because("a cgroup v2 hierarchy that perf_event uses");
    if (!mkdtemp(rig.cgroup))
        skip_because("the right to make cgroups");
    made = strdup(rig.cgroup);
    rig.cgroup_fd = open(rig.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(rig.cgroup_fd >= 0);
    assert_int_equal(fchmod(rig.cgroup_fd, 0755), 0); /* unprivileged daemons of other tests read the directory */
}

static size_t map_size(void)
{
    return (size_t)rig.shape.cpus * SLOTS * WORDS * sizeof(uint64_t);
}

/*
 * Starts a BPF program, which replaces the previous one once it is attached. The caller needs a copy of the rig to read
 * the previous maps.
 */
static void start_bpf(void)
{
    struct error error = {0};
    int r = rig.bpf.start(rig.loader, &rig.shape, &rig.maps, &error);

    if (r == -EACCES || r == -EINVAL) /* the verifier has rejected the program; a lack of privileges gives -EPERM */
        fail_msg("%s", error.message);
    if (r < 0) {
        bpf_loader_free(rig.loader);
        print_message("%s\n", error.message);
        skip_because("the engine bpf");
    }
    rig.counts = mmap(NULL, map_size(), PROT_READ, MAP_SHARED, rig.maps.counts, 0);
    assert_ptr_not_equal(rig.counts, MAP_FAILED);
}

static void unmap_bpf(void)
{
    munmap((void *)rig.counts, map_size());
    close(rig.maps.counts);
    close(rig.maps.records);
}

static void set_cpus(void)
{
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        assert_int_equal(rig.bpf.set_cpu(rig.loader, cpu, plain_events, rig.fds[cpu]), 0);
}

static void assign(void)
{
    assert_int_equal(rig.bpf.assign(rig.loader, rig.cgroup_fd, SLOT, &rig.id), 0);
}

/*
 * Starts a BPF program that is not attached, with disabled counters. Skips the test if this machine cannot run the BPF
 * program.
 */
static void begin(void)
{
    rig = (struct bpf_rig){
        .shape = {.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF), .slots = SLOTS, .events = 2, .groups = 1}};
    sys_init(&rig.sys);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        open_cpu(cpu, rig.fds[cpu]);
    make_cgroup();
    assert_int_equal(bpf_loader_new(&rig.sys, &rig.loader), 0);
    bpf_loader_bind(rig.loader, &rig.bpf);
    start_bpf();
    set_cpus();
    assign();
}

static void end(void)
{
    bpf_loader_free(rig.loader);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        close_cpu(rig.fds[cpu]);
    unmap_bpf();
    close(rig.cgroup_fd);
    assert_int_equal(teardown(NULL), 0);
}

/* Defines a test that runs between begin() and end(). */
#define TEST_OF_BPF(name)                                                                                              \
    static void run_##name(void);                                                                                      \
    TEST_WITH(name, NULL, teardown)                                                                                    \
    {                                                                                                                  \
        begin();                                                                                                       \
        run_##name();                                                                                                  \
        end();                                                                                                         \
    }                                                                                                                  \
    static void run_##name(void)

static void attach(bool attached)
{
    assert_int_equal(rig.bpf.attach(rig.loader, attached), 0);
}

/* sum_cpu() returns the sum of a word over all slots on a CPU, sum_slot() its sum over all CPUs for a slot. */
static uint64_t sum_cpu(unsigned cpu, unsigned word)
{
    uint64_t sum = 0;

    for (uint32_t slot = 0; slot < SLOTS; slot++)
        sum += rig.counts[((size_t)cpu * SLOTS + slot) * WORDS + word];
    return sum;
}

static uint64_t sum_slot(uint32_t slot, unsigned word)
{
    uint64_t sum = 0;

    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        sum += rig.counts[((size_t)cpu * SLOTS + slot) * WORDS + word];
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

/* Runs a child that enters the cgroup, touches PAGES new pages and exits. */
static void run_task(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int procs = openat(rig.cgroup_fd, "cgroup.procs", O_WRONLY);
        if (write(procs, "0", 1) != 1)
            _exit(1);
        touch_pages();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Compares the declarations of bpf/program.h with libbpf's own header, if that is installed. */
#if __has_include(<bpf/libbpf.h>)
#include <bpf/libbpf.h>
#define SAME(member, function)                                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct libbpf *)0)->member), __typeof__(&(function))), "")
SAME(get_error, libbpf_get_error);
SAME(load, bpf_object__load);
SAME(close, bpf_object__close);
SAME(find_map, bpf_object__find_map_by_name);
SAME(find_program, bpf_object__find_program_by_name);
SAME(map_set_max_entries, bpf_map__set_max_entries);
SAME(map_set_value_size, bpf_map__set_value_size);
SAME(map_set_initial_value, bpf_map__set_initial_value);
SAME(map_fd, bpf_map__fd);
SAME(program_fd, bpf_program__fd);
#endif

#define SHAPE .cpus = 2, .slots = 256, .events = 2, .groups = 1

struct outcome {
    int result; /* result of load_process_run(); 1: in_prepare() failed */
    struct error error;
};

static bool hide_in_namespace(const char *path, const char *source, const char *type, unsigned long flags)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(source, path, type, flags, NULL) == 0;
}

static bool without_rights(void)
{
    return capabilities_keep_only(0, NULL) == 0;
}

static bool without_types(void)
{
    return hide_in_namespace(TYPES, "tmpfs", "tmpfs", 0);
}

static bool without_library(void)
{
    glob_t found = {0};
    bool hidden = glob("/usr/lib*/libbpf.so.?", 0, NULL, &found) != GLOB_NOSPACE &&
                  glob("/usr/lib/*/libbpf.so.?", GLOB_APPEND, NULL, &found) != GLOB_NOSPACE;

    for (size_t i = 0; i < found.gl_pathc; i++)
        hidden = hidden && hide_in_namespace(found.gl_pathv[i], "/dev/null", NULL, MS_BIND);
    globfree(&found);
    return hidden;
}

/* Leaves enough descriptors for libbpf 0.3 to find out what the kernel supports, but not enough for the maps. */
static bool without_descriptors(void)
{
    return setrlimit(RLIMIT_NOFILE, &(struct rlimit){10, 10}) == 0;
}

/*
 * Leaves four free descriptors in this process. The child that loads the program has enough, since it closes those that
 * it inherits, but its parent cannot receive all that the child sends.
 */
static bool without_room(void)
{
    int last = -1;

    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}) < 0)
        return false;
    for (int fd; (fd = dup(STDERR_FILENO)) >= 0;)
        last = fd;
    for (int i = 0; i < 4; i++)
        close(last - i);
    return true;
}

static bool as_it_is(void)
{
    return true;
}

static const struct {
    const char *name;
    bool (*in_prepare)(void);
    struct bpf_shape in_shape;
    int out;                 /* 0: any error */
    const char *out_message; /* the beginning of the message */
} cases[] = {
    {"nothing is missing", as_it_is, {SHAPE}, 0, ""},
    {"no privileges", without_rights, {SHAPE}, -EPERM, "perfcountd is not allowed to load its BPF program: it needs "},
    {"no libbpf", without_library, {SHAPE}, -ENOSYS, "libbpf, which loads BPF programs, cannot be "},
    {"too few descriptors in the child",
     without_descriptors,
     {SHAPE},
     -EMFILE,
     "the limit of open files leaves no room for a BPF program"},
    {"too few descriptors in the parent",
     without_room,
     {SHAPE},
     -EMFILE,
     "the limit of open files leaves no room for a BPF program"},
    {"too many events", as_it_is, {2, 256, 25, 1}, -E2BIG, "the BPF program counts at most 24 events in 8 groups"},
    {"too many groups", as_it_is, {2, 256, 2, 9}, -E2BIG, "the BPF program counts at most 24 events in 8 groups"},
    {"no event", as_it_is, {2, 256, 0, 1}, -E2BIG, "none of the events of collectors.cgroup.groups can be opened"},
    {"no CPU", as_it_is, {0, 256, 2, 1}, -E2BIG, "the BPF program cannot count 256 slots on 0 CPUs"},
    {"too many slots",
     as_it_is,
     {2, 0x80000000, 2, 1},
     -E2BIG,
     "the BPF program cannot count 2147483648 slots on 2 CPUs"},
    {"too little memory", as_it_is, {2, 0x7fffffff, 24, 8}, 0, "the kernel "},
};

static void run_case(size_t i, int pipe)
{
    struct outcome outcome = {.result = 1};
    int parts[N_KERNEL_PARTS];

    if (cases[i].in_prepare())
        outcome.result = load_process_run(&cases[i].in_shape, NULL, parts, &outcome.error);
    else
        snprintf(outcome.error.message, sizeof(outcome.error.message), "%s", strerror(errno));
    _exit(write(pipe, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
}

static struct outcome outcome_of(size_t i)
{
    struct outcome outcome;
    int pipes[2], status;

    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_case(i, pipes[1]);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &outcome, sizeof(outcome)), sizeof(outcome));
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return outcome;
}

TEST(test_sentences)
{
    struct outcome usual = outcome_of(0);

    if (usual.result < 0)
        skip_because("the engine bpf");
    for (size_t i = 1; i < ARRAY_SIZE(cases); i++) {
        struct outcome outcome = outcome_of(i);
        if (outcome.result == 1)
            leave_out("a machine that can run \"%s\"", cases[i].name);
        else if ((cases[i].out ? outcome.result != cases[i].out : outcome.result == 0) ||
                 !str_starts(outcome.error.message, cases[i].out_message))
            fail_msg("%s: %d: %s", cases[i].name, outcome.result, outcome.error.message);
    }
}

/* The verifier sees the shape as constants, so each shape is a different program to it. */
TEST_OF_BPF(test_shapes)
{
    static const struct bpf_shape shapes[] = {
        {.events = 1, .groups = 1},
        {.events = 6, .groups = 2},
        {.events = BPF_EVENTS_MAX, .groups = 1},
        {.events = BPF_EVENTS_MAX, .groups = BPF_GROUPS_MAX},
        {.events = BPF_GROUPS_MAX, .groups = BPF_GROUPS_MAX},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct bpf_shape shape = shapes[i];
        struct error error = {0};
        struct bpf_maps maps;
        shape.cpus = rig.shape.cpus;
        shape.slots = SLOTS;
        if (rig.bpf.start(rig.loader, &shape, &maps, &error) < 0)
            fail_msg("%u events in %u groups: %s", shape.events, shape.groups, error.message);
        assert_int_equal(rig.bpf.attach(rig.loader, true), 0);
        close(maps.counts);
        close(maps.records);
    }
}

static const struct bpf_record *map_records(void)
{
    const void *records =
        mmap(NULL, rig.shape.cpus * sizeof(struct bpf_record), PROT_READ, MAP_SHARED, rig.maps.records, 0);

    assert_ptr_not_equal(records, MAP_FAILED);
    return records;
}

static void unmap_records(const struct bpf_record *records)
{
    munmap((void *)records, rig.shape.cpus * sizeof(*records));
}

/*
 * Sets the events of all CPUs, runs a task in the cgroup while the counters are enabled, and flushes the BPF program.
 */
static void run_with(const struct bpf_event events[2])
{
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        int fds[2];
        for (int i = 0; i < 2; i++)
            fds[i] = events[i].source == SOURCE_READ ? rig.fds[cpu][i] : -1;
        assert_int_equal(rig.bpf.set_cpu(rig.loader, cpu, events, fds), 0);
    }
    attach(true);
    count(true);
    run_task();
    count(false);
    assert_int_equal(rig.bpf.flush(rig.loader), 0);
}

static void expect_record(const struct bpf_record *record, uint64_t valid)
{
    uint64_t check = bpf_check_begin(record->seq, record->slot, record->epoch, valid);

    for (unsigned i = 0; i < WORDS; i++)
        check = bpf_check_step(check, record->base[i]);
    assert_int_equal(record->valid, valid);
    assert_int_equal(record->check, check);
    assert_true(record->slot < SLOTS);
}

/* An event that a CPU does not count is missing from `valid` in its record, and is 0 in all slots. */
TEST_OF_BPF(test_none)
{
    static const struct bpf_event events[2] = {{.source = SOURCE_READ, .gives_times = 1}, {.source = SOURCE_NONE}};
    run_with(events);
    attach(false); /* from here on, the records no longer change */
    const struct bpf_record *records = map_records();
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        expect_record(&records[cpu], 1 | 3 << 2);
        assert_int_equal(sum_cpu(cpu, 1), 0);
        assert_true(sum_cpu(cpu, 0) > 0);
    }
    unmap_records(records);
}

/* In each slot, task-clock equals the running time of its group to the nanosecond. */
TEST_OF_BPF(test_running)
{
    static const struct bpf_event events[2] = {{.source = SOURCE_RUNNING}, {.source = SOURCE_READ, .gives_times = 1}};
    run_with(events);
    assert_true(sum_slot(SLOT, 0) > 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(sum_slot(slot, 0), sum_slot(slot, 3));
}

static void run_on(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/*
 * Returns whether all context switches of a CPU but one are in its slots. The switch that began the first interval of
 * the CPU is in no slot. If a second switch is missing, it came after the flush, and the caller tries again.
 */
static bool has_all_switches(const struct bpf_record *records, unsigned cpu)
{
    run_on(cpu);
    usleep(100); /* makes the CPU switch to another task and back */
    assert_int_equal(rig.bpf.flush(rig.loader), 0);
    uint64_t sum = sum_cpu(cpu, 1);
    return sum > 0 && records[cpu].switches - sum <= 1;
}

/* Every switch that the program sees is counted in a slot. */
TEST_OF_BPF(test_switches)
{
    static const struct bpf_event events[2] = {{.source = SOURCE_READ, .gives_times = 1}, {.source = SOURCE_SWITCHES}};
    run_with(events);
    const struct bpf_record *records = map_records();
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        eventually(has_all_switches(records, cpu), "the switches of CPU %u", cpu);
    assert_true(sum_slot(SLOT, 1) > 0);
    attach(false);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        expect_record(&records[cpu], 0xf);
    unmap_records(records);
}

/*
 * A cgroup without a slot is counted in the slot of its nearest ancestor, until it gets a slot of its own; from then
 * on, the program must not use the ancestor's slot that it has cached.
 */
TEST_OF_BPF(test_nearest)
{
    char nested[2][300];

    snprintf(nested[0], sizeof(nested[0]), "%s/nested", rig.cgroup);
    snprintf(nested[1], sizeof(nested[1]), "%s/nested/deeper", rig.cgroup);
    assert_int_equal(mkdir(nested[0], 0755), 0);
    assert_int_equal(mkdir(nested[1], 0755), 0);
    int watched = rig.cgroup_fd;
    rig.cgroup_fd = open(nested[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int round = 1; round <= 2; round++) {
        run_with(plain_events);
        uint64_t faults = sum_slot(SLOT, 1), unknown = sum_slot(BPF_SLOT_UNKNOWN, 1);
        assert_in_range(faults + unknown, (uintmax_t)round * PAGES, (uintmax_t)round * (PAGES + 200) + unknown);
    }
    uint64_t before = sum_slot(SLOT, 1), id;
    assert_int_equal(rig.bpf.assign(rig.loader, rig.cgroup_fd, SLOT + 1, &id), 0);
    run_with(plain_events);
    assert_int_equal(sum_slot(SLOT, 1), before);
    assert_true(sum_slot(SLOT + 1, 1) + sum_slot(BPF_SLOT_UNKNOWN, 1) >= PAGES);
    close(rig.cgroup_fd);
    rig.cgroup_fd = watched;
    assert_int_equal(rmdir(nested[1]), 0);
    assert_int_equal(rmdir(nested[0]), 0);
}

/*
 * Asserts that the slot has between `n` and `n` + `more` page faults. Some machines hide context switches from the
 * program; page faults that it cannot attribute go to BPF_SLOT_UNKNOWN and may be missing from the slot.
 */
static void expect_faults(uint32_t slot, uint64_t n, uint64_t more)
{
    assert_int_equal(rig.bpf.flush(rig.loader), 0);
    uint64_t faults = sum_slot(slot, 1), unknown = sum_slot(BPF_SLOT_UNKNOWN, 1);
    if (faults + unknown < n || faults > n + more)
        fail_msg("%u of %u faults counted, %u unknown", (unsigned)faults, (unsigned)n, (unsigned)unknown);
}

TEST_OF_BPF(test_slots)
{
    attach(true);
    count(true);
    run_task();
    expect_faults(SLOT, PAGES, 200);
    uint64_t faults = sum_slot(SLOT, 1);
    assert_int_equal(rig.bpf.withdraw(rig.loader, rig.id), 0);
    assert_int_equal(rig.bpf.withdraw(rig.loader, rig.id), -ENOENT);
    run_task();
    expect_faults(BPF_SLOT_ROOT, PAGES, UINT32_MAX);
    assert_int_equal(sum_slot(SLOT, 1), faults);
}

static void expect_sums(uint64_t before[CPUS_MAX][WORDS])
{
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        uint64_t words[WORDS];
        read_counters(cpu, words);
        for (unsigned i = 0; i < WORDS; i++) {
            before[cpu][i] += words[i];
            assert_int_equal(sum_cpu(cpu, i), before[cpu][i]);
        }
    }
}

/* Nothing is lost or counted twice when the BPF program is detached or a CPU gets new counters. */
TEST_OF_BPF(test_sums)
{
    static uint64_t counted[CPUS_MAX][WORDS];
    for (int round = 0; round < 3; round++) {
        attach(true);
        count(true);
        run_task();
        count(false);
        if (round != 1)
            attach(false);
        if (round == 2)
            break;
        run_task();
        if (round == 1)
            set_cpus(); /* also attributes what the attached BPF program has counted so far */
        expect_sums(counted);
        reopen();
        set_cpus();
    }
    expect_sums(counted);
    expect_faults(SLOT, 3 * PAGES, 600);
}

/*
 * A second BPF program replaces the first when it is attached, and takes over the latest slots of the cgroups. The
 * first program counts until the second is attached, and after that its slots do not change.
 */
TEST_OF_BPF(test_replaced)
{
    assert_int_equal(rig.bpf.assign(rig.loader, rig.cgroup_fd, SLOT + 1, &rig.id), 0);
    assign();
    attach(true);
    count(true);
    struct bpf_rig first = rig;
    start_bpf();
    set_cpus();
    struct bpf_rig second = rig;
    run_task();
    attach(true);
    rig = first;
    expect_faults(SLOT, PAGES, 200);
    uint64_t before = sum_slot(SLOT, 1);
    rig = second;
    run_task();
    expect_faults(SLOT, PAGES, 200);
    rig = first;
    assert_int_equal(sum_slot(SLOT, 1), before);
    unmap_bpf();
    rig = second;
}

/* Starts a task in the cgroup, on a CPU, that keeps causing page faults; the caller kills it. */
static pid_t start_faulting(unsigned cpu)
{
    const size_t size = 64 * 4096;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int procs = openat(rig.cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (write(procs, "0", 1) != 1 || sched_setaffinity(0, sizeof(set), &set) < 0)
        _exit(1);
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (;;) {
        for (size_t at = 0; at < size; at += 4096)
            pages[at] = 1;
        madvise(pages, size, MADV_DONTNEED);
    }
}

/* Each page fault is counted exactly once while BPF programs replace one another. */
TEST_OF_BPF(test_replaced_under_load)
{
    pid_t tasks[CPUS_MAX];
    uint64_t counted[CPUS_MAX] = {0};

    attach(true);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
        tasks[cpu] = start_faulting(cpu);
    count(true);
    for (int i = 0; i < 5; i++) {
        struct bpf_rig old = rig;
        start_bpf();
        set_cpus();
        struct bpf_rig new = rig;
        attach(true);
        rig = old;
        for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++)
            counted[cpu] += sum_cpu(cpu, 1);
        unmap_bpf();
        rig = new;
    }
    count(false);
    attach(false);
    for (unsigned cpu = 0; cpu < rig.shape.cpus; cpu++) {
        uint64_t words[WORDS];
        kill(tasks[cpu], SIGKILL);
        assert_int_equal(waitpid(tasks[cpu], NULL, 0), tasks[cpu]);
        read_counters(cpu, words);
        assert_true(words[1] > 0);
        assert_int_equal(counted[cpu] + sum_cpu(cpu, 1), words[1]);
    }
}

static int map_call(enum bpf_cmd command, int map)
{
    uint32_t key = 0;
    uint64_t value[sizeof(struct bpf_record) / sizeof(uint64_t)] = {0};
    union bpf_attr attr = {.map_fd = (uint32_t)map};

    if (command == BPF_MAP_UPDATE_ELEM) {
        attr.key = (uintptr_t)&key;
        attr.value = (uintptr_t)value;
    }
    return syscall(SYS_bpf, command, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static void expect_frozen(int map)
{
    assert_int_equal(map_call(BPF_MAP_UPDATE_ELEM, map), -EPERM);
    assert_int_equal(map_call(BPF_MAP_FREEZE, map), -EPERM);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0), MAP_FAILED);
    assert_int_equal(errno, EPERM);
    void *readable = mmap(NULL, 4096, PROT_READ, MAP_SHARED, map, 0);
    assert_ptr_not_equal(readable, MAP_FAILED);
    assert_int_equal(mprotect(readable, 4096, PROT_READ | PROT_WRITE), -1);
    munmap(readable, 4096);
}

TEST_OF_BPF(test_frozen)
{
    expect_frozen(rig.maps.counts);
    expect_frozen(rig.maps.records);
}

TEST_OF_BPF(test_refusals)
{
    uint64_t id = 0;
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(rig.bpf.assign(rig.loader, root, SLOT, &id), -EOPNOTSUPP);
    assert_int_equal(rig.bpf.assign(rig.loader, rig.cgroup_fd, BPF_SLOT_UNKNOWN, &id), -EINVAL);
    assert_int_equal(rig.bpf.assign(rig.loader, rig.cgroup_fd, SLOTS, &id), -EINVAL);
    assert_int_equal(rig.bpf.set_cpu(rig.loader, rig.shape.cpus, plain_events, rig.fds[0]), -EINVAL);
    assert_int_equal(rig.bpf.set_cpu(rig.loader, 0, plain_events, (const int[]){root, root}), -EBADF);
    rig.bpf.stop(rig.loader);
    assert_int_equal(rig.bpf.attach(rig.loader, true), -EINVAL);
    assert_int_equal(rig.bpf.flush(rig.loader), -EINVAL);
    assert_int_equal(rig.bpf.withdraw(rig.loader, rig.id), -ENOENT);
    assert_int_equal(id, 0);
    close(root);
}

/* The BPF program has 9 descriptors, and 2 more while it is attached; on a kernel without BTF, 1 more in each case. */
TEST_OF_BPF(test_descriptors)
{
    struct descriptors descriptors;
    struct error error = {0};
    uint64_t more = has_types() ? 0 : 1;

    rig.bpf.stop(rig.loader);
    unmap_bpf();
    descriptors_attach(&descriptors, &rig.sys, &(struct descriptor_limits){.counting = 8 + more});
    assert_int_equal(rig.bpf.start(rig.loader, &rig.shape, &rig.maps, &error), -EMFILE);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors.limits.counting = 10 + 2 * more;
    start_bpf();
    assert_int_equal(rig.bpf.attach(rig.loader, true), -EMFILE);
    assert_int_equal(descriptors.n_counting, 9 + more);
    descriptors.limits.counting = 11 + 2 * more;
    attach(true);
    assert_int_equal(descriptors.n_counting, 11 + 2 * more);
    rig.bpf.stop(rig.loader);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &rig.sys);
}

/* A killed process leaves nothing behind */

static uint32_t map_id(int map)
{
    struct bpf_map_info info = {0};
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)map, .info_len = sizeof(info), .info = (uintptr_t)&info}};

    assert_int_equal(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)), 0);
    return info.id;
}

static bool map_is_there(uint32_t id)
{
    union bpf_attr attr = {.map_id = id};
    int map = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));

    if (map < 0)
        return false;
    close(map);
    return true;
}

/*
 * After the process is killed, the kernel frees the program and its maps, with a delay. The program holds its maps, so
 * if the maps are gone, the program is gone as well.
 */
TEST_WITH(test_killed, NULL, teardown)
{
    begin();
    attach(true);
    uint32_t id = map_id(rig.maps.counts);
    pid_t pid = fork(); /* the child inherits all descriptors */
    if (pid == 0) {
        pause();
        _exit(1);
    }
    end();
    bool outlives = map_is_there(id);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(outlives);
    eventually(!map_is_there(id), "the kernel to free the maps");
}

/*
 * Tests that move tasks to another cgroup, even while context switches are hidden from the program. Only time that
 * cannot be attributed may be counted as unknown. The tests attach the program themselves, so that they can hide
 * context switches from it.
 */

#define OTHER (SLOT + 1)
#define MS UINT64_C(1000000)
/* CPU time that the worker uses in each half of a test, and how much of it may be lost to switches. */
#define SPIN_MS 50
#define AROUND_MS 2

static struct {
    int parts[N_KERNEL_PARTS], n_parts, on_switch, on_attach;
    unsigned cpu; /* the worker's CPU; the test runs on another one */
    const uint64_t *counts;
    char other[300]; /* a second cgroup, which has the slot OTHER */
    pid_t worker;
    int start[2];         /* a pipe; a byte in it starts the worker */
    volatile char *spins; /* what the worker does; 0: it waits to be started, 1: it spins, 2: it exits */
    double spun_ms;       /* the worker's CPU time when start_worker() was called */
    uint64_t before[SLOTS];
} moves;

static void give_slot(const char *cgroup, uint32_t slot)
{
    struct stat st;

    assert_int_equal(stat(cgroup, &st), 0);
    assert_int_equal(bpf_call_update(moves.parts[KERNEL_SLOTS], &(uint64_t){st.st_ino}, &slot), 0);
}

static void look(void)
{
    int r;

    do
        r = bpf_call_run_on(moves.parts[KERNEL_LOOK], moves.cpu);
    while (r > 0);
    assert_int_equal(r, 0);
}

static void see_switches(void)
{
    moves.on_switch = bpf_call_attach(moves.parts[KERNEL_SWITCH], moves.n_parts > KERNEL_MADE ? "sched_switch" : NULL);
    assert_true(moves.on_switch >= 0);
}

static void load_without_loader(void)
{
    struct bpf_control control = {.epoch = 1};
    struct error error = {0};

    moves.n_parts = load_process_run(&rig.shape, NULL, moves.parts, &error);
    if (moves.n_parts < 0)
        fail_msg("%s", error.message);
    for (uint32_t cpu = 0; cpu < rig.shape.cpus; cpu++) {
        bpf_control_plan(&control, cpu, plain_events, 2);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(bpf_call_update(moves.parts[KERNEL_EVENTS], &(uint32_t){cpu * 2 + i}, &rig.fds[cpu][i]),
                             0);
        assert_int_equal(bpf_call_update(moves.parts[KERNEL_CONTROL], &cpu, &control), 0);
    }
    give_slot(rig.cgroup, SLOT);
    give_slot(moves.other, OTHER);
    moves.counts = mmap(NULL, map_size(), PROT_READ, MAP_SHARED, moves.parts[KERNEL_COUNTS], 0);
    assert_ptr_not_equal(moves.counts, MAP_FAILED);
    moves.on_attach = bpf_call_attach(moves.parts[KERNEL_LOOK], "cgroup_attach_task");
    assert_true(moves.on_attach >= 0);
    see_switches();
}

static uint64_t counted_ns(uint32_t slot)
{
    return moves.counts[((size_t)moves.cpu * SLOTS + slot) * WORDS];
}

/* Returns what the slot has counted on the worker's CPU since start_worker(), in milliseconds. */
static double slot_ms(uint32_t slot)
{
    return (double)(counted_ns(slot) - moves.before[slot]) / (double)MS;
}

static double worker_ms(void)
{
    struct timespec now;
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(moves.worker, &clock), 0);
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / (double)MS;
}

static char worker_state(void)
{
    char path[64], text[64] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)moves.worker);
    _cleanup_(fclosep) FILE *file = fopen(path, "re");
    assert_true(file && fgets(text, sizeof(text), file));
    return strrchr(text, ')')[2];
}

static void move_worker(const char *cgroup)
{
    char path[320];

    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(dprintf(fd, "%d", (int)moves.worker) > 0);
    close(fd);
}

/* Spins with real-time priority where that is permitted, so that nothing preempts it. */
static _Noreturn void worker_run(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    close(moves.on_switch); /* otherwise this process would keep the program attached */
    run_on(moves.cpu);
    (void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    for (;;) {
        char byte;
        if (read(moves.start[0], &byte, 1) != 1)
            _exit(1);
        while (*moves.spins == 1)
            ;
        if (*moves.spins == 2)
            _exit(0);
    }
}

static void moves_begin(void)
{
    memset(&moves, 0, sizeof(moves));
    begin();
    if (rig.shape.cpus < 2)
        skip_because("a second CPU");
    moves.cpu = rig.shape.cpus - 1;
    snprintf(moves.other, sizeof(moves.other), "%s-other", rig.cgroup);
    assert_int_equal(mkdir(moves.other, 0755), 0);
    load_without_loader();
    count(true);
    run_on(0);
    moves.spins = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(pipe(moves.start), 0);
    moves.worker = fork();
    if (moves.worker == 0)
        worker_run();
    move_worker(rig.cgroup);
    eventually(worker_state() == 'S', "the worker to wait for its start");
}

static void moves_end(void)
{
    kill(moves.worker, SIGKILL);
    waitpid(moves.worker, NULL, 0);
    munmap((void *)moves.spins, 1);
    close(moves.start[0]);
    close(moves.start[1]);
    close(moves.on_switch);
    close(moves.on_attach);
    munmap((void *)moves.counts, map_size());
    for (size_t i = 0; i < N_KERNEL_PARTS; i++)
        close(moves.parts[i]);
    assert_int_equal(rmdir(moves.other), 0);
    end();
}

static void start_worker(void)
{
    moves.spun_ms = worker_ms();
    look();
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        moves.before[slot] = counted_ns(slot);
    *moves.spins = 1;
    assert_int_equal(write(moves.start[1], "", 1), 1);
}

static void let_spin(void)
{
    double begun = worker_ms();

    eventually(worker_ms() >= begun + SPIN_MS, "the worker to spend CPU time");
}

/*
 * Asserts that all of the worker's CPU time was counted for its two cgroups or as unknown. Other tasks may have run on
 * its CPU in the meantime.
 */
static void expect_spun(double spun)
{
    look();
    double unknown = slot_ms(BPF_SLOT_UNKNOWN), first = slot_ms(SLOT), second = slot_ms(OTHER);
    if (unknown + first + second < spun - AROUND_MS)
        fail_msg("of %.3f ms, %.3f are unknown, and the cgroups have %.3f and %.3f; the root has %.3f", spun, unknown,
                 first, second, slot_ms(BPF_SLOT_ROOT));
}

/*
 * After the worker is moved, its CPU time is attributed to the old cgroup until the next context switch, since the BPF
 * program knows that no other task ran in between. In the second round the program does not see the switch to the
 * worker, so the record still names the idle task, and the move does not tell which task ran in the interval.
 */
TEST_WITH(test_moved, NULL, teardown)
{
    for (int seen = 1; seen >= 0; seen--) {
        moves_begin();
        if (!seen)
            close(moves.on_switch);
        start_worker();
        let_spin();
        if (!seen)
            see_switches();
        move_worker(moves.other);
        let_spin();
        *moves.spins = 0;
        eventually(worker_state() == 'S', "the worker to stop");
        expect_spun(worker_ms() - moves.spun_ms);
        moves_end();
    }
}

/* A task that exits is counted in its cgroup until its last switch. */
TEST_WITH(test_ends, NULL, teardown)
{
    moves_begin();
    start_worker();
    let_spin();
    double spun = worker_ms() - moves.spun_ms;
    *moves.spins = 2;
    assert_int_equal(waitid(P_PID, (id_t)moves.worker, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    expect_spun(spun);
    moves_end();
}

/* Runs all tests again as if the kernel had no BTF, in a process whose cgroup is not the root. */
TEST_WITH(test_by_offsets, NULL, teardown)
{
    int status;

    if (!has_types()) /* this process was started by this test, without BTF */
        return;
    sys_init(&rig.sys);
    make_cgroup();
    pid_t pid = fork();
    if (pid == 0) {
        int procs = openat(rig.cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (write(procs, "0", 1) == 1 && without_types())
            execl("/proc/self/exe", "test-bpf-program", NULL);
        _exit(77);
    }
    close(rig.cgroup_fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_because("the right to hide " TYPES);
    assert_int_equal(status, 0);
}

TEST_MAIN(NULL, NULL)
