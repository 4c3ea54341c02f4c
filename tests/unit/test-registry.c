/* SPDX-License-Identifier: Apache-2.0 */
/* How the registry runs its collectors on simulated machines, from the configuration to the snapshot. */
#include "collectors/registry.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

#define CORE CPU_GROUPS("[{name: core, events: cycles}]")
#define CORE_AND_SOFT CPU_GROUPS("[{name: core, events: cycles}, {name: soft, events: cs}]")

/* Reads all collectors and returns a CPU's cycles in the group "core". */
static uint64_t cycles_on(struct rig *rig, int cpu)
{
    return series_value(rig_read(rig), CPU_SERIES, "cycles", cpu, "cpu", "core");
}

static uint64_t groups_counting(struct rig *rig)
{
    return series_value(rig_read(rig), "perfcountd_groups{collector=\"cpu\",state=\"counting\"}");
}

RIG_TEST(test_counts, fake_machine_one_pmu, CPU_GROUPS("[{name: core, events: '{cycles,instructions,cs}'}]"))
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 1000);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(snapshot->n_rows, 4);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 3, "cpu", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 3, "cpu", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_running_seconds", 3, "cpu", "core"), 1000);
    assert_int_equal(groups_counting(rig), 4);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_string_equal(snapshot->rows[0]->counters[2].event, "context_switches");
}

/* Nothing is read again within max_age. */
RIG_TEST(test_max_age, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    uint64_t generation = rig_read(rig)->generation;
    fake_advance(rig->fake, 99);
    assert_int_equal(registry_read(rig->registry, UINT32_MAX, 100)->generation, generation);
    fake_advance(rig->fake, 1);
    assert_true(registry_read(rig->registry, UINT32_MAX, 100)->generation > generation);
}

/*
 * A new reading advances the time even if all requested collectors are disabled, since rates refer to the elapsed time.
 */
RIG_TEST(test_fresh_reading_of_nothing, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    uint64_t then = rig_read(rig)->monotonic_ns;
    fake_advance(rig->fake, 1000);
    assert_int_equal(registry_snapshot(rig->registry)->monotonic_ns, then);
    assert_int_equal(registry_read(rig->registry, 0, 0)->monotonic_ns, then + 1000);
}

/* Simulates reads that take 1,000 ns each. */
static struct sys_calls at_once;

static ssize_t read_slowly(struct sys *sys, int fd, void *buffer, size_t size)
{
    ((struct fake_sys *)sys)->monotonic_ns += 1000;
    return at_once.read(sys, fd, buffer, size);
}

/* The duration of one collector does not include that of collectors read before it. */
RIG_TEST(test_durations, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    at_once = wrap_calls(&rig->fake->sys, (struct sys_calls){.read = read_slowly});
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_duration_seconds{collector=\"cpu\"}"), 4000);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_duration_seconds{collector=\"pmu\"}"), 0);
}

static ssize_t read_while_all_count(struct sys *sys, int fd, void *buffer, size_t size)
{
    struct fake_sys *fake = (struct fake_sys *)sys;

    for (unsigned cpu = 0; cpu < 2; cpu++) {
        fake_run_cpu(fake, cpu, 1);
        for (int cgroup = 0; cgroup < 64; cgroup++)
            fake_cgroup_run(fake, cgroup, cpu, 1);
    }
    return at_once.read(sys, fd, buffer, size);
}

/* The totals of the CPUs are at least those of the root cgroup, although the two are not read at the same moment. */
TEST(test_cpus_have_all)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct rig rig;

    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    rig_init(&rig, fake,
             "collectors: {self: {enabled: false}, pmu: {groups: []}, cpu: {groups: [{name: s, events: cs}]}, cgroup: "
             "{engine: perf, include: ['/'], groups: [{name: s, events: cs}]}}");
    at_once = wrap_calls(&fake->sys, (struct sys_calls){.read = read_while_all_count});
    for (int i = 0; i < 3; i++) {
        const struct snapshot *snapshot = rig_read(&rig);
        uint64_t root =
            series_value(snapshot, "perf_cgroup_context_switches_total{cgroup=\"/\",pmu=\"software\",group=\"s\"}");
        uint64_t cpus = series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "s") +
                        series_value(snapshot, CPU_SERIES, "context_switches", 1, "software", "s");
        assert_true(root > 0 && root <= cpus);
    }
    rig_done(&rig);
}

RIG_TEST(test_nothing_at_all, fake_machine_no_pmu, CORE)
{
    struct rig *rig = *state;

    assert_int_equal(series_value(rig_read(rig), "perfcountd_collector_success{collector=\"cpu\"}"), 0);
}

