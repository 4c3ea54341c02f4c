/* SPDX-License-Identifier: Apache-2.0 */
/* The keys `events` and `preset` of a group: see events.h. */
#include "config/event-groups.h"

#include "base/cleanup.h"
#include "config/option-checks.h"
#include "config/option-types.h"
#include "config/values.h"
#include "perf/event-parse.h"
#include "perf/pmu.h"
#include "perf/presets.h"
#include "perf/unit.h"

/* An item of the list that is a map, as it is written. */
struct event_text {
    char *event, *name, *help;
};

/* Indices into event_options. */
enum { EVENT_OPTION_EVENT, EVENT_OPTION_NAME, EVENT_OPTION_HELP, EVENT_OPTIONS };

static const struct option event_rows[EVENT_OPTIONS] = {
    [EVENT_OPTION_EVENT] =
        {
            .path = "event",
            .type = &option_text,
            .offset = offsetof(struct event_text, event),
            .range = "one event in perf's syntax",
            .help = "the event",
        },
    [EVENT_OPTION_NAME] =
        {
            .path = "name",
            .type = &option_text,
            .offset = offsetof(struct event_text, name),
            .range = "letters, digits and \"_\", not starting with a digit",
            .help = "the metric's name instead of the one made of the event",
        },
    [EVENT_OPTION_HELP] =
        {
            .path = "help",
            .type = &option_text,
            .offset = offsetof(struct event_text, help),
            .check = option_check_not_empty,
            .range = "one line of text; the same wherever the metric is used",
            .help = "the metric's HELP instead of the usual one",
        },
};

const struct option_table event_options = {.rows = event_rows, .n = ARRAY_SIZE(event_rows)};

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
    event_groups_done(&group->written);
    group->events = NULL;
    group->n_events = 0;
    group->text = NULL;
}

/* Gives an error at error->offset of the node's text its position in the file. */
static int event_fail_in_text(const struct document *document, const yaml_node_t *n, int r, struct error *error)
{
    unsigned line, column;

    if (!error || r == -ENOMEM)
        return r;
    document_position_at(document, n, error->offset, &line, &column);
    error_set_position(error, line, column);
    return -EINVAL;
}

static int event_check_text(const struct document *document, const yaml_node_t *n, const char *text,
                            struct error *error)
{
    if (text[strspn(text, " ")] == '\0')
        return document_error(document, n, error, "there is no event in this text");
    return 0;
}

static int events_too_many(const struct document *document, const yaml_node_t *n, struct error *error)
{
    return document_error(document, n, error, "more than %d events in a group", CONFIG_EVENTS_MAX);
}

/* "{cycles,instructions}:k", or several groups */
static int events_read_text(const struct document *document, const yaml_node_t *n, struct config_group *group,
                            struct error *error)
{
    const char *text = node_text(n);
    int r = event_check_text(document, n, text, error);

    if (r < 0)
        return r;
    r = event_groups_parse(text, &group->written, error);
    return r < 0 ? event_fail_in_text(document, n, r, error) : 0;
}

static int event_read_text(const struct document *document, const yaml_node_t *n, const char *text,
                           struct config_event *event, struct error *error)
{
    int r = event_check_text(document, n, text, error);

    if (r < 0)
        return r;
    r = event_parse(text, &event->event, error);
    if (r < 0)
        return event_fail_in_text(document, n, r, error);
    document_position_at(document, n, event->event.offset, &event->line, &event->column);
    return 0;
}

/* {event: "r11", name: cpu_cycles_raw, help: "..."} */
static int event_read_map(const struct document *document, const yaml_node_t *n, struct config_event *event,
                          struct error *error)
{
    _cleanup_(event_text_done) struct event_text text = {0};
    const yaml_node_t *nodes[EVENT_OPTIONS] = {0};
    int r = option_table_read(&event_options, document, n, &text, nodes, error);

    if (r < 0)
        return r;
    if (!text.event)
        return document_error(document, n, error, "an item of \"events\" has no \"event\"");
    r = event_read_text(document, nodes[EVENT_OPTION_EVENT], text.event, event, error);
    if (r < 0)
        return r;
    if (text.name) {
        r = event_set_metric(&event->event, text.name, error);
        if (r < 0)
            return event_fail_in_text(document, nodes[EVENT_OPTION_NAME], r, error);
        event->named = true;
    }
    event->help = steal(text.help);
    return 0;
}

static int event_read(const struct document *document, const yaml_node_t *n, struct config_event *event,
                      struct error *error)
{
    if (n->type == YAML_MAPPING_NODE)
        return event_read_map(document, n, event, error);
    if (!node_text(n))
        return document_expected(document, n, "an event, as text or as a map with \"event\", \"name\" and \"help\"",
                                 error);
    return event_read_text(document, n, node_text(n), event, error);
}

static int events_read_list(const struct document *document, const yaml_node_t *n, struct config_group *group,
                            struct error *error)
{
    size_t before = document_count_errors(document);
    const yaml_node_t *item;

    for (size_t i = 0; (item = document_item(document, n, i)); i++) {
        struct config_event event = {0};
        if (i == CONFIG_EVENTS_MAX)
            return events_too_many(document, item, error);
        if (array_grow(&group->events, group->n_events) < 0)
            return error_oom(error);
        int r = event_read(document, item, &event, error);
        if (r < 0) {
            config_event_done(&event);
            r = document_keep(document, r, error);
            if (r < 0)
                return r;
            continue;
        }
        group->events[group->n_events++] = event;
    }
    int r = document_settle(document, 0, before);
    if (r == 0 && group->n_events == 0)
        return document_error(document, n, error, "the list of events is empty");
    return r;
}

