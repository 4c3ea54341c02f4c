/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/rates as a JSON reader sees it: the order, the limit, and names that are hard to write. */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/rates-json.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/test.h"

static const char *const names[] = {"cpu", "cgroup", "self", NULL};

static const struct row_counter core[] = {
    {"cycles", "cpu", "", 0, 1.0, {"perf_cgroup_cycles_total", "C.", "", METRIC_COUNTER}},
    {"instructions", "cpu", "", 0, 1.0, {"perf_cgroup_instructions_total", "I.", "", METRIC_COUNTER}},
};
static const struct row_counter software[] = {
    {"task_clock", "software", "seconds", 9, 1e-9, {"perf_cgroup_task_clock_seconds_total", "T.", "", METRIC_COUNTER}},
};

/* The counts of each cgroup within the second. Without instructions, and in software groups, there is no ipc. */
static const struct {
    const char *cgroup;
    uint64_t cycles, instructions, task_clock;
} cgroups[] = {
    {"/a", 1000, 800, 500000000}, {"/b", 2000, 600, 100000000}, {"/c", 0, 0, 0},
    {"/d", 3000, 900, 900000000}, {"/e", 100, 300, 100000000},
};

#define N ARRAY_SIZE(cgroups)

struct fixture {
    struct snapshot snapshot;
    struct baseline *baseline;
};

static void start(struct fixture *f)
{
    *f = (struct fixture){.snapshot = {.collector_names = names}};
    for (size_t i = 0; i < N; i++)
        snapshot_add_row(
            &f->snapshot,
            &(struct row_target){.collector = 1, .group = "core", .pmu = "cpu", .cgroup = cgroups[i].cgroup, .cpu = -1},
            core, ARRAY_SIZE(core));
    for (size_t i = 0; i < N; i++)
        snapshot_add_row(
            &f->snapshot,
            &(struct row_target){
                .collector = 1, .group = "software", .pmu = "software", .cgroup = cgroups[i].cgroup, .cpu = -1},
            software, ARRAY_SIZE(software));
    for (size_t i = 0; i < f->snapshot.n_rows; i++)
        for (size_t k = 0; k < f->snapshot.rows[i]->n_counters; k++)
            f->snapshot.rows[i]->counters[k].known = true;
    f->baseline = baseline_new(&f->snapshot);
    f->snapshot.monotonic_ns = NSEC_PER_SEC;
    for (size_t i = 0; i < N; i++) {
        f->snapshot.rows[i]->counters[0].value = cgroups[i].cycles;
        f->snapshot.rows[i]->counters[1].value = cgroups[i].instructions;
        f->snapshot.rows[N + i]->counters[0].value = cgroups[i].task_clock;
    }
}

static void stop(struct fixture *f)
{
    baseline_free(f->baseline);
    snapshot_done(&f->snapshot);
}

/* As a reader of JSON has it. */
static json_t *rates_document(const struct baseline *baseline, const struct snapshot *snapshot,
                              const struct filter *filter, const struct order *order)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    assert_int_equal(rates_json_write(&text, baseline, snapshot, filter, order, false), 0);
    json_t *document = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    return document;
}

/* The names of the cgroups in the order of the document, capitals for the software groups. */
static void describe(json_t *document, char *text)
{
    json_t *list = json_object_get(document, "rates"), *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        bool is_core = str_equal(json_string_value(json_object_get(entry, "group")), "core");
        char name = json_string_value(json_object_get(entry, "cgroup"))[1];
        text[i] = is_core ? name : (char)(name - 'a' + 'A');
    }
    text[json_array_size(list)] = '\0';
}

static const struct {
    const char *in[6]; /* name, value, ... */
    const char *out;
} cases[] = {
    {{NULL}, "abcdeABCDE"},
    {{"limit", "3"}, "abc"},
    {{"limit", "10000"}, "abcdeABCDE"},
    {{"sort", "cycles"}, "dbaecABCDE"},
    {{"sort", "cycles", "order", "desc"}, "dbaecABCDE"},
    {{"sort", "cycles", "order", "asc"}, "ceabdABCDE"},
    {{"sort", "ipc", "order", "asc", "limit", "3"}, "bda"},
    {{"sort", "ipc", "order", "asc"}, "bdaecABCDE"},
    {{"sort", "ipc"}, "eabdcABCDE"},
    {{"sort", "task_clock"}, "DABECabcde"},
    {{"sort", "task-clock"}, "DABECabcde"},
    {{"sort", "Cycles", "limit", "3"}, "dba"},
    {{"sort", "cpu-utilization", "limit", "1"}, "D"},
    {{"sort", "cpu_utilization", "limit", "1"}, "D"},
    {{"sort", "running_ratio"}, "abcdeABCDE"}, /* known, though nothing here has it */
};

