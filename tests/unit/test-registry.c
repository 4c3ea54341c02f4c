/* SPDX-License-Identifier: Apache-2.0 */
/* From configuration to snapshot, on machines that tests play: what the registry does with its collectors. */
#include "collectors/registry.h"
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define CORE CPU_GROUPS("[{name: core, events: cycles}]")

/* Reads, and gives the cycles of a CPU in the group core. */
static uint64_t cycles_on(struct rig *rig, int cpu)
{
    return series_value(rig_read(rig), CPU_SERIES, "cycles", cpu, "cpu", "core");
}

static uint64_t groups_counting(struct rig *rig)
{
    return series_value(rig_read(rig), "perfcountd_groups{collector=\"cpu\",state=\"counting\"}");
}

static void test_counts(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: '{cycles,instructions,cs}'}]"));
    fake_advance(rig.fake, 1000);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(snapshot->n_rows, 4);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 3, "cpu", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_enabled_seconds", 3, "cpu", "core"), 1000);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "group_running_seconds", 3, "cpu", "core"), 1000);
    assert_int_equal(groups_counting(&rig), 4);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_string_equal(snapshot->rows[0]->counters[2].event, "context_switches");
    rig_done(&rig);
}

/* One read(2) a group; within max_age none at all. */
static void test_one_read_a_group(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             CPU_GROUPS("[{name: a, events: 'cycles,instructions'}, {name: b, events: 'cs,faults'}]"));
    unsigned before = rig.fake->calls[FAKE_READ];
    rig_read(&rig);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    fake_advance(rig.fake, 99);
    uint64_t generation = registry_read(rig.registry, UINT32_MAX, 100)->generation;
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    fake_advance(rig.fake, 1);
    assert_true(registry_read(rig.registry, UINT32_MAX, 100)->generation > generation);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 16);
    rig_done(&rig);
}

/* Also where all that was asked for is disabled: rates are of the time that went by. */
static void test_fresh_reading_of_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    uint64_t then = rig_read(&rig)->monotonic_ns;
    fake_advance(rig.fake, 1000);
    assert_int_equal(registry_read(rig.registry, 0, UINT64_MAX)->monotonic_ns, then);
    assert_int_equal(registry_read(rig.registry, 0, 0)->monotonic_ns, then + 1000);
    rig_done(&rig);
}

/* Each read takes its time. */
static ssize_t (*read_at_once)(struct sys *sys, int fd, void *buffer, size_t size);

static ssize_t read_slowly(struct sys *sys, int fd, void *buffer, size_t size)
{
    ((struct fake_sys *)sys)->monotonic_ns += 1000;
    return read_at_once(sys, fd, buffer, size);
}

/* The time that one collector takes is not that of the collectors that are read after it. */
static void test_durations(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    read_at_once = rig.fake->sys.read;
    rig.fake->sys.read = read_slowly;
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_duration_seconds{collector=\"cpu\"}"), 4000);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_duration_seconds{collector=\"pmu\"}"), 0);
    rig_done(&rig);
}

static void test_nothing_at_all(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), CORE);
    assert_int_equal(series_value(rig_read(&rig), "perfcountd_collector_success{collector=\"cpu\"}"), 0);
    rig_done(&rig);
}

/* A group that cannot be read is left out alone. */
static void test_read_fails(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: cycles}, {name: soft, events: cs}]"));
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = EIO, .times = 1});
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 0, "cpu", "core"), NOT_SHOWN);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 0, "software", "soft"), 100);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 1, "cpu", "core"), 100);
    assert_int_equal(series_value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_int_equal(cycles_on(&rig, 0), 100);
    rig_done(&rig);
}

/* --- pausing --- */

/* Nothing is counted meanwhile, and no time; then totals go on. */
static void test_pause(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: '{cycles,instructions}'}]"));
    fake_advance(rig.fake, 100);
    rig_read(&rig);
    assert_int_equal(registry_pause(rig.registry, true), 0);
    assert_true(registry_is_paused(rig.registry));
    unsigned calls = rig.fake->calls[FAKE_IOCTL];
    assert_int_equal(registry_pause(rig.registry, true), 0);
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], calls);
    fake_advance(rig.fake, 1000);
    assert_int_equal(cycles_on(&rig, 0), 100);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 100);
    assert_int_equal(groups_counting(&rig), 4);
    assert_int_equal(registry_pause(rig.registry, false), 0);
    fake_advance(rig.fake, 10);
    assert_int_equal(cycles_on(&rig, 0), 110);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "group_enabled_seconds", 0, "cpu", "core"), 110);
    rig_done(&rig);
}

