/* SPDX-License-Identifier: Apache-2.0 */
/* Query parameters: the order and limit of /api/v1/rates, and parameters that are refused. */
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/counters.h"
#include "tests/unit/fake-service.h"
#include "tests/unit/readings.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define FFFD "\xef\xbf\xbd"

static const char *const names[] = {"cpu", "pmu", "cgroup", NULL};

/* Counts of the cgroups in these tests. Rows without instructions, such as those of software groups, have no ipc. */
static const struct {
    const char *cgroup;
    double cycles, instructions, task_clock;
} cgroups[] = {
    {"/a", 1000, 800, 0.5}, {"/b", 2000, 600, 0.1}, {"/c", 0, 0, 0}, {"/d", 3000, 900, 0.9}, {"/e", 100, 300, 0.1},
};

#define N ARRAY_SIZE(cgroups)

static void start(struct readings *readings)
{
    struct row *rows[2 * N];

    readings_init(readings);
    for (size_t i = 0; i < N; i++)
        rows[i] = readings_add(readings, "cpu", "core", cgroups[i].cgroup, -1, "cycles,instructions");
    for (size_t i = 0; i < N; i++)
        rows[N + i] = readings_add(readings, "software", "software", cgroups[i].cgroup, -1, "task_clock:seconds");
    readings_begin(readings);
    for (size_t i = 0; i < N; i++) {
        readings_count(rows[i], cgroups[i].cycles, cgroups[i].instructions, 2);
        readings_count(rows[N + i], cgroups[i].task_clock, 0, 2);
    }
}

/* Returns the document as parsed by jansson. */
static json_t *rates_document(const struct baseline *baseline, const struct snapshot *snapshot,
                              const struct filter *filter, const struct order *order)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    assert_int_equal(rates_json_write(&text, baseline, snapshot, filter, order, NULL, true), 0);
    json_t *document = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    return document;
}

/* Writes the names of the cgroups in document order, with capitals for rows of the software group. */
static void describe(json_t *document, char *text)
{
    json_t *list = json_object_get(document, "rates"), *entry;
    size_t i;

    json_array_foreach (list, i, entry) {
        bool is_core = str_equal(json_string_value(json_object_get(entry, "group")), "core");
        char name = json_string_value(json_object_get(entry, "cgroup"))[1];
        text[i] = is_core ? name : (char)(name - 'a' + 'A');
    }
    text[json_array_size(list)] = '\0';
}

static const struct {
    const char *in[10]; /* the parameters: name, value, name, value ... */
    const char *out;
} cases[] = {
    {{NULL}, "abcdeABCDE"},
    {{"limit", "3"}, "abcABC"}, /* all rows of three cgroups */
    {{"limit", "10000"}, "abcdeABCDE"},
    {{"sort", "cycles"}, "dbaecABCDE"},
    {{"sort", "cycles", "order", "desc"}, "dbaecABCDE"},
    {{"sort", "cycles", "order", "asc"}, "ceabdABCDE"},
    {{"sort", "ipc", "order", "asc", "limit", "3"}, "bdaABD"},
    {{"sort", "ipc", "order", "asc"}, "bdaecABCDE"},
    {{"sort", "ipc"}, "eabdcABCDE"},
    {{"sort", "task_clock"}, "DABECabcde"},
    {{"sort", "task-clock"}, "DABECabcde"},
    {{"sort", "Cycles", "limit", "3"}, "dbaABD"},
    {{"sort", "cpu-utilization", "limit", "1"}, "Dd"},
    {{"sort", "cpu_utilization", "limit", "1"}, "Dd"},
    /* The sort key may be an event that the filter excludes from the document. */
    {{"event", "cycles", "cgroup", "/[abe]", "sort", "instructions", "order", "asc", "limit", "2"}, "eb"},
    {{"sort", "running_ratio"}, "abcdeABCDE"}, /* a known name, although no row here has a value for it */
};

TEST(test_orders)
{
    _cleanup_(readings_done) struct readings f;
    char text[2 * N + 1];

    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        struct order order = {0};
        struct error error;
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].in) && cases[i].in[k]; k += 2)
            if (order_add(&order, cases[i].in[k], cases[i].in[k + 1], &error) < 0)
                assert_int_equal(filter_add(&filter, names, cases[i].in[k], cases[i].in[k + 1], &error), 0);
        assert_int_equal(order_check(&order, &filter, &f.snapshot, &error), 0);
        json_t *document = rates_document(f.baseline, &f.snapshot, &filter, &order);
        describe(document, text);
        assert_string_equal(text, cases[i].out);
        json_decref(document);
    }
}

