/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/history-json.h"

#include <math.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "perf/group.h"

/* --- parameters --- */

void history_question_done(struct history_question *question)
{
    filter_done(&question->filter);
}

int history_question_add(struct history_question *question, const char *const *collector_names, const char *name,
                         const char *value, struct error *error)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"since", &question->since},
                 {"until", &question->until},
                 {"step", &question->step},
                 {"derived", &question->derived}};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (str_equal(name, texts[i].name)) {
            *texts[i].to = value;
            return 0;
        }
    if (str_equal(name, "totals")) {
        question->totals = totals_kind_find(value, error);
        return question->totals ? 0 : -EINVAL;
    }
    int r = order_add(&question->order, name, value, error);
    return r != -ENOENT ? r : filter_add(&question->filter, collector_names, name, value, error);
}

/*
 * Returns the seconds since 1970, even if time_t has 32 bits. The year begins in March here, so that a leap day is its
 * last day.
 */
static int64_t epoch_of(const struct tm *tm)
{
    int64_t year = tm->tm_year + 1900 - (tm->tm_mon < 2), month = (tm->tm_mon + 10) % 12;
    int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + tm->tm_mday - 1;

    return (days - 719468) * 86400 + tm->tm_hour * 3600 + tm->tm_min * 60 + tm->tm_sec;
}

/*
 * Parses "2026-11-28T10:00:00Z". Parses a time in the format of RFC 3339. Seconds may have a fraction, and the time
 * zone may be an offset such as +01:00.
 */
static int parse_rfc3339(const char *text, uint64_t *ret_ns)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    char seconds[32] = "0.";
    int64_t offset = 0;
    uint64_t fraction = 0;

    if (!rest)
        return -EINVAL;
    if (*rest == '.') {
        size_t digits = strspn(rest + 1, "0123456789");
        if (digits == 0 || digits > 9)
            return -EINVAL;
        snprintf(seconds, sizeof(seconds), "0.%.*ss", (int)digits, rest + 1);
        if (number_parse_duration(seconds, &fraction) < 0)
            return -EINVAL;
        rest += 1 + digits;
    }
    if (*rest == '+' || *rest == '-') {
        unsigned hours, minutes;
        int n = 0;
        if (sscanf(rest + 1, "%2u:%2u%n", &hours, &minutes, &n) != 2 || n != 5 || rest[6] || hours > 23 || minutes > 59)
            return -EINVAL;
        offset = (*rest == '-' ? -60 : 60) * (int64_t)(60 * hours + minutes);
    } else if (!str_equal(rest, "Z")) {
        return -EINVAL;
    }
    int64_t epoch = epoch_of(&tm) - offset;
    if (epoch < 0 || (uint64_t)epoch > UINT64_MAX / NSEC_PER_SEC - 1)
        return -EINVAL;
    *ret_ns = (uint64_t)epoch * NSEC_PER_SEC + fraction;
    return 0;
}

int history_parse_time(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
    char seconds[64];
    uint64_t before;

    if (text[0] == '-') {
        if (number_parse_duration(text + 1, &before) < 0)
            return -EINVAL;
        *ret_ns = now_ns - MIN(before, now_ns);
        return 0;
    }
    if (text[strspn(text, "0123456789.")])
        return parse_rfc3339(text, ret_ns);
    /* Parses the seconds like a duration, because a double would round them to 0.2 us. */
    if ((size_t)snprintf(seconds, sizeof(seconds), "%ss", text) >= sizeof(seconds))
        return -EINVAL;
    return number_parse_duration(seconds, ret_ns) < 0 ? -EINVAL : 0;
}

static int take_time(const char *name, const char *text, uint64_t now_ns, uint64_t *ret_ns, struct error *error)
{
    if (!text || history_parse_time(text, now_ns, ret_ns) == 0)
        return 0;
    return error_set(error, -EINVAL,
                     "parameter \"%s\": expected seconds since the epoch, a time such as 2026-01-31T12:00:00Z, or -10m "
                     "for ten minutes ago, found \"%.64s\"",
                     name, text);
}

