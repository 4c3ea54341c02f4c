/* SPDX-License-Identifier: Apache-2.0 */
/* From configuration to snapshot, on machines that tests play. */
#include <stdio.h>

#include "collectors/registry.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"

/* A machine that is measured by a configuration. */
struct rig {
    struct fake_sys *fake;
    struct machine *machine;
    struct config *config;
    struct registry *registry;
    struct reload_outcome reload;
};

static struct config *parse(const char *groups)
{
    struct error error = {0};
    struct config *config;
    char text[1024];

    int n = snprintf(text, sizeof(text), "collectors: {self: {enabled: false}, cpu: {groups: %s}}", groups);
    if (config_parse(text, (size_t)n, &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

static void configure(struct rig *rig, const char *groups)
{
    struct config *config = parse(groups);
    struct error error;

    assert_int_equal(registry_configure(rig->registry, rig->machine, config, NULL, &error), 0);
    config_free(rig->config);
    rig->config = config;
}

static void rig_init(struct rig *rig, struct fake_sys *fake, const char *groups)
{
    struct error error;

    *rig = (struct rig){.fake = fake};
    assert_int_equal(machine_load(&fake->sys, &rig->machine, &error), 0);
    assert_int_equal(registry_new(&fake->sys, &rig->reload, &rig->registry), 0);
    configure(rig, groups);
}

static void rig_done(struct rig *rig)
{
    registry_free(rig->registry);
    assert_int_equal(rig->fake->n_open, 0);
    config_free(rig->config);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

static const struct snapshot *read_all(struct rig *rig)
{
    return registry_read(rig->registry, UINT32_MAX, 0);
}

/* The series whose text is `text`; NULL where there is none. */
static const struct series *find(const struct snapshot *snapshot, const char *text)
{
    for (size_t i = 0; i < snapshot->metrics.n; i++)
        for (size_t k = 0; k < snapshot->metrics.families[i]->n; k++) {
            const struct series *series = snapshot->metrics.families[i]->series[k];
            if (series_is(snapshot->metrics.families[i], series, text))
                return series;
        }
    return NULL;
}

static uint64_t value(const struct snapshot *snapshot, const char *text)
{
    const struct series *series = find(snapshot, text);

    if (!series || !series->visible)
        fail_msg("%s is not there", text);
    return series->value;
}

static bool is_visible(const struct snapshot *snapshot, const char *text)
{
    const struct series *series = find(snapshot, text);

    return series && series->visible;
}

static void test_counts(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,instructions,cs}'}]");
    fake_advance(rig.fake, 1000);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(snapshot->n_rows, 4);
    assert_int_equal(value(snapshot, "perf_cpu_cycles_total{cpu=\"3\",pmu=\"cpu\",group=\"core\"}"), 1000);
    assert_int_equal(value(snapshot, "perf_cpu_context_switches_total{cpu=\"0\",pmu=\"software\",group=\"core\"}"),
                     1000);
    assert_int_equal(value(snapshot, "perf_cpu_group_enabled_seconds_total{cpu=\"3\",pmu=\"cpu\",group=\"core\"}"),
                     1000);
    assert_int_equal(value(snapshot, "perf_cpu_group_running_seconds_total{cpu=\"3\",pmu=\"cpu\",group=\"core\"}"),
                     1000);
    assert_int_equal(value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"counting\"}"), 4);
    assert_int_equal(value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_string_equal(snapshot->rows[0]->counters[2].event, "context_switches");
    rig_done(&rig);
}

/* One read(2) a group; within max_age none at all. */
static void test_one_read_a_group(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             "[{name: a, events: 'cycles,instructions'}, {name: b, events: 'cs,faults'}]");
    unsigned before = rig.fake->calls[FAKE_READ];
    read_all(&rig);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    fake_advance(rig.fake, 99);
    uint64_t generation = registry_read(rig.registry, UINT32_MAX, 100)->generation;
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    fake_advance(rig.fake, 1);
    assert_true(registry_read(rig.registry, UINT32_MAX, 100)->generation > generation);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 16);
    rig_done(&rig);
}

/* Each read takes its time. */
static ssize_t (*read_at_once)(struct sys *sys, int fd, void *buffer, size_t size);

static ssize_t read_slowly(struct sys *sys, int fd, void *buffer, size_t size)
{
    ((struct fake_sys *)sys)->monotonic_ns += 1000;
    return read_at_once(sys, fd, buffer, size);
}

/* What one collector takes is not told of those that are read behind it. */
static void test_durations(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    read_at_once = rig.fake->sys.read;
    rig.fake->sys.read = read_slowly;
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_collector_duration_seconds{collector=\"cpu\"}"), 4000);
    assert_int_equal(value(snapshot, "perfcountd_collector_duration_seconds{collector=\"pmu\"}"), 0);
    rig_done(&rig);
}

