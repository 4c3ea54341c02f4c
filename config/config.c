/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/text.h"
#include "config/event-groups.h"
#include "config/keys.h"
#include "perf/event-parse.h"
#include "perf/presets.h"

/* --- Values --- */

static int config_set_default(const struct option *option, struct config *config, struct error *error)
{
    _cleanup_(document_done) struct document document = {0};
    int r = document_parse_builtin(option->default_yaml, &document, error);

    if (r < 0)
        return r;
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
        return error_set(error, -EINVAL, "the configuration has no key \"%s\" for a flag", path);
    /* The YAML reader has already checked values from the file. */
    if (utf8_printable_prefix(value, strlen(value)) != strlen(value))
        return error_set(error, -EINVAL, "the value contains a control character or is not UTF-8");
    return option->type->parse(option, value, config, error);
}

/* --- Events from a flag --- */

/*
 * The event groups that a flag lists, as JSON in the structure of the configuration file: one array for the collector
 * `cpu` or `cgroup`, and one for `pmu`.
 */
struct flag_groups {
    const struct machine *machine;
    enum config_scope scope;
    json_t *of_cpu, *of_pmu;
    size_t n_unnamed[2]; /* number of unnamed groups in each array */
};

static bool is_of_pmu(const struct flag_groups *groups, const struct event *event)
{
    for (size_t i = 0; groups->scope == SCOPE_MACHINE && i < groups->machine->n_pmus; i++)
        if (!pmu_is_per_cpu(groups->machine->pmus[i]) &&
            attr_names_pmu(groups->machine, event, groups->machine->pmus[i]))
            return true;
    return false;
}

/* Takes ownership of the reference to `group`. Unnamed groups get the names "events", "events_2", ... */
static int add_flag_group(struct flag_groups *groups, bool of_pmu, const char *name, json_t *group)
{
    char numbered[32];

    if (!name && ++groups->n_unnamed[of_pmu] > 1)
        snprintf(numbered, sizeof(numbered), "events_%zu", groups->n_unnamed[of_pmu]);
    else
        snprintf(numbered, sizeof(numbered), "events");
    if (!group || json_object_set_new(group, "name", json_string(name ? name : numbered)) < 0 ||
        json_array_append(of_pmu ? groups->of_pmu : groups->of_cpu, group) < 0) {
        json_decref(group);
        return -ENOMEM;
    }
    json_decref(group);
    return 0;
}

/*
 * Adds the events that a flag lists outside of braces: each preset becomes a group of its own, and the other events
 * form one group for each collector.
 */
static int add_flag_events(struct flag_groups *groups, const struct event_list *list)
{
    json_t *rest[] = {json_array(), json_array()};
    int r = 0;

    for (size_t i = 0; i < list->n && r == 0; i++) {
        const struct event *event = &list->events[i];
        const struct preset *preset = event->kind == EVENT_NAME ? preset_find(event->text, NULL) : NULL;
        bool of_pmu = preset ? preset->of_system && groups->scope == SCOPE_MACHINE : is_of_pmu(groups, event);
        if (preset)
            r = add_flag_group(groups, of_pmu, preset->name, json_pack("{s:s}", "preset", preset->name));
        else if (json_array_append_new(rest[of_pmu], json_string(event->text)) < 0)
            r = -ENOMEM;
    }
    for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
        if (r == 0 && json_array_size(rest[i]) > 0)
            r = add_flag_group(groups, i == 1, NULL, json_pack("{s:O}", "events", rest[i]));
        json_decref(rest[i]);
    }
    return r;
}

static int add_flag_list(struct flag_groups *groups, const struct event_list *list)
{
    if (list->text[0] != '{')
        return add_flag_events(groups, list);
    return add_flag_group(groups, is_of_pmu(groups, &list->events[0]), list->name,
                          json_pack("{s:s}", "events", list->text));
}