/* Counts from before the pause that were not read by then are there. */
static void test_pause_loses_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    fake_advance(rig.fake, 100);
    registry_pause(rig.registry, true);
    fake_advance(rig.fake, 1000);
    registry_pause(rig.registry, false);
    fake_advance(rig.fake, 10);
    assert_int_equal(cycles_on(&rig, 0), 110);
    rig_done(&rig);
}

/* Groups that a reload or a CPU opens meanwhile wait: weak and strict ones, and those that are opened again. */
static void test_pause_holds_what_is_opened(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    fake_advance(rig.fake, 100);
    registry_pause(rig.registry, true);
    rig_configure(&rig, CPU_GROUPS("[{name: core, events: cycles}, {name: s, strict: true, events: '{cs,faults}'}]"));
    rig_rescan(&rig, "0");
    fake_advance(rig.fake, 1000);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "context_switches", 0, "software", "s"), 0);
    uint64_t held = cycles_on(&rig, 0);
    assert_true(held <= 100);
    registry_pause(rig.registry, false);
    fake_advance(rig.fake, 10);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "context_switches", 0, "software", "s"), 10);
    assert_int_equal(cycles_on(&rig, 0), held + 10);
    rig_done(&rig);
}

/* A group in the error state, which is enabled again from time to time, is not while it is paused. */
static void test_pause_tries_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: 'cycles:D'}]"));
    registry_pause(rig.registry, true);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ});
    unsigned calls = rig.fake->calls[FAKE_IOCTL];
    for (int i = 0; i < 10; i++) {
        fake_advance(rig.fake, 100 * NSEC_PER_SEC);
        rig_read(&rig);
    }
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], calls);
    fake_fail_no_more(rig.fake);
    registry_pause(rig.registry, false);
    rig_done(&rig);
}

/* A group that cannot be enabled again is opened again, with what it had counted before the pause. */
static void test_pause_that_does_not_end(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    fake_advance(rig.fake, 100);
    assert_int_equal(registry_pause(rig.registry, true), 0);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EBUSY, .times = 1});
    assert_int_equal(registry_pause(rig.registry, false), -EBUSY);
    fake_advance(rig.fake, 10);
    rig_read(&rig);
    assert_true(registry_is_stale(rig.registry));
    rig_rescan(&rig, "");
    assert_int_equal(cycles_on(&rig, 0), 100);
    fake_advance(rig.fake, 10);
    assert_int_equal(cycles_on(&rig, 0), 110);
    assert_int_equal(groups_counting(&rig), 4);
    rig_done(&rig);
}

/* A group that cannot be disabled does not keep the others from it, and the caller gets the error. */
static void test_pause_fails(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CORE);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EIO, .times = 1});
    assert_int_equal(registry_pause(rig.registry, true), -EIO);
    fake_advance(rig.fake, 100);
    assert_int_equal(cycles_on(&rig, 0), 100);
    assert_int_equal(cycles_on(&rig, 1), 0);
    rig_done(&rig);
}

/* --- reloading --- */

static void test_reload(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: cycles}, {name: soft, events: cs}]"));
    fake_advance(rig.fake, 100);
    uint64_t id = rig_read(&rig)->rows[0]->id;
    rig_configure(&rig, CPU_GROUPS("[{name: soft, events: 'cs,faults'}, {name: core, events: cycles}]"));
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "cycles", 2, "cpu", "core"), 200);
    assert_int_equal(snapshot->rows[0]->id, id);
    assert_int_equal(series_value(snapshot, CPU_SERIES, "context_switches", 2, "software", "soft"), 100);
    assert_int_equal(rig.fake->n_open, 12);
    rig_configure(&rig, CPU_GROUPS("[]"));
    assert_null(find_series(rig_read(&rig), CPU_SERIES, "cycles", 2, "cpu", "core"));
    assert_int_equal(rig.fake->n_open, 0);
    rig_done(&rig);
}

