/* SPDX-License-Identifier: Apache-2.0 */
/* One cgroup, counted: on machines that tests play, and on the real kernel. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/cgroup/counts.h"
#include "perf/machine.h"
#include "tests/unit/count-allocations.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"

/* The descriptor of the cgroup that most tests have, and that of another. */
#define CGROUP 7
#define OTHER 8

/* A machine whose cgroups are counted by a configuration. */
struct rig {
    struct fake_sys *fake; /* NULL: the real one */
    struct sys real, *sys;
    struct machine *machine;
    struct config *config;
    struct snapshot snapshot;
    struct cpuset left;
    bool stale;
    struct collector_context context;
};

static void swap_groups(struct config *config)
{
    struct config_groups groups = config->cgroup.groups;

    config->cgroup.groups = config->cpu.groups;
    config->cpu.groups = groups;
}

/* The groups are written as the collector cpu's, which takes the same. */
static struct config *parse(const char *groups)
{
    struct error error = {0};
    struct config *config;
    char text[1024];

    int n = snprintf(text, sizeof(text), "collectors: {cpu: {groups: %s}}", groups);
    if (config_parse(text, (size_t)n, &config, &error) < 0)
        fail_msg("%s", error.message);
    swap_groups(config);
    return config;
}

static void forget(struct config *config)
{
    if (config)
        swap_groups(config);
    config_free(config);
}

static void configure(struct rig *rig, const char *groups, bool per_cpu)
{
    forget(rig->config);
    rig->config = parse(groups);
    rig->config->cgroup.per_cpu = per_cpu;
    rig->context.config = rig->config;
}

static void load_machine(struct rig *rig)
{
    struct error error;

    rig->machine = machine_free(rig->machine);
    assert_int_equal(machine_load(rig->sys, &rig->machine, &error), 0);
    rig->context.machine = rig->machine;
}

static void rig_init(struct rig *rig, struct fake_sys *fake, const char *groups)
{
    static const char *const names[] = {"cgroup", NULL};

    *rig = (struct rig){.fake = fake};
    sys_init(&rig->real);
    rig->sys = fake ? &fake->sys : &rig->real;
    rig->snapshot.collector_names = names;
    rig->context = (struct collector_context){
        .sys = rig->sys, .snapshot = &rig->snapshot, .left = &rig->left, .stale = &rig->stale};
    load_machine(rig);
    configure(rig, groups, false);
}

