/* SPDX-License-Identifier: Apache-2.0 */
#include "config/event-groups.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "config/values.h"
#include "perf/event-parse.h"
#include "perf/generic-events.h"
#include "perf/pmu.h"
#include "perf/presets.h"

/* --- Events --- */

/* The strings in a map of the list `events`, as written in the file. */
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
        },
    [EVENT_OPTION_NAME] =
        {
            .path = "name",
            .type = &option_text,
            .offset = offsetof(struct event_text, name),
            .range = "letters, digits and \"_\", not starting with a digit",
        },
    [EVENT_OPTION_HELP] =
        {
            .path = "help",
            .type = &option_text,
            .offset = offsetof(struct event_text, help),
            .check = option_check_not_empty,
            .range = "one line of text; the same wherever the metric is used",
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

/*
 * Converts error->offset, a byte offset in the node's text, to a position in the file. Returns -ENOMEM if `r` is
 * -ENOMEM, otherwise -EINVAL.
 */
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
        return document_error(document, n, error, "the string contains no event");
    return 0;
}

static int events_too_many(const struct document *document, const yaml_node_t *n, struct error *error)
{
    return document_error(document, n, error, "more than %d events in a group", CONFIG_EVENTS_MAX);
}

/* Reads a string with one or several event groups, such as "{cycles,instructions}:k". */
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