/* Whole-number counts are integers in the document. The counts of a group that has never been counted are null. */
TEST(test_counts)
{
    static const struct {
        const char *in_events;
        double in_first, in_second, in_running;
        const char *out;
    } rows[] = {
        {"cycles,instructions", 1000, 800, 1.5, "2.0 1.5 {} {\"cycles\": 9007199254740993, \"instructions\": 800}"},
        {"cycles,task_clock:seconds", 3, 0.25, 2,
         "2.0 2.0 {\"task_clock\": \"seconds\"} {\"cycles\": 3, \"task_clock\": 0.25}"},
        {"cycles", 0, 0, 0, "2.0 0.0 {} {\"cycles\": null}"},
    };
    _cleanup_(readings_done) struct readings f;
    struct row *made[ARRAY_SIZE(rows)];

    readings_init(&f);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        made[i] = readings_add(&f, "cpu", "core", NULL, (int)i, rows[i].in_events);
    readings_begin(&f);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        readings_count(made[i], rows[i].in_first, rows[i].in_second, rows[i].in_running);
    made[0]->counters[0].value = 9007199254740993; /* not representable as a double */
    json_t *document = rates_document(f.baseline, &f.snapshot, NULL, NULL), *list = json_object_get(document, "rates");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        static const char *const members[] = {"enabled", "running", "units", "counts"};
        _cleanup_(buffer_done) struct buffer text = {0};
        for (size_t k = 0; k < ARRAY_SIZE(members); k++) {
            json_t *member = json_object_get(json_array_get(list, i), members[k]);
            _cleanup_(freep) char *dumped = json_dumps(member, JSON_ENCODE_ANY);
            buffer_appendf(&text, "%s%s", k ? " " : "", dumped ? dumped : "absent");
        }
        buffer_append_char(&text, '\0');
        assert_string_equal(text.data, rows[i].out);
    }
    json_decref(document);
}

/* Sorting by a name is refused if no row has it, or if no row that the filter selects has it. */
TEST(test_unknown_names)
{
    static const struct {
        const char *in_sort, *in_group;
        const char *out; /* NULL: the rows can be sorted by this name */
    } rows[] = {
        {"cycles", "core", NULL},
        {"cycles", "software", "no row has \"cycles\""},
        {"ipc", "core", NULL},
        {"ipc", "software", "no row has \"ipc\""},
        {"ipc", "software", "; sort by \"cpu_utilization\" instead"},
        {"IPC", "software", "no row has \"IPC\""},
        {"cpu-utilization", "software", NULL},
        {"Task-Clock", "software", NULL},
        {"branch_miss_ratio", NULL, "no row has \"branch_miss_ratio\""},
        {"ipc", "gone", NULL},
        {"ipcc", NULL, "parameter \"sort\": there is no event or derived metric \"ipcc\" here; did you mean \"ipc\""},
        {"ipcc", NULL, "? Known are ipc, "},
        {NULL, NULL, "parameter \"order\" needs \"sort\""},
    };
    _cleanup_(readings_done) struct readings f;

    start(&f);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        const struct order order = {.sort = rows[i].in_sort, .given = true};
        struct error error;
        if (rows[i].in_group)
            assert_int_equal(filter_add(&filter, names, "group", rows[i].in_group, NULL), 0);
        int r = order_check(&order, &filter, &f.snapshot, &error);
        assert_int_equal(r, rows[i].out ? -EINVAL : 0);
        if (rows[i].out && !strstr(error.message, rows[i].out))
            fail_msg("%s", error.message);
    }
}

/* If the event of a metric is refused, the error about the metric gives the reason. */
TEST(test_refused_event)
{
    const struct order order = {.sort = "ipc"};
    _cleanup_(readings_done) struct readings f;
    struct error error;

    readings_init(&f);
    readings_add(&f, "software", "software", NULL, 0, "context_switches");
    readings_refuse(&f, "cpu", "core", 0, "cycles");
    readings_begin(&f);
    assert_int_equal(order_check(&order, NULL, &f.snapshot, &error), -EINVAL);
    assert_string_equal(error.message, "parameter \"sort\": no row has \"ipc\": it is refused");
}

