/* SPDX-License-Identifier: Apache-2.0 */
/* The key `events` of a group: see events.h. */
#include "config/events.h"

#include "base/cleanup.h"
#include "config/config.h"
#include "config/option-table.h"
#include "perf/event/parse.h"

static void config_event_done(struct config_event *event)
{
    event_done(&event->event);
    free(event->help);
    *event = (struct config_event){0};
}

static void event_text_done(struct event_text *text)
{
    free(text->event);
    free(text->name);
    free(text->help);
}

static void events_done(const struct option *option, void *base)
{
    struct config_group *group = base;

    (void)option;
    for (size_t i = 0; i < group->n_events; i++)
        config_event_done(&group->events[i]);
    free(group->events);
    free(group->text);
    group->events = NULL;
    group->n_events = 0;
    group->text = NULL;
}

/* An error at error->offset of the node's text gets its place in the file. */
static int fail_in_text(const struct document *document, const node *n, int r, struct error *error)
{
    unsigned line, column;

    if (!error || r == -ENOMEM)
        return r;
    document_position_at(document, n, error->offset, &line, &column);
    error->line = line;
    error->column = column;
    return -EINVAL;
}

static int check_text(const struct document *document, const node *n, const char *text, struct error *error)
{
    if (text[strspn(text, " ")] == '\0')
        return document_error(document, n, error, "there is no event in this text");
    return 0;
}

static int too_many(const struct document *document, const node *n, struct error *error)
{
    return document_error(document, n, error, "more than %d events in a group", CONFIG_EVENTS_MAX);
}

/* "{cycles,instructions}:k" */
static int read_string(const struct document *document, const node *n, struct config_group *group, struct error *error)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    const char *text = node_text(n);
    int r = check_text(document, n, text, error);

    if (r < 0)
        return r;
    r = event_list_parse(text, &list, error);
    if (r < 0)
        return fail_in_text(document, n, r, error);
    if (list.n > CONFIG_EVENTS_MAX)
        return too_many(document, n, error);
    _cleanup_(freep) char *copy = strdup(text);
    struct config_event *events = copy ? calloc(list.n, sizeof(*events)) : NULL;
    if (!events)
        return error_oom(error);
    for (size_t i = 0; i < list.n; i++) {
        events[i].event = list.events[i];
        document_position_at(document, n, list.events[i].offset, &events[i].line, &events[i].column);
    }
    group->events = events;
    group->n_events = list.n;
    group->text = steal(copy);
    free(steal(list.events));
    list.n = 0;
    return 0;
}

static int parse_event(const struct document *document, const node *n, const char *text, struct config_event *event,
                       struct error *error)
{
    int r = check_text(document, n, text, error);

    if (r < 0)
        return r;
    r = event_parse(text, &event->event, error);
    if (r < 0)
        return fail_in_text(document, n, r, error);
    document_position_at(document, n, event->event.offset, &event->line, &event->column);
    return 0;
}

/* {event: "r11", name: cpu_cycles_raw, help: "..."} */
static int read_map_item(const struct document *document, const node *n, struct config_event *event,
                         struct error *error)
{
    _cleanup_(event_text_done) struct event_text text = {0};
    const node *nodes[EVENT_OPTIONS] = {0};
    int r = option_table_read(&event_options, document, n, &text, nodes, error);

    if (r < 0)
        return r;
    if (!text.event)
        return document_error(document, n, error, "an item of \"events\" without \"event\"");
    r = parse_event(document, nodes[EVENT_OPTION_EVENT], text.event, event, error);
    if (r < 0)
        return r;
    if (text.name) {
        r = event_set_metric(&event->event, text.name, error);
        if (r < 0)
            return fail_in_text(document, nodes[EVENT_OPTION_NAME], r, error);
        event->named = true;
    }
    event->help = steal(text.help);
    return 0;
}

