/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in force: see settings.h. */
#include "daemon/settings.h"

#include "base/cleanup.h"

#define DEFAULT_FILE SYSCONFDIR "/perfcountd/perfcountd.yaml"

static int add_position(int code, const char *file, struct error *error)
{
    char text[sizeof(error->message)];

    if (error) {
        config_format_error(file, error, text, sizeof(text));
        memcpy(error->message, text, sizeof(text));
    }
    return code;
}

static int open_by_sys(void *userdata, const char *path)
{
    struct sys *sys = userdata;

    return sys->open_file(sys, path, 0);
}

struct file_opener settings_files(struct sys *sys)
{
    bool has_opener = sys->open_file != sys_open_file;

    return (struct file_opener){
        .open = open_by_sys,
        .userdata = sys,
        .remedy = has_opener
                      ? "the opener reads only files that were configured when perfcountd started, in directories "
                        "where only their owner can replace them; restart perfcountd"
                      : NULL,
    };
}

const char *settings_file(const struct options *options)
{
    return options->config_file ? options->config_file : DEFAULT_FILE;
}

static int load_file(const struct options *options, struct sys *sys, struct config **ret, struct error *error)
{
    const struct file_opener files = settings_files(sys);
    const char *file = settings_file(options);

    if (!options->config_file && access(file, F_OK) < 0 && errno == ENOENT)
        return config_default(ret, error);
    int r = config_load(&files, file, ret, error);
    return r < 0 ? add_position(r, file, error) : 0;
}

static int override(struct config *config, const char *key, const char *flag, const char *value, struct error *error)
{
    int r = config_override(config, key, value, error);

    if (r < 0)
        error_prefix(error, "--%s", flag);
    return r;
}

static int apply_flags(const struct options *options, struct config *config, struct error *error)
{
    int r = 0;

    if (options->n_listen > 0)
        config_clear_listen(config);
    for (size_t i = 0; i < options->n_listen && r == 0; i++)
        r = override(config, "web.listen", "web.listen-address", options->listen[i], error);
    if (r == 0 && options->telemetry_path)
        r = override(config, "web.telemetry_path", "web.telemetry-path", options->telemetry_path, error);
    if (r == 0 && options->web_config_file)
        r = override(config, "web.config_file", "web.config.file", options->web_config_file, error);
    return r;
}

int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    int r = load_file(options, sys, &config, error);

    if (r == 0)
        r = apply_flags(options, config, error);
    if (r == 0)
        *ret = steal(config);
    return r;
}

int settings_load(const struct options *options, struct sys *sys, const struct machine *machine, struct config **ret,
                  struct error *error)
{
    _cleanup_(config_freep) struct config *config = NULL;
    int r = settings_read(options, sys, &config, error);

    if (r < 0)
        return r;
    r = config_check_events(config, sys, machine, error);
    if (r < 0)
        return add_position(r, config->file, error);
    *ret = steal(config);
    return 0;
}
