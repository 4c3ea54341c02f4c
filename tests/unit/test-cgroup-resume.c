/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a cgroup that ends and comes back, while CPUs leave and return; also on the real kernel. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/cgroup-rig.h"
#include "tests/unit/test.h"

/* A sum never falls when a CPU leaves: the group stays in it. */
static void test_cpu_leaves_and_returns(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_one_pmu(), GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    cgroup_rig_run(&rig, counts, 0, 3, 100);
    uint64_t id = find_row(&rig.snapshot, "cpu", "core")->id;
    fake_set_online(rig.fake, 3, false);
    cgroup_counts_read(counts, rig.sys);
    assert_true(cgroup_rig_is_stale(counts));
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 400);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, "3"), 0);
    assert_int_equal(cgroup_counts_descriptors(counts), cgroup_rig_own(6));
    assert_int_equal(rig.fake->n_open, 6);
    cgroup_rig_run(&rig, counts, 0, 0, 1);
    assert_false(cgroup_rig_is_stale(counts));
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 401);
    assert_int_equal(cgroup_value(&rig, "group_enabled_seconds", "cpu", "core"), 401);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, ROW_COUNTING);
    fake_set_online(rig.fake, 3, true);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, ""), 0);
    assert_int_equal(rig.fake->n_open, 8);
    cgroup_rig_run(&rig, counts, 3, 3, 20);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 421);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->id, id);
    cgroup_rig_done(&rig, counts);
}

/* Offline at first: the groups join when the CPUs come. A whole cluster too. */
static void test_cpus_come_later(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    (void)state;
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, false);
    struct cgroup_counts *counts = cgroup_rig_init(
        &rig, fake,
        GROUPS("[{name: core, events: '{cycles,cs}'}, {name: big, events: armv8_cortex_a76/stall_backend/}]"));
    struct failures failures = cgroup_rig_failures(&rig, &counts, 1);
    assert_int_equal(failures.n, 1);
    assert_null(strstr(failures.items[0].message, "collectors.cpu"));
    failures_done(&failures);
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, true);
    assert_int_equal(cgroup_rig_rescan(&rig, counts, ""), 0);
    failures = cgroup_rig_failures(&rig, &counts, 1);
    assert_int_equal(failures.n, 0);
    assert_int_equal(rig.snapshot.n_rows, 3);
    cgroup_rig_run(&rig, counts, 0, 7, 10);
    assert_int_equal(cgroup_value(&rig, "cycles", "armv8_cortex_a55", "core"), 40);
    assert_int_equal(cgroup_value(&rig, "context_switches", "armv8_cortex_a76", "core"), 40);
    assert_int_equal(cgroup_value(&rig, "stall_backend", "armv8_cortex_a76", "big"), 40);
    cgroup_rig_done(&rig, counts);
}

/* Read a last time, closed at once; the rows stay; back under the same name the totals go on. */
static void test_ends_and_resumes(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_one_pmu(), GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 8);
    assert_int_equal(cgroup_counts_descriptors(counts), 0);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 100);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, ROW_COUNTING);
    assert_int_equal(cgroup_counts_read(counts, rig.sys), 0);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 100);
    size_t states[N_ROW_STATES] = {0};
    cgroup_counts_add_states(counts, states);
    assert_int_equal(states[ROW_COUNTING], 0);
    /* Not there yet: it stays as it is. Nothing of it is opened with bpf, so that the tree alone reports it. */
    if (cgroup_rig_uses(ENGINE_PERF)) {
        assert_int_equal(cgroup_rig_resume(&rig, counts, CGROUP), -ENODEV);
        assert_int_equal(rig.fake->n_open, 0);
        assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 100);
    }
    assert_int_equal(cgroup_rig_resume(&rig, counts, OTHER), 0);
    fake_cgroup_run(rig.fake, OTHER, 0, 11);
    fake_cgroup_run(rig.fake, OTHER, 1, 11);
    cgroup_counts_read(counts, rig.sys);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 122);
    assert_int_equal(cgroup_value(&rig, "group_enabled_seconds", "cpu", "core"), 122);
    cgroup_rig_done(&rig, counts);
}