static int read_item(const struct document *document, const node *n, struct config_event *event, struct error *error)
{
    if (n->type == YAML_MAPPING_NODE)
        return read_map_item(document, n, event, error);
    if (!node_text(n))
        return document_expected(document, n, "an event, as text or as a map with \"event\", \"name\" and \"help\"",
                                 error);
    return parse_event(document, n, node_text(n), event, error);
}

static int read_list(const struct document *document, const node *n, struct config_group *group, struct error *error)
{
    const node *item;

    for (size_t i = 0; (item = document_item(document, n, i)); i++) {
        struct config_event event = {0};
        if (i == CONFIG_EVENTS_MAX)
            return too_many(document, item, error);
        if (array_grow(&group->events, group->n_events) < 0)
            return error_oom(error);
        int r = read_item(document, item, &event, error);
        if (r < 0) {
            config_event_done(&event);
            return r;
        }
        group->events[group->n_events++] = event;
    }
    if (group->n_events == 0)
        return document_error(document, n, error, "the list of events is empty");
    return 0;
}

static int fail_at(const struct config_event *event, struct error *error)
{
    if (error) {
        error->line = event->line;
        error->column = event->column;
    }
    return -EINVAL;
}

/* The group's own times have these names in the metrics; the unit may come by itself. */
static const char *const reserved_metrics[] = {
    "group_enabled", "group_enabled_seconds", "group_enabled_seconds_created", "group_enabled_seconds_total",
    "group_running", "group_running_seconds", "group_running_seconds_created", "group_running_seconds_total",
};

/* Whether both become the same series: on different PMUs the label `pmu` tells them apart. */
static bool same_series(const struct event *a, const struct event *b)
{
    if (!str_equal(a->metric, b->metric))
        return false;
    return a->kind != EVENT_PMU || b->kind != EVENT_PMU || pmu_name_matches(a->pmu, b->pmu) ||
           pmu_name_matches(b->pmu, a->pmu);
}

static int check_reserved(const struct config_event *event, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(reserved_metrics); i++)
        if (str_equal(event->event.metric, reserved_metrics[i])) {
            error_set(error, -EINVAL, "\"%s\" would have the metric name of the group's own times, \"%s\"",
                      event->event.text, reserved_metrics[i]);
            return fail_at(event, error);
        }
    return 0;
}

static int check_metrics(const struct config_group *group, struct error *error)
{
    for (size_t i = 0; i < group->n_events; i++) {
        const struct config_event *event = &group->events[i];
        int r = check_reserved(event, error);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (same_series(&event->event, &group->events[k].event)) {
                error_set(error, -EINVAL,
                          "\"%s\" would have the same metric name as \"%s\": write the events as a list and "
                          "give one of them a name, as in {event: ..., name: ...}",
                          event->event.text, group->events[k].event.text);
                return fail_at(event, error);
            }
    }
    return 0;
}

static int events_read(const struct option *option, const struct document *document, const node *n, void *base,
                       struct error *error)
{
    struct config_group read = {0}, *group = base;
    int r;

    if (n->type == YAML_SEQUENCE_NODE)
        r = read_list(document, n, &read, error);
    else if (node_text(n))
        r = read_string(document, n, &read, error);
    else
        r = document_expected(document, n, "events, as one text or as a list", error);
    if (r == 0)
        r = check_metrics(&read, error);
    if (r < 0) {
        events_done(option, &read);
        return r;
    }
    events_done(option, group);
    group->events = read.events;
    group->n_events = read.n_events;
    group->text = read.text;
    return 0;
}

static json_t *event_json(const struct config_event *event)
{
    if (!event->named && !event->help)
        return json_string(event->event.text);
    return json_pack("{s:s, s:s*, s:s*}", "event", event->event.text, "name", event->named ? event->event.metric : NULL,
                     "help", event->help);
}

static json_t *events_json(const struct option *option, const void *base)
{
    const struct config_group *group = base;

    (void)option;
    if (group->text)
        return json_string(group->text);
    json_t *list = json_array();
    for (size_t i = 0; i < group->n_events; i++)
        if (json_array_append_new(list, event_json(&group->events[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

const struct option_type option_events = {"events", events_read, NULL, events_json, events_done};