static int take_step(const char *text, uint64_t *ret_ns, struct error *error)
{
    if (number_parse_seconds(text, ret_ns) < 0)
        return error_set(error, -EINVAL,
                         "parameter \"step\": expected a duration such as 1m, or seconds, found \"%.64s\"", text);
    if (*ret_ns < NSEC_PER_SEC)
        return error_set(error, -EINVAL, "parameter \"step\": %.64s is less than a second", text);
    return 0;
}

/* Chooses the history to read and the time range. The default is the whole coarse history. */
static int take_range(const struct histories *histories, const struct history_question *question, uint64_t now_ns,
                      const struct history **ret_history, struct history_range *ret, struct error *error)
{
    uint64_t begin, end, last;
    int r = question->step ? take_step(question->step, &ret->step_ns, error) : 0;

    if (r < 0)
        return r;
    *ret_history = ret->step_ns != 0 && ret->step_ns < histories->interval_ns ? histories->fine : histories->coarse;
    history_span(*ret_history, &begin, &end);
    ret->since_ns = begin;
    ret->until_ns = MAX(end, now_ns);
    r = take_time("since", question->since, now_ns, &ret->since_ns, error);
    if (r == 0)
        r = take_time("until", question->until, now_ns, &ret->until_ns, error);
    if (r < 0)
        return r;
    if (ret->until_ns < ret->since_ns && question->until)
        return error_set(error, -EINVAL, "parameter \"until\": %.64s is before \"since\"", question->until);
    if (ret->until_ns < ret->since_ns)
        return error_set(error, -EINVAL, "parameter \"since\": %.64s is in the future", question->since);
    /* Leaves out the steps before the first frame and after the last frame, because they have no data. */
    if (ret->step_ns == 0)
        return 0;
    if (ret->since_ns < begin)
        ret->since_ns += (begin - ret->since_ns) / ret->step_ns * ret->step_ns;
    if (!__builtin_add_overflow(MAX(end, ret->since_ns), ret->step_ns, &last))
        ret->until_ns = MIN(ret->until_ns, last);
    return 0;
}

/* --- selection of rows --- */

struct choice {
    const struct filter *filter;
    const struct snapshot *snapshot;
};

static struct counter counter_of(const struct history_event *event)
{
    return (struct counter){.event = event->event, .pmu = event->pmu, .unit = event->unit};
}

static bool passes_row(const void *userdata, const struct history_row *row)
{
    const struct choice *choice = userdata;
    int collector = collector_find(choice->snapshot->collector_names, row->collector);
    struct row like = {.collector =
                           collector < 0 ? 31 : (unsigned)collector, /* 31 only passes a filter without collectors */
                       .cpu = row->cpu,
                       .group = row->group,
                       .pmu = row->pmu,
                       .cgroup = row->cgroup};
    bool any = false;

    for (size_t i = 0; i < row->n_events && !any; i++) {
        struct counter counter = counter_of(&row->events[i]);
        any = filter_passes_counter(choice->filter, &counter);
    }
    if (!any)
        return false;
    like.names = filter_has_names(choice->filter) ? snapshot_find_names(choice->snapshot, row->cgroup) : NULL;
    return filter_passes_row(choice->filter, &like);
}

/* A document for one hour has 100,000 numbers, so the JSON is not indented. */
struct writing {
    struct buffer *out;
    const struct history_question *question;
    const struct history_table *table;
    const struct snapshot *snapshot;
};

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)NSEC_PER_SEC;
}

/* --- derived metrics --- */

/* Returns whether `name` is in a list such as "ipc,branch_mpki". */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, size) == 0 && (at[size] == ',' || !at[size]))
            return true;
        if (!*at)
            break;
    }
    return false;
}

static int check_derived(const char *list, struct error *error)
{
    for (const char *at = list; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        _cleanup_(freep) char *name = strndup(at, size);
        _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = name};
        if (!name)
            return error_oom(error);
        for (size_t i = 0; i < derived_count(); i++)
            unknown_consider(&unknown, derived_at(i)->name);
        if (!derived_find(name))
            return unknown_error(&unknown, error, "parameter \"derived\": there is no derived metric \"%.64s\"", name);
        at += size;
    }
    return 0;
}

/* --- order --- */