static void rig_done(struct rig *rig)
{
    assert_int_equal(rig->snapshot.n_rows, 0);
    assert_int_equal(rig->snapshot.metrics.n, 0);
    assert_true(!rig->fake || rig->fake->n_open == 0);
    snapshot_done(&rig->snapshot);
    cpuset_done(&rig->left);
    forget(rig->config);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

static struct cgroup_counts *open_cgroup(struct rig *rig, const char *path, int fd)
{
    struct cgroup_counts *count = NULL;

    assert_int_equal(cgroup_counts_open(&rig->context, path, path, fd, &count), 0);
    return count;
}

/* CPUs came or went. */
static int rescan(struct rig *rig, struct cgroup_counts *count, const char *left, int fd)
{
    cpuset_done(&rig->left);
    assert_int_equal(cpuset_parse(left, &rig->left, NULL), 0);
    load_machine(rig);
    int r = cgroup_counts_resume(count, &rig->context, fd);
    cpuset_done(&rig->left);
    return r;
}

static const struct series *find(const struct rig *rig, const char *text)
{
    const struct series *found = NULL;

    for (size_t i = 0; i < rig->snapshot.metrics.n; i++)
        for (size_t k = 0; k < rig->snapshot.metrics.families[i]->n; k++) {
            const struct series *series = rig->snapshot.metrics.families[i]->series[k];
            if (!series_is(rig->snapshot.metrics.families[i], series, text))
                continue;
            assert_null(found); /* no two series are the same */
            found = series;
        }
    return found;
}

/* Of the cgroup "/a": METRIC of PMU and GROUP. UINT64_MAX where it is not shown. */
static uint64_t value(const struct rig *rig, const char *metric, const char *pmu, const char *group)
{
    char text[256];

    snprintf(text, sizeof(text), "perf_cgroup_%s_total{cgroup=\"/a\",pmu=\"%s\",group=\"%s\"}", metric, pmu, group);
    const struct series *series = find(rig, text);
    return series && series->visible ? series->value : UINT64_MAX;
}

static uint64_t value_of_cpu(const struct rig *rig, const char *metric, int cpu, const char *pmu, const char *group)
{
    char text[256];

    snprintf(text, sizeof(text), "perf_cgroup_%s_total{cgroup=\"/a\",cpu=\"%d\",pmu=\"%s\",group=\"%s\"}", metric, cpu,
             pmu, group);
    const struct series *series = find(rig, text);
    return series && series->visible ? series->value : UINT64_MAX;
}

static const struct row *find_row(const struct rig *rig, const char *pmu, const char *group)
{
    for (size_t i = 0; i < rig->snapshot.n_rows; i++)
        if (str_equal(rig->snapshot.rows[i]->pmu, pmu) && str_equal(rig->snapshot.rows[i]->group, group))
            return rig->snapshot.rows[i];
    fail_msg("no row of %s %s", pmu, group);
    return NULL;
}

/* Values are summed over CPUs; the times are those of tasks; no task, no time, and 0 is a value. */
static void test_sums(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(),
             "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]");
    assert_int_equal(cgroup_counts_needs(&rig.context), 16);
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    assert_int_equal(cgroup_counts_descriptors(count), 16);
    assert_int_equal(rig.fake->n_open, 16);
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_advance(rig.fake, 500);
    unsigned before = rig.fake->calls[FAKE_READ];
    size_t allocations_before = allocations;
    assert_true(allocations_before > 0);
    assert_int_equal(cgroup_counts_read(count, rig.sys), 8);
    assert_int_equal(allocations, allocations_before);
    assert_int_equal(rig.fake->calls[FAKE_READ], before + 8);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 0);
    fake_rate(rig.fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3, 2});
    fake_cgroup_run(rig.fake, CGROUP, 0, 1000);
    fake_cgroup_run(rig.fake, CGROUP, 3, 200);
    fake_cgroup_run(rig.fake, OTHER, 3, 5000);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 1800);
    assert_int_equal(value(&rig, "instructions", "cpu", "core"), 1200);
    assert_int_equal(value(&rig, "task_clock_seconds", "software", "software"), 1200);
    assert_int_equal(value(&rig, "context_switches", "software", "software"), 1200);
    assert_int_equal(value(&rig, "group_enabled_seconds", "cpu", "core"), 1200);
    assert_int_equal(value(&rig, "group_running_seconds", "software", "software"), 1200);
    const struct row *row = find_row(&rig, "cpu", "core");
    assert_int_equal(row->cpu, -1);
    assert_string_equal(row->cgroup, "/a");
    assert_int_equal(row->counters[0].raw, 1800);
    assert_int_equal(row->state, ROW_COUNTING);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

static void test_per_cpu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,cs}'}]");
    configure(&rig, "[{name: core, events: '{cycles,cs}'}]", true);
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    assert_int_equal(rig.snapshot.n_rows, 4);
    fake_cgroup_run(rig.fake, CGROUP, 2, 30);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value_of_cpu(&rig, "cycles", 2, "cpu", "core"), 30);
    assert_int_equal(value_of_cpu(&rig, "context_switches", 2, "software", "core"), 30);
    assert_int_equal(value_of_cpu(&rig, "group_enabled_seconds", 2, "cpu", "core"), 30);
    assert_int_equal(value_of_cpu(&rig, "cycles", 1, "cpu", "core"), 0);
    fake_set_online(rig.fake, 2, false);
    assert_int_equal(rescan(&rig, count, "2", CGROUP), 0);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value_of_cpu(&rig, "cycles", 2, "cpu", "core"), UINT64_MAX);
    fake_set_online(rig.fake, 2, true);
    assert_int_equal(rescan(&rig, count, "", CGROUP), 0);
    fake_cgroup_run(rig.fake, CGROUP, 2, 4);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value_of_cpu(&rig, "cycles", 2, "cpu", "core"), 34);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* A row for each PMU; a group of one kind's event and a software one is told apart by the kind of CPU. */
