/* SPDX-License-Identifier: Apache-2.0 */
/* The typed configuration: see config.h. */
#include "config/config.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "config/groups.h"
#include "config/keys.h"
#include "perf/event-parse.h"

static int config_set_default(const struct option *option, struct config *config, struct error *error)
{
    _cleanup_(document_done) struct document document = {0};
    int r = document_parse(option->default_yaml, strlen(option->default_yaml), &document, error);

    if (r < 0)
        return r;
    document.builtin = true;
    return option->type->read(option, &document, document_root(&document), config, error);
}

int config_set_defaults(struct config *config, const yaml_node_t *const *nodes, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < config_options.n && r == 0; i++)
        if (!nodes || !nodes[i])
            r = config_set_default(&config_options.rows[i], config, error);
    return r;
}

int config_default(struct config **ret, struct error *error)
{
    _cleanup_(config_freep) struct config *config = calloc(1, sizeof(*config));

    if (!config)
        return error_oom(error);
    int r = config_set_defaults(config, NULL, error);
    if (r < 0)
        return r;
    *ret = steal(config);
    return 0;
}

struct config *config_free(struct config *config)
{
    if (!config)
        return NULL;
    for (size_t i = 0; i < config_options.n; i++)
        config_options.rows[i].type->done(&config_options.rows[i], config);
    free(config->file);
    free(config);
    return NULL;
}

int config_override(struct config *config, const char *path, const char *value, struct error *error)
{
    const struct option *option = option_table_find(&config_options, path);

    if (!option || !option->type->parse)
        return error_set(error, -EINVAL, "the configuration has no key \"%s\" that a flag could set", path);
    /* In the file the YAML reader checks this. */
    if (utf8_printable_prefix(value, strlen(value)) != strlen(value))
        return error_set(error, -EINVAL, "the value has a control character or is not UTF-8");
    return option->type->parse(option, value, config, error);
}

void config_clear_listen(struct config *config)
{
    const struct option *option = option_table_find(&config_options, "web.listen");

    option->type->done(option, config);
}

/* Whether the key `path` may have this event. An event that is only missing on this machine is no error. */
static int config_check_event(const char *path, const struct event *event, struct sys *sys,
                              const struct machine *machine, struct error *error)
{
    bool of_pmu = event->kind == EVENT_PMU || event->kind == EVENT_NAME;

    if (!of_pmu && str_equal(path, "collectors.pmu.groups"))
        return error_set(error, -EINVAL, "\"%s\" is counted on each CPU: it belongs to collectors.cpu", event->text);
    if (event->kind == EVENT_NAME && attr_check(sys, machine, event, error) == -ENOENT)
        return -EINVAL;
    return 0;
}

/* A check of all events: the first error ends it, unless there is a list. */
struct config_check {
    struct sys *sys;
    const struct machine *machine;
    struct error *error;
    struct error_list *errors; /* NULL: there is none */
};

static int config_check_keep(const struct config_check *check)
{
    return check->errors && error_list_add(check->errors, check->error) == 0 ? 0 : -EINVAL;
}

static int config_check_groups(const struct config_check *check, const char *path, const struct config_groups *groups)
{
    struct error reason;
    int r = 0;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events && r == 0; k++) {
            const struct config_event *event = &groups->items[i].events[k];
            if (event->variants || config_check_event(path, &event->event, check->sys, check->machine, &reason) == 0)
                continue;
            if (check->error) {
                *check->error = reason;
                error_set_position(check->error, event->line, event->column);
            }
            r = config_check_keep(check);
        }
    return r;
}

/* sampler.event is a text, and its position in the file is not kept. */
static int config_check_sampled(const char *text, struct sys *sys, const struct machine *machine, struct error *error)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    struct error reason;

    if (str_equal(text, "auto"))
        return 0;
    int r = event_list_parse_sampled(text, &list, error);
    for (size_t i = 0; i < list.n && r == 0; i++)
        if (list.events[i].kind == EVENT_NAME && attr_check(sys, machine, &list.events[i], &reason) == -ENOENT)
            r = error_set(error, -EINVAL, "sampler.event: %s", reason.message);
    return r;
}

static const struct config_groups *config_groups_of(const struct config *config, const struct option *option)
{
    return (const struct config_groups *)((const char *)config + option->offset);
}

static int config_run_check(const struct config_check *check, const struct config *config)
{
    int r = 0;

    for (size_t i = 0; i < config_options.n && r == 0; i++) {
        const struct option *option = &config_options.rows[i];
        if (option->type == &option_groups)
            r = config_check_groups(check, option->path, config_groups_of(config, option));
    }
    if (r == 0 && config_check_sampled(config->sampler.event, check->sys, check->machine, check->error) < 0)
        r = config_check_keep(check);
    return r;
}