/* Returns a configuration with these groups, as a string for config_parse(). Returns NULL when out of memory. */
static char *write_flag_groups(const struct flag_groups *groups)
{
    json_t *root =
        json_pack("{s:{s:{s:b, s:O}, s:{s:b, s:O}, s:{s:b, s:O}}}", "collectors", "cpu", "enabled",
                  groups->scope != SCOPE_CGROUPS && json_array_size(groups->of_cpu) > 0, "groups", groups->of_cpu,
                  "pmu", "enabled", json_array_size(groups->of_pmu) > 0, "groups", groups->of_pmu, "cgroup", "enabled",
                  groups->scope == SCOPE_CGROUPS, "groups", groups->of_cpu);
    char *text = root ? json_dumps(root, 0) : NULL;

    json_decref(root);
    return text;
}

static void swap_groups(struct config_groups *a, struct config_groups *b)
{
    struct config_groups kept = *a;

    *a = *b;
    *b = kept;
}

int config_set_events(struct config *config, const char *text, const struct machine *machine, enum config_scope scope,
                      struct error *error)
{
    struct flag_groups groups = {.machine = machine, .scope = scope, .of_cpu = json_array(), .of_pmu = json_array()};
    _cleanup_(event_groups_done) struct event_groups written = {0};
    _cleanup_(config_freep) struct config *parsed = NULL;
    _cleanup_(freep) char *document = NULL;
    int r = event_groups_parse(text, &written, error);

    for (size_t i = 0; i < written.n && r == 0; i++)
        r = add_flag_list(&groups, &written.groups[i]) < 0 ? error_oom(error) : 0;
    if (r == 0) {
        document = write_flag_groups(&groups);
        r = document ? config_parse(document, strlen(document), &parsed, error) : error_oom(error);
    }
    json_decref(groups.of_cpu);
    json_decref(groups.of_pmu);
    if (r < 0)
        return r;
    swap_groups(&config->cpu.groups, &parsed->cpu.groups);
    swap_groups(&config->pmu.groups, &parsed->pmu.groups);
    swap_groups(&config->cgroup.groups, &parsed->cgroup.groups);
    config->cpu.enabled = parsed->cpu.enabled;
    config->pmu.enabled = parsed->pmu.enabled;
    config->cgroup.enabled = parsed->cgroup.enabled;
    config->self_enabled = false;
    return 0;
}

void config_clear_list(struct config *config, const char *path)
{
    const struct option *option = option_table_find(&config_options, path);

    option->type->done(option, config);
}

/*
 * Returns -EINVAL if the event is not valid for the key `path` on any machine. An event that is only missing on this
 * machine is not an error.
 */
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

/* State of a pass that checks all configured events. */
struct config_check {
    struct sys *sys;
    const struct machine *machine;
    struct error *error;
    struct error_list *errors; /* collects all errors; if NULL, the first error ends the check */
};

/*
 * Adds check->error to the list of errors, unless the list is NULL or full. Returns 0 to continue, or -EINVAL to end
 * the check.
 */
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

/* Checks sampler.event, and names this key in the error message, because its position in the file is not stored. */
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

enum trust config_trust_to_operate(const struct config *config)
{
    return config->web.local_operators ? TRUST_LOCAL : TRUST_OPERATOR;
}

enum trust config_trust_to_sample(const struct config *config)
{
    return MIN(config->sampler.allow, config_trust_to_operate(config));
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

/* Calls visit() for each event in the string, which was validated when the configuration was loaded. */
static int sampled_each_event(const char *text, visit_event visit, void *userdata)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    int r = str_equal(text, "auto") ? 0 : event_list_parse_sampled(text, &list, NULL);