/* Also where hardware events are missing anyway: that alone is no removal. */
static void test_removed_while_opening(void **state)
{
    struct fake_sys *(*const machines[])(void) = {fake_machine_one_pmu, fake_machine_no_pmu};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        struct cgroup_counts *counts = NULL;
        struct rig rig;

        cgroup_rig_start(&rig, machines[i](), GROUPS("[{name: core, events: cycles}, {name: software, events: cs}]"));
        fake_cgroup_remove(rig.fake, CGROUP);
        assert_int_equal(cgroup_counts_open(&rig_engine, &rig.context, "/a", "/a", CGROUP, &counts), -ENODEV);
        assert_null(counts);
        cgroup_rig_done(&rig, NULL);
    }
}

/* A reload that comes before the news of the removal: it is read one last time. */
static void test_removed_before_reload(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}]"));
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    assert_int_equal(cgroup_rig_resume(&rig, counts, CGROUP), -ENODEV);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 100);
    cgroup_rig_done(&rig, counts);
}

/* Out of descriptors in the middle: groups that were opened whole are served, and the rest when there is room. */
static void test_out_of_descriptors(void **state)
{
    struct rig rig;

    (void)state;
    for (unsigned after = 0; after < 16; after++) {
        struct fake_sys *fake = fake_machine_one_pmu();
        fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = after});
        struct cgroup_counts *counts = cgroup_rig_init(
            &rig, fake,
            GROUPS("[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]"));
        assert_int_equal(rig.fake->n_open, after & ~1U);
        assert_int_equal(cgroup_counts_descriptors(counts), cgroup_rig_own(after & ~1U));
        struct failures failures = cgroup_rig_failures(&rig, &counts, 1);
        assert_int_equal(failures.n, after < 8 ? 4 : 2);
        assert_string_equal(failures.items[0].reason, "EMFILE");
        assert_int_equal(failures.items[0].n_targets, 1);
        failures_done(&failures);
        fake_fail_no_more(rig.fake);
        assert_int_equal(cgroup_rig_resume(&rig, counts, CGROUP), 0);
        assert_int_equal(rig.fake->n_open, 16);
        failures = cgroup_rig_failures(&rig, &counts, 1);
        assert_int_equal(failures.n, 0);
        assert_int_equal(rig.snapshot.n_rows, 2);
        cgroup_rig_run(&rig, counts, 3, 3, 5);
        assert_int_equal(cgroup_value(&rig, "instructions", "cpu", "core"), 5);
        cgroup_rig_done(&rig, counts);
    }
}

/* Opening again fails on a CPU: it is reported, and counts again later. */
static void test_resume_fails(void **state)
{
    struct failures failures;
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts =
        cgroup_rig_init(&rig, fake_machine_two_counters(), GROUPS("[{name: core, events: cycles}]"));
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    cgroup_counts_end(counts, rig.sys);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 1, .times = 1});
    assert_int_equal(cgroup_rig_resume(&rig, counts, CGROUP), 0);
    assert_int_equal(rig.fake->n_open, 1);
    failures = cgroup_rig_failures(&rig, &counts, 1);
    assert_int_equal(failures.n, 1);
    failures_done(&failures);
    cgroup_rig_run(&rig, counts, 0, 0, 10);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, ROW_MULTIPLEXED);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 110);
    assert_int_equal(cgroup_rig_resume(&rig, counts, CGROUP), 0);
    failures = cgroup_rig_failures(&rig, &counts, 1);
    assert_int_equal(failures.n, 0);
    cgroup_rig_run(&rig, counts, 1, 1, 10);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 120);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->state, ROW_COUNTING);
    cgroup_rig_done(&rig, counts);
}

/* A group that did not change is not touched; series of CPUs instead of sums are others. */
static void test_reload(void **state)
{
    struct rig rig;

    (void)state;
    struct cgroup_counts *counts = cgroup_rig_init(
        &rig, fake_machine_one_pmu(), GROUPS("[{name: core, events: cycles}, {name: software, events: cs}]"));
    cgroup_rig_run(&rig, counts, 0, 0, 10);
    uint64_t id = find_row(&rig.snapshot, "cpu", "core")->id;
    assert_int_equal(
        cgroup_rig_configure(&rig, counts,
                             GROUPS("[{name: software, events: '{cs,faults}'}, {name: core, events: cycles}]")),
        0);
    assert_int_equal(find_row(&rig.snapshot, "cpu", "core")->id, id);
    cgroup_rig_run(&rig, counts, 0, 0, 10);
    assert_int_equal(cgroup_value(&rig, "cycles", "cpu", "core"), 20);
    assert_int_equal(cgroup_value(&rig, "page_faults", "software", "software"), 10);
    assert_int_equal(cgroup_rig_configure(&rig, counts, GROUPS_PER_CPU("[{name: core, events: cycles}]")), 0);
    assert_int_equal(rig.snapshot.n_rows, 4);
    assert_int_equal(rig.fake->n_open, 4);
    cgroup_rig_done(&rig, counts);
}