/* Reads a map in the list `events`, such as {event: "r11", name: cpu_cycles_raw, help: "..."}. */
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
        return document_expected(document, n, "an event, as a string or as a map with \"event\", \"name\" and \"help\"",
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

/*
 * Reserved metric names: every group exports its enabled and running time under these names, here with OpenMetrics
 * suffixes. The names without the unit are reserved as well, because the unit is appended to the name of an event that
 * counts time.
 */
static const char *const reserved_metrics[] = {
    "group_enabled", "group_enabled_seconds", "group_enabled_seconds_created", "group_enabled_seconds_total",
    "group_running", "group_running_seconds", "group_running_seconds_created", "group_running_seconds_total",
};

/*
 * Returns whether `metric` is the name `to` plus a unit that event_unit_suffix() may append, such as "read_bytes" for
 * "read".
 */
static bool adds_unit(const char *metric, const char *to)
{
    size_t size = strlen(to);

    return str_starts(metric, to) && metric[size] == '_' && unit_is_base(metric + size + 1);
}

/*
 * Returns whether two events would be exported as the same series. The series of events on different PMUs differ in the
 * label `pmu`.
 */
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
            error_set(error, -EINVAL,
                      "\"%s\" would have the same metric name as the group's enabled or running time, \"%s\"",
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

/*
 * Moves the events of `list`, one of the groups in the string at node `n`, into `group`. If an event is refused,
 * returns -EINVAL with the position of that event.
 */
static int events_take_list(const struct document *document, const yaml_node_t *n, struct event_list *list,
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
        r = document_expected(document, n, "events, as one string or as a list", error);
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

/* --- Presets --- */

/*
 * Marks the event as a member of variant number `variant` of the preset. An event that is in no earlier variant is
 * moved from *event into the group.
 */
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

/* A unit test parses every string in the table of presets, so parsing can only fail for lack of memory. */
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

/* --- Groups --- */

/* Indices into group_options. */
enum { GROUP_OPTION_NAME, GROUP_OPTION_PRESET, GROUP_OPTION_EVENTS, GROUP_OPTION_STRICT, GROUP_OPTIONS };

static const struct option group_rows[GROUP_OPTIONS] = {
    [GROUP_OPTION_NAME] =
        {
            .path = "name",
            .type = &option_text,
            .offset = offsetof(struct config_group, name),
            .check = option_check_not_empty,
            .range = "not empty; unique within the collector",
        },
    [GROUP_OPTION_PRESET] =
        {
            .path = "preset",
            .type = &option_preset,
            .range = "the name of a preset (see \"perfcountd list-presets\")",
        },
    [GROUP_OPTION_EVENTS] =
        {
            .path = "events",
            .type = &option_events,
            .range = "1 to 64 events",
        },
    [GROUP_OPTION_STRICT] =
        {
            .path = "strict",
            .type = &option_bool,
            .offset = offsetof(struct config_group, strict),
            .range = "true or false",
            .default_yaml = "false",
        },
};

const struct option_table group_options = {.rows = group_rows, .n = ARRAY_SIZE(group_rows)};

static void config_group_done(struct config_group *group)
{
    for (size_t i = 0; i < group_options.n; i++)
        group_options.rows[i].type->done(&group_options.rows[i], group);
    free(group->signature);
    *group = (struct config_group){0};
}

static void config_groups_done(struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        config_group_done(&groups->items[i]);
    free(groups->items);
    *groups = (struct config_groups){0};
}

static void groups_done(const struct option *option, void *base)
{
    config_groups_done(option_member(option, base));
}

/*
 * Returns the group's signature, a string that contains everything that determines the group's series and what they
 * count. A reload keeps the totals of groups with equal signatures. A signature has one line per event, and is
 * unambiguous, because names, events and HELP texts contain no control characters.
 */
static char *group_signature(const struct config_group *group)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_appendf(&text, "%s\t%s\t%s", group->name, group->strict ? "strict" : "weak",
                   group->preset ? group->preset->name : "");
    for (size_t i = 0; i < group->n_events; i++) {
        const struct config_event *event = &group->events[i];
        buffer_appendf(&text, "\n%s\t%x\t%u\t%s\t%s", event->event.text, event->event.modifiers, event->event.precise,
                       event->event.metric, event->help ? event->help : "");
    }
    return buffer_string(&text);
}

static int group_check_weak(const struct document *document, const yaml_node_t *n, const struct config_group *group,
                            struct error *error)
{
    for (size_t i = 0; group->strict && i < group->n_events; i++)
        if (group->events[i].event.modifiers & EVENT_WEAK)
            return document_error(document, n, error, "\"strict\" contradicts the modifier W of \"%s\"",
                                  group->events[i].event.text);
    return 0;
}

static int group_check_preset(const struct document *document, const yaml_node_t *n, const struct preset *preset,
                              bool of_system, struct error *error)
{
    if (!preset || preset->of_system == of_system)
        return 0;
    return document_error(document, n, error, "preset \"%s\" %s", preset->name,
                          of_system ? "counts on each CPU: it belongs to collectors.cpu or collectors.cgroup"
                                    : "counts on system-wide PMUs: it belongs to collectors.pmu");
}

static int group_check_keys(const struct document *document, const yaml_node_t *n, const struct config_group *group,
                            const yaml_node_t *const *nodes, struct error *error)
{
    if (!nodes[GROUP_OPTION_NAME] && !group->preset && group->written.n == 0)
        return document_error(document, n, error, "a group has no \"name\"");
    if (!group->events && group->written.n == 0)
        return document_error(document, n, error, "group \"%s\" has neither \"events\" nor \"preset\"", group->name);
    if (group->preset && nodes[GROUP_OPTION_EVENTS])
        return document_error(document, nodes[GROUP_OPTION_EVENTS], error,
                              "a group has \"events\" or \"preset\", not both: preset \"%s\" has its own events",
                              group->preset->name);
    return 0;
}

static int group_fail_at(unsigned line, unsigned column, struct error *error)
{
    error_set_position(error, line, column);
    return -EINVAL;
}

static int groups_add(const struct document *document, const yaml_node_t *n, struct config_groups *groups,
                      struct config_group *group, struct error *error)
{
    if (groups->n == CONFIG_GROUPS_MAX)
        return document_error(document, n, error, "more than %d groups", CONFIG_GROUPS_MAX);
    group->signature = group_signature(group);
    if (!group->signature || array_grow(&groups->items, groups->n) < 0)
        return error_oom(error);
    groups->items[groups->n++] = *group;
    *group = (struct config_group){0};
    return 0;
}

/*
 * Sets the name of the i-th group in a string: the name before the group's braces, otherwise the value of the map's key
 * "name". If the string contains several groups, the group's number is appended to the value of "name": "core-1",
 * "core-2".
 */
static int group_take_name(struct config_group *group, const char *of_map, size_t i, struct event_groups *written,
                           struct error *error)
{
    struct event_list *list = &written->groups[i];
    bool braces = list->text && list->text[0] == '{';

    if (!list->name && !of_map) {
        error_set(error, -EINVAL,
                  "a group has no name: write one before its braces, as in NAME%s%.128s%s, or as the key \"name\" of a "
                  "map",
                  braces ? "" : "{", list->text, braces ? "" : "}");
        return group_fail_at(group->line, group->column, error);
    }
    if (list->name)
        group->name = steal(list->name);
    else if (written->n == 1)
        group->name = strdup(of_map);
    else if (asprintf(&group->name, "%s-%zu", of_map, i + 1) < 0)
        group->name = NULL;
    return group->name ? 0 : error_oom(error);
}

/*
 * Returns whether every group in the string has a name before its braces, so that the map's key "name" would have no
 * effect.
 */
static bool all_have_names(const struct event_groups *written)
{
    for (size_t i = 0; i < written->n; i++)
        if (!written->groups[i].name)
            return false;
    return true;
}

/*
 * Adds the groups of the key "events", if its value is a string. The other keys of the map apply to all these groups.
 * `n` is the node of this item of the list `groups`.
 */
static int groups_add_written(const struct document *document, const yaml_node_t *n, const yaml_node_t *const *nodes,
                              struct config_groups *groups, struct config_group *read, struct error *error)
{
    const yaml_node_t *name = nodes[GROUP_OPTION_NAME], *text = nodes[GROUP_OPTION_EVENTS];
    int r = 0;

    if (name && all_have_names(&read->written))
        return document_error(document, name, error,
                              "\"events\" names each group before its braces: leave out \"name\"");
    for (size_t i = 0; i < read->written.n && r == 0; i++) {
        _cleanup_(config_group_done) struct config_group group = {.strict = read->strict};
        struct event_list *list = &read->written.groups[i];
        if (name && !list->name)
            document_position(document, name, &group.line, &group.column);
        else
            document_position_at(document, text, list->offset, &group.line, &group.column);
        r = group_take_name(&group, read->name, i, &read->written, error);
        if (r == 0)
            r = events_take_list(document, text, list, &group, error);
        if (r == 0)
            r = group_check_weak(document, nodes[GROUP_OPTION_STRICT] ? nodes[GROUP_OPTION_STRICT] : n, &group, error);
        if (r == 0)
            r = groups_add(document, n, groups, &group, error);
    }
    return r;
}

/* Adds the group of a preset or of a list of events. `of_system` is true for the key collectors.pmu.groups. */
static int groups_add_read(const struct document *document, const yaml_node_t *n, const yaml_node_t *const *nodes,
                           bool of_system, struct config_groups *groups, struct config_group *group,
                           struct error *error)
{
    int r = group_check_weak(document, nodes[GROUP_OPTION_STRICT] ? nodes[GROUP_OPTION_STRICT] : n, group, error);

    if (r == 0)
        r = group_check_preset(document, nodes[GROUP_OPTION_PRESET], group->preset, of_system, error);
    if (r < 0)
        return r;
    /*
     * The position of a group's name is stored as the group's position, because error messages about groups concern
     * their names.
     */
    const yaml_node_t *name = nodes[nodes[GROUP_OPTION_NAME] ? GROUP_OPTION_NAME : GROUP_OPTION_PRESET];
    document_position(document, name, &group->line, &group->column);
    group->strict |= group->preset && group->preset->strict;
    if (!group->name)
        group->name = strdup(group->preset->name);
    return group->name ? groups_add(document, n, groups, group, error) : error_oom(error);
}

/*
 * Adds the groups of one item of the list `groups`: a single group, or all groups in a string. `of_system` is true for
 * the key collectors.pmu.groups.
 */
static int groups_read_item(const struct document *document, const yaml_node_t *n, bool of_system,
                            struct config_groups *groups, struct error *error)
{
    _cleanup_(config_group_done) struct config_group group = {0};
    const yaml_node_t *nodes[GROUP_OPTIONS] = {0};
    int r;

    if (node_text(n)) {
        nodes[GROUP_OPTION_EVENTS] = n;
        r = option_events.read(&group_rows[GROUP_OPTION_EVENTS], document, n, &group, error);
    } else if (n->type == YAML_MAPPING_NODE) {
        r = option_table_read(&group_options, document, n, &group, nodes, error);
    } else {
        r = document_expected(document, n,
                              "a group, as a map with \"name\" and \"events\" or as a string such as "
                              "NAME{cycles,instructions}",
                              error);
    }
    if (r == 0)
        r = group_check_keys(document, n, &group, nodes, error);
    if (r < 0)
        return r;
    return group.written.n > 0 ? groups_add_written(document, n, nodes, groups, &group, error)
                               : groups_add_read(document, n, nodes, of_system, groups, &group, error);
}

/*
 * If a group is split into several kernel groups, the parts after the first are labelled NAME-2, NAME-3... Returns the
 * size of NAME in a label of the form NAME-N, or 0 for another label.
 */
static size_t group_split_base(const char *name, uint64_t *ret_part)
{
    const char *dash = strrchr(name, '-');

    if (!dash || dash == name || dash[1] == '0' || dash[1 + strspn(dash + 1, "0123456789")] != '\0')
        return 0;
    if (number_parse_u64(dash + 1, ret_part) < 0 || *ret_part < 2)
        return 0;
    return (size_t)(dash - name);
}

static int groups_check_same_name(const struct config_group *earlier, const struct config_group *group,
                                  struct error *error)
{
    if (!str_equal(earlier->name, group->name))
        return 0;
    if (earlier->line)
        error_set(error, -EINVAL, "another group is already named \"%s\", in line %u", group->name, earlier->line);
    else
        error_set(error, -EINVAL, "another group is already named \"%s\"", group->name);
    return group_fail_at(group->line, group->column, error);
}

/*
 * Returns -EINVAL if the name of `group` equals the label that a part of `other` would have if `other` were split. A
 * group of n events has at most n parts.
 */
static int groups_check_split(const struct config_group *other, const struct config_group *group, struct error *error)
{
    uint64_t part;
    size_t base = group_split_base(group->name, &part);

    if (base == 0 || other->strict || part > other->n_events || strlen(other->name) != base ||
        memcmp(other->name, group->name, base) != 0)
        return 0;
    error_set(error, -EINVAL, "the name \"%s\" is reserved for a part of group \"%s\" in case that group is split",
              group->name, other->name);
    return group_fail_at(group->line, group->column, error);
}

static int groups_check_names(const struct config_groups *groups, struct error *error)
{
    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->n; k++) {
            int r = k < i ? groups_check_same_name(&groups->items[k], &groups->items[i], error) : 0;
            if (r == 0)
                r = groups_check_split(&groups->items[k], &groups->items[i], error);
            if (r < 0)
                return r;
        }
    return 0;
}

/* Comparison for qsort(3): orders events by metric name, then by position in the file. */
static int compare_metrics(const void *a, const void *b)
{
    const struct config_event *one = *(const struct config_event *const *)a,
                              *other = *(const struct config_event *const *)b;
    int order = strcmp(one->event.metric, other->event.metric);

    if (order == 0)
        order = (one->line > other->line) - (one->line < other->line);
    if (order == 0)
        order = (one->column > other->column) - (one->column < other->column);
    return order;
}

/* Checks that each metric has the same HELP text in all groups. */
static int groups_check_help(const struct config_groups *groups, struct error *error)
{
    _cleanup_(freep) const struct config_event **events = NULL;
    size_t n = 0;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++) {
            if (!groups->items[i].events[k].help)
                continue;
            if (array_grow(&events, n) < 0)
                return error_oom(error);
            events[n++] = &groups->items[i].events[k];
        }
    if (n > 1)
        qsort(events, n, sizeof(*events), compare_metrics);
    for (size_t i = 1; i < n; i++)
        if (str_equal(events[i - 1]->event.metric, events[i]->event.metric) &&
            !str_equal(events[i - 1]->help, events[i]->help)) {
            error_set(error, -EINVAL, "metric \"%s\" has a different help text in line %u", events[i]->event.metric,
                      events[i - 1]->line);
            return group_fail_at(events[i]->line, events[i]->column, error);
        }
    return 0;
}

