/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of cgroups counted by a BPF program, and how slot growth is turned into their values. */
#include <stdio.h>

#include "collectors/cgroup/bpf-counts.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/find-series.h"
#include "tests/unit/sharing-rig.h"
#include "tests/unit/test.h"

/* The rig and the rows of the current test. */
static struct sharing_rig rig;
static struct bpf_rows *plan;

#define OF_BPF(groups) "collectors: {cpu: {enabled: false}, cgroup: {groups: " groups "}}"

static void resume_plan(void)
{
    assert_int_equal(bpf_rows_resume(&plan, &rig.rig.env, &rig.groups), 0);
}

static void begin(struct fake_sys *fake, const char *config)
{
    plan = NULL;
    sharing_rig_init(&rig, fake, config);
    resume_plan();
}

static void end(void)
{
    bpf_rows_free(plan);
    sharing_rig_done(&rig);
}

static struct bpf_counts *open_counts(const char *label)
{
    struct bpf_counts *counts = NULL;

    assert_int_equal(bpf_counts_new(plan, &rig.rig.env, label, NULL, &counts), 0);
    return counts;
}

static void resume_counts(struct bpf_counts *counts, const char *label)
{
    assert_int_equal(bpf_counts_resume(counts, plan, &rig.rig.env, label, NULL), 0);
}

static void close_counts(struct bpf_counts *counts)
{
    bpf_counts_free(counts, &rig.rig.snapshot);
}

/*
 * Lets the slot of chain[0] grow on a CPU, and attributes the growth to all cgroups of `chain`. The only group, "core",
 * grows by the times `enabled` and `running`, and each of its events by `value`.
 */
static void attribute(struct bpf_counts *const *chain, size_t n, unsigned cpu, uint64_t enabled, uint64_t running,
                      uint64_t value)
{
    const struct bpf_part *part = &plan->parts[bpf_rows_on_cpu(plan, cpu)];
    uint64_t delta[BPF_WORDS_MAX] = {0};

    EVENTS_FOREACH (event, part->events)
        delta[bpf_span_word(&rig.groups.spans[0], event)] = value;
    delta[part->enabled] = enabled;
    delta[part->enabled + 1] = running;
    bpf_counts_attribute(chain, n, cpu, delta);
}

static unsigned choose(unsigned n)
{
    return (unsigned)rand() % n;
}

/* Reads the groups on all CPUs, and notes those that cannot be read. */
static void read_groups(void)
{
    CPUSET_FOREACH (cpu, &rig.rig.machine->online) {
        uint64_t words[BPF_WORDS_MAX], valid;
        bpf_groups_read(&rig.groups, rig.rig.sys, (unsigned)cpu, words, &valid);
    }
    bpf_rows_update(plan);
}

static uint64_t value(const char *cgroup, const char *metric)
{
    return series_value(&rig.rig.snapshot, "perf_cgroup_%s_total{cgroup=\"%s\",pmu=\"cpu\",group=\"core\"}", metric,
                        cgroup);
}

static const struct row *core_of(const char *cgroup)
{
    for (size_t i = 0; i < rig.rig.snapshot.n_rows; i++)
        if (str_equal(rig.rig.snapshot.rows[i]->cgroup, cgroup))
            return rig.rig.snapshot.rows[i];
    fail_msg("no row of %s", cgroup);
    return NULL;
}

/* The child "/a/b" and its parent "/a", on a machine with two counters. */
static struct bpf_counts *chain[2];

static int setup_chain(void **state)
{
    begin(fake_machine_two_counters(), OF_BPF("[{name: core, events: 'cycles'}]"));
    chain[0] = open_counts("/a/b");
    chain[1] = open_counts("/a");
    return 0;
}

static int teardown_chain(void **state)
{
    close_counts(chain[0]);
    close_counts(chain[1]);
    end();
    return 0;
}