/* The metric names of the group's own times, also without the unit, which is added to the name of a clock. */
static const char *const reserved_metrics[] = {
    "group_enabled", "group_enabled_seconds", "group_enabled_seconds_created", "group_enabled_seconds_total",
    "group_running", "group_running_seconds", "group_running_seconds_created", "group_running_seconds_total",
};

/* read_bytes and read, which may be in bytes: see event_unit_suffix(). */
static bool adds_unit(const char *metric, const char *to)
{
    size_t size = strlen(to);

    return str_starts(metric, to) && metric[size] == '_' && unit_is_base(metric + size + 1);
}

/* Whether both become the same series: on different PMUs the label `pmu` distinguishes them. */
static bool events_share_series(const struct event *a, const struct event *b)
{
    if (!str_equal(a->metric, b->metric) && !adds_unit(a->metric, b->metric) && !adds_unit(b->metric, a->metric))
        return false;
    return a->kind != EVENT_PMU || b->kind != EVENT_PMU || pmu_name_matches(a->pmu, b->pmu) ||
           pmu_name_matches(b->pmu, a->pmu);
}

static int event_check_reserved(const struct config_event *event, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(reserved_metrics); i++)
        if (str_equal(event->event.metric, reserved_metrics[i])) {
            error_set(error, -EINVAL, "\"%s\" would have the same metric name as the group's own times, \"%s\"",
                      event->event.text, reserved_metrics[i]);
            error_set_position(error, event->line, event->column);
            return -EINVAL;
        }
    return 0;
}

static int events_check_metrics(const struct config_group *group, struct error *error)
{
    for (size_t i = 0; i < group->n_events; i++) {
        const struct config_event *event = &group->events[i];
        int r = event_check_reserved(event, error);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (events_share_series(&event->event, &group->events[k].event)) {
                error_set(error, -EINVAL,
                          "\"%s\" would have the same metric name as \"%s\": write the events as a list and "
                          "give one of them a name, as in {event: ..., name: ...}",
                          event->event.text, group->events[k].event.text);
                error_set_position(error, event->line, event->column);
                return -EINVAL;
            }
    }
    return 0;
}

int events_take_list(const struct document *document, const yaml_node_t *n, struct event_list *list,
                     struct config_group *group, struct error *error)
{
    if (list->n > CONFIG_EVENTS_MAX)
        return events_too_many(document, n, error);
    group->events = calloc(list->n, sizeof(*group->events));
    if (!group->events)
        return error_oom(error);
    for (size_t i = 0; i < list->n; i++) {
        struct config_event *event = &group->events[i];
        event->event = list->events[i];
        document_position_at(document, n, event->event.offset, &event->line, &event->column);
    }
    group->n_events = list->n;
    group->text = steal(list->text);
    free(steal(list->events));
    list->n = 0;
    return events_check_metrics(group, error);
}

static int events_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                       struct error *error)
{
    struct config_group read = {0}, *group = base;
    int r;

    if (n->type == YAML_SEQUENCE_NODE)
        r = events_read_list(document, n, &read, error);
    else if (node_text(n))
        r = events_read_text(document, n, &read, error);
    else
        r = document_expected(document, n, "events, as one text or as a list", error);
    if (r == 0)
        r = events_check_metrics(&read, error);
    if (r < 0) {
        events_done(option, &read);
        return r;
    }
    events_done(option, group);
    group->events = read.events;
    group->n_events = read.n_events;
    group->written = read.written;
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

/* --- presets --- */

static int events_put_variant(struct config_group *group, struct event *event, size_t variant)
{
    size_t i = 0;

    while (i < group->n_events && !str_equal(group->events[i].event.text, event->text))
        i++;
    if (i == group->n_events) {
        if (array_grow(&group->events, group->n_events) < 0)
            return -ENOMEM;
        group->events[group->n_events++] = (struct config_event){.event = *event};
        *event = (struct event){0};
    }
    group->events[i].variants |= 1U << variant;
    return 0;
}

/* The table's texts are correct: a test parses each of them. */
static int events_add_variant(struct config_group *group, const struct preset *preset, size_t variant)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    const char *text = preset->variants[variant].events;
    int r = text ? event_list_parse(text, &list, NULL) : 0;

    for (size_t i = 0; i < list.n && r == 0; i++)
        r = events_put_variant(group, &list.events[i], variant);
    return r;
}

static void preset_done(const struct option *option, void *base)
{
    (void)option;
    ((struct config_group *)base)->preset = NULL;
}

static int preset_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                       struct error *error)
{
    struct config_group *group = base, read = {0};
    struct error reason = {0};
    int r = 0;

    if (!node_text(n))
        return document_expected(document, n, option->range, error);
    const struct preset *preset = preset_find(node_text(n), &reason);
    if (!preset)
        return document_error(document, n, error, "%s", reason.message);
    for (size_t i = 0; i < preset->n_variants && r == 0; i++)
        r = events_add_variant(&read, preset, i);
    events_done(option, r < 0 ? &read : group);
    if (r < 0)
        return error_oom(error);
    group->events = read.events;
    group->n_events = read.n_events;
    group->preset = preset;
    return 0;
}

static json_t *preset_json(const struct option *option, const void *base)
{
    const struct config_group *group = base;

    (void)option;
    return json_string(group->preset->name);
}

const struct option_type option_preset = {"a preset", preset_read, NULL, preset_json, preset_done};