/* Suffixes that OpenMetrics appends to the names of a counter's samples. */
static const char *const sample_suffixes[] = {"_total", "_created"};

/* Returns whether `event` is exported under the sample name `name`. For clocks, the sample name includes the unit. */
static bool is_name_of_sample(const char *name, const struct event *event)
{
    const char *unit = event->generic && event->generic->clock ? "_seconds" : "";
    size_t size = strlen(event->metric), unit_size = strlen(unit);

    if (strncmp(name, event->metric, size) != 0 || strncmp(name + size, unit, unit_size) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(sample_suffixes); i++)
        if (str_equal(name + size + unit_size, sample_suffixes[i]))
            return true;
    return false;
}

static int groups_check_sample(const struct config_groups *groups, const struct config_event *event,
                               struct error *error)
{
    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++) {
            const struct config_event *other = &groups->items[i].events[k];
            if (!is_name_of_sample(event->event.metric, &other->event))
                continue;
            error_set(
                error, -EINVAL,
                "\"%s\" would have the metric name \"%s\", which in OpenMetrics belongs to \"%s\": give it another "
                "name, as in {event: ..., name: ...}",
                event->event.text, event->event.metric, other->event.text);
            return group_fail_at(event->line, event->column, error);
        }
    return 0;
}

/*
 * Checks that no metric family has the same name as a sample of another family, because strict OpenMetrics parsers
 * would then refuse the whole scrape.
 */
