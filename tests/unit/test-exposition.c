/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exposition against golden text, against the parsers that read it in the field, and the promise that rendering
 * allocates nothing per series: malloc and its kin are wrapped by the linker.
 */
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>

#include <signal.h>

#include "base/cleanup.h"
#include "formats/exposition.h"
#include "tests/unit/count-allocations.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/test.h"

static const struct metric counter = {"c_total", "C.", "", METRIC_COUNTER};
static const struct metric gauge = {"g", "G.", "", METRIC_GAUGE};

static char *render(const struct metrics *metrics, uint32_t mask, enum exposition format)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};

    assert_int_equal(exposition_write(&buffer, metrics, mask, format), 0);
    size_t created = format == EXPOSITION_OPENMETRICS ? metrics->created_text_size : 0;
    assert_true(buffer.size <= metrics->text_size + created + strlen("# EOF\n"));
    assert_true(buffer.size <= metrics_text_size(metrics, mask, created > 0) + strlen("# EOF\n"));
    return buffer_string(&buffer);
}

static void test_empty(void **state)
{
    const struct metrics metrics = {0};

    (void)state;
    _cleanup_(freep) char *text = render(&metrics, 1, EXPOSITION_TEXT);
    _cleanup_(freep) char *openmetrics = render(&metrics, 1, EXPOSITION_OPENMETRICS);
    assert_string_equal(text, "");
    assert_string_equal(openmetrics, "# EOF\n");
}

static void test_what_is_left_out(void **state)
{
    _cleanup_(metrics_done) struct metrics metrics = {0};
    const struct label labels[] = {{"n", "1"}, {"n", "2"}, {"n", "3"}};

    (void)state;
    metrics_add(&metrics, &counter, 0, 0, &labels[0], 1);
    series_set(metrics_add(&metrics, &counter, 1, 0, &labels[1], 1), 22);
    series_set(metrics_add(&metrics, &counter, 0, 0, &labels[2], 1), 33);
    metrics_add(&metrics, &gauge, 0, 0, NULL, 0);
    _cleanup_(freep) char *all = render(&metrics, UINT32_MAX, EXPOSITION_TEXT);
    assert_string_equal(all, "# HELP c_total C.\n# TYPE c_total counter\nc_total{n=\"2\"} 22\nc_total{n=\"3\"} 33\n");
    _cleanup_(freep) char *one = render(&metrics, 2, EXPOSITION_OPENMETRICS);
    assert_string_equal(one, "# TYPE c counter\n# HELP c C.\nc_total{n=\"2\"} 22\n# EOF\n");
    /* A part takes memory for that part alone. */
    assert_int_equal(metrics_text_size(&metrics, UINT32_MAX, false), metrics_text_size(&metrics, 3, false));
    assert_true(metrics_text_size(&metrics, 2, false) < metrics_text_size(&metrics, 1, false));
    _cleanup_(freep) char *none = render(&metrics, 4, EXPOSITION_TEXT);
    assert_string_equal(none, "");
}

static void test_created(void **state)
{
    _cleanup_(metrics_done) struct metrics metrics = {0};
    const struct metric unknown = {"odd", "O.", "", METRIC_COUNTER};
    const struct label labels[] = {{"n", "1"}, {"n", "2"}};
    const uint64_t created = 1700000000120 * NSEC_PER_MSEC;

    (void)state;
    series_set(metrics_add_created(&metrics, &counter, 0, 0, &labels[0], 1, created), 5);
    series_set(metrics_add(&metrics, &counter, 0, 0, &labels[1], 1), 6);
    series_set(metrics_add_created(&metrics, &counter, 0, 9, NULL, 0, created + 999999), 7);
    metrics_add_created(&metrics, &counter, 0, 0, &labels[1], 1, created); /* invisible */
    series_set(metrics_add_created(&metrics, &gauge, 0, 0, NULL, 0, created), 8);
    series_set(metrics_add_created(&metrics, &unknown, 0, 0, NULL, 0, created), 9);
    _cleanup_(freep) char *openmetrics = render(&metrics, 1, EXPOSITION_OPENMETRICS);
    assert_string_equal(openmetrics, "# TYPE c counter\n# HELP c C.\n"
                                     "c_total{n=\"1\"} 5\nc_created{n=\"1\"} 1700000000.12\n"
                                     "c_total{n=\"2\"} 6\n"
                                     "c_total 0.000000007\nc_created 1700000000.12\n"
                                     "# TYPE g gauge\n# HELP g G.\ng 8\n"
                                     "# TYPE odd unknown\n# HELP odd O.\nodd 9\n# EOF\n");
    _cleanup_(freep) char *text = render(&metrics, 1, EXPOSITION_TEXT);
    assert_null(strstr(text, "_created"));
}

