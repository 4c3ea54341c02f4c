/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric that the rules, alerts and dashboards of contrib/ name is exposed on one of the simulated machines
 * below, or is used to compute derived metrics.
 */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "metrics/derived.h"
#include "metrics/formula.h"
#include "perf/event.h"
#include "perf/pmu.h"
#include "tests/unit/captured.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

#define EVERY_GROUP                                                                                                    \
    "[{name: core, events: '{cycles,instructions}'}, {name: cache, events: '{cache-references,cache-misses}'},"        \
    " {name: branch, events: '{branches,branch-misses}'},"                                                             \
    " {name: software, events: '{task-clock,context-switches,major-faults}'}, {name: missing, events: bus-cycles}]"

#define NODE_EXPORTER                                                                                                  \
    "[{preset: overview}, {name: cache, events: '{cache-references,cache-misses}'},"                                   \
    " {name: branch, events: '{branches,branch-misses}'},"                                                             \
    " {name: software, events: '{page-faults,context-switches,cpu-migrations,minor-faults,major-faults}'},"            \
    " {name: cycles, events: [ref-cycles, stalled-cycles-frontend, stalled-cycles-backend]},"                          \
    " {name: l1, events: [L1-dcache-loads, L1-dcache-load-misses, L1-dcache-stores, L1-icache-load-misses]},"          \
    " {name: others, events: [iTLB-loads, iTLB-load-misses, LLC-loads, LLC-load-misses, LLC-stores,"                   \
    "   LLC-store-misses, branch-loads, branch-load-misses]}]"

static struct fake_sys *with_slots(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    fake_pmu_file(fake, "cpu", "caps/slots", "0x00000004");
    return fake;
}

#define POWER "/sys/bus/event_source/devices/power/events/energy-gpu"

/* The PMU of an Intel client with a GPU: arch/x86/events/rapl.c, model_skl, 6.12. */
static struct fake_sys *intel_client(void)
{
    struct fake_sys *fake = captured_intel_hybrid();

    fake_file(fake, POWER, "%s", "event=0x04\n");
    fake_file(fake, POWER ".unit", "%s", "Joules\n");
    fake_file(fake, POWER ".scale", "%s", "2.3283064365386962890625e-10\n");
    return fake;
}

/*
 * The second machine counts all events that compat.yml names. Its configuration names a CPU and an event that do not
 * exist, since failures are metrics as well.
 */
static const struct {
    struct fake_sys *(*machine)(void);
    const char *configuration;
} machines[] = {
    {with_slots, "collectors: {cgroup: {groups: " EVERY_GROUP "}}"},
    {fake_machine_one_pmu, "collectors: {cpu: {cpus: \"0,99\", groups: " NODE_EXPORTER "},"
                           " cgroup: {groups: [{name: missing, events: bus-cycles}]}}"},
    {captured_rk3588_6_12, "{}"},
    {captured_intel_server, "{}"},
    {intel_client, "{}"},
};

static struct rig rigs[ARRAY_SIZE(machines)];

#define COOLING "/sys/class/thermal/cooling_device0/"
#define HWMON "/sys/class/hwmon/hwmon0/"
#define CPUFREQ "/sys/devices/system/cpu/cpufreq/policy0/"

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        struct fake_sys *fake = machines[i].machine();
        rig_refuse(fake, ENOENT, PERF_COUNT_HW_BUS_CYCLES, -1);
        fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake_file(fake, "/proc/stat", "cpu  0 0 0 0 0\ncpu0 0 0 0 0 0\n");
        fake_file(fake, CPUFREQ "scaling_max_freq", "1800000\n");
        fake_file(fake, CPUFREQ "cpuinfo_max_freq", "1800000\n");
        fake_file(fake, CPUFREQ "related_cpus", "0\n");
        fake_file(fake, COOLING "type", "cpufreq-cpu0\n");
        fake_file(fake, COOLING "cur_state", "0\n");
        fake_file(fake, COOLING "max_state", "3\n");
        fake_file(fake, HWMON "name", "rpi_volt\n");
        fake_file(fake, HWMON "in0_lcrit_alarm", "0\n");
        fake_file(fake, "/sys/fs/cgroup/system.slice/a.service/cgroup.procs", "%s", "");
        rig_init(&rigs[i], fake, machines[i].configuration);
        rig_read(&rigs[i]);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        rig_done(&rigs[i]);
    return 0;
}