static int groups_check_samples(const struct config_groups *groups, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events && r == 0; k++)
            r = groups_check_sample(groups, &groups->items[i].events[k], error);
    return r;
}

static int groups_read_items(const struct document *document, const yaml_node_t *n, bool of_system,
                             struct config_groups *groups, struct error *error)
{
    size_t before = document_count_errors(document);
    const yaml_node_t *item;

    for (size_t i = 0; (item = document_item(document, n, i)); i++) {
        if (i == CONFIG_GROUPS_MAX || groups->n == CONFIG_GROUPS_MAX)
            return document_error(document, item, error, "more than %d groups", CONFIG_GROUPS_MAX);
        int r = document_keep(document, groups_read_item(document, item, of_system, groups, error), error);
        if (r < 0)
            return r;
    }
    return document_settle(document, 0, before);
}

/* Runs the checks that compare groups with each other; each check reports at most one error. */
static int groups_check(const struct document *document, const struct config_groups *groups, struct error *error)
{
    static int (*const checks[])(const struct config_groups *groups, struct error *error) = {
        groups_check_names,
        groups_check_help,
        groups_check_samples,
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(checks) && r == 0; i++)
        r = document_keep(document, checks[i](groups, error), error);
    return r;
}

static int groups_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                       struct error *error)
{
    _cleanup_(config_groups_done) struct config_groups groups = {0};
    size_t before = document_count_errors(document);

    if (n->type != YAML_SEQUENCE_NODE)
        return option_expected(option, document, n, "a list of groups", error);
    bool of_system = str_equal(option->path, "collectors.pmu.groups");
    int r = document_keep(document, groups_read_items(document, n, of_system, &groups, error), error);
    if (r == 0)
        r = groups_check(document, &groups, error);
    if (r < 0)
        return r;
    config_groups_done(option_member(option, base));
    *(struct config_groups *)option_member(option, base) = groups;
    groups = (struct config_groups){0};
    /* Groups with errors have been left out of `groups`, so that the other groups can still be checked. */
    return document_settle(document, 0, before);
}

static json_t *config_group_json(const struct config_group *group)
{
    json_t *map = json_object();

    for (size_t i = 0; i < group_options.n; i++) {
        const struct option *row = &group_options.rows[i];
        if (i == (group->preset ? GROUP_OPTION_EVENTS : GROUP_OPTION_PRESET))
            continue;
        if (json_object_set_new(map, row->path, row->type->json(row, group)) < 0) {
            json_decref(map);
            return NULL;
        }
    }
    return map;
}

static json_t *config_groups_json(const struct option *option, const void *base)
{
    const struct config_groups *groups = option_member(option, base);
    json_t *list = json_array();

    for (size_t i = 0; i < groups->n; i++)
        if (json_array_append_new(list, config_group_json(&groups->items[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

const struct option_type option_groups = {"a list of groups", groups_read, NULL, config_groups_json, groups_done};