/* Groups are found wherever they stand now: none is opened again, on any CPU. */
static void test_reload_reordered(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             CPU_GROUPS("[{name: a, events: cycles}, {name: b, events: cs}, {name: c, events: instructions}]"));
    fake_advance(rig.fake, 100);
    rig_read(&rig);
    unsigned opens = rig.fake->calls[FAKE_OPEN];
    rig_configure(&rig,
                  CPU_GROUPS("[{name: c, events: instructions}, {name: b, events: cs}, {name: a, events: cycles}]"));
    rig_configure(&rig, CPU_GROUPS("[{name: b, events: cs}, {name: a, events: cycles}]"));
    assert_int_equal(rig.fake->calls[FAKE_OPEN], opens);
    assert_int_equal(rig.fake->n_open, 8);
    fake_advance(rig.fake, 100);
    assert_int_equal(series_value(rig_read(&rig), CPU_SERIES, "cycles", 3, "cpu", "a"), 200);
    rig_done(&rig);
}

/* How many descriptors were open at once. */
static int (*open_at_once)(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                           unsigned long flags);
static unsigned *most_open;

static int open_counting(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                         unsigned long flags)
{
    int fd = open_at_once(sys, attr, pid, cpu, group_fd, flags);

    *most_open = MAX(*most_open, ((struct fake_sys *)sys)->n_open);
    return fd;
}

/* A group that goes is closed before the group in its place is opened: counters and descriptors are few. */
static void test_reload_makes_room(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    rig_init(&rig, fake, CPU_GROUPS("[{name: core, events: cycles}, {name: soft, events: cs}]"));
    unsigned before = fake->n_open, most = 0;
    most_open = &most;
    open_at_once = fake->sys.perf_event_open;
    fake->sys.perf_event_open = open_counting;
    rig_configure(&rig, CPU_GROUPS("[{name: core, events: instructions}, {name: soft, events: cs}]"));
    assert_int_equal(most, before);
    assert_int_equal(fake->n_open, before);
    rig_done(&rig);
}

/* The HELP is that of the current configuration. */
static void test_reload_help(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), CPU_GROUPS("[{name: core, events: [{event: cycles, help: before}]}]"));
    rig_configure(&rig, CPU_GROUPS("[{name: core, events: [{event: cycles, help: now}]}]"));
    assert_string_equal(rig_read(&rig)->metrics.families[0]->text_header,
                        "# HELP perf_cpu_cycles_total now\n# TYPE perf_cpu_cycles_total counter\n");
    rig_done(&rig);
}

static bool has_family(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->metrics.n; i++)
        if (str_equal(snapshot->metrics.families[i]->name, name))
            return true;
    return false;
}

/* CPUs that are not there are no event that is not there. */
static void test_incomplete(void **state)
{
    const char *incomplete = "perfcountd_collector_incomplete{collector=\"cpu\",reason=\"cpus\"}";
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             "collectors: {self: {enabled: false}, pmu: {groups: []}, cpu: {cpus: '0-9', groups: [{name: core, events: "
             "cycles}]}}");
    assert_int_equal(series_value(rig_read(&rig), "%s", incomplete), 1);
    assert_int_equal(registry_failures(rig.registry)->n, 1);
    assert_false(has_family(rig_read(&rig), "perfcountd_events_unavailable"));
    rig_configure(&rig, CORE);
    assert_false(has_family(rig_read(&rig), "perfcountd_collector_incomplete"));
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_one_read_a_group),
        cmocka_unit_test(test_fresh_reading_of_nothing),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_loses_nothing),
        cmocka_unit_test(test_pause_holds_what_is_opened),
        cmocka_unit_test(test_pause_tries_nothing),
        cmocka_unit_test(test_pause_that_does_not_end),
        cmocka_unit_test(test_pause_fails),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_reordered),
        cmocka_unit_test(test_reload_makes_room),
        cmocka_unit_test(test_reload_help),
        cmocka_unit_test(test_incomplete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
