/* SPDX-License-Identifier: Apache-2.0 */
/* Each metric that contrib's rules and alerts name is one that the collectors have, on a machine with a PMU. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "derived/derived.h"
#include "derived/formula.h"
#include "perf/event/event.h"
#include "perf/unit.h"
#include "tests/unit/fixture.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define EVERY_GROUP                                                                                                    \
    "[{name: core, events: '{cycles,instructions}'}, {name: cache, events: '{cache-references,cache-misses}'},"        \
    " {name: branch, events: '{branches,branch-misses}'},"                                                             \
    " {name: software, events: '{task-clock,context-switches,major-faults}'}, {name: missing, events: bus-cycles}]"

/* As the built-in configuration, with more in cgroups, among it an event that is not there. */
static const char configuration[] = "collectors: {cgroup: {groups: " EVERY_GROUP "}}";

static int setup(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    rig_refuse(fake, ENOENT, PERF_COUNT_HW_BUS_CYCLES, -1);
    fake_pmu_file(fake, "cpu", "caps/slots", "0x00000004");
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/system.slice/a.service/cgroup.procs", "%s", "");
    rig_init(rig, fake, configuration);
    rig_read(rig);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static bool has_metric(const struct metrics *metrics, const char *name, size_t size)
{
    for (size_t i = 0; i < metrics->n; i++)
        if (strlen(metrics->families[i]->name) == size && memcmp(metrics->families[i]->name, name, size) == 0)
            return true;
    return false;
}

/*
 * The events with a unit that formulas name, and the unit that the driver writes (test-unit.c has the drivers): so the
 * metric is named as it is where a machine has the PMU.
 */
static const struct {
    const char *event, *unit;
} driver_units[] = {
    {"energy_pkg", "Joules"}, {"energy_cores", "Joules"}, {"energy_core", "Joules"},
    {"energy_ram", "Joules"}, {"energy_gpu", "Joules"},   {"energy_psys", "Joules"},
    {"read_bytes", "MB"},     {"write_bytes", "MB"},      {"bytes", "MB"},
    {"total_rw_bytes", "MB"}, {"cas_count_read", "MiB"},  {"cas_count_write", "MiB"},
    {"data_reads", "MiB"},    {"data_writes", "MiB"},     {"data_read", "MiB"},
    {"data_write", "MiB"},    {"data_total", "MiB"},      {"read", "MiB"},
    {"write", "MiB"},
};

/* The unit in the name of the event's metric: "" where it has none. The caller frees it. */
static char *unit_of(const char *event)
{
    const struct event parsed = {.metric = (char *)event};

    for (size_t i = 0; i < ARRAY_SIZE(driver_units); i++)
        if (str_equal(driver_units[i].event, event)) {
            _cleanup_(freep) char *base = NULL;
            double scale;
            assert_int_equal(unit_resolve(driver_units[i].unit, 1, &base, &scale), 0);
            return strdup(event_unit_suffix(&parsed, base));
        }
    return strdup("");
}

static bool is_metric_of(const char *collector, const char *event, const char *name, size_t size)
{
    _cleanup_(freep) char *unit = unit_of(event), *metric = NULL;

    assert_return_code(asprintf(&metric, "perf_%s_%s%s%s_total", collector, event, *unit ? "_" : "", unit), 0);
    return strlen(metric) == size && memcmp(metric, name, size) == 0;
}

/* Whether a derived metric of the collector has an event of that metric. */
static bool derives_metric(const struct derived_metric *metric, const char *collector, const char *name, size_t size)
{
    const char *spelling;

    for (const struct derived_formula *of = metric->formulas; of->text; of++) {
        struct formula formula;
        assert_int_equal(formula_parse(of->text, &formula, NULL), 0);
        for (size_t i = 0; i < formula.n_names; i++)
            for (size_t k = 0; (spelling = derived_spelling(formula.names[i], k)); k++)
                if (is_metric_of(collector, spelling, name, size))
                    return true;
    }
    return false;
}

static bool is_derived_from(const char *name, size_t size)
{
    static const struct {
        enum derived_target target;
        const char *collector;
    } collectors[] = {{DERIVED_CPU, "cpu"}, {DERIVED_PMU, "pmu"}, {DERIVED_CGROUP, "cgroup"}};
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        for (size_t k = 0; k < ARRAY_SIZE(collectors); k++)
            if ((metric->targets & collectors[k].target) && derives_metric(metric, collectors[k].collector, name, size))
                return true;
    return false;
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"

/*
 * Looks up the names that start as our metrics do, in a line that is no comment and no name of a group. A name with a
 * colon is recorded by a rule. Returns the number of names.
 */
static unsigned check_line(const struct metrics *metrics, const char *file, const char *line)
{
    unsigned n = 0;

    if (strstr(line, "name:") || line[strspn(line, " ")] == '#')
        return 0;
    while (*(line += strcspn(line, NAME_CHARACTERS))) {
        size_t size = strspn(line, NAME_CHARACTERS);
        if (!memchr(line, ':', size) && (str_starts(line, "perf_") || str_starts(line, "perfcountd_"))) {
            if (!has_metric(metrics, line, size) && !is_derived_from(line, size))
                fail_msg("%s names %.*s, which is no metric of any collector", file, (int)size, line);
            n++;
        }
        line += size;
    }
    return n;
}

static void check_file(const struct metrics *metrics, const char *name, unsigned at_least)
{
    char source[256], path[512], line[1024];
    unsigned n = 0;

    snprintf(source, sizeof(source), "contrib/prometheus/%s", name);
    FILE *file = fopen(fixture_path(source, path), "re");
    if (!file)
        fail_msg("cannot open %s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file))
        n += check_line(metrics, name, line);
    fclose(file);
    assert_true(n >= at_least);
}

static void test_rules(void **state)
{

    check_file(&rig_read(*state)->metrics, "rules.yml", 40);
}

static void test_alerts(void **state)
{

    check_file(&rig_read(*state)->metrics, "alerts.yml", 6);
}

/* The check can fail. */
static void test_lines(void **state)
{
    const struct metrics *metrics = &rig_read(*state)->metrics;

    assert_true(has_metric(metrics, "perf_cpu_cycles_total", strlen("perf_cpu_cycles_total")));
    assert_false(has_metric(metrics, "perf_cpu_cycle_total", strlen("perf_cpu_cycle_total")));
    assert_int_equal(check_line(metrics, "", "expr: rate(perf_cpu_cycles_total[5m]) / perfcountd_paused == 1"), 2);
    assert_true(is_derived_from("perf_pmu_energy_pkg_joules_total", strlen("perf_pmu_energy_pkg_joules_total")));
    assert_false(is_derived_from("perf_pmu_energy_pkg_total", strlen("perf_pmu_energy_pkg_total")));
    assert_false(is_derived_from("perf_cpu_energy_pkg_joules_total", strlen("perf_cpu_energy_pkg_joules_total")));
    assert_int_equal(check_line(metrics, "", "  # perf_none"), 0);
    assert_int_equal(check_line(metrics, "", "- record: instance:perf_none:rate5m"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_alerts),
                                       cmocka_unit_test(test_lines)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