static void test_two_kinds_of_cpu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_big_little(),
             "[{name: core, events: 'cycles'}, {name: big, events: 'armv8_cortex_a76/l2d_cache_refill/'}]");
    fake_advance(rig.fake, 10);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(snapshot->n_rows, 12);
    assert_true(is_visible(snapshot, "perf_cpu_cycles_total{cpu=\"0\",pmu=\"armv8_cortex_a55\",group=\"core\"}"));
    assert_true(is_visible(snapshot, "perf_cpu_cycles_total{cpu=\"7\",pmu=\"armv8_cortex_a76\",group=\"core\"}"));
    assert_true(
        is_visible(snapshot, "perf_cpu_l2d_cache_refill_total{cpu=\"4\",pmu=\"armv8_cortex_a76\",group=\"big\"}"));
    assert_null(find(snapshot, "perf_cpu_l2d_cache_refill_total{cpu=\"3\",pmu=\"armv8_cortex_a76\",group=\"big\"}"));
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    rig_done(&rig);
}

static void test_no_pmu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(),
             "[{name: core, events: 'cycles,cs,instructions'}, {name: bad, events: nothere/x/}]");
    fake_advance(rig.fake, 10);
    const struct snapshot *snapshot = read_all(&rig);
    const struct failures *failures = registry_failures(rig.registry);
    assert_int_equal(failures->n, 3);
    char **sentences;
    size_t n;
    assert_int_equal(failures_sentences(failures, &sentences, &n), 0);
    assert_int_equal(n, 2);
    assert_true(str_starts(sentences[0], "cpu 0-1 cycles, instructions: this machine offers no hardware PMU (ENOENT)"));
    strings_free(sentences, n);
    assert_int_equal(value(snapshot, "perfcountd_events_unavailable{collector=\"cpu\",group=\"core\",event=\"cycles\","
                                     "pmu=\"cpu\",reason=\"ENOENT\"}"),
                     2);
    assert_true(is_visible(snapshot, "perf_cpu_context_switches_total{cpu=\"1\",pmu=\"software\",group=\"core\"}"));
    assert_int_equal(value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"unavailable\"}"), 2);
    size_t unavailable = 0;
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state == ROW_UNAVAILABLE) {
            unavailable++;
            assert_non_null(snapshot->rows[i]->error);
            assert_null(snapshot->rows[i]->counters[0].series);
        }
    assert_int_equal(unavailable, 6);
    rig_done(&rig);
}

static void test_nothing_at_all(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), "[{name: core, events: cycles}]");
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 0);
    rig_done(&rig);
}

static void test_split(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(),
             "[{name: cache, events: 'cycles,instructions,branches,cache-misses,branch-misses'}]");
    fake_advance(rig.fake, 300 * NSEC_PER_MSEC);
    const struct snapshot *snapshot = read_all(&rig);
    assert_true(is_visible(snapshot, "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"cache\"}"));
    assert_true(is_visible(snapshot, "perf_cpu_branches_total{cpu=\"0\",pmu=\"cpu\",group=\"cache-2\"}"));
    assert_true(is_visible(snapshot, "perf_cpu_branch_misses_total{cpu=\"0\",pmu=\"cpu\",group=\"cache-3\"}"));
    assert_int_equal(value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"multiplexed\"}"), 6);
    uint64_t cycles = value(snapshot, "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"cache\"}");
    assert_in_range(cycles, 299 * NSEC_PER_MSEC, 300 * NSEC_PER_MSEC);
    assert_true(snapshot->rows[0]->counters[0].raw < cycles);
    rig_done(&rig);
}

static void test_strict(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(),
             "[{name: all, strict: true, events: 'cycles,instructions,branches'}, {name: soft, events: cs}]");
    const struct snapshot *snapshot = read_all(&rig);
    const struct failures *failures = registry_failures(rig.registry);
    assert_int_equal(failures->n, 3);
    assert_string_equal(failures->items[2].reason, "EINVAL");
    assert_non_null(strstr(failures->items[0].message, "because of branches"));
    assert_null(find(snapshot, "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"all\"}"));
    rig_done(&rig);
}