/* Returns an event's increase or a metric's value over the whole range, or NAN if unknown. */
static double sort_value(const struct history_line *line, const struct writing *writing, const char *name)
{
    struct growth_event values[GROUP_MEMBERS_MAX] = {{0}};
    struct history_cell cell;
    uint64_t covered_ns;
    double value = NAN;

    if (history_line_sum(line, writing->table->steps, 0, writing->table->n_steps, &cell, values, &covered_ns) < 0)
        return NAN;
    for (size_t k = 0; k < line->row.n_events; k++)
        if (filter_event_matches(name, line->row.events[k].event))
            return growth_real(&values[k], line->row.events[k].decimals);
    struct metric_set *metric_set = history_metric_set(&line->row, writing->snapshot);
    for (size_t i = 0; metric_set && i < metric_set_count(metric_set); i++)
        if (filter_event_matches(name, metric_set_metric(metric_set, i)->name))
            value = history_metric(&line->row, metric_set, i, &cell, values, seconds_of(covered_ns));
    metric_set_free(metric_set);
    return value;
}

/* Fills `keys` with the *ret_n lines to write, in output order. Returns -ENOMEM on failure. */
static int choose_lines(const struct writing *writing, bool others, const struct order *order, struct order_key *keys,
                        size_t *ret_n)
{
    const struct history_table *table = writing->table;
    size_t n = 0;

    for (size_t i = 0; i < table->n_lines; i++) {
        const struct history_line *line = &table->lines[i];
        const struct history_row *row = &line->row;
        if (row->n_events > 0 && row->others == others)
            keys[n++] = (struct order_key){.item = line,
                                           .target = {row->collector, row->cgroup, row->cpu, row->pmu},
                                           .value = order->sort ? sort_value(line, writing, order->sort) : NAN};
    }
    return order_apply(order, keys, n, ret_n);
}

/* --- the document --- */

static void write_value(struct buffer *out, const struct growth_event *value, uint8_t decimals)
{
    char *room;

    if (!value->known) {
        json_write_raw(out, "null");
    } else if (decimals == SERIES_REAL) {
        json_write_real(out, growth_real(value, decimals));
    } else if ((room = buffer_reserve(out, NUMBER_SIZE_MAX))) {
        buffer_advance(out, number_write_fixed(room, value->value, decimals));
    }
}

/* Index of the busy time among a line's times. */
#define BUSY 2

/* Returns whether the time with the index `which` is known for a history line, which then has a JSON member for it. */
static bool has_member(const struct history_line *line, size_t n_steps, size_t which)
{
    bool any = which < BUSY;

    for (size_t i = 0; i < n_steps && !any; i++)
        any = which == BUSY ? line->cells[i].has_busy : line->cells[i].limited_ns > 0;
    return any;
}

static void write_cells(struct buffer *out, const struct history_line *line, size_t n_steps)
{
    static const char *const times[] = {"enabled", "running", [BUSY] = "busy", "limited"};
    static const char *const states[] = {
        [HISTORY_COUNTING] = "counting", [HISTORY_MULTIPLEXED] = "multiplexed", [HISTORY_UNKNOWN] = "unknown"};
    bool filled = false;

    json_write_raw(out, ",\"state\":[");
    for (size_t i = 0; i < n_steps; i++) {
        json_write_comma(out, &filled);
        json_write_string(out, line->cells[i].state == HISTORY_ABSENT ? NULL : states[line->cells[i].state]);
    }
    json_write_raw(out, "]");
    for (size_t which = 0; which < ARRAY_SIZE(times); which++) {
        if (!has_member(line, n_steps, which))
            continue;
        buffer_appendf(out, ",\"%s\":[", times[which]);
        filled = false;
        for (size_t i = 0; i < n_steps; i++) {
            const struct history_cell *cell = &line->cells[i];
            const uint64_t ns[] = {cell->enabled_ns, cell->running_ns, cell->busy_ns, cell->limited_ns};
            json_write_comma(out, &filled);
            if (!history_is_known(cell) || (which == BUSY && !cell->has_busy))
                json_write_raw(out, "null");
            else
                json_write_seconds(out, ns[which]);
        }
        json_write_raw(out, "]");
    }
}