/* A name is also known if only the configuration or the machine has it, since rows of cgroups and CPUs come and go. */
TEST(test_known_names)
{
    static const struct {
        const char *in_name, *in_value;
        const char *out; /* NULL: the name is known */
    } rows[] = {
        {"event", "cycles", NULL},
        {"event", "page_faults", NULL},
        {"event", "context_switches", NULL},
        {"event", "page_fault", "did you mean \"page_faults\""},
        {"group", "services", NULL},
        {"group", "service", "did you mean \"services\""},
        {"pmu", "cpu", NULL},
        {"pmu", "gpu", "no counter here has the PMU \"gpu\"; did you mean \"cpu\""},
        {"cpu", "0", NULL},
        {"cpu", "1-700", NULL},
        {"cpu", "700-701", "parameter \"cpu\": this machine has no CPU 700-701, only 0"},
    };
    struct rig rig;

    rig_init(&rig, fake_machine_one_pmu(),
             "collectors: {self: {enabled: false}, pmu: {groups: [{name: faults, events: page-faults}]},"
             " cpu: {groups: [{name: core, events: cycles}]},"
             " cgroup: {enabled: true, include: [/none], groups: [{name: services, events: context-switches}]}}");
    const struct snapshot *snapshot = rig_read(&rig);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        struct error error = {0};
        assert_int_equal(filter_add(&filter, names, rows[i].in_name, rows[i].in_value, &error), 0);
        assert_int_equal(filter_check(&filter, snapshot, &error), rows[i].out ? -EINVAL : 0);
        if (rows[i].out && !strstr(error.message, rows[i].out))
            fail_msg("%s", error.message);
    }
    rig_done(&rig);
}

/* A pattern matches a cgroup by its label or by its path; the label lacks some bytes of the path. */
TEST(test_cgroup_patterns)
{
    static const struct {
        const char *in_pattern, *in_label;
        bool out;
    } rows[] = {
        {"/a", "/a", true},
        {"/a\033", "/a" FFFD, true},
        {"/a\033", "/a" FFFD "#1b", true},
        {"/a\033", "/a" FFFD "#07", false},
        {"/a\033", "/a", false},
        {"/a" FFFD, "/a" FFFD, true},
        {"/a" FFFD "#1b", "/a" FFFD "#1b", true},
        {"/a" FFFD "#1b", "/a" FFFD, false},
        {"a\033*", "/b/a" FFFD "c", true},
        {"/*/\xc2\x9b*", "/b/" FFFD FFFD "31m", true},
        {"\xff", "/b/" FFFD, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        assert_int_equal(filter_add(&filter, names, "cgroup", rows[i].in_pattern, NULL), 0);
        assert_int_equal(filter_passes_row(&filter, &(struct row){.cgroup = rows[i].in_label, .cpu = -1}), rows[i].out);
    }
}

TEST(test_odd_names)
{
    struct fake_service fake;

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

static const struct {
    const char *in_name, *in_value;
    int out;
} bad_filters[] =
    {
        {"collector", "x", -EINVAL}, {"collector", "", -EINVAL},
        {"cpu", "", -EINVAL},        {"cpu", "-1", -EINVAL},
        {"cpu", "1-", -EINVAL},      {"cpu", "65536", -EINVAL},
        {"cpu", "2-1", -EINVAL},     {"cpu", "0-1-2", -EINVAL},
        {"cpu", " 1", -EINVAL},      {"event", "", -EINVAL},
        {"nope", "1", -ENOENT},      {"cgroup", "", -EINVAL},
        {"cgroup", "/[a", -EINVAL},  {"cgroup", "system.slice/a", -EINVAL},
        {"container", "", -EINVAL},  {"namespace", "[", -EINVAL},
        {"unit", "a\\", -EINVAL},    {"description", "a", -ENOENT},
},
  bad_orders[] = {
      {"limit", "0", -EINVAL},   {"limit", "10001", -EINVAL}, {"limit", "-1", -EINVAL},  {"limit", "", -EINVAL},
      {"limit", "1.5", -EINVAL}, {"order", "", -EINVAL},      {"order", "ASC", -EINVAL}, {"seconds", "1", -ENOENT},
};

static void check_refused(int r, int expected, const struct error *error, const char *name)
{
    assert_int_equal(r, expected);
    if (expected == -EINVAL)
        assert_non_null(strstr(error->message, name));
}

TEST(test_bad_parameters)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_filters); i++) {
        _cleanup_(filter_done) struct filter filter = {0};
        struct error error = {.message = ""};
        int r = filter_add(&filter, names, bad_filters[i].in_name, bad_filters[i].in_value, &error);
        check_refused(r, bad_filters[i].out, &error, bad_filters[i].in_name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad_orders); i++) {
        struct order order = {0};
        struct error error = {.message = ""};
        int r = order_add(&order, bad_orders[i].in_name, bad_orders[i].in_value, &error);
        check_refused(r, bad_orders[i].out, &error, bad_orders[i].in_name);
    }
}

TEST_MAIN(NULL, NULL)
