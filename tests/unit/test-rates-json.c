/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of /api/v1/rates: which rows are added up, after which filter, and which metrics sums have. */
#include "base/cleanup.h"
#include "base/json.h"
#include "formats/rates-json.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

static const char core_events[] = "cycles,instructions";

/* The totals as one line: "collector pmu cpus group cycles ipc; ", "-" for what is not there. */
static void describe(json_t *document, char *text, size_t size)
{
    json_t *list = json_object_get(document, "totals"), *entry;
    size_t i, n = 0;

    assert_true(json_is_array(list));
    text[0] = '\0';
    json_array_foreach(list, i, entry)
    {
        const char *cpus = json_string_value(json_object_get(entry, "cpus"));
        json_t *cycles = json_object_get(json_object_get(entry, "events"), "cycles");
        json_t *ipc = json_object_get(json_object_get(entry, "ratios"), "ipc");
        const char *cgroup = json_string_value(json_object_get(entry, "cgroup"));
        n += (size_t)snprintf(text + n, size - n, "%s%s %s %s ", cgroup ? cgroup : "",
                              json_string_value(json_object_get(entry, "pmu")), cpus ? cpus : "-",
                              json_string_value(json_object_get(entry, "group")));
        n += (size_t)snprintf(text + n, size - n, "%g ", json_is_number(cycles) ? json_number_value(cycles) : -1);
        n += (size_t)snprintf(text + n, size - n, "%g; ", json_is_number(ipc) ? json_number_value(ipc) : -1);
    }
}

static void expect(const struct readings *readings, const struct filter *filter, const char *expected)
{
    static const struct order order = {.sort = "ipc", .limit = 1};
    _cleanup_(buffer_done) struct buffer out = {0};
    char text[1024];

    assert_int_equal(rates_json_write(&out, readings->baseline, &readings->snapshot, filter, &order, true), 0);
    json_t *document = json_loadb(out.data, out.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    describe(document, text, sizeof(text));
    assert_string_equal(text, expected);
    json_decref(document);
}

/* Four CPUs of two kinds, cgroups on each PMU, and an event that could not be opened. */
static void start(struct readings *readings)
{
    struct row *rows[4];

    readings_init(readings);
    for (int cpu = 0; cpu < 4; cpu++)
        rows[cpu] = readings_add(readings, cpu < 2 ? "a55" : "a76", "core", NULL, cpu, core_events);
    struct row *one = readings_add(readings, "a55", "core", "/x", -1, core_events);
    struct row *other = readings_add(readings, "a55", "core", "/y", -1, core_events);
    readings_refuse(readings, "a55", "core", 0, "branches");
    readings_begin(readings);
    readings_count(rows[0], 1000, 500, 2);
    readings_count(rows[1], 3000, 300, 1);
    readings_count(rows[2], 10, 40, 2);
    readings_count(rows[3], 10, 0, 2);
    readings_count(one, 100, 50, 2);
    readings_count(other, 8, 2, 2);
}

/* Neither the order nor the limit of the rows concerns them. A ratio of sums: the mean of 0.5 and 0.1 would be 0.3. */
static void test_totals(void **state)
{
    _cleanup_(readings_done) struct readings readings;

    (void)state;
    start(&readings);
    expect(&readings, NULL, "a55 0-1 core 2000 0.2; a76 2-3 core 10 2; /xa55 - core 50 0.5; /ya55 - core 4 0.25; ");
}

/* Filters apply before rows are added up. */
static void test_filtered(void **state)
{
    static const char *const names[] = {"cpu", "pmu", "cgroup", NULL};
    _cleanup_(readings_done) struct readings readings;
    struct filter cpus = {0}, event = {0};
    struct error error;

    (void)state;
    start(&readings);
    assert_int_equal(filter_add(&cpus, names, "cpu", "1-2", &error), 0);
    expect(&readings, &cpus, "a55 1 core 1500 0.1; a76 2 core 5 4; ");
    assert_int_equal(filter_add(&event, names, "event", "instructions", &error), 0);
    assert_int_equal(filter_add(&event, names, "collector", "cpu", &error), 0);
    expect(&readings, &event, "a55 0-1 core -1 0.2; a76 2-3 core -1 2; ");
    filter_done(&cpus);
    filter_done(&event);
}

/* Where one event is known of fewer CPUs than the other, both sums stand and their ratio does not. */
static void test_uneven(void **state)
{
    _cleanup_(readings_done) struct readings readings;

    (void)state;
    readings_init(&readings);
    struct row *one = readings_add(&readings, "a", "core", NULL, 0, core_events);
    struct row *two = readings_add(&readings, "a", "core", NULL, 1, core_events);
    two->counters[1].known = false;
    readings_begin(&readings);
    readings_count(one, 100, 50, 2);
    readings_count(two, 100, 50, 2);
    two->counters[1].known = false;
    expect(&readings, NULL, "a 0-1 core 100 -1; ");
    one->state = two->state = ROW_STARVED;
    expect(&readings, NULL, "a 0-1 core -1 -1; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_uneven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