/* Starved: counters are left out, times stay, and the next reading covers the gap. */
static void test_starved(void **state)
{
    static const char cycles[] = "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}";
    static const char enabled[] = "perf_cpu_group_enabled_seconds_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}";
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    fake_advance(rig.fake, 100);
    assert_int_equal(value(read_all(&rig), cycles), 100);
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = read_all(&rig);
    assert_false(is_visible(snapshot, cycles));
    assert_int_equal(value(snapshot, enabled), 200);
    assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
    assert_true(snapshot->rows[0]->counters[0].known);
    assert_int_equal(snapshot->rows[0]->counters[0].value, 100);
    assert_int_equal(value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"starved\"}"), 4);
    fake_find_pmu(rig.fake, "cpu")->counters = 4;
    fake_advance(rig.fake, 100);
    assert_int_equal(value(read_all(&rig), cycles), 300);
    rig_done(&rig);
}

static void test_never_ran(void **state)
{
    struct rig rig;
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    fake_find_pmu(fake, "cpu")->counters = 1;
    rig_init(&rig, fake, "[{name: core, events: cycles}]");
    fake_find_pmu(fake, "cpu")->counters = 0;
    fake_advance(fake, 100);
    assert_false(read_all(&rig)->rows[0]->counters[0].known);
    rig_done(&rig);
}

/* A group that cannot be read is left out alone. */
static void test_read_fails(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}, {name: soft, events: cs}]");
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = EIO, .times = 1});
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = read_all(&rig);
    assert_false(is_visible(snapshot, "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}"));
    assert_true(is_visible(snapshot, "perf_cpu_context_switches_total{cpu=\"0\",pmu=\"software\",group=\"soft\"}"));
    assert_true(is_visible(snapshot, "perf_cpu_cycles_total{cpu=\"1\",pmu=\"cpu\",group=\"core\"}"));
    assert_int_equal(value(snapshot, "perfcountd_collector_success{collector=\"cpu\"}"), 1);
    assert_true(is_visible(read_all(&rig), "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}"));
    rig_done(&rig);
}

static const char cycles_of_0[] = "perf_cpu_cycles_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}";
static const char time_of_0[] = "perf_cpu_group_enabled_seconds_total{cpu=\"0\",pmu=\"cpu\",group=\"core\"}";
static const char counting[] = "perfcountd_groups{collector=\"cpu\",state=\"counting\"}";

/* Nothing is counted meanwhile, and no time; then totals go on. */
static void test_pause(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,instructions}'}]");
    fake_advance(rig.fake, 100);
    read_all(&rig);
    assert_int_equal(registry_pause(rig.registry, true), 0);
    assert_true(registry_is_paused(rig.registry));
    unsigned calls = rig.fake->calls[FAKE_IOCTL];
    assert_int_equal(registry_pause(rig.registry, true), 0);
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], calls);
    fake_advance(rig.fake, 1000);
    assert_int_equal(value(read_all(&rig), cycles_of_0), 100);
    assert_int_equal(value(read_all(&rig), time_of_0), 100);
    assert_int_equal(value(read_all(&rig), counting), 4);
    assert_int_equal(registry_pause(rig.registry, false), 0);
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), cycles_of_0), 110);
    assert_int_equal(value(read_all(&rig), time_of_0), 110);
    rig_done(&rig);
}

/* What counted before the pause, and was not read by then, is there. */
static void test_pause_loses_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    fake_advance(rig.fake, 100);
    registry_pause(rig.registry, true);
    fake_advance(rig.fake, 1000);
    registry_pause(rig.registry, false);
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), cycles_of_0), 110);
    rig_done(&rig);
}

/* What a reload or a CPU opens meanwhile waits: weak and strict groups, and parts that are opened anew. */
static void test_pause_holds_what_is_opened(void **state)
{
    static const char more[] = "[{name: core, events: cycles}, {name: s, strict: true, events: '{cs,faults}'}]";
    static const char strict[] = "perf_cpu_context_switches_total{cpu=\"0\",pmu=\"software\",group=\"s\"}";
    struct error error;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    fake_advance(rig.fake, 100);
    registry_pause(rig.registry, true);
    configure(&rig, more);
    struct cpuset left = {0};
    assert_int_equal(cpuset_add(&left, 0), 0);
    assert_int_equal(registry_configure(rig.registry, rig.machine, rig.config, &left, &error), 0);
    cpuset_done(&left);
    fake_advance(rig.fake, 1000);
    assert_int_equal(value(read_all(&rig), strict), 0);
    uint64_t held = value(read_all(&rig), cycles_of_0);
    assert_true(held <= 100);
    registry_pause(rig.registry, false);
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), strict), 10);
    assert_int_equal(value(read_all(&rig), cycles_of_0), held + 10);
    rig_done(&rig);
}

/* A group in the error state, which is enabled again from time to time, is not while it is paused. */
static void test_pause_tries_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: 'cycles:D'}]");
    registry_pause(rig.registry, true);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ});
    unsigned calls = rig.fake->calls[FAKE_IOCTL];
    for (int i = 0; i < 10; i++) {
        fake_advance(rig.fake, 100 * NSEC_PER_SEC);
        read_all(&rig);
    }
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], calls);
    fake_fail_no_more(rig.fake);
    registry_pause(rig.registry, false);
    rig_done(&rig);
}