static void test_two_kinds_of_cpu(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_big_little(),
             "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'},"
             " {name: mixed, events: '{cycles,task-clock}'},"
             " {name: big, events: '{armv8_cortex_a76/l2d_cache_refill/,cs}'}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    assert_int_equal(rig.snapshot.n_rows, 7);
    assert_int_equal(cgroup_counts_needs(&rig.context), 8 * 2 * 3 + 8 + 4);
    assert_int_equal(cgroup_counts_descriptors(count), cgroup_counts_needs(&rig.context));
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    fake_cgroup_run(rig.fake, CGROUP, 3, 5);
    fake_cgroup_run(rig.fake, CGROUP, 7, 100);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "armv8_cortex_a55", "core"), 15);
    assert_int_equal(value(&rig, "cycles", "armv8_cortex_a76", "core"), 100);
    assert_int_equal(value(&rig, "context_switches", "software", "software"), 115);
    assert_int_equal(value(&rig, "task_clock_seconds", "armv8_cortex_a55", "mixed"), 15);
    assert_int_equal(value(&rig, "task_clock_seconds", "armv8_cortex_a76", "mixed"), 100);
    assert_int_equal(value(&rig, "l2d_cache_refill", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(value(&rig, "context_switches", "armv8_cortex_a76", "big"), 100);
    assert_int_equal(value(&rig, "context_switches", "armv8_cortex_a55", "big"), 15);
    assert_string_equal(find_row(&rig, "armv8_cortex_a55", "mixed")->counters[1].pmu, "armv8_cortex_a55");
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

static void report(const struct rig *rig, struct cgroup_counts *const *counts, size_t n, struct failures *failures)
{
    *failures = (struct failures){0};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cgroup_counts_report(counts[i], &rig->context, failures), 0);
}

/* Said once per event, of as many cgroups. */
static void test_no_pmu(void **state)
{
    struct cgroup_counts *counts[2];
    struct failures failures;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_no_pmu(),
             "[{name: core, events: '{cycles,instructions}'}, {name: mixed, events: '{cycles,cs}'}]");
    assert_int_equal(cgroup_counts_needs(&rig.context), 2);
    counts[0] = open_cgroup(&rig, "/a", CGROUP);
    counts[1] = open_cgroup(&rig, "/b", OTHER);
    report(&rig, counts, 2, &failures);
    assert_int_equal(failures.n, 3);
    char **sentences;
    size_t n;
    assert_int_equal(failures_sentences(&failures, &sentences, &n), 0);
    assert_int_equal(n, 1);
    assert_true(str_starts(sentences[0], "cpu 0-1 cycles, instructions of cgroups: this machine offers no hardware "
                                         "PMU (ENOENT)"));
    strings_free(sentences, n);
    for (size_t i = 0; i < failures.n; i++)
        assert_int_equal(failures.items[i].n_targets, 2);
    failures_done(&failures);
    size_t states[N_ROW_STATES] = {0};
    cgroup_counts_add_states(counts[0], states);
    assert_int_equal(states[ROW_UNAVAILABLE], 1);
    assert_int_equal(states[ROW_COUNTING], 1);
    fake_cgroup_run(rig.fake, CGROUP, 1, 3);
    cgroup_counts_read(counts[0], rig.sys);
    assert_int_equal(value(&rig, "context_switches", "software", "mixed"), 3);
    const struct row *row = find_row(&rig, "cpu", "core");
    assert_int_equal(row->state, ROW_UNAVAILABLE);
    assert_int_equal(row->cpu, -1);
    size_t rows = rig.snapshot.n_rows;
    assert_int_equal(rows, 2 * (1 + 3));
    uint64_t id = row->id;
    assert_int_equal(rescan(&rig, counts[0], "", CGROUP), 0);
    assert_int_equal(rig.snapshot.n_rows, rows);
    assert_int_equal(find_row(&rig, "cpu", "core")->id, id);
    cgroup_counts_free(counts[0], &rig.snapshot);
    cgroup_counts_free(counts[1], &rig.snapshot);
    rig_done(&rig);
}