static bool is_metric(const char *name, size_t size)
{
    for (size_t k = 0; k < ARRAY_SIZE(machines); k++) {
        const struct metrics *metrics = &rig_read(&rigs[k])->metrics;
        for (size_t i = 0; i < metrics->n; i++)
            if (strlen(metrics->families[i]->name) == size && memcmp(metrics->families[i]->name, name, size) == 0)
                return true;
    }
    return false;
}

/*
 * Events in formulas that have a unit, and the unit that the driver sets (test-pmu.c names the drivers). With this
 * unit, the metric has the same name as on a machine that has the PMU.
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

/* Returns the unit in the name of the event's metric, or "". The caller frees it. */
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

/* Returns whether a derived metric of the collector is computed from this metric. */
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
 * Checks the name of each perfcountd metric in a line, unless the line is a comment or the name of a group. Names with
 * a colon are those of recording rules, and names that end with _ are regular expressions. Returns the number of names.
 */
static unsigned check_line(const char *file, bool derived, const char *line)
{
    unsigned n = 0;

    if (strstr(line, "name:") || line[strspn(line, " ")] == '#')
        return 0;
    while (*(line += strcspn(line, NAME_CHARACTERS))) {
        size_t size = strspn(line, NAME_CHARACTERS);
        if (!memchr(line, ':', size) && line[size - 1] != '_' &&
            (str_starts(line, "perf_") || str_starts(line, "perfcountd_"))) {
            if (!is_metric(line, size) && !(derived && is_derived_from(line, size)))
                fail_msg("%s names %.*s, which is not a metric of any collector", file, (int)size, line);
            n++;
        }
        line += size;
    }
    return n;
}

/*
 * The files: the minimum number of metrics that each one names, and whether it may name metrics that only formulas of
 * derived metrics use.
 */
static const struct {
    const char *in;
    unsigned at_least;
    bool derived;
} files[] = {
    {"contrib/prometheus/rules.yml", 40, true},   {"contrib/prometheus/alerts.yml", 6, true},
    {"contrib/prometheus/compat.yml", 29, false}, {"contrib/grafana/fleet.json", 60, false},
    {"contrib/grafana/board.json", 90, false},    {"contrib/grafana/containers.json", 20, false},
};

TEST(test_files)
{
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        _cleanup_(freep) char *text = testdata_read(files[i].in);
        unsigned n = 0;
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
            n += check_line(files[i].in, files[i].derived, line);
        assert_true(n >= files[i].at_least);
    }
}

/* check_line() rejects unknown names. */
TEST(test_lines)
{
    static const char derived[] = "perf_pmu_energy_pkg_joules_total";

    assert_true(is_metric("perf_cpu_cycles_total", strlen("perf_cpu_cycles_total")));
    assert_false(is_metric("perf_cpu_cycle_total", strlen("perf_cpu_cycle_total")));
    assert_int_equal(check_line("", false, "expr: rate(perf_cpu_cycles_total[5m]) / perfcountd_paused == 1"), 2);
    assert_true(is_derived_from(derived, strlen(derived)));
    assert_false(is_derived_from("perf_pmu_energy_pkg_total", strlen("perf_pmu_energy_pkg_total")));
    assert_false(is_derived_from("perf_cpu_energy_pkg_joules_total", strlen("perf_cpu_energy_pkg_joules_total")));
    assert_int_equal(check_line("", false, "  # perf_none"), 0);
    assert_int_equal(check_line("", false, "- record: instance:perf_none:rate5m"), 0);
}

TEST_MAIN(setup, teardown)