/* One group that cannot be disabled does not keep the others from it, and the caller is told. */
static void test_pause_fails(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_IOCTL, .error = EIO, .times = 1});
    assert_int_equal(registry_pause(rig.registry, true), -EIO);
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, cycles_of_0), 100);
    assert_int_equal(value(snapshot, "perf_cpu_cycles_total{cpu=\"1\",pmu=\"cpu\",group=\"core\"}"), 0);
    rig_done(&rig);
}

static void test_reload(void **state)
{
    static const char kept[] = "perf_cpu_cycles_total{cpu=\"2\",pmu=\"cpu\",group=\"core\"}";
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}, {name: soft, events: cs}]");
    fake_advance(rig.fake, 100);
    uint64_t id = read_all(&rig)->rows[0]->id;
    configure(&rig, "[{name: soft, events: 'cs,faults'}, {name: core, events: cycles}]");
    fake_advance(rig.fake, 100);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, kept), 200);
    assert_int_equal(snapshot->rows[0]->id, id);
    assert_int_equal(value(snapshot, "perf_cpu_context_switches_total{cpu=\"2\",pmu=\"software\",group=\"soft\"}"),
                     100);
    assert_int_equal(rig.fake->n_open, 12);
    configure(&rig, "[]");
    snapshot = read_all(&rig);
    assert_null(find(snapshot, kept));
    assert_int_equal(rig.fake->n_open, 0);
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

/* What a group held is free for the one that takes its place: counters, breakpoints and descriptors are few. */
static void test_reload_makes_room(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    rig_init(&rig, fake, "[{name: core, events: cycles}, {name: soft, events: cs}]");
    unsigned before = fake->n_open, most = 0;
    most_open = &most;
    open_at_once = fake->sys.perf_event_open;
    fake->sys.perf_event_open = open_counting;
    configure(&rig, "[{name: core, events: instructions}, {name: soft, events: cs}]");
    assert_int_equal(most, before);
    assert_int_equal(fake->n_open, before);
    rig_done(&rig);
}

/* The HELP is what the configuration says now. */
static void test_reload_help(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: [{event: cycles, help: before}]}]");
    configure(&rig, "[{name: core, events: [{event: cycles, help: now}]}]");
    const struct snapshot *snapshot = read_all(&rig);
    assert_string_equal(snapshot->metrics.families[0]->text_header,
                        "# HELP perf_cpu_cycles_total now\n# TYPE perf_cpu_cycles_total counter\n");
    rig_done(&rig);
}

static const char cycles_of_1[] = "perf_cpu_cycles_total{cpu=\"1\",pmu=\"cpu\",group=\"core\"}";
static const char late_of_1[] = "perf_cpu_instructions_total{cpu=\"1\",pmu=\"cpu\",group=\"core-2\"}";

/* What another profiler held counts after a reload, as the remedies say; the rest of the group goes on. */
static void test_reload_tries_again(void **state)
{
    static const char groups[] = "[{name: core, events: '{cycles,instructions}'}]";
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                          .error = EBUSY,
                                          .on_event = true,
                                          .type = PERF_TYPE_HARDWARE,
                                          .config = PERF_COUNT_HW_INSTRUCTIONS});
    rig_init(&rig, fake, groups);
    fake_advance(fake, 100);
    read_all(&rig);
    configure(&rig, groups);
    assert_int_equal(registry_failures(rig.registry)->n, 1);
    fake_fail_no_more(fake);
    configure(&rig, groups);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(fake, 10);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, cycles_of_1), 110);
    assert_int_equal(value(snapshot, late_of_1), 10);
    assert_int_equal(snapshot->n_rows, 8);
    unsigned opens = fake->calls[FAKE_OPEN];
    configure(&rig, groups);
    assert_int_equal(fake->calls[FAKE_OPEN], opens);
    rig_done(&rig);
}

static const char instructions_of_1[] = "perf_cpu_instructions_total{cpu=\"1\",pmu=\"cpu\",group=\"core\"}";