    for (size_t i = 0; i < list.n && r == 0; i++)
        r = visit(userdata, &list.events[i], true);
    return r;
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

/* Returns the JSON object at the key before the first dot of `path`, and creates the object if necessary. Borrowed. */
static json_t *json_inner_map(json_t *map, const char *path)
{
    _cleanup_(freep) char *key = strndup(path, strcspn(path, "."));
    json_t *inner = key ? json_object_get(map, key) : NULL;

    if (!inner && key && json_object_set_new(map, key, json_object()) == 0)
        inner = json_object_get(map, key);
    return inner;
}

/* Stores the value at a dotted path, and takes ownership of the reference to the value. */
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

/* --- Loading --- */

static const yaml_node_t *node_of_key(const yaml_node_t *const *nodes, const char *path)
{
    return nodes[option_table_find(&config_options, path) - config_options.rows];
}

/*
 * A sampling rate among the terms of the event, as in "cycles/period=100000/", replaces the defaults of sampler.period
 * and sampler.frequency. If the file sets a different rate with one of these keys, that is an error.
 */
static int sampler_take_rate_of_event(const struct document *document, const yaml_node_t *frequency,
                                      const yaml_node_t *period, struct config_sampler *sampler, struct error *error)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    int r = str_equal(sampler->event, "auto") ? 0 : event_list_parse_sampled(sampler->event, &list, error);

    if (r < 0 || list.n == 0 || (!list.events[0].period && !list.events[0].frequency))
        return r;
    const struct event *event = &list.events[0];
    bool other_period = period && sampler->period && sampler->period != event->period;
    if (other_period || (frequency && sampler->frequency && sampler->frequency != event->frequency))
        return document_error(
            document, other_period ? period : frequency, error,
            "sampler.%s: the event \"%.256s\" already sets the rate in a term; remove the term or this key",
            other_period ? "period" : "frequency", event->text);
    sampler->period = event->period;
    sampler->frequency = event->frequency;
    return 0;
}

/* The kernel samples at either a frequency or a period, so a configured period replaces the default frequency. */
static int sampler_check_frequency(const struct document *document, const yaml_node_t **nodes, struct config *config,
                                   struct error *error)
{
    const yaml_node_t *frequency = node_of_key(nodes, "sampler.frequency"),
                      *period = node_of_key(nodes, "sampler.period");
    struct config_sampler *sampler = &config->sampler;
    int r = sampler_take_rate_of_event(document, frequency, period, sampler, error);

    if (r < 0)
        return r;
    if (sampler->period && sampler->frequency && frequency && period)
        return document_error(document, period, error,
                              "sampler.period: sampler.frequency is given as well; remove one of them");
    if (sampler->period)
        sampler->frequency = 0;
    if (!sampler->period && !sampler->frequency)
        return document_error(document, frequency ? frequency : period, error,
                              "sampler.frequency: 0 is allowed only if sampler.period is set");
    return 0;
}

/* sampler.allow_remote is the old name of sampler.allow. */
static int sampler_read_allow_remote(const struct document *document, const yaml_node_t **nodes, struct config *config,
                                     struct error *error)
{
    const yaml_node_t *remote = node_of_key(nodes, "sampler.allow_remote");
    struct config_sampler *sampler = &config->sampler;

    if (!remote)
        return 0;
    if (node_of_key(nodes, "sampler.allow"))
        return document_error(document, remote, error,
                              "sampler.allow_remote: sampler.allow is given as well and replaces it; remove "
                              "sampler.allow_remote");
    sampler->allow = sampler->allow_remote ? TRUST_EVERYBODY : TRUST_OPERATOR;
    document_position(document, remote, &sampler->allow_remote_line, &sampler->allow_remote_column);
    return 0;
}

static int config_read_document(const struct document *document, struct config *config, struct error *error)
{
    const yaml_node_t *root = document_root(document);

    if (root && root->type != YAML_MAPPING_NODE)
        return document_expected(document, root, "a map with the keys \"web\", \"collectors\" and \"sampler\"", error);
    const yaml_node_t **nodes = calloc(config_options.n, sizeof(const yaml_node_t *));
    if (!nodes)
        return error_oom(error);
    int r = root ? option_table_read(&config_options, document, root, config, nodes, error) : 0;
    if (r == 0 && !document->errors)
        r = config_set_defaults(config, nodes, error);
    /*
     * If errors were collected, the keys are not checked against each other, because the defaults that replaced invalid
     * values may contradict other values.
     */
    if (r == 0)
        r = document_keep(document, sampler_check_frequency(document, nodes, config, error), error);
    if (r == 0)
        r = document_keep(document, sampler_read_allow_remote(document, nodes, config, error), error);
    free(nodes);
    return r;
}

