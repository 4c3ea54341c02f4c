/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/counters as a JSON reader sees it, and the counters that its filters let through. */
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

/* A part takes memory for that part alone, or a daemon with little memory could show none. */
static void check_room(const struct snapshot *snapshot, const struct filter *filter)
{
    _cleanup_(buffer_done) struct buffer part = {0}, all = {0};

    assert_int_equal(counters_write(&part, snapshot, filter, "a"), 0);
    assert_int_equal(counters_write(&all, snapshot, NULL, "a"), 0);
    assert_true(all.size > 2 * part.size);
    assert_true(part.capacity < all.capacity / 2);
}

static void check_head(const json_t *document, json_t **ret_list)
{
    const char *hostname;
    double timestamp;

    assert_int_equal(json_unpack((json_t *)document, "{s:F, s:s, s:o !}", "timestamp", &timestamp, "hostname",
                                 &hostname, "counters", ret_list),
                     0);
    assert_true(timestamp == 1700000001.123);
    assert_string_equal(hostname, "a\"b");
    assert_int_equal(json_array_size(*ret_list), 7);
}

static void check_counting(const json_t *list)
{
    const char *event, *cgroup, *unit, *state_name;
    json_int_t value, raw;
    double seconds;

    assert_int_equal(json_unpack(json_array_get(list, 0), "{s:I, s:I, s:s, s:s}", "value", &value, "raw", &raw, "state",
                                 &state_name, "unit", &unit),
                     0);
    assert_true(value == INT64_MAX && raw == 600000000);
    assert_string_equal(state_name, "counting");
    assert_string_equal(unit, "");
    assert_int_equal(json_unpack(json_array_get(list, 3), "{s:s, s:s, s:F, s:s}", "event", &event, "cgroup", &cgroup,
                                 "value", &seconds, "unit", &unit),
                     0);
    assert_string_equal(event, "task_clock");
    assert_string_equal(cgroup, "/system.slice/a\\x2d\"b\".service");
    assert_true(seconds == 0.96);
    assert_string_equal(unit, "seconds");
    assert_null(json_object_get(json_array_get(list, 3), "cpu"));
}

static void check_without_value(const json_t *list)
{
    const char *state_name, *error;
    json_t *null;

    assert_int_equal(json_unpack(json_array_get(list, 4), "{s:s, s:o}", "state", &state_name, "value", &null), 0);
    assert_string_equal(state_name, "starved");
    assert_true(json_is_null(null));
    assert_int_equal(
        json_unpack(json_array_get(list, 6), "{s:s, s:o, s:s}", "state", &state_name, "value", &null, "error", &error),
        0);
    assert_string_equal(state_name, "unavailable");
    assert_true(json_is_null(null));
    assert_string_equal(error, "no such \"event\" (ENOENT)");
}

static void test_document(void **state)
{
    struct fake_service fake;
    json_t *list;

    (void)state;
    fake_service_init(&fake, 1);
    fake.snapshot.rows[0]->counters[0].value = INT64_MAX;
    json_t *document = render(&fake.snapshot, NULL);
    check_head(document, &list);
    check_counting(list);
    check_without_value(list);
    json_decref(document);
    fake.snapshot.rows[0]->absent = true;
    document = render(&fake.snapshot, NULL);
    assert_int_equal(json_array_size(json_object_get(document, "counters")), 5);
    json_decref(document);
    fake_service_done(&fake);
}

static void test_odd_names(void **state)
{
    const struct filter filter = {.mask = 1 << FAKE_CGROUP}, other = {.mask = 1 << FAKE_CPU};
    struct fake_service fake;

    (void)state;
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

/* With 4 CPUs: 8 counters of cpu/core, 2 of the cgroup, 2 starved and 1 unavailable on CPU 0. */
static const struct {
    const char *in[8]; /* name, value, ... */
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

static void assert_passes(struct fake_service *fake, const char *const *in, size_t n, size_t counters)
{
    _cleanup_(filter_done) struct filter filter = {0};
    struct error error;

    for (size_t i = 0; i < n && in[i]; i += 2)
        assert_int_equal(filter_add(&filter, fake->snapshot.collector_names, in[i], in[i + 1], &error), 0);
    json_t *document = render(&fake->snapshot, &filter);
    print_message("%s %s\n", in[0] ? in[0] : "", in[0] ? in[1] : "");
    assert_int_equal(json_array_size(json_object_get(document, "counters")), counters);
    json_decref(document);
}

static void test_filters(void **state)
{
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 4);
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        assert_passes(&fake, filters[i].in, ARRAY_SIZE(filters[i].in), filters[i].out);
    fake_service_done(&fake);
}

/* The cgroup's two counters are of a container; CPUs have no names. */
static void test_names(void **state)
{
    static const struct {
        const char *in[6];
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
    char container[] = "grafana", image[] = "docker.io/library/grafana:9";
    struct names names = {.texts = {[NAME_CONTAINER] = container, [NAME_IMAGE] = image}};
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 4);
    for (size_t i = 0; i < fake.snapshot.n_rows; i++)
        if (fake.snapshot.rows[i]->cgroup)
            fake.snapshot.rows[i]->names = &names;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        assert_passes(&fake, named[i].in, ARRAY_SIZE(named[i].in), named[i].out);
    fake_service_done(&fake);
}

static const struct {
    const char *in_name, *in_value;
    int out;
} bad[] = {
    {"collector", "x", -EINVAL}, {"collector", "", -EINVAL},
    {"cpu", "", -EINVAL},        {"cpu", "-1", -EINVAL},
    {"cpu", "1-", -EINVAL},      {"cpu", "65536", -EINVAL},
    {"cpu", "2-1", -EINVAL},     {"cpu", "0-1-2", -EINVAL},
    {"cpu", " 1", -EINVAL},      {"event", "", -EINVAL},
    {"nope", "1", -ENOENT},      {"cgroup", "", -EINVAL},
    {"cgroup", "/[a", -EINVAL},  {"cgroup", "system.slice/a", -EINVAL},
    {"container", "", -EINVAL},  {"namespace", "[", -EINVAL},
    {"unit", "a\\", -EINVAL},    {"description", "a", -ENOENT},
};

static void test_bad_filters(void **state)
{
    static const char *const names[] = {"cpu", NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        struct error error = {.message = ""};
        assert_int_equal(filter_add(&filter, names, bad[i].in_name, bad[i].in_value, &error), bad[i].out);
        if (bad[i].out == -EINVAL)
            assert_non_null(strstr(error.message, bad[i].in_name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document), cmocka_unit_test(test_odd_names),   cmocka_unit_test(test_filters),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_bad_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