/* Descriptors were short at the first opening: what is tried again by itself stays one group. */
static void test_retry(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;
    struct error error;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 3});
    rig_init(&rig, fake, "[{name: core, events: '{cycles,instructions}'}]");
    assert_int_equal(fake->n_open, 2);
    assert_int_equal(registry_failures(rig.registry)->n, 2);
    assert_string_equal(registry_failures(rig.registry)->items[0].reason, "EMFILE");
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    fake_advance(fake, 100);
    assert_int_equal(value(read_all(&rig), cycles_of_0), 100);
    assert_int_equal(registry_retry(rig.registry, &error), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    fake_fail_no_more(fake);
    assert_int_equal(registry_retry(rig.registry, &error), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(fake, 10);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, cycles_of_0), 110);
    assert_int_equal(value(snapshot, instructions_of_1), 10);
    assert_int_equal(fake->n_open, 8);
    unsigned opens = fake->calls[FAKE_OPEN];
    assert_int_equal(registry_retry(rig.registry, &error), 0);
    assert_int_equal(fake->calls[FAKE_OPEN], opens);
    rig_done(&rig);
}

/* What this machine does not have is not tried again. */
static void test_retry_is_of_no_use(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), "[{name: core, events: 'cycles,cs'}, {name: bad, events: nothere/x/}]");
    assert_true(registry_failures(rig.registry)->n > 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    rig_done(&rig);
}

/* Groups are found wherever they stand now: nothing is opened anew, on any CPU. */
static void test_reload_reordered(void **state)
{
    static const char cycles[] = "perf_cpu_cycles_total{cpu=\"3\",pmu=\"cpu\",group=\"a\"}";
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             "[{name: a, events: cycles}, {name: b, events: cs}, {name: c, events: instructions}]");
    fake_advance(rig.fake, 100);
    read_all(&rig);
    unsigned opens = rig.fake->calls[FAKE_OPEN];
    configure(&rig, "[{name: c, events: instructions}, {name: b, events: cs}, {name: a, events: cycles}]");
    configure(&rig, "[{name: b, events: cs}, {name: a, events: cycles}]");
    assert_int_equal(rig.fake->calls[FAKE_OPEN], opens);
    assert_int_equal(rig.fake->n_open, 8);
    fake_advance(rig.fake, 100);
    assert_int_equal(value(read_all(&rig), cycles), 200);
    rig_done(&rig);
}

/* What the daemon does when CPUs came or went; `left` as the kernel's messages say. */
static void rescan(struct rig *rig, const char *left_list)
{
    struct cpuset left = {0};
    struct machine *machine;
    struct error error;

    assert_int_equal(cpuset_parse(left_list, &left, NULL), 0);
    assert_int_equal(machine_load(&rig->fake->sys, &machine, &error), 0);
    assert_int_equal(registry_configure(rig->registry, machine, rig->config, &left, &error), 0);
    machine_free(rig->machine);
    rig->machine = machine;
    cpuset_done(&left);
}

static const char cycles_of_3[] = "perf_cpu_cycles_total{cpu=\"3\",pmu=\"cpu\",group=\"core\"}";
static const char enabled_of_3[] = "perf_cpu_group_enabled_seconds_total{cpu=\"3\",pmu=\"cpu\",group=\"core\"}";

static void test_cpu_leaves_and_returns(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: 'cycles,instructions'}]");
    fake_advance(rig.fake, 100);
    assert_int_equal(value(read_all(&rig), cycles_of_3), 100);
    fake_set_online(rig.fake, 3, false);
    rescan(&rig, "3");
    assert_int_equal(rig.fake->n_open, 6);
    fake_advance(rig.fake, 1000);
    const struct snapshot *snapshot = read_all(&rig);
    assert_false(is_visible(snapshot, cycles_of_3));
    assert_false(is_visible(snapshot, enabled_of_3));
    assert_true(snapshot->rows[3]->absent);
    assert_int_equal(value(snapshot, "perfcountd_groups{collector=\"cpu\",state=\"counting\"}"), 3);
    fake_set_online(rig.fake, 3, true);
    rescan(&rig, "");
    fake_advance(rig.fake, 10);
    snapshot = read_all(&rig);
    assert_int_equal(rig.fake->n_open, 8);
    assert_int_equal(value(snapshot, cycles_of_3), 110);
    assert_int_equal(value(snapshot, enabled_of_3), 110);
    assert_int_equal(snapshot->rows[3]->cpu, 3);
    rig_done(&rig);
}

static const struct {
    int in_error;
    enum reason_span out_lack;
    size_t out_failures; /* a CPU that is not there yet is no lack that an operator can mend */
} refusals[] = {
    {EMFILE, REASON_PASSES, 2}, {ENFILE, REASON_PASSES, 2}, {ENOMEM, REASON_PASSES, 2}, {EBUSY, REASON_PASSES, 2},
    {EINTR, REASON_BRIEF, 2},   {ENODEV, REASON_BRIEF, 0},  {EACCES, REASON_LASTS, 2},
};