/* Only the group that cannot be read is omitted. */
RIG_TEST(test_read_fails, fake_machine_one_pmu, CORE_AND_SOFT)
{
    struct rig *rig = *state;

    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_READ, .error = EIO, .times = 1});
    fake_advance(rig->fake, 100);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "core"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "soft"), 100);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 1, "cpu", "core"), 100);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_int_equal(cycles_on(rig, 0), 100);
}

/* If a collector cannot be read, only its failure and the reason are shown, until the next successful reading. */
RIG_TEST(test_collector_fails, fake_machine_one_pmu, CORE)
{
    const char *success = "perfcountd_collector_success{collector=\"cpu\"}";
    const char *incomplete = "perfcountd_collector_incomplete{collector=\"cpu\",reason=\"failed\"}";
    struct rig *rig = *state;

    fake_advance(rig->fake, 100);
    assert_int_equal(cycles_on(rig, 0), 100);
    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_READ, .error = EIO, .times = 4});
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(series_value(snapshot, "%s", success), 0);
    assert_int_equal(series_value(snapshot, "%s", incomplete), 1);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "core"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), NOT_SHOWN);
    assert_true(snapshot_row_failed(snapshot, snapshot->rows[0]));
    const struct failures *failures = registry_failures(rig->registry);
    assert_int_equal(failures->n, 1);
    assert_string_equal(failures->items[0].reason, FAILURE_OF_COLLECTOR);
    assert_string_equal(failures->items[0].message, "no group of the cpu collector could be read");
    assert_int_equal(cycles_on(rig, 0), 100);
    assert_int_equal(series_value(rig_read(rig), "%s", success), 1);
    assert_int_equal(series_value(rig_read(rig), "%s", incomplete), NOT_SHOWN);
    assert_int_equal(registry_failures(rig->registry)->n, 0);
}

/* --- pausing --- */

/* During a pause neither events nor time are counted; after it the totals continue. */
RIG_TEST(test_pause, fake_machine_one_pmu, CPU_GROUPS("[{name: core, events: '{cycles,instructions}'}]"))
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 100); /* counted before the pause, but not read before it */
    assert_int_equal(registry_pause(rig->registry, true), 0);
    assert_true(registry_is_paused(rig->registry));
    assert_int_equal(registry_pause(rig->registry, true), 0);
    fake_advance(rig->fake, 1000);
    assert_int_equal(cycles_on(rig, 0), 100);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 100);
    assert_int_equal(groups_counting(rig), 4);
    assert_int_equal(registry_pause(rig->registry, false), 0);
    fake_advance(rig->fake, 10);
    assert_int_equal(cycles_on(rig, 0), 110);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 110);
}

/*
 * Groups that are opened during a pause, because of a reload or a new CPU, do not count until the pause ends. This
 * includes strict groups and groups that are reopened.
 */
RIG_TEST(test_pause_holds_what_is_opened, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 100);
    registry_pause(rig->registry, true);
    rig_configure(rig, CPU_GROUPS("[{name: core, events: cycles}, {name: s, strict: true, events: '{cs,faults}'}]"));
    rig_rescan(rig, "0");
    fake_advance(rig->fake, 1000);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "context_switches", 0, "software", "s"), 0);
    uint64_t held = cycles_on(rig, 0);
    assert_true(held <= 100);
    registry_pause(rig->registry, false);
    fake_advance(rig->fake, 10);
    assert_int_equal(series_value(rig_read(rig), CPU_SERIES, "context_switches", 0, "software", "s"), 10);
    assert_int_equal(cycles_on(rig, 0), held + 10);
}

/* A group in the error state is re-enabled from time to time, but not during a pause. */
RIG_TEST(test_pause_tries_nothing, fake_machine_one_pmu, CPU_GROUPS("[{name: core, events: 'cycles:D'}]"))
{
    struct rig *rig = *state;

    registry_pause(rig->registry, true);
    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_READ});
    unsigned calls = rig->fake->calls[FAKE_IOCTL];
    for (int i = 0; i < 10; i++) {
        fake_advance(rig->fake, 100 * NSEC_PER_SEC);
        rig_read(rig);
    }
    assert_int_equal(rig->fake->calls[FAKE_IOCTL], calls);
    fake_fail_no_more(rig->fake);
    registry_pause(rig->registry, false);
}