static void write_events(const struct writing *writing, const struct history_line *line)
{
    bool filled = false;

    json_write_raw(writing->out, ",\"events\":{");
    for (size_t k = 0; k < line->row.n_events; k++) {
        struct counter counter = counter_of(&line->row.events[k]);
        bool any = false;
        if (!filter_passes_counter(&writing->question->filter, &counter))
            continue;
        json_write_comma(writing->out, &filled);
        json_write_string(writing->out, counter.event);
        json_write_raw(writing->out, ":[");
        for (size_t i = 0; i < writing->table->n_steps; i++) {
            json_write_comma(writing->out, &any);
            write_value(writing->out, &line->values[i * line->row.n_events + k], line->row.events[k].decimals);
        }
        json_write_raw(writing->out, "]");
    }
    json_write_raw(writing->out, "}");
}

static int write_derived(const struct writing *writing, const struct history_line *line)
{
    struct metric_set *metric_set = history_metric_set(&line->row, writing->snapshot);
    bool filled = false;

    if (!metric_set)
        return -ENOMEM;
    json_write_raw(writing->out, ",\"derived\":{");
    for (size_t k = 0; k < metric_set_count(metric_set); k++) {
        const char *name = metric_set_metric(metric_set, k)->name;
        bool any = false;
        if (!is_listed(writing->question->derived, name))
            continue;
        json_write_comma(writing->out, &filled);
        json_write_string(writing->out, name);
        json_write_raw(writing->out, ":[");
        for (size_t i = 0; i < writing->table->n_steps; i++) {
            json_write_comma(writing->out, &any);
            json_write_real(writing->out, history_metric(&line->row, metric_set, k, &line->cells[i],
                                                         &line->values[i * line->row.n_events],
                                                         seconds_of(writing->table->steps[i].covered_ns)));
        }
        json_write_raw(writing->out, "]");
    }
    json_write_raw(writing->out, "}");
    metric_set_free(metric_set);
    return 0;
}

/* Writes what a client needs to derive metrics and to print counts: properties of the row and, if any, units. */
static void write_facts(const struct writing *writing, const struct history_line *line)
{
    unsigned slots = line->row.pmu ? history_slots(writing->snapshot, line->row.pmu) : 0;
    bool filled = false;

    if (slots)
        json_write_member(writing->out, "slots", u64, slots);
    if (line->row.uneven)
        json_write_member(writing->out, "uneven", bool, true);
    for (size_t k = 0; k < line->row.n_events; k++) {
        struct counter counter = counter_of(&line->row.events[k]);
        if (!counter.unit[0] || !filter_passes_counter(&writing->question->filter, &counter))
            continue;
        buffer_append_text(writing->out, filled ? "," : ",\"units\":{");
        json_write_string(writing->out, counter.event);
        buffer_append_char(writing->out, ':');
        json_write_string(writing->out, counter.unit);
        filled = true;
    }
    if (filled)
        json_write_raw(writing->out, "}");
}

static int write_line(const struct writing *writing, const struct history_line *line)
{
    struct buffer *out = writing->out;

    json_write_raw(out, "{\"collector\":");
    json_write_string(out, line->row.collector);
    if (line->row.cpu >= 0)
        json_write_member(out, "cpu", i64, line->row.cpu);
    if (line->row.pmu)
        json_write_member(out, "pmu", string, line->row.pmu);
    if (line->row.cgroup)
        json_write_member(out, "cgroup", string, line->row.cgroup);
    json_write_member(out, "group", string, line->row.group);
    write_facts(writing, line);
    write_cells(out, line, writing->table->n_steps);
    write_events(writing, line);
    int r = writing->question->derived ? write_derived(writing, line) : 0;
    json_write_raw(out, "}");
    return r;
}

static int write_lines(const struct writing *writing, const char *key, bool others, const struct order *order)
{
    const struct history_table *table = writing->table;
    _cleanup_(freep) struct order_key *keys = calloc(table->n_lines + 1, sizeof(*keys));
    bool filled = false;
    int r = 0;

    if (!keys)
        return -ENOMEM;
    size_t n;
    if (choose_lines(writing, others, order, keys, &n) < 0)
        return -ENOMEM;
    buffer_appendf(writing->out, ",\n\"%s\":[", key);
    for (size_t i = 0; r == 0 && i < n; i++) {
        json_write_comma(writing->out, &filled);
        buffer_append_char(writing->out, '\n');
        r = write_line(writing, keys[i].item);
    }
    json_write_raw(writing->out, "]");
    return r;
}