/* --- the real kernel --- */

#define ROOT "/sys/fs/cgroup/unified"
#define PAGES 777

static void name_cgroup(char *path, size_t size)
{
    snprintf(path, size, ROOT "/perfcountd-test-%d", getpid());
}

/* Also when the test failed. */
static int remove_cgroup(void **state)
{
    char path[64];

    (void)state;
    name_cgroup(path, sizeof(path));
    rmdir(path);
    return 0;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return good;
}

/* The sanitizer's own memory would fault as well. */
__attribute__((no_sanitize("address"))) static void touch_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || madvise((void *)memory, PAGES * page, MADV_NOHUGEPAGE) < 0)
        _exit(2);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
}

/* A child of the cgroup that goes through the motions `times` times, and moves out before it ends. */
static void run_child(const char *cgroup, unsigned times)
{
    char procs[128];
    int status = 0;

    snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
    pid_t pid = fork();
    if (pid == 0) {
        bool good = write_text(ROOT "/cgroup.procs", "0") && write_text(procs, "0");
        for (unsigned i = 0; i < times && good; i++)
            touch_pages();
        _exit(good && write_text(ROOT "/cgroup.procs", "0") ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static uint64_t count_faults(struct rig *rig, const char *cgroup, unsigned times)
{
    int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    struct cgroup_counts *counts = cgroup_rig_open(rig, "/a", fd);
    close(fd);
    run_child(cgroup, times);
    cgroup_counts_read(counts, rig->sys);
    uint64_t faults = cgroup_value(rig, "minor_faults", "software", "software");
    cgroup_counts_free(counts, &rig->snapshot);
    return faults;
}

/*
 * The faults of a child are those of its pages and those of its code and stack; a second one without the pages has the
 * latter alone.
 */
static void test_real_cgroup(void **state)
{
    struct cgroup_counts *counts = NULL;
    char cgroup[64];
    struct rig rig;

    (void)state;
    if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) < 0 && errno == ENOSYS)
        skip_because("there is no perf_event_open(2) here");
    name_cgroup(cgroup, sizeof(cgroup));
    if (geteuid() != 0 || mkdir(cgroup, 0755) < 0)
        skip_because("no cgroup can be made in " ROOT " (%s)", geteuid() ? "not root" : strerror(errno));
    cgroup_rig_start(&rig, NULL,
                     GROUPS("[{name: software, events: '{task-clock,minor-faults}'}, {name: core, events: cycles}]"));
    uint64_t with = count_faults(&rig, cgroup, 2), without = count_faults(&rig, cgroup, 1);
    assert_int_equal(with - without, PAGES);
    assert_in_range(without, PAGES, PAGES + 400);

    int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    counts = cgroup_rig_open(&rig, "/a", fd);
    run_child(cgroup, 1);
    assert_int_equal(rmdir(cgroup), 0);
    cgroup_counts_end(counts, rig.sys);
    assert_int_equal(cgroup_value(&rig, "minor_faults", "software", "software"), without);
    assert_in_range(cgroup_value(&rig, "task_clock_seconds", "software", "software"), 1000, NSEC_PER_SEC);
    assert_int_equal(cgroup_counts_resume(counts, &rig.context, fd), -ENODEV);
    counts = cgroup_counts_free(counts, &rig.snapshot);
    assert_int_equal(cgroup_counts_open(&rig_engine, &rig.context, "/a", "/a", fd, &counts), -ENODEV);
    close(fd);
    cgroup_rig_done(&rig, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_leaves_and_returns),
        cmocka_unit_test(test_cpus_come_later),
        cmocka_unit_test(test_ends_and_resumes),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_reload),
    };
    /* Of a cgroup's own descriptors, which with bpf it does not have. */
    const struct CMUnitTest tests_of_perf[] = {
        cmocka_unit_test(test_removed_while_opening),
        cmocka_unit_test(test_removed_before_reload),
        cmocka_unit_test(test_resume_fails),
        cmocka_unit_test_teardown(test_real_cgroup, remove_cgroup),
    };
    int failed = cgroup_rig_run_tests(tests);

    cgroup_rig_use(ENGINE_PERF);
    return failed + cmocka_run_group_tests(tests_of_perf, NULL, NULL);
}