int config_check_events(const struct config *config, struct sys *sys, const struct machine *machine,
                        struct error *error)
{
    return config_run_check(&(struct config_check){sys, machine, error, NULL}, config);
}

void config_check_all_events(const struct config *config, struct sys *sys, const struct machine *machine,
                             struct error_list *errors)
{
    struct error error;

    config_run_check(&(struct config_check){sys, machine, &error, errors}, config);
}

enum standing config_standing_to_operate(const struct config *config)
{
    return config->web.local_operators ? STANDING_LOCAL : STANDING_OPERATOR;
}

enum standing config_standing_to_sample(const struct config *config)
{
    return MIN(config->sampler.allow, config_standing_to_operate(config));
}

uint64_t config_max_cgroups(const struct config *config, enum config_engine engine)
{
    if (config->cgroup.max_cgroups != MAX_CGROUPS_AUTO)
        return config->cgroup.max_cgroups;
    return engine == ENGINE_BPF ? 4096 : 256;
}

bool config_has_deprecated_key(const struct config *config, struct error *warning)
{
    const struct config_sampler *sampler = &config->sampler;

    if (!sampler->allow_remote_line)
        return false;
    error_set(warning, 0, "sampler.allow_remote is deprecated, and a later version will refuse it: write \"allow: %s\"",
              sampler->allow_remote ? "everybody" : "operators");
    error_set_position(warning, sampler->allow_remote_line, sampler->allow_remote_column);
    return true;
}

typedef int (*visit_event)(void *userdata, const struct event *event, bool samples);

static int groups_each_event(const struct config_groups *groups, visit_event visit, void *userdata)
{
    int r = 0;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events && r == 0; k++)
            r = visit(userdata, &groups->items[i].events[k].event, false);
    return r;
}

/* A text that does not parse was refused before. */
static int sampled_each_event(const char *text, visit_event visit, void *userdata)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    int r = str_equal(text, "auto") ? 0 : event_list_parse_sampled(text, &list, NULL);

    for (size_t i = 0; i < list.n && r == 0; i++)
        r = visit(userdata, &list.events[i], true);
    return r == -EINVAL ? 0 : r;
}

int config_each_event(const struct config *config, visit_event visit, void *userdata)
{
    int r = 0;

    for (size_t i = 0; i < config_options.n && r == 0; i++)
        if (config_options.rows[i].type == &option_groups)
            r = groups_each_event(config_groups_of(config, &config_options.rows[i]), visit, userdata);
    if (r == 0)
        r = sampled_each_event(config->sampler.event, visit, userdata);
    for (size_t i = 0; i < config->sampler.n_tracepoints && r == 0; i++)
        r = sampled_each_event(config->sampler.tracepoints[i], visit, userdata);
    return r;
}

const char *config_format_error(const char *file, const struct error *error, char *text, size_t size)
{
    _cleanup_(buffer_done) struct buffer place = {0};

    if (file)
        buffer_appendf(&place, "%s:", file);
    if (error->line)
        buffer_appendf(&place, "%u:", error->line);
    if (error->line && error->column)
        buffer_appendf(&place, "%u:", error->column);
    if (place.size)
        buffer_append_char(&place, ' ');
    snprintf(text, size, "%.*s%s", place.failed ? 0 : (int)place.size, place.failed ? "" : place.data, error->message);
    return text;
}

/* The object at the key before the first dot of `path`, which is added if necessary; borrowed. */
static json_t *json_inner_map(json_t *map, const char *path)
{
    _cleanup_(freep) char *key = strndup(path, strcspn(path, "."));
    json_t *inner = key ? json_object_get(map, key) : NULL;

    if (!inner && key && json_object_set_new(map, key, json_object()) == 0)
        inner = json_object_get(map, key);
    return inner;
}

static int json_put(json_t *map, const char *path, json_t *value)
{
    const char *dot;

    while (map && (dot = strchr(path, '.'))) {
        map = json_inner_map(map, path);
        path = dot + 1;
    }
    if (map)
        return json_object_set_new(map, path, value);
    json_decref(value);
    return -1;
}

json_t *config_json(const struct config *config)
{
    json_t *root = json_object();

    for (size_t i = 0; i < config_options.n; i++) {
        const struct option *option = &config_options.rows[i];
        if (!option->type->json)
            continue;
        if (json_put(root, option->path, option->type->json(option, config)) < 0) {
            json_decref(root);
            return NULL;
        }
    }
    return root;
}