/* Two counters: parts that are the same on each CPU, and deltas scaled by each CPU's own ratio. */
static void test_split_and_multiplexed(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(), "[{name: cache, events: 'cycles,instructions,branches'}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    assert_int_equal(rig.snapshot.n_rows, 2);
    fake_cgroup_run(rig.fake, CGROUP, 0, 300);
    fake_cgroup_run(rig.fake, CGROUP, 1, 3000);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "cache"), 3300);
    assert_int_equal(value(&rig, "branches", "cpu", "cache-2"), 3300);
    assert_int_equal(value(&rig, "group_running_seconds", "cpu", "cache-2"), 2200);
    assert_int_equal(find_row(&rig, "cpu", "cache")->state, ROW_MULTIPLEXED);
    assert_int_equal(find_row(&rig, "cpu", "cache")->counters[0].raw, 2200);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* What is behind the point adds up as well: two CPUs, each with a half. */
static void test_remainders(void **state)
{
    struct rig rig;

    (void)state;
    struct fake_sys *fake = fake_machine_two_counters();
    fake_rate(fake, (struct fake_rate){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, 2});
    rig_init(&rig, fake, "[{name: a, events: 'cycles,branches'}, {name: b, events: instructions}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    /* Of three counters wanted there are two: 3 ns enabled, 2 running, 1 counted: 1.5 on each CPU. */
    fake_cgroup_run(rig.fake, CGROUP, 0, 3);
    fake_cgroup_run(rig.fake, CGROUP, 1, 3);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "a"), 3);
    assert_int_equal(find_row(&rig, "cpu", "a")->counters[0].raw, 2);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* What became of the sum when CPUs 0 to 3 ran with so many counters each before a reading. */
static void test_states(void **state)
{
    enum { IDLE, RAN, STARVED };
    static const struct {
        int in[2]; /* of two CPUs */
        enum row_state out;
        uint64_t out_value; /* UINT64_MAX: left out */
    } steps[] = {
        {{IDLE, IDLE}, ROW_COUNTING, 0},
        {{STARVED, IDLE}, ROW_STARVED, UINT64_MAX}, /* the one that was enabled did not run */
        {{RAN, IDLE}, ROW_MULTIPLEXED, 20},         /* half of the time since the baseline */
        {{RAN, RAN}, ROW_COUNTING, 40},
        {{IDLE, IDLE}, ROW_COUNTING, 40},
        {{RAN, STARVED}, ROW_MULTIPLEXED, 50},
        {{STARVED, IDLE}, ROW_STARVED, UINT64_MAX},
        {{IDLE, RAN}, ROW_MULTIPLEXED, 70}, /* 0 is still in the dark, 1 has caught up */
        {{RAN, RAN}, ROW_MULTIPLEXED, 100},
        {{RAN, RAN}, ROW_COUNTING, 120},
    };
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(), "[{name: core, events: cycles}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            fake_find_pmu(rig.fake, "cpu")->counters = steps[i].in[cpu] == STARVED ? 0 : 2;
            if (steps[i].in[cpu] != IDLE)
                fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
        }
        assert_int_equal(cgroup_counts_read(count, rig.sys), 2);
        assert_int_equal(find_row(&rig, "cpu", "core")->state, steps[i].out);
        assert_int_equal(value(&rig, "cycles", "cpu", "core"), steps[i].out_value);
        assert_true(value(&rig, "group_enabled_seconds", "cpu", "core") < UINT64_MAX);
    }
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* Before anything ran, nothing is known; then it is. */
static void test_never_ran(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(), "[{name: core, events: cycles}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    fake_find_pmu(rig.fake, "cpu")->counters = 0;
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    fake_cgroup_run(rig.fake, CGROUP, 1, 10);
    cgroup_counts_read(count, rig.sys);
    assert_false(find_row(&rig, "cpu", "core")->counters[0].known);
    assert_non_null(find_row(&rig, "cpu", "core")->cause);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* One CPU lacks an event: the row sums what there is, and the CPU is reported. */
static void test_event_missing_on_one_cpu(void **state)
{
    for (int lacking = 0; lacking < 4; lacking += 3) {
        struct cgroup_counts *count;
        struct failures failures;
        struct rig rig;

        (void)state;
        rig_init(&rig, fake_machine_one_pmu(), "[{name: mixed, events: '{cycles,cs,instructions}'}]");
        fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN,
                                                  .error = ENOENT,
                                                  .on_event = true,
                                                  .type = PERF_TYPE_HARDWARE,
                                                  .config = PERF_COUNT_HW_CPU_CYCLES,
                                                  .on_cpu = true,
                                                  .cpu = lacking});
        count = open_cgroup(&rig, "/a", CGROUP);
        assert_int_equal(rig.snapshot.n_rows, 1);
        for (unsigned cpu = 0; cpu < 4; cpu++)
            fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
        cgroup_counts_read(count, rig.sys);
        assert_int_equal(value(&rig, "cycles", "cpu", "mixed"), 30);
        assert_int_equal(value(&rig, "context_switches", "software", "mixed"), 40);
        assert_int_equal(value(&rig, "instructions", "cpu", "mixed"), 40);
        report(&rig, &count, 1, &failures);
        assert_int_equal(failures.n, 1);
        assert_int_equal(failures.items[0].n_targets, 1);
        assert_int_equal(cpuset_next(&failures.items[0].cpus, -1), lacking);
        failures_done(&failures);
        cgroup_counts_free(count, &rig.snapshot);
        rig_done(&rig);
    }
}