/* A group that cannot be enabled after a pause is reopened, and keeps what it had counted before. */
RIG_TEST(test_pause_that_does_not_end, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 100);
    assert_int_equal(registry_pause(rig->registry, true), 0);
    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EBUSY, .times = 1});
    assert_int_equal(registry_pause(rig->registry, false), -EBUSY);
    fake_advance(rig->fake, 10);
    rig_read(rig);
    assert_true(registry_is_stale(rig->registry));
    rig_rescan(rig, "");
    assert_int_equal(cycles_on(rig, 0), 100);
    fake_advance(rig->fake, 10);
    assert_int_equal(cycles_on(rig, 0), 110);
    assert_int_equal(groups_counting(rig), 4);
}

/* If a group cannot be disabled, the others still are, and the caller gets the error. */
RIG_TEST(test_pause_fails, fake_machine_one_pmu, CORE)
{
    struct rig *rig = *state;

    fake_fail(rig->fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EIO, .times = 1});
    assert_int_equal(registry_pause(rig->registry, true), -EIO);
    fake_advance(rig->fake, 100);
    assert_int_equal(cycles_on(rig, 0), 100);
    assert_int_equal(cycles_on(rig, 1), 0);
}

/* --- reloading --- */

RIG_TEST(test_reload, fake_machine_one_pmu, CORE_AND_SOFT)
{
    struct rig *rig = *state;

    fake_advance(rig->fake, 100);
    uint64_t id = rig_read(rig)->rows[0]->id;
    rig_configure(rig, CPU_GROUPS("[{name: soft, events: 'cs,faults'}, {name: core, events: cycles}]"));
    fake_advance(rig->fake, 100);
    const struct snapshot *snapshot = rig_read(rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 2, "cpu", "core"), 200);
    assert_int_equal(snapshot->rows[0]->id, id);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 2, "software", "soft"), 100);
    assert_int_equal(rig->fake->n_open, 12);
    rig_configure(rig, CPU_GROUPS("[]"));
    assert_null(find_series(rig_read(rig), CPU_SERIES, "cycles", 2, "cpu", "core"));
    assert_int_equal(rig->fake->n_open, 0);
}

/* The largest number of descriptors open at the same time. */
static unsigned *most_open;

static int open_counting(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                         unsigned long flags)
{
    int fd = at_once.perf_event_open(sys, attr, pid, cpu, group_fd, flags);

    *most_open = MAX(*most_open, ((struct fake_sys *)sys)->n_open);
    return fd;
}

/* A removed group is closed before its replacement is opened, since counters and descriptors are scarce. */
RIG_TEST(test_reload_makes_room, fake_machine_one_pmu, CORE_AND_SOFT)
{
    struct rig *rig = *state;
    struct fake_sys *fake = rig->fake;
    unsigned before = fake->n_open, most = 0;

    most_open = &most;
    at_once = wrap_calls(&fake->sys, (struct sys_calls){.perf_event_open = open_counting});
    rig_configure(rig, CPU_GROUPS("[{name: core, events: instructions}, {name: soft, events: cs}]"));
    assert_int_equal(most, before);
    assert_int_equal(fake->n_open, before);
}

/* The HELP text is that of the current configuration. */
RIG_TEST(test_reload_help, fake_machine_one_pmu, CPU_GROUPS("[{name: core, events: [{event: cycles, help: before}]}]"))
{
    struct rig *rig = *state;

    rig_configure(rig, CPU_GROUPS("[{name: core, events: [{event: cycles, help: now}]}]"));
    assert_string_equal(rig_read(rig)->metrics.families[0]->text_header,
                        "# HELP perf_cpu_cycles_total now\n# TYPE perf_cpu_cycles_total counter\n");
}

static bool has_family(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->metrics.n; i++)
        if (str_equal(snapshot->metrics.families[i]->name, name))
            return true;
    return false;
}

/* Missing CPUs are not reported as missing events. */
RIG_TEST(test_incomplete, fake_machine_one_pmu,
         "collectors: {self: {enabled: false}, cgroup: {enabled: false}, pmu: {groups: []}, cpu: {cpus: '0-9', groups: "
         "[{name: core, events: "
         "cycles}]}}")
{
    const char *incomplete = "perfcountd_collector_incomplete{collector=\"cpu\",reason=\"cpus\"}";
    struct rig *rig = *state;

    assert_int_equal(series_value(rig_read(rig), "%s", incomplete), 1);
    assert_int_equal(registry_failures(rig->registry)->n, 1);
    assert_false(has_family(rig_read(rig), "perfcountd_events_unavailable"));
    rig_configure(rig, CORE);
    assert_false(has_family(rig_read(rig), "perfcountd_collector_incomplete"));
}

TEST_MAIN(NULL, NULL)
