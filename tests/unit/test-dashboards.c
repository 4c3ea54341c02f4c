/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each metric that the dashboards and compat.yml of contrib/ name is one that the collectors have: with the
 * built-in configuration on captured machines with the PMUs that dashboards show, or where everything is counted.
 */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/unit/captured.h"
#include "tests/unit/fixture.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define NODE_EXPORTER                                                                                                  \
    "[{preset: overview}, {name: cache, events: '{cache-references,cache-misses}'},"                                   \
    " {name: branch, events: '{branches,branch-misses}'},"                                                             \
    " {name: software, events: '{page-faults,context-switches,cpu-migrations,minor-faults,major-faults}'},"            \
    " {name: cycles, events: [ref-cycles, stalled-cycles-frontend, stalled-cycles-backend]},"                          \
    " {name: l1, events: [L1-dcache-loads, L1-dcache-load-misses, L1-dcache-stores, L1-icache-load-misses]},"          \
    " {name: others, events: [iTLB-loads, iTLB-load-misses, LLC-loads, LLC-load-misses, LLC-stores,"                   \
    "   LLC-store-misses, branch-loads, branch-load-misses]}]"

#define POWER "/sys/bus/event_source/devices/power/events/energy-gpu"

/* As one with a GPU has it: arch/x86/events/rapl.c, model_skl, 6.12. */
static struct fake_sys *intel_client(void)
{
    struct fake_sys *fake = captured_intel_hybrid();

    fake_file(fake, POWER, "%s", "event=0x04\n");
    fake_file(fake, POWER ".unit", "%s", "Joules\n");
    fake_file(fake, POWER ".scale", "%s", "2.3283064365386962890625e-10\n");
    return fake;
}

/* The first counts all that compat.yml names, and is not complete. */
static const struct {
    struct fake_sys *(*machine)(void);
    const char *configuration;
} machines[] = {
    {fake_machine_one_pmu, "collectors: {cpu: {cpus: \"0,99\", groups: " NODE_EXPORTER "},"
                           " cgroup: {groups: [{name: missing, events: bus-cycles}]}}"},
    {captured_rk3588_6_12, "{}"},
    {captured_intel_server, "{}"},
    {intel_client, "{}"},
};

struct boards {
    struct rig rigs[ARRAY_SIZE(machines)];
};

static int setup(void **state)
{
    struct boards *boards = calloc(1, sizeof(*boards));

    assert_non_null(boards);
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        struct fake_sys *fake = machines[i].machine();
        rig_refuse(fake, ENOENT, PERF_COUNT_HW_BUS_CYCLES, -1);
        fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake_file(fake, "/sys/fs/cgroup/system.slice/a.service/cgroup.procs", "%s", "");
        rig_init(&boards->rigs[i], fake, machines[i].configuration);
        rig_read(&boards->rigs[i]);
    }
    *state = boards;
    return 0;
}

static int teardown(void **state)
{
    struct boards *boards = *state;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        rig_done(&boards->rigs[i]);
    free(boards);
    return 0;
}

static bool machine_has_metric(struct rig *rig, const char *name, size_t size)
{
    const struct metrics *metrics = &rig_read(rig)->metrics;

    for (size_t i = 0; i < metrics->n; i++)
        if (strlen(metrics->families[i]->name) == size && memcmp(metrics->families[i]->name, name, size) == 0)
            return true;
    return false;
}

static bool has_metric(struct boards *boards, const char *name, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        if (machine_has_metric(&boards->rigs[i], name, size))
            return true;
    return false;
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"

/*
 * Looks up the names that start as our metrics do, in a line that is no comment and no name of a group. A name with a
 * colon is recorded by a rule; one that ends with _ goes on as a regular expression. Returns the number of names.
 */
static unsigned check_line(struct boards *boards, const char *file, const char *line)
{
    unsigned n = 0;

    if (strstr(line, "name:") || line[strspn(line, " ")] == '#')
        return 0;
    while (*(line += strcspn(line, NAME_CHARACTERS))) {
        size_t size = strspn(line, NAME_CHARACTERS);
        if (!memchr(line, ':', size) && line[size - 1] != '_' &&
            (str_starts(line, "perf_") || str_starts(line, "perfcountd_"))) {
            if (!has_metric(boards, line, size))
                fail_msg("%s names %.*s, which is no metric of any collector", file, (int)size, line);
            n++;
        }
        line += size;
    }
    return n;
}

static void check_file(struct boards *boards, const char *name, unsigned at_least)
{
    char source[256], path[512];
    _cleanup_(freep) char *line = NULL;
    size_t size = 0;
    unsigned n = 0;

    snprintf(source, sizeof(source), "contrib/%s", name);
    FILE *file = fopen(fixture_path(source, path), "re");
    if (!file)
        fail_msg("cannot open %s: %s", path, strerror(errno));
    while (getline(&line, &size, file) >= 0)
        n += check_line(boards, name, line);
    fclose(file);
    assert_true(n >= at_least);
}

static void test_files(void **state)
{
    check_file(*state, "prometheus/compat.yml", 29);
    check_file(*state, "grafana/fleet.json", 60);
    check_file(*state, "grafana/board.json", 90);
    check_file(*state, "grafana/containers.json", 20);
}

/* The check can fail. */
static void test_lines(void **state)
{
    struct boards *boards = *state;

    assert_true(has_metric(boards, "perf_cpu_cycles_total", strlen("perf_cpu_cycles_total")));
    assert_false(has_metric(boards, "perf_cpu_cycle_total", strlen("perf_cpu_cycle_total")));
    assert_int_equal(check_line(boards, "", "expr: rate(perf_cpu_cycles_total[5m]) / perfcountd_paused == 1"), 2);
    assert_int_equal(check_line(boards, "", "  # perf_none"), 0);
    assert_int_equal(check_line(boards, "", "- record: instance:perf_none:rate5m"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_lines)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
