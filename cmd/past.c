/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/past.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cgroups/names.h"
#include "perf/group.h"

struct past_row {
    struct metric_set_times times;
    double events[GROUP_MEMBERS_MAX]; /* rates of the row's events, as in struct rates */
};

static const char *const collector_names[] = {"cpu", "pmu", "cgroup", NULL};

static struct names *names_free(struct names *names)
{
    if (!names)
        return NULL;
    names_done(names);
    free(names);
    return NULL;
}
DEFINE_CLEANUP(struct names *, names_free);

void past_done(struct past *past)
{
    snapshot_done(&past->snapshot);
    for (size_t i = 0; i < past->n_names; i++)
        names_free(past->names[i]);
    free(past->names);
    free(past->rows);
    *past = (struct past){0};
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Returns the number for a step, or NAN if the number is null or negative. */
static double number_of(const json_t *numbers, size_t step)
{
    const json_t *number = json_array_get(numbers, step);

    return json_is_number(number) && json_number_value(number) >= 0 ? json_number_value(number) : NAN;
}

/*
 * Returns the sum of a row's numbers over the steps in which they are known, or NAN if there are none. *ret_seconds is
 * the length of the known steps, including those in which the row did not exist.
 */
static double sum_known(const json_t *history, const json_t *row, const json_t *numbers, double *ret_seconds)
{
    const json_t *seconds = json_object_get(history, "seconds"), *states = json_object_get(row, "state");
    double sum = NAN;

    *ret_seconds = 0;
    for (size_t i = 0; i < json_array_size(seconds); i++) {
        bool absent = json_is_null(json_array_get(states, i));
        double length = number_of(seconds, i), number = absent ? 0 : number_of(numbers, i);
        if (isnan(number) || !(length > 0))
            continue;
        *ret_seconds += length;
        if (!absent)
            sum = isnan(sum) ? number : sum + number;
    }
    return sum;
}

/* --- names --- */

static const json_t *find_cgroup(const json_t *cgroups, const char *label)
{
    const json_t *cgroup;
    size_t i;

    json_array_foreach (json_object_get(cgroups, "cgroups"), i, cgroup)
        if (str_equal(text_of(cgroup, "cgroup"), label))
            return cgroup;
    return NULL;
}

/* **ret is NULL if the cgroup has no names. Returns -ENOMEM. */
static int add_names(struct past *past, const json_t *cgroups, const char *label, const struct names **ret)
{
    const json_t *cgroup = label ? find_cgroup(cgroups, label) : NULL;
    _cleanup_(names_freep) struct names *names = cgroup ? calloc(1, sizeof(*names)) : NULL;
    int r = 0;

    *ret = NULL;
    if (!cgroup)
        return 0;
    if (!names || array_grow(&past->names, past->n_names) < 0)
        return -ENOMEM;
    for (enum name_kind kind = 0; r == 0 && kind < N_NAME_KINDS; kind++) {
        const char *text = text_of(cgroup, name_kind_text(kind));
        r = *text ? names_set(names, kind, text, strlen(text)) : 0;
    }
    if (r == 0)
        *ret = past->names[past->n_names++] = steal(names);
    return r;
}

/* --- rows --- */

/* Stores the events of a row in `counters`. Returns the number of events, or 0 if the row has too many events. */
static size_t take_counters(json_t *row, struct row_counter counters[GROUP_MEMBERS_MAX])
{
    json_t *events = json_object_get(row, "events"), *units = json_object_get(row, "units"), *values;
    const char *event;
    size_t n = 0;

    if (json_object_size(events) > GROUP_MEMBERS_MAX)
        return 0;
    json_object_foreach (events, event, values)
        counters[n++] = (struct row_counter){
            .event = event, .pmu = text_of(row, "pmu"), .unit = text_of(units, event), .decimals = SERIES_REAL};
    return n;
}

/*
 * Computes the rates and times of a row. Both are extrapolated from the known steps: rates are averaged over them, and
 * enabled and busy times are scaled to the whole interval. In unknown steps the row is assumed to be enabled but not
 * running, as with multiplexing.
 */
static void take_rates(const json_t *history, const json_t *object, const struct row *row, double seconds,
                       struct past_row *ret)
{
    const json_t *events = json_object_get(object, "events");
    double known;

    for (size_t i = 0; i < row->n_counters; i++) {
        double growth = sum_known(history, object, json_object_get(events, row->counters[i].event), &known);
        ret->events[i] = growth / known;
    }
    ret->times.interval = seconds;
    ret->times.running = sum_known(history, object, json_object_get(object, "running"), &known);
    ret->times.enabled = sum_known(history, object, json_object_get(object, "enabled"), &known) * seconds / known;
    ret->times.busy = sum_known(history, object, json_object_get(object, "busy"), &known) * seconds / known;
}

static int add_row(struct past *past, const json_t *history, json_t *object, const json_t *cgroups)
{
    struct row_counter counters[GROUP_MEMBERS_MAX];
    const json_t *cpu = json_object_get(object, "cpu");
    json_int_t number = json_is_integer(cpu) ? json_integer_value(cpu) : -1;
    struct row_target target = {
        .group = text_of(object, "group"),
        .pmu = text_of(object, "pmu"),
        .cgroup = json_string_value(json_object_get(object, "cgroup")),
        .cpu = number >= 0 && number < CPUSET_MAX ? (int)number : -1,
        .slots = (unsigned)MIN(MAX(json_integer_value(json_object_get(object, "slots")), 0), 1024),
    };
    int collector = collector_find(collector_names, text_of(object, "collector"));
    size_t n = take_counters(object, counters);

    if (n == 0 || collector < 0)
        return 0;
    target.collector = (unsigned)collector;
    if (add_names(past, cgroups, target.cgroup, &target.names) < 0)
        return -ENOMEM;
    struct row *row = snapshot_add_row(&past->snapshot, &target, counters, n);
    if (!row)
        return -ENOMEM;
    row->uneven = json_is_true(json_object_get(object, "uneven"));
    take_rates(history, object, row, past->seconds, &past->rows[past->snapshot.n_rows - 1]);
    return 0;
}

int past_parse(const json_t *history, const json_t *cgroups, struct past *ret, struct error *error)
{
    _cleanup_(past_done) struct past past = {.snapshot = {.collector_names = collector_names}};
    const json_t *seconds = json_object_get(history, "seconds"), *left_out = json_object_get(history, "left_out");
    json_t *rows = json_object_get(history, "rows"), *row;
    size_t i;
    int r = 0;

    if (!json_is_array(rows) || !json_is_array(seconds))
        return error_set(error, -EBADMSG, "its answer has no rows: is it another version of perfcountd?");
    for (i = 0; i < json_array_size(seconds); i++) {
        past.seconds += number_of(seconds, i) > 0 ? number_of(seconds, i) : 0;
        past.left_out = MAX(past.left_out, (uint64_t)MAX(json_integer_value(json_array_get(left_out, i)), 0));
    }
    past.rows = calloc(json_array_size(rows) + 1, sizeof(past.rows[0]));
    if (!past.rows)
        return error_oom(error);
    json_array_foreach (rows, i, row)
        if (r == 0 && past.seconds > 0)
            r = add_row(&past, history, row, cgroups);
    if (r < 0)
        return error_oom(error);
    *ret = past;
    past = (struct past){0};
    return 0;
}

int past_totals(const struct past *past, enum totals_order order,
                bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct totals *ret)
{
    int r = 0;

    *ret = (struct totals){.order = order, .seconds = past->seconds};
    for (size_t i = 0; r == 0 && i < past->snapshot.n_rows; i++) {
        const struct row *row = past->snapshot.rows[i];
        const struct rates rates = {.row = row, .events = past->rows[i].events, .times = past->rows[i].times};
        if (!passes || passes(userdata, row))
            r = totals_add(ret, row, &rates);
    }
    return r < 0 ? r : totals_finish(ret);
}
