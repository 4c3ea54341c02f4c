/* SPDX-License-Identifier: Apache-2.0 */
/* The self collector: the daemon's processes and their cost in hardware events, on simulated machines. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CYCLES "perfcountd_self_cycles_total"
#define INSTRUCTIONS "perfcountd_self_instructions_total"
#define SELF_ALONE "collectors: {cpu: {enabled: false}, cgroup: {enabled: false}, pmu: {groups: []}}"
#define UNAVAILABLE                                                                                                    \
    "perfcountd_events_unavailable{collector=\"self\",group=\"self\",event=\"%s\",pmu=\"cpu\",reason=\"%s\"}"

static uint64_t self_value(struct rig *rig, const char *name)
{
    return series_value(rig_read(rig), "%s", name);
}

TEST(test_self)
{
    struct rig rig;

    if (runs_emulated())
        skip_because("all of /proc/self/stat under qemu");
    rig_init(&rig, fake_machine_one_pmu(), "{}");
    assert_in_range(self_value(&rig, "process_open_fds"), 3, 1000);
    assert_in_range(self_value(&rig, "process_resident_memory_bytes"), 100000, UINT64_C(1) << 50);
    assert_in_range(self_value(&rig, "process_start_time_seconds"), UINT64_C(150000000000), UINT64_C(500000000000));
    assert_int_equal(self_value(&rig, "perfcountd_config_last_reload_successful"), 0);
    rig_done(&rig);
}

/* Resource limits are read anew each time. "unlimited" in /proc/self/limits is shown as RLIM_INFINITY. */
TEST(test_self_limits)
{
    struct rlimit before, limit;
    struct rig rig;

    if (runs_emulated())
        skip_because("RLIMIT_AS under qemu");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    rig_init(&rig, fake_machine_one_pmu(), "{}");
    assert_int_equal(self_value(&rig, "process_virtual_memory_max_bytes"), before.rlim_cur);
    limit = (struct rlimit){(rlim_t)1 << 60, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    fake_advance(rig.fake, NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, "process_virtual_memory_max_bytes"), UINT64_C(1) << 60);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(self_value(&rig, "process_threads"), 1);
    rig_done(&rig);
}

#define OF_SYMBOLISER(name) "perfcountd_process_" name "{process=\"symboliser\"}"
#define STAT(cpu, start, pages) "9 (perfcountd) S 1 1 1 0 -1 0 0 0 0 0 " cpu " 0 0 0 20 0 2 0 " start " 4096000 " pages

/* Simulates a process with this /proc/PID/stat. "" means that there is no process. */
static void write_stat(struct child *child, const char *text)
{
    child->pid = *text ? 9 : 0;
    assert_int_equal(ftruncate(child->stat_fd, 0), 0);
    assert_int_equal(pwrite(child->stat_fd, text, strlen(text), 0), strlen(text));
}

static void assert_symboliser(struct rig *rig, uint64_t cpu_ticks, uint64_t pages, uint64_t threads)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), tick = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);

    fake_advance(rig->fake, NSEC_PER_SEC);
    assert_int_equal(self_value(rig, OF_SYMBOLISER("cpu_seconds_total")), cpu_ticks * tick);
    assert_int_equal(self_value(rig, OF_SYMBOLISER("threads")), threads);
    assert_int_equal(self_value(rig, OF_SYMBOLISER("resident_memory_bytes")),
                     threads == NOT_SHOWN ? NOT_SHOWN : pages * page);
    assert_int_equal(self_value(rig, OF_SYMBOLISER("virtual_memory_bytes")),
                     threads == NOT_SHOWN ? NOT_SHOWN : 4096000);
    assert_true((self_value(rig, OF_SYMBOLISER("start_time_seconds")) == NOT_SHOWN) == (threads == NOT_SHOWN));
}

/* Child processes: one that never starts, and one that starts, exits, starts again and hangs. */
TEST(test_self_children)
{
    struct child symboliser = {.stat_fd = memfd_create("stat", MFD_CLOEXEC)};
    const struct children children = {.symboliser = &symboliser};
    uint64_t tick = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
    struct rig rig;

    rig_init(&rig, fake_machine_one_pmu(), "{}");
    registry_set_children(rig.registry, &children);
    fake_advance(rig.fake, NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, OF_SYMBOLISER("cpu_seconds_total")), NOT_SHOWN);
    assert_int_equal(self_value(&rig, OF_SYMBOLISER("threads")), NOT_SHOWN);
    write_stat(&symboliser, STAT("50", "1000", "300"));
    assert_symboliser(&rig, 50, 300, 2);
    uint64_t start = self_value(&rig, OF_SYMBOLISER("start_time_seconds"));
    /* After the process has exited, its CPU time remains, exact to the microsecond. */
    write_stat(&symboliser, "");
    symboliser.ended_cpu_ns = 51 * tick;
    assert_symboliser(&rig, 51, 0, NOT_SHOWN);
    write_stat(&symboliser, STAT("4", "1500", "200"));
    assert_symboliser(&rig, 55, 200, 2);
    assert_int_equal(self_value(&rig, OF_SYMBOLISER("start_time_seconds")), start + 500);
    /* A reload keeps the totals. */
    rig_configure(&rig, "collectors: {pmu: {groups: []}, cpu: {groups: []}}");
    assert_symboliser(&rig, 55, 200, 2);
    /* If the daemon gives up on a process before it exits, the total does not decrease. */
    write_stat(&symboliser, "");
    assert_symboliser(&rig, 55, 0, NOT_SHOWN);
    assert_int_equal(self_value(&rig, "perfcountd_process_cpu_seconds_total{process=\"opener\"}"), NOT_SHOWN);
    rig_done(&rig);
    close(symboliser.stat_fd);
}

