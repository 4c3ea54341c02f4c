/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/counters as a JSON parser reads it, and the counters that its filters select. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "formats/counters.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/test.h"

static json_t *render(const struct snapshot *snapshot, const struct filter *filter)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};
    json_error_t error;

    assert_int_equal(counters_write(&buffer, snapshot, filter, "a\"b"), 0);
    json_t *document = json_loadb(buffer.data, buffer.size, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        fail_msg("%s in %.*s", error.text, (int)buffer.size, buffer.data);
    return document;
}

static size_t count_rendered(const struct snapshot *snapshot, const struct filter *filter)
{
    json_t *document = render(snapshot, filter);
    size_t n = json_array_size(json_object_get(document, "counters"));

    json_decref(document);
    return n;
}

/* On a machine with one CPU, the counter at index `in` has these members; null: the value is unknown. */
static const struct {
    size_t in;
    const char *out;
} counters[] = {
    {0, "{\"value\": 9223372036854775807, \"raw\": 600000000, \"state\": \"counting\", \"unit\": \"\"}"},
    {1, "{\"value\": null, \"state\": \"counting\"}"}, /* JSON has no infinity */
    {3, "{\"event\": \"task_clock\", \"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\", \"value\": 0.96,"
        " \"unit\": \"seconds\"}"},
    {4, "{\"state\": \"starved\", \"value\": null}"},
    {6, "{\"state\": \"unavailable\", \"value\": null, \"error\": \"no such \\\"event\\\" (ENOENT)\"}"},
};

TEST(test_document)
{
    struct fake_service fake;
    const char *key, *hostname;
    json_t *value, *list;
    double timestamp;

    fake_service_init(&fake, 1);
    fake.snapshot.rows[0]->counters[0].value = INT64_MAX;
    fake.snapshot.rows[0]->counters[1].decimals = SERIES_REAL;
    memcpy(&fake.snapshot.rows[0]->counters[1].value, &(double){INFINITY}, sizeof(double));
    json_t *document = render(&fake.snapshot, NULL);
    assert_int_equal(
        json_unpack(document, "{s:F, s:s, s:o !}", "timestamp", &timestamp, "hostname", &hostname, "counters", &list),
        0);
    assert_true(timestamp == 1700000001.123);
    assert_string_equal(hostname, "a\"b");
    assert_int_equal(json_array_size(list), 7);
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        json_t *expected = json_loads(counters[i].out, 0, NULL), *counter = json_array_get(list, counters[i].in);
        assert_non_null(expected);
        json_object_foreach (expected, key, value)
            if (!json_equal(json_object_get(counter, key), value))
                fail_msg("%s of counter %zu", key, counters[i].in);
        json_decref(expected);
    }
    assert_null(json_object_get(json_array_get(list, 3), "cpu"));
    json_decref(document);
    fake.snapshot.rows[0]->absent = true;
    assert_int_equal(count_rendered(&fake.snapshot, NULL), 5);
    fake_service_done(&fake);
}

/* While a collector fails, its counters have no values. An event that could not be opened still has its reason. */
TEST(test_failed)
{
    struct fake_service fake;
    size_t i, n_failed = 0;
    json_t *counter;

    fake_service_init(&fake, 1);
    fake.snapshot.metrics.failed = 1 << FAKE_CPU;
    json_t *document = render(&fake.snapshot, NULL);
    json_array_foreach (json_object_get(document, "counters"), i, counter) {
        const char *is = json_string_value(json_object_get(counter, "state"));
        bool is_cgroup = json_object_get(counter, "cgroup");
        assert_int_equal(str_equal(is, "failed"), !is_cgroup && !str_equal(is, "unavailable"));
        if (!str_equal(is, "failed"))
            continue;
        n_failed++;
        assert_true(json_is_null(json_object_get(counter, "value")));
        assert_null(json_object_get(counter, "raw"));
        assert_null(json_object_get(counter, "enabled_ns"));
    }
    assert_int_equal(n_failed, 4);
    json_decref(document);
    fake_service_done(&fake);
}

/* A filtered document takes less memory than the whole one, so that a daemon with little memory can serve it. */
static void check_room(const struct snapshot *snapshot, const struct filter *filter)
{
    _cleanup_(buffer_done) struct buffer part = {0}, all = {0};

    assert_int_equal(counters_write(&part, snapshot, filter, "a"), 0);
    assert_int_equal(counters_write(&all, snapshot, NULL, "a"), 0);
    assert_true(all.size > 2 * part.size);
    assert_true(part.capacity < all.capacity / 2);
}

