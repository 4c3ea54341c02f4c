/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to the typed configuration: see config.h and load.h. */
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/load.h"
#include "perf/event-parse.h"

static const yaml_node_t *node_of_key(const yaml_node_t *const *nodes, const char *path)
{
    return nodes[option_table_find(&config_options, path) - config_options.rows];
}

/* A rate in the event, as in "cycles/period=100000/", replaces the default; a different one in the file is an error. */
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
        return document_error(document, other_period ? period : frequency, error,
                              "sampler.%s: the event \"%.256s\" has its rate in its terms; remove one of them",
                              other_period ? "period" : "frequency", event->text);
    sampler->period = event->period;
    sampler->frequency = event->frequency;
    return 0;
}

/* The kernel samples by a frequency or by a period. The frequency has a default, which a period replaces. */
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
                              "sampler.frequency: it is 0, and sampler.period is not given");
    return 0;
}

/* sampler.allow_remote is what earlier versions had for sampler.allow. */
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
    sampler->allow = sampler->allow_remote ? STANDING_EVERYBODY : STANDING_OPERATOR;
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
    /* After an error, a value may be the default, which contradicts others. */
    if (r == 0)
        r = document_keep(document, sampler_check_frequency(document, nodes, config, error), error);
    if (r == 0)
        r = document_keep(document, sampler_read_allow_remote(document, nodes, config, error), error);
    free(nodes);
    return r;
}

/* Defaults are set behind the values of the file, for the other keys; first of all where a bad value is no end. */
static int config_begin(bool with_defaults, struct config **ret, struct error *error)
{
    if (with_defaults)
        return config_default(ret, error);
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : error_oom(error);
}

/* With `errors`, they get those of the values, and the rest is read; else the first one is the result. */
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

/* Paths in the file are relative to its directory. */
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

int config_load_all(const struct file_opener *opener, const char *path, struct error_list *errors, struct config **ret,
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

int config_load(const struct file_opener *opener, const char *path, struct config **ret, struct error *error)
{
    return config_load_all(opener, path, NULL, ret, error);
}