/* The starved time of /a itself is extrapolated from its own next count, not from its child's count. */
TEST_WITH(test_waits_beside, setup_chain, teardown_chain)
{
    attribute(chain + 1, 1, 0, 30, 0, 0);
    attribute(chain, 2, 0, 10, 10, 5);
    attribute(chain + 1, 1, 0, 10, 10, 1); /* scaled to 40 ns: 10 counted, 30 starved */
    bpf_counts_update(chain[1]);
    assert_int_equal(value("/a", "cycles"), 5 + 4);
}

/* If a group cannot be read on one CPU, the rows of all cgroups show the cause until it can be read again. */
TEST(test_unreadable)
{
    begin(fake_machine_two_counters(), OF_BPF("[{name: core, events: 'cycles:D'}]"));
    struct bpf_counts *a = open_counts("/a"), *idle = open_counts("/idle");
    for (unsigned cpu = 0; cpu < 2; cpu++)
        attribute(&a, 1, cpu, 10, 10, 10);
    bpf_counts_update(a);
    bpf_counts_update(idle);
    assert_null(core_of("/a")->cause);
    fake_fail(rig.rig.fake, (struct fake_failure){.call = FAKE_READ, .on_cpu = true, .cpu = 0});
    read_groups();
    attribute(&a, 1, 1, 10, 10, 10);
    bpf_counts_update(a);
    bpf_counts_update(idle);
    assert_int_equal(core_of("/a")->state, ROW_MULTIPLEXED);
    assert_true(str_starts(core_of("/a")->cause, "it is pinned and found no counter"));
    assert_int_equal(core_of("/idle")->state, ROW_STARVED);
    fake_fail_no_more(rig.rig.fake);
    for (unsigned i = 0; i < 2; i++) {
        fake_advance(rig.rig.fake, 2 * NSEC_PER_SEC);
        read_groups();
    }
    bpf_counts_update(idle);
    assert_int_equal(core_of("/idle")->state, ROW_COUNTING);
    assert_int_equal(value("/idle", "cycles"), 0);
    close_counts(a);
    close_counts(idle);
    end();
}

/* When a cgroup is removed, its parent takes over its starved time. The totals of the parent lose nothing. */
TEST_WITH(test_parent, setup_chain, teardown_chain)
{
    attribute(chain, 2, 0, 10, 10, 5);
    attribute(chain, 2, 0, 30, 0, 0);
    attribute(chain + 1, 1, 0, 10, 10, 1); /* not scaled by the starved time of /a/b */
    bpf_counts_end(chain[0], chain[1]);
    assert_int_equal(value("/a/b", "cycles"), 5);
    assert_int_equal(value("/a/b", "group_enabled_seconds"), 40);
    bpf_counts_update(chain[1]);
    assert_int_equal(value("/a", "cycles"), 6);
    assert_int_equal(core_of("/a")->state, ROW_MULTIPLEXED);
    attribute(chain + 1, 1, 0, 10, 10, 3); /* scaled to 40 ns: 10 counted, 30 starved in /a/b */
    bpf_counts_update(chain[1]);
    assert_int_equal(value("/a", "cycles"), 6 + 12);
    assert_int_equal(value("/a", "group_enabled_seconds"), 60);
    /* What the slot of a removed cgroup counts is attributed to its ancestors only. */
    attribute(chain, 2, 0, 10, 10, 1000);
    bpf_counts_update(chain[0]);
    bpf_counts_update(chain[1]);
    assert_int_equal(value("/a/b", "cycles"), 5);
    assert_int_equal(value("/a", "cycles"), 1018);
    attribute(chain + 1, 1, 0, 10, 0, 0);
    bpf_counts_end(chain[1], NULL);
    assert_int_equal(core_of("/a")->state, ROW_STARVED);
    /* A cgroup that is resumed under the same name does not inherit the starved time of the removed one. */
    resume_counts(chain[1], "/a");
    attribute(chain + 1, 1, 0, 10, 10, 2);
    bpf_counts_update(chain[1]);
    assert_int_equal(value("/a", "cycles"), 1020);
}

