/* SPDX-License-Identifier: Apache-2.0 */
/* Each metric that contrib's rules and alerts name is one that the collectors have, on a machine with a PMU. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
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
            if (!has_metric(metrics, line, size))
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
    assert_int_equal(check_line(metrics, "", "  # perf_none"), 0);
    assert_int_equal(check_line(metrics, "", "- record: instance:perf_none:rate5m"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_alerts),
                                       cmocka_unit_test(test_lines)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