static void test_odd_names(void **state)
{
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 1);
    fake_service_add_odd_cgroups(&fake.snapshot);
    _cleanup_(freep) char *text = render(&fake.snapshot.metrics, UINT32_MAX, EXPOSITION_TEXT);
    _cleanup_(freep) char *openmetrics = render(&fake.snapshot.metrics, UINT32_MAX, EXPOSITION_OPENMETRICS);
    for (size_t i = 0; i < N_ODD_CGROUPS; i++) {
        _cleanup_(buffer_done) struct buffer sample = {0}, created = {0};
        buffer_appendf(&sample, "\nperf_cgroup_cycles_total{cgroup=\"%s\",pmu=\"cpu\",group=\"core\"} 1200000000\n",
                       odd_cgroups[i].escaped);
        buffer_appendf(&created,
                       "%.*sperf_cgroup_cycles_created{cgroup=\"%s\",pmu=\"cpu\",group=\"core\"} 1600000000.5\n",
                       (int)sample.size, sample.data, odd_cgroups[i].escaped);
        assert_non_null(memmem(text, strlen(text), sample.data, sample.size));
        assert_non_null(memmem(openmetrics, strlen(openmetrics), created.data, created.size));
    }
    fake_service_done(&fake);
}

static const struct {
    uint64_t in;
    unsigned in_decimals;
    const char *out;
} exact[] = {
    {0, 0, "0"},
    {UINT64_MAX, 0, "18446744073709551615"},
    {9007199254740993, 0, "9007199254740993"},
    {1, 9, "0.000000001"},
    {1500000000, 9, "1.5"},
    {UINT64_MAX, 9, "18446744073.709551615"},
    {UINT64_MAX, 19, "1.8446744073709551615"},
};
static const struct {
    double in;
    const char *out;
} real[] = {
    {0, "0"},
    {0.1, "0.1"},
    {1e300, "1e+300"},
    {-1.7976931348623157e308, "-1.7976931348623157e+308"},
    {1.0 / 3, "0.3333333333333333"},
    {NAN, "NaN"},
    {INFINITY, "+Inf"},
    {-INFINITY, "-Inf"},
};

static void assert_value(const struct metrics *metrics, const char *value)
{
    _cleanup_(freep) char *text = render(metrics, 1, EXPOSITION_TEXT);
    char expected[128];

    snprintf(expected, sizeof(expected), "# HELP g G.\n# TYPE g gauge\ng %s\n", value);
    assert_string_equal(text, expected);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        series_set(metrics_add(&metrics, &gauge, 0, exact[i].in_decimals, NULL, 0), exact[i].in);
        assert_value(&metrics, exact[i].out);
    }
    for (size_t i = 0; i < ARRAY_SIZE(real); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        series_set_real(metrics_add(&metrics, &gauge, 0, 0, NULL, 0), real[i].in);
        assert_value(&metrics, real[i].out);
    }
}

static void test_no_allocation_per_series(void **state)
{
    struct fake_service small, large;
    _cleanup_(buffer_done) struct buffer buffer = {0};

    (void)state;
    fake_service_init(&small, 1);
    fake_service_init(&large, 5000);
    const struct metrics *each[] = {&small.snapshot.metrics, &large.snapshot.metrics};
    for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
        allocations = 0;
        exposition_write(&buffer, each[i], UINT32_MAX, EXPOSITION_OPENMETRICS);
        assert_int_equal(allocations, 1);
        buffer_clear(&buffer);
    }
    allocations = 0;
    exposition_write(&buffer, each[1], UINT32_MAX, EXPOSITION_TEXT);
    assert_int_equal(allocations, 0);
    fake_service_done(&small);
    fake_service_done(&large);
}

/* Gives the text to a command, and frees it; skips the test if the tool that it needs is not installed. */
static void assert_accepted(const char *tool, const char *command, char *text)
{
    FILE *pipe = popen(command, "w");

    assert_non_null(pipe);
    fputs(text, pipe);
    free(text);
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 127)
        skip_because("there is no %s here", tool);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_promtool(void **state)
{
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 4);
    fake_service_add_odd_cgroups(&fake.snapshot);
    char *text = render(&fake.snapshot.metrics, UINT32_MAX, EXPOSITION_TEXT);
    fake_service_done(&fake);
    assert_accepted("promtool",
                    "command -v promtool >/dev/null || exit 127; out=$(promtool check metrics 2>&1) && [ -z \"$out\" ]",
                    text);
}

static void test_strict_openmetrics(void **state)
{
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 4);
    fake_service_add_odd_cgroups(&fake.snapshot);
    char *text = render(&fake.snapshot.metrics, UINT32_MAX, EXPOSITION_OPENMETRICS);
    fake_service_done(&fake);
    assert_accepted("python3-prometheus-client",
                    "/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || exit 127; /usr/bin/python3 -c '"
                    "import sys\n"
                    "from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n"
                    "samples = [s for f in parse(sys.stdin.buffer.read().decode()) for s in f.samples]\n"
                    "series = {(s.name, tuple(sorted(s.labels.items()))) for s in samples}\n"
                    "created = [s for s in samples if s.name == \"perf_cgroup_cycles_created\"]\n"
                    "long = max(len(s.labels[\"cgroup\"]) for s in created)\n"
                    "sys.exit(not (len(samples) == len(series) > 60 and len(created) == 8 and long == 4001))'",
                    text);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* a checker that is not there does not read */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),    cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_created),  cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_no_allocation_per_series),
        cmocka_unit_test(test_promtool), cmocka_unit_test(test_strict_openmetrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