/*
 * No total falls, and a child never exceeds its parent, while groups are multiplexed and "/a/b" is removed and resumed
 * at random.
 */
TEST_WITH(test_totals_never_fall, setup_chain, teardown_chain)
{
    const char *const names[] = {"/a/b", "/a"};
    uint64_t shown[2] = {0}, attributed = 0;

    srand(17);
    for (unsigned step = 0; step < 4000; step++) {
        unsigned above = choose(2);
        uint64_t enabled = 1 + choose(1 << 20), running = choose(4) ? enabled / (1 + choose(4)) : 0;
        uint64_t cycles = running ? choose(1 << 30) : 0;
        attribute(chain + above, 2 - above, choose(2), enabled, running, cycles);
        attributed += cycles;
        if (choose(100) == 0) {
            bpf_counts_end(chain[0], chain[1]);
            resume_counts(chain[0], "/a/b");
        }
        for (unsigned i = 0; i < 2 && step % 10 == 0; i++) {
            bpf_counts_update(chain[i]);
            const struct counter *counter = &core_of(names[i])->counters[0];
            assert_true(counter->value >= shown[i]);
            shown[i] = counter->value;
        }
        assert_true(shown[0] <= shown[1]);
    }
    bpf_counts_update(chain[1]);
    assert_int_equal(core_of("/a")->counters[0].raw, attributed);
}

#define MANY_LINES 512

/* Sorted lines of text that describe all properties of rows and series except ids, descriptors and times. */
struct lines {
    char *texts[MANY_LINES];
    size_t n;
};

static void lines_done(struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        free(lines->texts[i]);
}

static void lines_add(struct lines *lines, const char *format, ...) PRINTF_LIKE(2, 3);

static void lines_add(struct lines *lines, const char *format, ...)
{
    va_list list;

    assert_true(lines->n < MANY_LINES);
    va_start(list, format);
    assert_true(vasprintf(&lines->texts[lines->n++], format, list) >= 0);
    va_end(list);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_rows(struct lines *lines, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        lines_add(lines, "row %s %s %s %d: %s%s%s, %zu counters, %s", row->group, row->pmu, row->cgroup, row->cpu,
                  row_state_name(row->state), row->uneven ? ", uneven" : "", row->absent ? ", absent" : "",
                  row->n_counters, row->error ? row->error : "no error");
        for (size_t k = 0; k < row->n_counters; k++)
            lines_add(lines, "row %s %s %d counter %zu: %s %s %s %u %g %d", row->group, row->pmu, row->cpu, k,
                      row->counters[k].event, row->counters[k].pmu, row->counters[k].unit, row->counters[k].decimals,
                      row->counters[k].scale, row->counters[k].known);
    }
    for (size_t i = 0; i < snapshot->metrics.n; i++)
        for (size_t k = 0; k < snapshot->metrics.families[i]->n; k++)
            lines_add(lines, "%s%s%.*s %d", snapshot->metrics.families[i]->text_header,
                      snapshot->metrics.families[i]->name, (int)snapshot->metrics.families[i]->series[k]->size,
                      snapshot->metrics.families[i]->series[k]->text,
                      snapshot->metrics.families[i]->series[k]->visible);
    qsort(lines->texts, lines->n, sizeof(lines->texts[0]), compare_lines);
}

static void compare_rows(const struct snapshot *expected, const struct snapshot *actual)
{
    _cleanup_(lines_done) struct lines one = {0};
    _cleanup_(lines_done) struct lines other = {0};

    list_rows(&one, expected);
    list_rows(&other, actual);
    assert_true(one.n > 0);
    for (size_t i = 0; i < MIN(one.n, other.n); i++)
        assert_string_equal(other.texts[i], one.texts[i]);
    assert_int_equal(other.n, one.n);
}

