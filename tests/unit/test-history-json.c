/* SPDX-License-Identifier: Apache-2.0 */
/* The /api/v1/history document for a recorded history, and the request parameters. */
#include <jansson.h>
#include <stdalign.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "formats/history-json.h"
#include "tests/unit/readings.h"
#include "tests/unit/test.h"

#define NOW_S UINT64_C(1700000000)
#define INTERVAL_S UINT64_C(10)

static const char *const names[] = {"cpu", "pmu", "cgroup", NULL};

/* Readings of a CPU and two cgroups, ten seconds apart. One cgroup has rows for two PMUs. */
struct recorded {
    alignas(8) char coarse[HISTORY_SIZE_MIN], fine[HISTORY_SIZE_MIN];
    struct readings readings;
    struct row *rows[4];
    struct histories histories;
};

static void read_once(struct recorded *recorded, unsigned i, uint64_t seconds)
{
    struct snapshot *snapshot = &recorded->readings.snapshot;

    snapshot->realtime_ns = (NOW_S + INTERVAL_S * i) * NSEC_PER_SEC;
    snapshot->monotonic_ns += seconds * NSEC_PER_SEC;
    for (size_t k = 0; k < ARRAY_SIZE(recorded->rows); k++)
        readings_count(recorded->rows[k], 1000.0 * (double)(k + 1), 500.0 * (double)(k + 1), 2);
    assert_int_equal(history_record(recorded->histories.coarse, snapshot), 0);
}

/* Records three frames, a gap of 90 seconds, and one more frame. */
static void record(struct recorded *recorded)
{
    const struct history_settings settings = {INTERVAL_S * NSEC_PER_SEC, 100 * NSEC_PER_SEC};
    struct readings *readings = &recorded->readings;

    memset(recorded, 0, sizeof(*recorded));
    readings_init(readings);
    recorded->rows[0] = readings_add(readings, "cpu", "core", NULL, 0, "cycles,instructions");
    recorded->rows[1] = readings_add(readings, "cpu", "core", "/a", -1, "cycles,instructions");
    recorded->rows[2] = readings_add(readings, "cpu", "core", "/b", -1, "cycles,instructions");
    recorded->rows[3] = readings_add(readings, "big", "core", "/b", -1, "cycles,instructions");
    recorded->histories.interval_ns = settings.interval_ns;
    assert_int_equal(history_new(recorded->coarse, sizeof(recorded->coarse), &settings, &recorded->histories.coarse),
                     0);
    assert_int_equal(history_new(recorded->fine, sizeof(recorded->fine), &settings, &recorded->histories.fine), 0);
    for (unsigned i = 0; i < 3; i++)
        read_once(recorded, i, INTERVAL_S);
    read_once(recorded, 12, INTERVAL_S);
}

static void forget(struct recorded *recorded)
{
    history_free(recorded->histories.coarse);
    history_free(recorded->histories.fine);
    readings_done(&recorded->readings);
}

/* Returns the document for a query like "name=value&...", or NULL and the error. */
static json_t *ask(const struct recorded *recorded, const char *query, struct error *error)
{
    _cleanup_(history_question_done) struct history_question question = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    char copy[256], *rest = copy, *parameter;
    json_error_t problem;
    int r = 0;

    snprintf(copy, sizeof(copy), "%s", query);
    while (r == 0 && (parameter = strsep(&rest, "&")) && *parameter) {
        char *value = strchr(parameter, '=');
        *value++ = '\0';
        r = history_question_add(&question, names, parameter, value, error);
    }
    if (r == 0)
        r = history_json_write(&text, &recorded->histories, &question, &recorded->readings.snapshot, error);
    if (r < 0)
        return NULL;
    json_t *document = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &problem);
    if (!document)
        fail_msg("%s: %s", query, problem.text);
    return document;
}

/* Compares a part of the document that answers a query; `path` is like "rows/0/events/cycles". */
static void assert_answer(const struct recorded *recorded, const char *query, const char *path, const char *expected)
{
    struct error error = {0};
    json_t *document = ask(recorded, query, &error), *at = document;
    char copy[128], *rest = copy, *key;

    if (!document)
        fail_msg("%s: %s", query, error.message);
    snprintf(copy, sizeof(copy), "%s", path);
    while ((key = strsep(&rest, "/")))
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
    char *text = at ? json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12)) : strdup("missing");
    if (!str_equal(text, expected))
        fail_msg("%s: %s is %s, not %s", query, path, text, expected);
    free(text);
    json_decref(document);
}

