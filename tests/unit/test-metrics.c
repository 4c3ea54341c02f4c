/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics, and their exposition compared with golden text. tests/e2e/exposition.sh checks that promtool and
 * prometheus_client accept it.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "metrics/metrics.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/test.h"

static const struct {
    struct metric in;
    const char *out_text, *out_openmetrics;
} headers[] = {
    {{"a_total", "Help.", "", METRIC_COUNTER},
     "# HELP a_total Help.\n# TYPE a_total counter\n",
     "# TYPE a counter\n# HELP a Help.\n"},
    {{"a_seconds_total", "Help.", "seconds", METRIC_COUNTER},
     "# HELP a_seconds_total Help.\n# TYPE a_seconds_total counter\n",
     "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds Help.\n"},
    {{"a_info", "Help.", "", METRIC_INFO},
     "# HELP a_info Help.\n# TYPE a_info gauge\n",
     "# TYPE a info\n# HELP a Help.\n"},
    {{"a_bytes", "Help.", "bytes", METRIC_GAUGE},
     "# HELP a_bytes Help.\n# TYPE a_bytes gauge\n",
     "# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes Help.\n"},
    {{"kilobytes", "Help.", "bytes", METRIC_GAUGE},
     "# HELP kilobytes Help.\n# TYPE kilobytes gauge\n",
     "# TYPE kilobytes gauge\n# HELP kilobytes Help.\n"},
    {{"odd", "Help.", "", METRIC_COUNTER},
     "# HELP odd Help.\n# TYPE odd counter\n",
     "# TYPE odd unknown\n# HELP odd Help.\n"},
    {{"a", "A \"b\" \\ c\nd\xff.", "", METRIC_GAUGE},
     "# HELP a A \"b\" \\\\ c\\nd\xef\xbf\xbd.\n# TYPE a gauge\n",
     "# TYPE a gauge\n# HELP a A \\\"b\\\" \\\\ c\\nd\xef\xbf\xbd.\n"},
};

TEST(test_headers)
{
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        assert_non_null(metrics_add(&metrics, &headers[i].in, 0, 0, NULL, 0));
        assert_string_equal(metrics.families[0]->text_header, headers[i].out_text);
        assert_string_equal(metrics.families[0]->openmetrics_header, headers[i].out_openmetrics);
    }
}

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

TEST(test_what_is_left_out)
{
    _cleanup_(metrics_done) struct metrics metrics = {0};
    const struct label labels[] = {{"n", "1"}, {"n", "2"}, {"n", "3"}};

    _cleanup_(freep) char *empty = render(&metrics, 1, EXPOSITION_OPENMETRICS);
    assert_string_equal(empty, "# EOF\n");
    metrics_add(&metrics, &counter, 0, 0, &labels[0], 1);
    series_set(metrics_add(&metrics, &counter, 1, 0, &labels[1], 1), 22);
    series_set(metrics_add(&metrics, &counter, 0, 0, &labels[2], 1), 33);
    metrics_add(&metrics, &gauge, 0, 0, NULL, 0);
    _cleanup_(freep) char *all = render(&metrics, UINT32_MAX, EXPOSITION_TEXT);
    assert_string_equal(all, "# HELP c_total C.\n# TYPE c_total counter\nc_total{n=\"2\"} 22\nc_total{n=\"3\"} 33\n");
    _cleanup_(freep) char *one = render(&metrics, 2, EXPOSITION_OPENMETRICS);
    assert_string_equal(one, "# TYPE c counter\n# HELP c C.\nc_total{n=\"2\"} 22\n# EOF\n");
    /* Rendering some of the collectors allocates memory only for those. */
    assert_int_equal(metrics_text_size(&metrics, UINT32_MAX, false), metrics_text_size(&metrics, 3, false));
    assert_true(metrics_text_size(&metrics, 2, false) < metrics_text_size(&metrics, 1, false));
    _cleanup_(freep) char *none = render(&metrics, 4, EXPOSITION_TEXT);
    assert_string_equal(none, "");
}

/* While a collector fails, only its series that are marked as lasting are shown. */
TEST(test_failed)
{
    _cleanup_(metrics_done) struct metrics metrics = {.failed = 1 << 1};
    const struct label labels[] = {{"n", "1"}, {"n", "2"}, {"n", "3"}};

    for (unsigned i = 0; i < 3; i++) {
        struct series *series = metrics_add(&metrics, &gauge, i < 2, 0, &labels[i], 1);
        series_set(series, i);
        series->lasting = i == 1;
    }
    _cleanup_(freep) char *text = render(&metrics, UINT32_MAX, EXPOSITION_TEXT);
    assert_string_equal(text, "# HELP g G.\n# TYPE g gauge\ng{n=\"2\"} 1\ng{n=\"3\"} 2\n");
}

TEST(test_created)
{
    _cleanup_(metrics_done) struct metrics metrics = {0};
    const struct metric unknown = {"odd", "O.", "", METRIC_COUNTER};
    const struct label labels[] = {{"n", "1"}, {"n", "2"}};
    const uint64_t created = 1700000000120 * NSEC_PER_MSEC;

    series_set(metrics_add_created(&metrics, &counter, 0, 0, &labels[0], 1, created), 5);
    series_set(metrics_add(&metrics, &counter, 0, 0, &labels[1], 1), 6);
    series_set(metrics_add_created(&metrics, &counter, 0, 9, NULL, 0, created + 999999), 7);
    size_t before = metrics.created_text_size;
    struct series *last = metrics_add_created(&metrics, &counter, 0, 0, &labels[1], 1, created); /* not shown */
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
    assert_true(metrics.created_text_size > before);
    metrics_remove(&metrics, last);
    assert_int_equal(metrics.created_text_size, before);
}

TEST(test_odd_names)
{
    struct fake_service fake;

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
    {UINT64_MAX, 0, "18446744073709551615"},
    {1, 9, "0.000000001"},
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

TEST(test_values)
{
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

TEST_MAIN(NULL, NULL)