static struct fake_sys *machine_without_cycles(int cpu)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    rig_refuse(fake, ENOENT, PERF_COUNT_HW_CPU_CYCLES, cpu);
    return fake;
}

static struct fake_sys *without_cycles_on_0(void)
{
    return machine_without_cycles(0);
}

static struct fake_sys *without_cycles_on_3(void)
{
    return machine_without_cycles(3);
}

static struct fake_sys *without_cluster(void)
{
    struct fake_sys *fake = fake_machine_big_little();

    for (unsigned cpu = 4; cpu < 8; cpu++)
        fake_set_online(fake, cpu, false);
    return fake;
}

#define ROWS_MIXED "[{name: mixed, events: '{cycles,cs}'}, {name: core, events: 'cycles,instructions,branches'}]"
#define KINDS                                                                                                          \
    "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}, {name: mixed, "      \
    "events: '{cycles,task-clock}'}, {name: big, events: '{armv8_cortex_a76/l2d_cache_refill/,cs}'}, {name: none, "    \
    "events: 'power/energy-pkg/,cs'}]"
#define STRICT "[{name: all, strict: true, events: '{cycles,instructions,branches}'}, {name: c, events: cs}]"

static const struct {
    struct fake_sys *(*machine)(void);
    const char *groups;
} machines[] = {
    {fake_machine_one_pmu, ROWS_MIXED},  {fake_machine_one_pmu, "[{preset: overview}, {preset: branch}]"},
    {fake_machine_big_little, KINDS},    {fake_machine_big_little, "[{preset: overview}, {preset: tlb}]"},
    {fake_machine_no_pmu, ROWS_MIXED},   {fake_machine_two_counters, ROWS_MIXED},
    {fake_machine_two_counters, STRICT}, {without_cycles_on_0, ROWS_MIXED},
    {without_cycles_on_3, ROWS_MIXED},   {without_cluster, KINDS},
};

/* Compares the rows of the two engines, before and after all possible CPUs are online. */
static void check_machine(struct fake_sys *(*machine)(void), const char *groups, bool per_cpu)
{
    char config[1024];
    struct rig perf;

    snprintf(config, sizeof(config), "collectors: {cpu: {enabled: false}, cgroup: {per_cpu: %s, groups: %s}}",
             per_cpu ? "true" : "false", groups);
    struct cgroup_counts *expected = cgroup_rig_init(&perf, machine(), config);
    begin(machine(), config);
    struct bpf_counts *actual = open_counts("/a");
    struct collected collected[2] = {0};
    group_set_read(&expected->groups, perf.sys, &collected[0]);
    read_groups();
    bpf_counts_update(actual);
    compare_rows(&perf.snapshot, &rig.rig.snapshot);
    bpf_counts_add_states(actual, collected[1].groups);
    assert_memory_equal(collected[1].groups, collected[0].groups, sizeof(collected[0].groups));
    /* On most machines all CPUs are online already. */
    CPUSET_FOREACH (cpu, &perf.machine->possible) {
        fake_set_online(perf.fake, (unsigned)cpu, true);
        fake_set_online(rig.rig.fake, (unsigned)cpu, true);
    }
    assert_int_equal(cgroup_rig_rescan(&perf, expected, ""), 0);
    sharing_rig_rescan(&rig, "");
    resume_plan();
    resume_counts(actual, "/a");
    cgroup_counts_read(expected, perf.sys);
    bpf_counts_update(actual);
    compare_rows(&perf.snapshot, &rig.rig.snapshot);
    close_counts(actual);
    end();
    cgroup_rig_done(&perf, expected);
}

TEST(test_rows_are_those_of_perf)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        for (int per_cpu = 0; per_cpu < 2; per_cpu++)
            check_machine(machines[i].machine, machines[i].groups, per_cpu);
}

TEST_MAIN(NULL, NULL)