/* A CPU comes that has an event which the others lack: what its kind counts was created when it was. */
static void test_created_once(void **state)
{
    static const char instructions[] = "perf_cgroup_instructions_total{cgroup=\"/a\",pmu=\"cpu\",group=\"core\"}";
    struct fake_sys *fake = fake_machine_one_pmu();
    char before[32] = "", after[32] = "";
    struct rig rig;

    (void)state;
    for (int cpu = 0; cpu < 3; cpu++)
        fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN,
                                              .error = ENOENT,
                                              .on_event = true,
                                              .type = PERF_TYPE_HARDWARE,
                                              .config = PERF_COUNT_HW_CPU_CYCLES,
                                              .on_cpu = true,
                                              .cpu = cpu});
    fake_set_online(fake, 3, false);
    rig_init(&rig, fake, "[{name: core, events: '{cycles,instructions}'}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    const struct series *series = find(&rig, instructions);
    memcpy(before, series->text + series->size, MIN(series->created_size, sizeof(before) - 1));
    fake_advance(fake, 5 * NSEC_PER_SEC);
    fake_set_online(fake, 3, true);
    assert_int_equal(rescan(&rig, count, "", CGROUP), 0);
    series = find(&rig, instructions);
    memcpy(after, series->text + series->size, MIN(series->created_size, sizeof(after) - 1));
    assert_true(before[0] != '\0');
    assert_string_equal(after, before);
    assert_int_equal(find_row(&rig, "cpu", "core")->n_counters, 2);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* A CPU without any of the hardware events beside others that have them: no series twice. */
static void test_no_hardware_on_one_cpu(void **state)
{
    (void)state;
    for (int lacking = 0; lacking < 4; lacking += 3) {
        struct rig rig;

        rig_init(&rig, fake_machine_one_pmu(), "[{name: mixed, events: '{cycles,cs}'}]");
        fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN,
                                                  .error = ENOENT,
                                                  .on_event = true,
                                                  .type = PERF_TYPE_HARDWARE,
                                                  .on_cpu = true,
                                                  .cpu = lacking});
        struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
        for (unsigned cpu = 0; cpu < 4; cpu++)
            fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
        cgroup_counts_read(count, rig.sys);
        assert_int_equal(value(&rig, "cycles", "cpu", "mixed"), 30);
        /* With the others where they are known already, else apart from them: all of it either way. */
        uint64_t own = value(&rig, "context_switches", "software", "mixed");
        uint64_t others = value(&rig, "context_switches", "cpu", "mixed");
        assert_int_equal(own + (others == UINT64_MAX ? 0 : others), 40);
        cgroup_counts_free(count, &rig.snapshot);
        rig_done(&rig);
    }
}