/* A CPU came back, and the kernel did not let it be counted yet: no further message tells of it. */
static void test_cpu_returns_and_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        struct error error;
        struct rig rig;

        rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,instructions}'}]");
        fake_advance(rig.fake, 100);
        read_all(&rig);
        fake_set_online(rig.fake, 3, false);
        fake_set_online(rig.fake, 3, true);
        fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = refusals[i].in_error});
        rescan(&rig, "3");
        assert_int_equal(registry_retry_span(rig.registry), refusals[i].out_lack);
        assert_int_equal(registry_failures(rig.registry)->n, refusals[i].out_failures);
        fake_advance(rig.fake, 100);
        assert_false(is_visible(read_all(&rig), cycles_of_3));
        assert_int_equal(value(read_all(&rig), cycles_of_0), 200);
        fake_fail_no_more(rig.fake);
        assert_int_equal(registry_retry(rig.registry, &error), 0);
        fake_advance(rig.fake, 10);
        assert_int_equal(is_visible(read_all(&rig), cycles_of_3), refusals[i].out_lack != REASON_LASTS);
        if (refusals[i].out_lack != REASON_LASTS) {
            assert_int_equal(value(read_all(&rig), cycles_of_3), 110);
            assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
            assert_int_equal(registry_failures(rig.registry)->n, 0);
        }
        rig_done(&rig);
    }
}

/* A PMU that is read on the lowest CPU: what was counted there goes on when it is back. */
static void test_lowest_cpu_leaves_and_returns(void **state)
{
    static const char ticks_of_0[] = "perf_pmu_ticks_total{cpu=\"0\",pmu=\"lone\",group=\"p\"}";
    static const char ticks_of_1[] = "perf_pmu_ticks_total{cpu=\"1\",pmu=\"lone\",group=\"p\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    fake_add_pmu(fake, "lone", 99, NULL, "0-3");
    fake_pmu_file(fake, "lone", "format/event", "config:0-7");
    rig_init(&rig, fake, "[]}, pmu: {groups: [{name: p, events: 'lone/event=1,name=ticks/'}]");
    fake_advance(fake, 100);
    assert_int_equal(value(read_all(&rig), ticks_of_0), 100);
    fake_set_online(fake, 0, false);
    rescan(&rig, "0");
    fake_advance(fake, 10);
    assert_int_equal(value(read_all(&rig), ticks_of_1), 10);
    assert_false(is_visible(read_all(&rig), ticks_of_0));
    fake_set_online(fake, 0, true);
    rescan(&rig, "");
    fake_advance(fake, 10);
    assert_int_equal(value(read_all(&rig), ticks_of_0), 110);
    assert_false(is_visible(read_all(&rig), ticks_of_1));
    assert_int_equal(fake->n_open, 1);
    rig_done(&rig);
}

/* A module was loaded: its event was missing in a group that is counted otherwise. */
static void test_pmu_comes_later(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: mixed, events: 'cs,late/event=1,name=ticks/'}]");
    assert_int_equal(registry_failures(rig.registry)->n, 1);
    fake_add_pmu(rig.fake, "late", 99, "cpus", "0-3");
    fake_pmu_file(rig.fake, "late", "format/event", "config:0-7");
    rescan(&rig, "");
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), "perf_cpu_ticks_total{cpu=\"2\",pmu=\"late\",group=\"mixed-2\"}"), 10);
    rig_done(&rig);
}

/* Back before anybody looked: the messages still say that it was away, and what was open there is dead. */
static void test_cpu_blinks(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    fake_advance(rig.fake, 100);
    read_all(&rig);
    fake_set_online(rig.fake, 3, false);
    fake_set_online(rig.fake, 3, true);
    rescan(&rig, "3");
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), cycles_of_3), 110);
    rig_done(&rig);
}

/* Messages that were lost may have told of any CPU: what is open and was not away has counted up to now. */
static void test_messages_lost(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: 'cycles,instructions'}]");
    fake_advance(rig.fake, 100);
    read_all(&rig);
    fake_advance(rig.fake, 1000);
    rescan(&rig, "0-3");
    fake_advance(rig.fake, 10);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, cycles_of_3), 1110);
    assert_int_equal(value(snapshot, enabled_of_3), 1110);
    rig_done(&rig);
}

/* A suspend sends no message: what the read says is enough. */
static void test_suspend(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: 'cycles,instructions'}]");
    fake_advance(rig.fake, 100);
    read_all(&rig);
    assert_false(registry_is_stale(rig.registry));
    fake_set_online(rig.fake, 3, false);
    fake_set_online(rig.fake, 3, true);
    assert_false(is_visible(read_all(&rig), cycles_of_3));
    assert_true(registry_is_stale(rig.registry));
    rescan(&rig, "");
    fake_advance(rig.fake, 10);
    assert_int_equal(value(read_all(&rig), cycles_of_3), 110);
    assert_false(registry_is_stale(rig.registry));
    rig_done(&rig);
}