/* Computing the sums overwrites the table, so the sums are written last. */
static int write_table(const struct writing *writing, struct history_table *table)
{
    static const struct order as_they_are = {0};
    int r = write_lines(writing, "rows", false, &writing->question->order);

    if (r == 0)
        r = write_lines(writing, "others", true, &as_they_are);
    if (r == 0 && writing->question->totals) {
        r = history_table_add_up(table, writing->question->totals->order);
        r = r == 0 ? write_lines(writing, "totals", false, &as_they_are) : r;
    }
    return r;
}

static void write_steps(struct buffer *out, const struct history_table *table)
{
    static const char *const heads[] = {",\n\"times\":[", "],\n\"seconds\":[", "],\n\"left_out\":["};

    for (size_t which = 0; which < ARRAY_SIZE(heads); which++) {
        bool filled = false;
        buffer_append_text(out, heads[which]);
        for (size_t i = 0; i < table->n_steps; i++) {
            const struct history_step *step = &table->steps[i];
            json_write_comma(out, &filled);
            if (which == 2)
                json_write_u64(out, step->left_out);
            else
                json_write_seconds(out, which ? step->covered_ns : step->end_ns);
        }
    }
    json_write_raw(out, "]");
}

int history_json_write(struct buffer *out, const struct histories *histories, const struct history_question *question,
                       const struct snapshot *snapshot, struct error *error)
{
    const struct choice choice = {&question->filter, snapshot};
    _cleanup_(history_table_done) struct history_table table = {0};
    const struct history *history = NULL;
    struct history_range range = {0};
    int r = question->derived ? check_derived(question->derived, error) : 0;

    if (r == 0)
        r = take_range(histories, question, snapshot->realtime_ns, &history, &range, error);
    if (r < 0)
        return r;
    r = history_read(history, &range, passes_row, &choice, &table);
    if (r == -E2BIG)
        return error_set(
            error, -EINVAL,
            "parameter \"step\": the result would be too large; ask for larger steps, a shorter range, or fewer rows");
    if (r < 0)
        return r;
    json_write_raw(out, "{\"interval\":");
    json_write_real(out, seconds_of(range.step_ns ? range.step_ns : histories->interval_ns));
    write_steps(out, &table);
    r = write_table(&(struct writing){out, question, &table, snapshot}, &table);
    json_write_raw(out, "}\n");
    return r < 0 || out->failed ? -ENOMEM : 0;
}

/* --- findings --- */

/* Adds a member to the JSON object, unless the text is NULL. */
static json_t *add_text(json_t *object, const char *key, const char *text)
{
    return text ? json_object_add(object, key, json_text(text)) : object;
}

static json_t *time_json(uint64_t ns)
{
    return ns ? json_real(seconds_of(ns)) : json_null();
}

static json_t *finding_json(const struct finding *finding)
{
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "rule", finding_rule_name(finding->rule), "title",
                  json_text(finding->title), "text", json_text(finding->text), "since", time_json(finding->since_ns),
                  "until", time_json(finding->until_ns), "evidence", finding->evidence);

    object = add_text(object, "cgroup", finding->cgroup);
    object = add_text(object, "cpus", finding->cpus);
    object = add_text(object, "pmu", finding->pmu);
    if (!finding->metric)
        return object;
    object = add_text(object, "metric", finding->metric);
    object = json_object_add(object, "before", json_real(finding->before));
    return json_object_add(object, "after", json_real(finding->after));
}

json_t *findings_json(const struct findings *findings, uint64_t now_ns)
{
    json_t *items = json_array();

    for (size_t i = 0; items && i < findings->n; i++)
        items = json_array_add(items, finding_json(&findings->items[i]));
    return items ? json_pack("{s:f, s:o}", "timestamp", seconds_of(now_ns), "findings", items) : NULL;
}