/* A sum never falls when a CPU leaves, and its part stays in it. */
static void test_cpu_leaves_and_returns(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,instructions}'}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    for (unsigned cpu = 0; cpu < 4; cpu++)
        fake_cgroup_run(rig.fake, CGROUP, cpu, 100);
    cgroup_counts_read(count, rig.sys);
    uint64_t id = find_row(&rig, "cpu", "core")->id;
    fake_set_online(rig.fake, 3, false);
    cgroup_counts_read(count, rig.sys);
    assert_true(group_collector_is_stale(&count->groups));
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 400);
    assert_int_equal(rescan(&rig, count, "3", CGROUP), 0);
    assert_int_equal(cgroup_counts_descriptors(count), 6);
    assert_int_equal(rig.fake->n_open, 6);
    fake_cgroup_run(rig.fake, CGROUP, 0, 1);
    cgroup_counts_read(count, rig.sys);
    assert_false(group_collector_is_stale(&count->groups));
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 401);
    assert_int_equal(value(&rig, "group_enabled_seconds", "cpu", "core"), 401);
    assert_int_equal(find_row(&rig, "cpu", "core")->state, ROW_COUNTING);
    fake_set_online(rig.fake, 3, true);
    assert_int_equal(rescan(&rig, count, "", CGROUP), 0);
    assert_int_equal(rig.fake->n_open, 8);
    fake_cgroup_run(rig.fake, CGROUP, 3, 20);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 421);
    assert_int_equal(find_row(&rig, "cpu", "core")->id, id);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* Offline at first: its parts join when it comes. A whole cluster too. */
static void test_cpus_come_later(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    (void)state;
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, false);
    rig_init(&rig, fake, "[{name: core, events: '{cycles,cs}'}, {name: big, events: armv8_cortex_a76/stall_backend/}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    struct failures failures;
    report(&rig, &count, 1, &failures);
    assert_int_equal(failures.n, 1);
    assert_null(strstr(failures.items[0].message, "collectors.cpu"));
    failures_done(&failures);
    for (unsigned cpu = 3; cpu < 8; cpu++)
        fake_set_online(fake, cpu, true);
    assert_int_equal(rescan(&rig, count, "", CGROUP), 0);
    report(&rig, &count, 1, &failures);
    assert_int_equal(failures.n, 0);
    assert_int_equal(rig.snapshot.n_rows, 3);
    for (unsigned cpu = 0; cpu < 8; cpu++)
        fake_cgroup_run(rig.fake, CGROUP, cpu, 10);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "armv8_cortex_a55", "core"), 40);
    assert_int_equal(value(&rig, "context_switches", "armv8_cortex_a76", "core"), 40);
    assert_int_equal(value(&rig, "stall_backend", "armv8_cortex_a76", "big"), 40);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* Read a last time, closed at once; the rows stay; back under the same name the totals go on. */
static void test_ends_and_resumes(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: '{cycles,instructions}'}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    cgroup_counts_end(count, rig.sys);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(cgroup_counts_descriptors(count), 0);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 100);
    assert_int_equal(find_row(&rig, "cpu", "core")->state, ROW_COUNTING);
    assert_int_equal(cgroup_counts_read(count, rig.sys), 0);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 100);
    assert_false(group_collector_is_stale(&count->groups));
    size_t states[N_ROW_STATES] = {0};
    cgroup_counts_add_states(count, states);
    assert_int_equal(states[ROW_COUNTING], 0);
    /* Not there yet: it stays as it is. */
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), -ENODEV);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 100);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, OTHER), 0);
    fake_cgroup_run(rig.fake, OTHER, 0, 11);
    fake_cgroup_run(rig.fake, OTHER, 1, 11);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 122);
    assert_int_equal(value(&rig, "group_enabled_seconds", "cpu", "core"), 122);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* Also where hardware events are missing anyway: that alone is no removal. */
