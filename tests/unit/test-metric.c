/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/metric.h"
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

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        assert_non_null(metrics_add(&metrics, &headers[i].in, 0, 0, NULL, 0));
        assert_string_equal(metrics.families[0]->text_header, headers[i].out_text);
        assert_string_equal(metrics.families[0]->openmetrics_header, headers[i].out_openmetrics);
    }
}

static const struct {
    struct label in[2];
    size_t in_n;
    const char *out;
} texts[] = {
    {{{NULL, NULL}}, 0, " "},
    {{{"a", "b"}}, 1, "{a=\"b\"} "},
    {{{"a", ""}, {"c", "{}, "}}, 2, "{a=\"\",c=\"{}, \"} "},
    {{{"a", "\\ \" \n"}}, 1, "{a=\"\\\\ \\\" \\n\"} "},
    {{{"a", "\xc3\xa9\xc3(\xff"}}, 1, "{a=\"\xc3\xa9\xef\xbf\xbd(\xef\xbf\xbd\"} "},
};

static void test_series_text(void **state)
{
    const struct metric metric = {"m", "Help.", "", METRIC_GAUGE};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(metrics_done) struct metrics metrics = {0};
        struct series *series = metrics_add(&metrics, &metric, 3, 9, texts[i].in, texts[i].in_n);
        assert_int_equal(series->size, strlen(texts[i].out));
        assert_memory_equal(series->text, texts[i].out, series->size);
        assert_int_equal(series->collector, 3);
        assert_int_equal(series->decimals, 9);
        assert_false(series->visible);
    }
}

static void test_created(void **state)
{
    const struct metric counter = {"m_total", "Help.", "", METRIC_COUNTER}, gauge = {"g", "Help.", "", METRIC_GAUGE};
    const struct label label = {"a", "b"};
    _cleanup_(metrics_done) struct metrics metrics = {0};

    (void)state;
    struct series *plain = metrics_add(&metrics, &counter, 0, 0, &label, 1);
    assert_int_equal(plain->created_size, 0);
    struct series *not_counter = metrics_add_created(&metrics, &gauge, 0, 0, &label, 1, NSEC_PER_SEC);
    assert_int_equal(not_counter->created_size, 0);
    assert_int_equal(metrics.created_text_size, 0);
    struct series *series = metrics_add_created(&metrics, &counter, 0, 0, &label, 1, 1500 * NSEC_PER_MSEC);
    assert_int_equal(series->size, strlen("{a=\"b\"} "));
    assert_int_equal(series->created_size, strlen("1.5\n"));
    assert_memory_equal(series->text, "{a=\"b\"} 1.5\n", series->size + series->created_size);
    assert_int_equal(metrics.created_text_size, strlen("m_created{a=\"b\"} 1.5\n"));
    metrics_remove(&metrics, plain);
    metrics_remove(&metrics, not_counter);
    metrics_remove(&metrics, series);
    assert_int_equal(metrics.created_text_size, 0);
    assert_int_equal(metrics.text_size, 0);
}

static void test_adding_and_removing(void **state)
{
    const struct metric a = {"a", "First.", "", METRIC_GAUGE}, a2 = {"a", "Second.", "", METRIC_GAUGE},
                        ab = {"ab", "Other.", "", METRIC_GAUGE};
    _cleanup_(metrics_done) struct metrics metrics = {0};
    struct series *series[40];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(series); i++)
        series[i] = metrics_add(&metrics, i % 4 == 3 ? &ab : i ? &a2 : &a, 0, 0, NULL, 0);
    assert_int_equal(metrics.n, 2);
    assert_int_equal(metrics.families[0]->n, 30);
    assert_non_null(strstr(metrics.families[0]->text_header, "First."));
    size_t size = metrics.text_size;
    metrics_remove(&metrics, NULL);
    metrics_remove(&metrics, series[4]);
    assert_ptr_equal(metrics.families[0]->series[3], series[5]);
    assert_true(metrics.text_size < size);
    series[4] = metrics_add(&metrics, &a, 0, 0, NULL, 0);
    assert_int_equal(metrics.text_size, size);
    for (size_t i = 0; i < ARRAY_SIZE(series); i++)
        metrics_remove(&metrics, series[i]);
    assert_int_equal(metrics.n, 0);
    assert_int_equal(metrics.text_size, 0);
}

/* Series that are removed meanwhile are there until the end; those that are added stay, and so does the order. */
static void test_held(void **state)
{
    const struct metric a = {"a", "First.", "", METRIC_GAUGE}, b = {"b", "Second.", "", METRIC_GAUGE};
    _cleanup_(metrics_done) struct metrics metrics = {0};
    char long_value[9000] = "";
    struct series *series[100];

    (void)state;
    memset(long_value, 'x', sizeof(long_value) - 1);
    for (size_t i = 0; i < ARRAY_SIZE(series); i++) {
        const struct label label = {"l", i == 50 ? long_value : "short"};
        series[i] = metrics_add(&metrics, i % 2 ? &a : &b, 0, 0, &label, 1);
    }
    metrics_hold(&metrics);
    metrics_hold(&metrics);
    for (size_t i = 0; i < ARRAY_SIZE(series); i += 1 + i % 2)
        metrics_remove(&metrics, series[i]);
    struct series *added = metrics_add(&metrics, &a, 0, 0, NULL, 0);
    metrics_release(&metrics);
    assert_int_equal(metrics.n, 2);
    metrics_release(&metrics);
    assert_int_equal(metrics.n, 2);
    assert_string_equal(metrics.families[1]->name, "a");
    assert_int_equal(metrics.families[0]->n, 49);
    assert_int_equal(metrics.families[1]->n, 1);
    assert_ptr_equal(metrics.families[1]->series[0], added);
    assert_ptr_equal(metrics.families[0]->series[0], series[2]);
    assert_ptr_equal(metrics.families[0]->series[48], series[98]);
}

/* A family takes no more memory after many reloads, although each one adds all of its series again. */
static void test_reloads(void **state)
{
    const struct metric a = {"a", "First.", "", METRIC_GAUGE};
    _cleanup_(metrics_done) struct metrics metrics = {0};
    struct series *series[2] = {NULL};

    (void)state;
    for (unsigned reload = 0; reload < 20; reload++) {
        metrics_hold(&metrics);
        for (size_t i = 0; i < ARRAY_SIZE(series); i++)
            metrics_remove(&metrics, series[i]);
        for (size_t i = 0; i < ARRAY_SIZE(series); i++)
            series[i] = metrics_add(&metrics, &a, 0, 0, NULL, 0);
        metrics_release(&metrics);
        assert_true(malloc_usable_size(metrics.families[0]->last) <= 512);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers), cmocka_unit_test(test_series_text),
        cmocka_unit_test(test_created), cmocka_unit_test(test_adding_and_removing),
        cmocka_unit_test(test_held),    cmocka_unit_test(test_reloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