TEST(test_odd_names)
{
    const struct filter filter = {.mask = 1 << FAKE_CGROUP}, other = {.mask = 1 << FAKE_CPU};
    struct fake_service fake;

    fake_service_init(&fake, 1);
    fake_service_add_odd_cgroups(&fake.snapshot);
    check_room(&fake.snapshot, &other);
    json_t *document = render(&fake.snapshot, &filter), *list = json_object_get(document, "counters");
    assert_int_equal(json_array_size(list), 2 + 2 * N_ODD_CGROUPS);
    for (size_t i = 0; i < N_ODD_CGROUPS; i++) {
        json_t *counter = json_array_get(list, 2 + 2 * i);
        assert_string_equal(json_string_value(json_object_get(counter, "cgroup")), odd_cgroups[i].label);
        assert_int_equal(json_integer_value(json_object_get(counter, "value")), 1200000000);
    }
    json_decref(document);
    fake_service_done(&fake);
}

/* Four CPUs have 13 counters: 8 of cpu/core, 2 of the cgroup, 2 starved and 1 unavailable on CPU 0. */
static const struct {
    const char *in[8]; /* the filter, as pairs of name and value */
    size_t out;
} filters[] = {
    {{NULL}, 13},
    {{"collector", "cpu"}, 11},
    {{"collector", "cgroup"}, 2},
    {{"collector", "cgroup", "collector", "cpu"}, 13},
    {{"collector", "self"}, 0},
    {{"cpu", "0"}, 5},
    {{"cpu", "1-2"}, 4},
    {{"cpu", "1", "cpu", "3-65535"}, 4},
    {{"cpu", "1", "event", "cycles"}, 1},
    {{"event", "cycles", "event", "instructions"}, 11},
    {{"event", "task_clock"}, 1},
    {{"event", "Task-Clock"}, 1},
    {{"event", "task"}, 0},
    {{"event", "task-clock-"}, 0},
    {{"event", "task+clock"}, 0},
    {{"pmu", "software"}, 1},
    {{"pmu", "nope"}, 0},
    {{"group", "late"}, 2},
    {{"cgroup", "/system.slice/*"}, 2},
    {{"cgroup", "*\"b\"*"}, 2},
    {{"cgroup", "*.service"}, 2},
    {{"cgroup", "system.slice"}, 0},
    {{"cgroup", "/*"}, 0},
    {{"cgroup", "/*/*"}, 2},
    {{"cgroup", "/**"}, 2},
    {{"cgroup", "/system.slice/a\\\\x2d*"}, 2},
    {{"cgroup", "/user.slice"}, 0},
    {{"cgroup", "/user.slice", "cgroup", "*.service"}, 2},
    {{"cgroup", "*", "cpu", "0"}, 0},
};

/* The cgroup is a container, so its two counters have names; counters of CPUs have none. */
static const struct {
    const char *in[8];
    size_t out;
} named[] = {
    {{"container", "grafana"}, 2},
    {{"container", "graf*"}, 2},
    {{"container", "*"}, 2},
    {{"container", "loki"}, 0},
    {{"container", "loki", "container", "grafana"}, 2},
    {{"container", "grafana", "image", "nginx"}, 0},
    {{"container", "grafana", "image", "grafana:*"}, 2},
    {{"container", "grafana", "event", "cycles"}, 1},
    {{"image", "docker.io/*/grafana:9"}, 2},
    {{"image", "docker.io/*"}, 0},
    {{"namespace", "*"}, 0},
    {{"collector", "cpu", "container", "grafana"}, 0},
    {{"unit", "*.service"}, 0},
};

static void assert_passes(const struct snapshot *snapshot, const char *const *in, size_t counters_out)
{
    _cleanup_(filter_done) struct filter filter = {0};
    struct error error;

    for (size_t i = 0; i < 8 && in[i]; i += 2)
        assert_int_equal(filter_add(&filter, snapshot->collector_names, in[i], in[i + 1], &error), 0);
    print_message("%s %s\n", in[0] ? in[0] : "", in[0] ? in[1] : "");
    assert_int_equal(count_rendered(snapshot, &filter), counters_out);
}

TEST(test_filters)
{
    char container[] = "grafana", image[] = "docker.io/library/grafana:9";
    struct names names = {.texts = {[NAME_CONTAINER] = container, [NAME_IMAGE] = image}};
    struct fake_service fake;

    fake_service_init(&fake, 4);
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        assert_passes(&fake.snapshot, filters[i].in, filters[i].out);
    for (size_t i = 0; i < fake.snapshot.n_rows; i++)
        if (fake.snapshot.rows[i]->cgroup)
            fake.snapshot.rows[i]->names = &names;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        assert_passes(&fake.snapshot, named[i].in, named[i].out);
    fake_service_done(&fake);
}

TEST_MAIN(NULL, NULL)
