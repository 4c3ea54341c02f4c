/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup that a tally counts has the rows that it has when each of its groups is opened on it. */
#include <stdio.h>

#include "tests/unit/cgroup-rig.h"
#include "tests/unit/tallied-rig.h"
#include "tests/unit/test.h"

#define MANY_LINES 512

/* All that a row says but its number, its descriptors and its times, as lines of text. */
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
            lines_add(lines, "row %s %s %d counter %zu: %s %s %s %u %g %d %s%s", row->group, row->pmu, row->cpu, k,
                      row->counters[k].event, row->counters[k].pmu, row->counters[k].unit, row->counters[k].decimals,
                      row->counters[k].scale, row->counters[k].known, row->counters[k].json_head,
                      row->counters[k].json_tail);
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

#define MIXED "[{name: mixed, events: '{cycles,cs}'}, {name: core, events: 'cycles,instructions,branches'}]"
#define KINDS                                                                                                          \
    "[{name: core, events: '{cycles,instructions}'}, {name: software, events: '{task-clock,cs}'}, {name: mixed, "      \
    "events: '{cycles,task-clock}'}, {name: big, events: '{armv8_cortex_a76/l2d_cache_refill/,cs}'}, {name: none, "    \
    "events: 'power/energy-pkg/,cs'}]"
#define STRICT "[{name: all, strict: true, events: '{cycles,instructions,branches}'}, {name: c, events: cs}]"

static const struct {
    struct fake_sys *(*machine)(void);
    const char *groups;
} machines[] = {
    {fake_machine_one_pmu, MIXED},       {fake_machine_one_pmu, "[{preset: overview}, {preset: branch}]"},
    {fake_machine_big_little, KINDS},    {fake_machine_big_little, "[{preset: overview}, {preset: tlb}]"},
    {fake_machine_no_pmu, MIXED},        {fake_machine_two_counters, MIXED},
    {fake_machine_two_counters, STRICT}, {without_cycles_on_0, MIXED},
    {without_cycles_on_3, MIXED},        {without_cluster, KINDS},
};

/* Some time passes on each CPU, for the cgroup, and for the groups of the tally. */
static void check_machine(struct fake_sys *(*machine)(void), const char *groups, bool per_cpu)
{
    char by_perf[1024], by_tally[1024];
    struct tallied_rig tallied;
    struct rig perf;

    snprintf(by_perf, sizeof(by_perf), "collectors: {cgroup: {per_cpu: %s, groups: %s}}", per_cpu ? "true" : "false",
             groups);
    snprintf(by_tally, sizeof(by_tally), "collectors: {cpu: {enabled: false}, cgroup: {per_cpu: %s, groups: %s}}",
             per_cpu ? "true" : "false", groups);
    struct cgroup_counts *expected = cgroup_rig_init(&perf, machine(), by_perf);
    tallied_rig_init(&tallied, machine(), by_tally);
    struct tallied_counts *actual = tallied_rig_open(&tallied, "/a");
    cgroup_counts_read(expected, perf.sys);
    tallied_rig_read(&tallied);
    tallied_counts_update(actual);
    compare_rows(&perf.snapshot, &tallied.tally.rig.snapshot);
    size_t states[2][N_ROW_STATES] = {0};
    cgroup_counts_add_states(expected, states[0]);
    tallied_counts_add_states(actual, states[1]);
    assert_memory_equal(states[1], states[0], sizeof(states[0]));
    /* The other CPUs come, or all that there are go on. */
    CPUSET_FOREACH (cpu, &perf.machine->possible) {
        fake_set_online(perf.fake, (unsigned)cpu, true);
        fake_set_online(tallied.tally.rig.fake, (unsigned)cpu, true);
    }
    assert_int_equal(cgroup_rig_rescan(&perf, expected, ""), 0);
    tallied_rig_rescan(&tallied, "");
    tallied_rig_resume(&tallied, actual, "/a");
    cgroup_counts_read(expected, perf.sys);
    tallied_counts_update(actual);
    compare_rows(&perf.snapshot, &tallied.tally.rig.snapshot);
    tallied_rig_close(&tallied, actual);
    tallied_rig_done(&tallied);
    cgroup_rig_done(&perf, expected);
}

static void test_rows_are_those_of_perf(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        for (int per_cpu = 0; per_cpu < 2; per_cpu++)
            check_machine(machines[i].machine, machines[i].groups, per_cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_those_of_perf)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