static void test_removed_while_opening(void **state)
{
    struct fake_sys *(*const machines[])(void) = {fake_machine_one_pmu, fake_machine_no_pmu};

    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct cgroup_counts *count = NULL;
        struct rig rig;

        rig_init(&rig, machines[i](), "[{name: core, events: cycles}, {name: software, events: cs}]");
        fake_cgroup_remove(rig.fake, CGROUP);
        assert_int_equal(cgroup_counts_open(&rig.context, "/a", "/a", CGROUP, &count), -ENODEV);
        assert_null(count);
        rig_done(&rig);
    }
}

/* A reload that comes before the news of the removal: it is read one last time. */
static void test_removed_before_reload(void **state)
{
    struct cgroup_counts *count;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}]");
    count = open_cgroup(&rig, "/a", CGROUP);
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    fake_cgroup_remove(rig.fake, CGROUP);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), -ENODEV);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 100);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* Out of descriptors in the middle: what was opened whole is served, and the rest when there is room. */
static void test_out_of_descriptors(void **state)
{
    struct rig rig;

    (void)state;
    for (unsigned after = 0; after < 16; after++) {
        struct cgroup_counts *count;
        struct failures failures;

        rig_init(&rig, fake_machine_one_pmu(),
                 "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}]");
        fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = after});
        count = open_cgroup(&rig, "/a", CGROUP);
        assert_int_equal(rig.fake->n_open, after & ~1U);
        assert_int_equal(cgroup_counts_descriptors(count), after & ~1U);
        report(&rig, &count, 1, &failures);
        assert_int_equal(failures.n, after < 8 ? 4 : 2);
        assert_string_equal(failures.items[0].reason, "EMFILE");
        assert_int_equal(failures.items[0].n_targets, 1);
        failures_done(&failures);
        fake_fail_no_more(rig.fake);
        assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), 0);
        assert_int_equal(rig.fake->n_open, 16);
        report(&rig, &count, 1, &failures);
        assert_int_equal(failures.n, 0);
        assert_int_equal(rig.snapshot.n_rows, 2);
        fake_cgroup_run(rig.fake, CGROUP, 3, 5);
        cgroup_counts_read(count, rig.sys);
        assert_int_equal(value(&rig, "instructions", "cpu", "core"), 5);
        cgroup_counts_free(count, &rig.snapshot);
        rig_done(&rig);
    }
}

/* Opening anew fails on a CPU: it is reported, and counts again later. */
static void test_resume_fails(void **state)
{
    struct cgroup_counts *count;
    struct failures failures;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(), "[{name: core, events: cycles}]");
    count = open_cgroup(&rig, "/a", CGROUP);
    fake_cgroup_run(rig.fake, CGROUP, 0, 100);
    cgroup_counts_end(count, rig.sys);
    fake_fail(rig.fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 1, .times = 1});
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), 0);
    assert_int_equal(rig.fake->n_open, 1);
    report(&rig, &count, 1, &failures);
    assert_int_equal(failures.n, 1);
    failures_done(&failures);
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(find_row(&rig, "cpu", "core")->state, ROW_MULTIPLEXED);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 110);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), 0);
    report(&rig, &count, 1, &failures);
    assert_int_equal(failures.n, 0);
    fake_cgroup_run(rig.fake, CGROUP, 1, 10);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 120);
    assert_int_equal(find_row(&rig, "cpu", "core")->state, ROW_COUNTING);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* A group that did not change is not touched; series of CPUs instead of sums are others. */
static void test_reload(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_one_pmu(), "[{name: core, events: cycles}, {name: software, events: cs}]");
    struct cgroup_counts *count = open_cgroup(&rig, "/a", CGROUP);
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    cgroup_counts_read(count, rig.sys);
    uint64_t id = find_row(&rig, "cpu", "core")->id;
    configure(&rig, "[{name: software, events: '{cs,faults}'}, {name: core, events: cycles}]", false);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), 0);
    assert_int_equal(find_row(&rig, "cpu", "core")->id, id);
    fake_cgroup_run(rig.fake, CGROUP, 0, 10);
    cgroup_counts_read(count, rig.sys);
    assert_int_equal(value(&rig, "cycles", "cpu", "core"), 20);
    assert_int_equal(value(&rig, "page_faults", "software", "software"), 10);
    configure(&rig, "[{name: core, events: cycles}]", true);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, CGROUP), 0);
    assert_int_equal(rig.snapshot.n_rows, 4);
    assert_int_equal(rig.fake->n_open, 4);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