static void test_cpu_comes_later(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    (void)state;
    fake_set_online(fake, 3, false);
    rig_init(&rig, fake, "[{name: core, events: cycles}]");
    fake_advance(fake, 100);
    assert_null(find(read_all(&rig), cycles_of_3));
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    fake_set_online(fake, 3, true);
    rescan(&rig, "");
    fake_advance(fake, 10);
    assert_int_equal(value(read_all(&rig), cycles_of_3), 10);
    rig_done(&rig);
}

/* A thousand transitions: no descriptor leaks, no total falls. */
static void test_transitions(void **state)
{
    uint64_t before = 0;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: 'cycles,instructions'}]");
    for (unsigned i = 0; i < 1000; i++) {
        bool online = i % 2;
        fake_set_online(rig.fake, 3, online);
        rescan(&rig, online ? "" : "3");
        fake_advance(rig.fake, 10);
        const struct series *series = find(read_all(&rig), cycles_of_3);
        assert_int_equal(series->visible, online);
        assert_true(series->value >= before);
        before = series->value;
        assert_int_equal(rig.fake->n_open, online ? 8 : 6);
    }
    assert_int_equal(before, 5000);
    rig_done(&rig);
}

/* A pinned group that found no counter reads as nothing; it is enabled again after a second, then later and later. */
static void test_error_state(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), "[{name: soft, events: cs}]");
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_READ, .error = 0});
    unsigned before = rig.fake->calls[FAKE_IOCTL];
    for (unsigned second = 0; second < 16; second++) {
        const struct snapshot *snapshot = read_all(&rig);
        assert_int_equal(snapshot->rows[0]->state, ROW_STARVED);
        assert_non_null(strstr(snapshot->rows[0]->cause, "pinned"));
        fake_advance(rig.fake, NSEC_PER_SEC);
    }
    /* On two CPUs after 0, 1, 3, 7 and 15 seconds. */
    assert_int_equal(rig.fake->calls[FAKE_IOCTL], before + 10);
    fake_fail_no_more(rig.fake);
    assert_int_equal(read_all(&rig)->rows[0]->state, ROW_COUNTING);
    rig_done(&rig);
}

static void test_self(void **state)
{
    struct rig rig;
    struct error error;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[]");
    struct config *config;
    assert_int_equal(config_default(&config, &error), 0);
    assert_int_equal(registry_configure(rig.registry, rig.machine, config, NULL, &error), 0);
    config_free(rig.config);
    rig.config = config;
    const struct snapshot *snapshot = read_all(&rig);
    assert_in_range(value(snapshot, "process_open_fds"), 3, 1000);
    assert_in_range(value(snapshot, "process_resident_memory_bytes"), 100000, UINT64_C(1) << 50);
    assert_in_range(value(snapshot, "process_start_time_seconds"), UINT64_C(150000000000), UINT64_C(500000000000));
    assert_int_equal(value(snapshot, "perfcountd_config_last_reload_successful"), 0);
    rig_done(&rig);
}

static void configure_text(struct rig *rig, const char *text)
{
    struct config *config;
    struct error error;

    assert_int_equal(config_parse(text, strlen(text), &config, &error), 0);
    assert_int_equal(registry_configure(rig->registry, rig->machine, config, NULL, &error), 0);
    config_free(rig->config);
    rig->config = config;
}

static void test_self_cost(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[]");
    configure_text(&rig, "collectors: {cpu: {enabled: false}}");
    assert_int_equal(rig.fake->n_open, 2);
    fake_advance(rig.fake, 100 * NSEC_PER_SEC);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_self_cycles_total"), 100 * NSEC_PER_SEC);
    assert_int_equal(value(snapshot, "perfcountd_self_instructions_total"), 100 * NSEC_PER_SEC);
    assert_int_equal(value(snapshot, "perfcountd_self_user_reads"), 0);
    assert_int_equal(value(snapshot, "perfcountd_self_kernel_counted"), 1);
    assert_int_equal(registry_failures(rig.registry)->n, 0);
    /* Another configuration: the totals go on. */
    configure_text(&rig, "collectors: {cpu: {groups: []}}");
    fake_advance(rig.fake, 50 * NSEC_PER_SEC);
    snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_self_cycles_total"), 150 * NSEC_PER_SEC);
    /* Starved: left out, then made up for. */
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_advance(rig.fake, 50 * NSEC_PER_SEC);
    assert_false(is_visible(read_all(&rig), "perfcountd_self_cycles_total"));
    fake_find_pmu(rig.fake, "cpu")->counters = 4;
    fake_advance(rig.fake, 100 * NSEC_PER_SEC);
    assert_int_equal(value(read_all(&rig), "perfcountd_self_cycles_total"), 300 * NSEC_PER_SEC);
    configure_text(&rig, "collectors: {cpu: {groups: []}, self: {enabled: false}}");
    assert_null(find(read_all(&rig), "perfcountd_self_cycles_total"));
    assert_int_equal(rig.fake->n_open, 0);
    rig_done(&rig);
}