/*
 * Allocates the struct config into which the file is read. Normally, the defaults of absent keys are set after reading.
 * If errors are collected, all defaults are set before reading, because reading continues after an invalid value, and
 * the default takes its place.
 */
static int config_begin(bool with_defaults, struct config **ret, struct error *error)
{
    if (with_defaults)
        return config_default(ret, error);
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : error_oom(error);
}

/*
 * If `errors` is not NULL, reading continues after an invalid value, and the error is added to `errors`. If `errors` is
 * NULL, the first error is returned.
 */
static int config_parse_all(const char *text, size_t size, struct error_list *errors, struct config **ret,
                            struct error *error)
{
    _cleanup_(document_done) struct document document = {0};
    _cleanup_(config_freep) struct config *config = NULL;
    int r = document_parse(text, size, &document, error);

    document.errors = errors;
    if (r == 0)
        r = config_begin(errors != NULL, &config, error);
    if (r == 0)
        r = document_keep(&document, config_read_document(&document, config, error), error);
    if (r < 0)
        return r;
    *ret = steal(config);
    return 0;
}

int config_parse(const char *text, size_t size, struct config **ret, struct error *error)
{
    return config_parse_all(text, size, NULL, ret, error);
}

static const struct {
    int code;
    const char *sentence;
} file_errors[] = {
    {-ENOENT, "there is no such file"},
    {-EISDIR, "this is a directory, but a file is expected"},
    {-ESPIPE, "this is a pipe or socket, but a file is expected"},
    {-ENXIO, "this is a socket or a device without a driver, but a file is expected"},
    {-EACCES, "permission denied: this user may not read the file"},
    {-EFBIG, "the file is larger than 1 MiB, which is too large for a configuration"},
};

static int config_file_error(const struct file_opener *opener, int code, struct error *error)
{
    char remedy[256];

    for (size_t i = 0; i < ARRAY_SIZE(file_errors); i++)
        if (code == file_errors[i].code)
            return error_set(error, code, "%s%s", file_errors[i].sentence,
                             file_remedy(opener, code, remedy, sizeof(remedy)));
    return error_set(error, code, "the file cannot be read: %s", strerror(-code));
}

int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error)
{
    int r = file_read_by(opener, path, CONFIG_FILE_MAX, ret_text, ret_size);

    return r < 0 ? config_file_error(opener, r, error) : 0;
}

char *config_join_path(const char *directory, const char *path)
{
    char *joined;

    if (path[0] == '/' || directory[0] == '\0' || str_equal(directory, "."))
        return strdup(path);
    return asprintf(&joined, "%s%s%s", directory, directory[strlen(directory) - 1] == '/' ? "" : "/", path) < 0
               ? NULL
               : joined;
}

char *config_directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Resolves relative paths in the configuration file against the directory of that file. */
static int config_join_paths(const char *file, struct config *config, struct error *error)
{
    _cleanup_(freep) char *directory = config_directory_of(file);

    if (config->web.config_file[0] == '\0')
        return 0;
    char *joined = directory ? config_join_path(directory, config->web.config_file) : NULL;
    if (!joined)
        return error_oom(error);
    free(config->web.config_file);
    config->web.config_file = joined;
    return 0;
}

int config_load(const struct file_opener *opener, const char *path, struct error_list *errors, struct config **ret,
                struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    _cleanup_(freep) char *text = NULL;
    size_t size;
    int r = config_read_file(opener, path, &text, &size, error);

    if (r == 0)
        r = config_parse_all(text, size, errors, &config, error);
    if (r == 0)
        r = config_join_paths(path, config, error);
    if (r < 0)
        return r;
    config->blank = size == 0;
    config->file = strdup(path);
    if (!config->file)
        return error_oom(error);
    *ret = steal(config);
    return 0;
}