static void test_strict(void **state)
{
    struct cgroup_counts *count;
    struct failures failures;
    struct rig rig;

    (void)state;
    rig_init(&rig, fake_machine_two_counters(),
             "[{name: all, strict: true, events: '{cycles,instructions,branches}'}]");
    count = open_cgroup(&rig, "/a", CGROUP);
    assert_int_equal(rig.fake->n_open, 0);
    assert_int_equal(cgroup_counts_read(count, rig.sys), 0);
    report(&rig, &count, 1, &failures);
    assert_int_equal(failures.n, 3);
    assert_non_null(strstr(failures.items[0].message, "because of branches"));
    failures_done(&failures);
    cgroup_counts_free(count, &rig.snapshot);
    rig_done(&rig);
}

/* The real kernel */

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
    struct cgroup_counts *count = open_cgroup(rig, "/a", fd);
    close(fd);
    run_child(cgroup, times);
    cgroup_counts_read(count, rig->sys);
    uint64_t faults = value(rig, "minor_faults", "software", "software");
    cgroup_counts_free(count, &rig->snapshot);
    return faults;
}

/*
 * The faults of a child are those of its pages and those of its code and stack; a second one without the pages has the
 * latter alone.
 */
static void test_real_cgroup(void **state)
{
    struct cgroup_counts *count = NULL;
    char cgroup[64];
    struct rig rig;

    (void)state;
    name_cgroup(cgroup, sizeof(cgroup));
    if (geteuid() != 0 || mkdir(cgroup, 0755) < 0) {
        print_message("skipped: no cgroup can be made in " ROOT " (%s)\n", geteuid() ? "not root" : strerror(errno));
        skip();
    }
    rig_init(&rig, NULL, "[{name: software, events: '{task-clock,minor-faults}'}, {name: core, events: cycles}]");
    uint64_t with = count_faults(&rig, cgroup, 2), without = count_faults(&rig, cgroup, 1);
    assert_int_equal(with - without, PAGES);
    assert_in_range(without, PAGES, PAGES + 400);

    int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    count = open_cgroup(&rig, "/a", fd);
    run_child(cgroup, 1);
    assert_int_equal(rmdir(cgroup), 0);
    cgroup_counts_end(count, rig.sys);
    assert_int_equal(value(&rig, "minor_faults", "software", "software"), without);
    assert_in_range(value(&rig, "task_clock_seconds", "software", "software"), 1000, NSEC_PER_SEC);
    assert_int_equal(cgroup_counts_resume(count, &rig.context, fd), -ENODEV);
    count = cgroup_counts_free(count, &rig.snapshot);
    assert_int_equal(cgroup_counts_open(&rig.context, "/a", "/a", fd, &count), -ENODEV);
    close(fd);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_per_cpu),
        cmocka_unit_test(test_two_kinds_of_cpu),
        cmocka_unit_test(test_no_pmu),
        cmocka_unit_test(test_split_and_multiplexed),
        cmocka_unit_test(test_remainders),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_never_ran),
        cmocka_unit_test(test_event_missing_on_one_cpu),
        cmocka_unit_test(test_created_once),
        cmocka_unit_test(test_no_hardware_on_one_cpu),
        cmocka_unit_test(test_cpu_leaves_and_returns),
        cmocka_unit_test(test_cpus_come_later),
        cmocka_unit_test(test_ends_and_resumes),
        cmocka_unit_test(test_removed_while_opening),
        cmocka_unit_test(test_removed_before_reload),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_resume_fails),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_strict),
        cmocka_unit_test_teardown(test_real_cgroup, remove_cgroup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