/* One that is refused does not take the other along, and is tried again. */
static void test_self_cost_in_part(void **state)
{
    static const char unavailable[] = "perfcountd_events_unavailable{collector=\"self\",group=\"self\",event="
                                      "\"instructions\",pmu=\"cpu\",reason=\"EBUSY\"}";
    struct error error;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[]");
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN,
                                              .error = EBUSY,
                                              .times = 1,
                                              .on_event = true,
                                              .type = PERF_TYPE_HARDWARE,
                                              .config = PERF_COUNT_HW_INSTRUCTIONS});
    configure_text(&rig, "collectors: {cpu: {enabled: false}}");
    fake_advance(rig.fake, 10 * NSEC_PER_SEC);
    const struct snapshot *snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_self_cycles_total"), 10 * NSEC_PER_SEC);
    assert_null(find(snapshot, "perfcountd_self_instructions_total"));
    assert_int_equal(value(snapshot, unavailable), 1);
    assert_int_equal(value(snapshot, "perfcountd_collector_success{collector=\"self\"}"), 1);
    assert_int_equal(registry_retry_span(rig.registry), REASON_PASSES);
    assert_int_equal(registry_retry(rig.registry, &error), 0);
    assert_int_equal(registry_retry_span(rig.registry), REASON_LASTS);
    fake_advance(rig.fake, 10 * NSEC_PER_SEC);
    snapshot = read_all(&rig);
    assert_int_equal(value(snapshot, "perfcountd_self_cycles_total"), 20 * NSEC_PER_SEC);
    assert_int_equal(value(snapshot, "perfcountd_self_instructions_total"), 10 * NSEC_PER_SEC);
    assert_null(find(snapshot, unavailable));
    rig_done(&rig);
}

/* Without a PMU it is reported, and the log has the one sentence that the collector cpu has already. */
static void test_self_cost_no_pmu(void **state)
{
    struct rig rig;
    char **sentences;
    size_t n;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(), "[]");
    configure_text(&rig, "collectors: {cpu: {groups: [{name: a, events: 'cycles,instructions,branches,cs'}]}}");
    const struct snapshot *snapshot = read_all(&rig);
    assert_null(find(snapshot, "perfcountd_self_cycles_total"));
    assert_null(find(snapshot, "perfcountd_self_user_reads"));
    assert_int_equal(value(snapshot, "perfcountd_events_unavailable{collector=\"self\",group=\"self\",event=\"cycles\","
                                     "pmu=\"cpu\",reason=\"ENOENT\"}"),
                     1);
    assert_int_equal(failures_sentences(registry_failures(rig.registry), &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(
        str_starts(sentences[0], "cpu 0-1 cycles, instructions, branches: this machine offers no hardware PMU"));
    strings_free(sentences, n);
    configure_text(&rig, "collectors: {cpu: {enabled: false}}");
    assert_int_equal(failures_sentences(registry_failures(rig.registry), &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(
        str_starts(sentences[0], "own task cycles, instructions: this machine offers no hardware PMU (ENOENT): "));
    strings_free(sentences, n);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_one_read_a_group),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_two_kinds_of_cpu),
        cmocka_unit_test(test_no_pmu),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_never_ran),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_loses_nothing),
        cmocka_unit_test(test_pause_holds_what_is_opened),
        cmocka_unit_test(test_pause_tries_nothing),
        cmocka_unit_test(test_pause_fails),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_reordered),
        cmocka_unit_test(test_reload_tries_again),
        cmocka_unit_test(test_reload_makes_room),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_retry_is_of_no_use),
        cmocka_unit_test(test_cpu_returns_and_is_refused),
        cmocka_unit_test(test_reload_help),
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_self_cost),
        cmocka_unit_test(test_self_cost_in_part),
        cmocka_unit_test(test_self_cost_no_pmu),
        cmocka_unit_test(test_cpu_leaves_and_returns),
        cmocka_unit_test(test_lowest_cpu_leaves_and_returns),
        cmocka_unit_test(test_pmu_comes_later),
        cmocka_unit_test(test_cpu_blinks),
        cmocka_unit_test(test_messages_lost),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_cpu_comes_later),
        cmocka_unit_test(test_transitions),
        cmocka_unit_test(test_error_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