RIG_TEST(test_self_cost, fake_machine_one_pmu, SELF_ALONE)
{
    struct rig *rig = *state;

    assert_int_equal(rig->fake->n_open, 2);
    fake_advance(rig->fake, 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, CYCLES), 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, INSTRUCTIONS), 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, "perfcountd_self_user_reads"), 0);
    assert_int_equal(self_value(rig, "perfcountd_self_kernel_counted"), 1);
    assert_int_equal(registry_failures(rig->registry)->n, 0);
    /* The totals continue after the configuration changes. */
    rig_configure(rig, "collectors: {pmu: {groups: []}, cpu: {groups: []}}");
    fake_advance(rig->fake, 50 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, CYCLES), 150 * NSEC_PER_SEC);
    /* A starved event is omitted. The total of the event catches up once the event runs again. */
    fake_find_pmu(rig->fake, "cpu")->counters = 0;
    fake_advance(rig->fake, 50 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, CYCLES), NOT_SHOWN);
    fake_find_pmu(rig->fake, "cpu")->counters = 4;
    fake_advance(rig->fake, 100 * NSEC_PER_SEC);
    assert_int_equal(self_value(rig, CYCLES), 300 * NSEC_PER_SEC);
    rig_configure(rig, CPU_GROUPS("[]"));
    assert_null(find_series(rig_read(rig), CYCLES));
    assert_int_equal(rig->fake->n_open, 0);
}

/* A refused event is retried and does not affect the other one. */
TEST(test_self_cost_in_part)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                          .error = EBUSY,
                                          .times = 1,
                                          .on_event = true,
                                          .type = PERF_TYPE_HARDWARE,
                                          .config = PERF_COUNT_HW_INSTRUCTIONS});
    rig_init(&rig, fake, SELF_ALONE);
    fake_advance(fake, 10 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 10 * NSEC_PER_SEC);
    assert_null(find_series(rig_read(&rig), INSTRUCTIONS));
    assert_int_equal(series_value(rig_read(&rig), UNAVAILABLE, "instructions", "EBUSY"), 1);
    assert_int_equal(self_value(&rig, "perfcountd_collector_success{collector=\"self\"}"), 1);
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    assert_int_equal(registry_retry(rig.registry, NULL), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    fake_advance(fake, 10 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, CYCLES), 20 * NSEC_PER_SEC);
    assert_int_equal(self_value(&rig, INSTRUCTIONS), 10 * NSEC_PER_SEC);
    assert_null(find_series(rig_read(&rig), UNAVAILABLE, "instructions", "EBUSY"));
    rig_done(&rig);
}

static void assert_sentences(const struct rig *rig, const char *const *starts, size_t n_starts)
{
    char **sentences;
    size_t n;

    assert_int_equal(failures_sentences(registry_failures(rig->registry), &sentences, &n), 0);
    assert_int_equal(n, n_starts);
    for (size_t i = 0; i < n; i++)
        assert_true(str_starts(sentences[i], starts[i]));
    strings_free(sentences, n);
}

/* A missing PMU is reported in the same words as the cpu collector uses. */
RIG_TEST(
    test_self_cost_no_pmu, fake_machine_no_pmu,
    "collectors: {cgroup: {enabled: false}, cpu: {groups: [{name: a, events: 'cycles,instructions,branches,cs'}]}}")
{
    static const char *const starts[] = {
        "cpu 0-1 cycles, instructions, branches: this machine offers no hardware PMU: ",
        "perfcountd's own thread (own cost): cycles, instructions: this machine offers no hardware PMU: "};
    struct rig *rig = *state;

    assert_null(find_series(rig_read(rig), CYCLES));
    assert_null(find_series(rig_read(rig), "perfcountd_self_user_reads"));
    assert_int_equal(series_value(rig_read(rig), UNAVAILABLE, "cycles", "no_pmu"), 1);
    assert_sentences(rig, starts, 1);
    rig_configure(rig, SELF_ALONE);
    assert_sentences(rig, &starts[1], 1);
}

/* Each PMU that reports its slots has a series, also after a reload. */
TEST(test_slots)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    fake_pmu_file(fake, "armv8_cortex_a76", "caps/slots", "0x00000008");
    fake_pmu_file(fake, "armv8_cortex_a55", "caps/slots", "0x00000000");
    rig_init(&rig, fake, "{}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(series_value(rig_read(&rig), "perfcountd_pmu_slots{pmu=\"armv8_cortex_a76\"}"), 8);
        assert_null(find_series(rig_read(&rig), "perfcountd_pmu_slots{pmu=\"armv8_cortex_a55\"}"));
        rig_configure(&rig, SELF_ALONE);
    }
    rig_configure(&rig, "collectors: {self: {enabled: false}}");
    assert_null(find_series(rig_read(&rig), "perfcountd_pmu_slots{pmu=\"armv8_cortex_a76\"}"));
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