static void test_orders(void **state)
{
    struct fixture f;
    char text[2 * N + 1];

    (void)state;
    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct order order = {0};
        struct error error;
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].in) && cases[i].in[k]; k += 2)
            assert_int_equal(order_add(&order, cases[i].in[k], cases[i].in[k + 1], &error), 0);
        assert_int_equal(order_check(&order, NULL, &f.snapshot, &error), 0);
        json_t *document = rates_document(f.baseline, &f.snapshot, NULL, &order);
        describe(document, text);
        assert_string_equal(text, cases[i].out);
        json_decref(document);
    }
    stop(&f);
}

/* A name that some rows have, but none of those that pass. */
static void test_no_row_has_it(void **state)
{
    static const struct {
        const char *in_sort, *in_group;
        const char *out; /* NULL: it can be sorted */
    } rows[] = {
        {"cycles", "core", NULL},
        {"cycles", "software", "no row has \"cycles\""},
        {"ipc", "core", NULL},
        {"ipc", "software", "no row has \"ipc\""},
        {"IPC", "software", "no row has \"IPC\""},
        {"cpu-utilization", "software", NULL},
        {"Task-Clock", "software", NULL},
        {"branch_miss_ratio", NULL, "no row has \"branch_miss_ratio\""},
        {"ipc", "gone", NULL},
    };
    struct fixture f;

    (void)state;
    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        const struct order order = {.sort = rows[i].in_sort};
        struct error error;
        if (rows[i].in_group)
            assert_int_equal(filter_add(&filter, names, "group", rows[i].in_group, NULL), 0);
        int r = order_check(&order, &filter, &f.snapshot, &error);
        print_message("%s %s\n", rows[i].in_sort, r < 0 ? error.message : "");
        assert_int_equal(r, rows[i].out ? -EINVAL : 0);
        if (rows[i].out)
            assert_non_null(strstr(error.message, rows[i].out));
    }
    stop(&f);
}

/* Sorting by an event that the filter leaves out of the document. */
static void test_filter_and_order(void **state)
{
    struct fixture f;
    char text[2 * N + 1];

    (void)state;
    start(&f);
    _cleanup_(filter_done) struct filter filter = {0};
    assert_int_equal(filter_add(&filter, names, "event", "cycles", NULL), 0);
    assert_int_equal(filter_add(&filter, names, "cgroup", "/[abe]", NULL), 0);
    const struct order order = {.sort = "instructions", .ascending = true, .limit = 2};
    json_t *document = rates_document(f.baseline, &f.snapshot, &filter, &order);
    describe(document, text);
    assert_string_equal(text, "eb");
    json_decref(document);
    stop(&f);
}

static const struct {
    const char *in_name, *in_value;
    int out;
} bad[] = {
    {"limit", "0", -EINVAL},   {"limit", "10001", -EINVAL}, {"limit", "-1", -EINVAL},  {"limit", "", -EINVAL},
    {"limit", "1.5", -EINVAL}, {"order", "", -EINVAL},      {"order", "ASC", -EINVAL}, {"seconds", "1", -ENOENT},
};

static void test_bad_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct order order = {0};
        struct error error = {.message = ""};
        assert_int_equal(order_add(&order, bad[i].in_name, bad[i].in_value, &error), bad[i].out);
        if (bad[i].out == -EINVAL)
            assert_non_null(strstr(error.message, bad[i].in_name));
    }
}

static void test_unknown_names(void **state)
{
    const struct order unknown = {.sort = "ipcc"}, nothing = {.given = true};
    struct fixture f;
    struct error error;

    (void)state;
    start(&f);
    assert_int_equal(order_check(&unknown, NULL, &f.snapshot, &error), -EINVAL);
    assert_non_null(strstr(
        error.message, "parameter \"sort\": there is no event or derived metric \"ipcc\" here; did you mean \"ipc\""));
    assert_non_null(strstr(error.message, "? Known are ipc, "));
    assert_int_equal(order_check(&nothing, NULL, &f.snapshot, &error), -EINVAL);
    assert_string_equal(error.message, "parameter \"order\" needs \"sort\"");
    stop(&f);
}

static void test_odd_names(void **state)
{
    struct fake_service fake;

    (void)state;
    fake_service_init(&fake, 0);
    fake_service_add_odd_cgroups(&fake.snapshot);
    struct baseline *baseline = baseline_new(&fake.snapshot);
    fake_service_advance(&fake);
    json_t *document = rates_document(baseline, &fake.snapshot, &(struct filter){.mask = 1 << FAKE_CGROUP}, NULL);
    json_t *list = json_object_get(document, "rates");
    assert_int_equal(json_array_size(list), 1 + N_ODD_CGROUPS);
    for (size_t i = 0; i < N_ODD_CGROUPS; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1 + i), "cgroup")),
                            odd_cgroups[i].label);
    json_decref(document);
    baseline_free(baseline);
    fake_service_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),         cmocka_unit_test(test_filter_and_order),
        cmocka_unit_test(test_bad_parameters), cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_odd_names),      cmocka_unit_test(test_no_row_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