TEST(test_document)
{
    static const struct {
        const char *in_query, *in_path, *out;
    } cases[] = {
        {"", "interval", "10.0"},
        {"", "times", "[1700000010.0,1700000020.0,1700000110.0,1700000120.0]"},
        {"", "seconds", "[10.0,10.0,0.0,10.0]"},
        {"", "left_out", "[0,0,0,0]"},
        {"", "rows/0/events/cycles", "[1000,1000,null,1000]"},
        {"", "rows/0/state", "[\"counting\",\"counting\",null,\"counting\"]"},
        {"", "rows/0/enabled", "[2.0,2.0,null,2.0]"},
        {"cgroup=/b&event=instructions", "rows/0/events", "{\"instructions\":[1500,1500,null,1500]}"},
        {"since=1700000010&until=1700000020", "times", "[1700000020.0]"},
        {"since=-110s&until=2023-11-14T23:13:40.5+01:00", "times", "[1700000020.0]"},
        {"step=1m", "times", "[1700000060.0,1700000120.0]"},
        {"step=1m", "seconds", "[20.0,10.0]"},
        {"step=1m", "rows/0/events/cycles", "[2000,1000]"},
        {"step=60&derived=ipc", "rows/0/derived", "{\"ipc\":[0.5,0.5]}"},
        {"since=1970-01-01T00:00:00Z&step=1m", "seconds", "[20.0,0.0,10.0]"},
        {"sort=cycles&limit=1", "rows/0/pmu", "\"big\""},
        {"sort=cycles&order=asc&limit=1", "rows/0/collector", "\"cpu\""},
        {"sort=ipc&limit=1", "rows/1", "missing"},
        {"cgroup=/b&totals=cgroup", "totals/0/events/cycles", "[7000,7000,null,7000]"},
        {"cgroup=/b&totals=cgroup", "totals/0/pmu", "missing"},
        {"cgroup=/b&totals=pmu", "totals/1/pmu", "\"big\""},
        {"", "others", "[]"},
        {"step=1s", "rows", "[]"}, /* steps of 1 s come from the fine history, which has no frames here */
    };
    struct recorded *recorded = test_malloc(sizeof(*recorded));

    record(recorded);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answer(recorded, cases[i].in_query, cases[i].in_path, cases[i].out);
    forget(recorded);
    test_free(recorded);
}

TEST(test_refused)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"since=yesterday", "parameter \"since\": expected seconds"},
        {"since=2023-11-14", "parameter \"since\": expected seconds"},
        {"since=2023-11-14T23:13:40", "parameter \"since\": expected seconds"}, /* a time without a time zone */
        {"since=-1", "parameter \"since\": expected seconds"},
        {"until=99999999999999999999", "parameter \"until\": expected seconds"},
        {"since=2100-01-01T00:00:00Z", "parameter \"since\": 2100-01-01T00:00:00Z is in the future"},
        {"since=-1s&until=-1m", "parameter \"until\": -1m is before \"since\""},
        {"step=1ms", "parameter \"step\": 1ms is less than a second"},
        {"step=x", "parameter \"step\": expected a duration"},
        {"derived=ipc,ipx", "parameter \"derived\": there is no derived metric \"ipx\""},
        {"totals=x", "parameter \"totals\""},
        {"limit=0", "parameter \"limit\""},
        {"collector=x", "parameter \"collector\""},
    };
    struct recorded *recorded = test_malloc(sizeof(*recorded));

    record(recorded);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        if (ask(recorded, cases[i].in, &error) || !str_starts(error.message, cases[i].out))
            fail_msg("%s: \"%s\"", cases[i].in, error.message);
    }
    forget(recorded);
    test_free(recorded);
}

/* A request for more steps than a document may have is refused. */
TEST(test_too_many_steps)
{
    struct recorded *recorded = test_malloc(sizeof(*recorded));
    struct error error = {0};

    record(recorded);
    read_once(recorded, 10000000, INTERVAL_S); /* 10,000,000 intervals later, as if the clock had been set */
    assert_null(ask(recorded, "step=10s", &error));
    assert_true(str_starts(error.message, "parameter \"step\": the result would be too large"));
    forget(recorded);
    test_free(recorded);
}

TEST_MAIN(NULL, NULL)
