/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd check-config [FILE]`: prints "FILE:LINE:COLUMN: what is wrong" for each error, or "FILE: ok". */
#include "base/cleanup.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "http/security.h"
#include "perf/attr.h"
#include "process/privileges.h"

static void print_warnings(const char *file, const struct security *security)
{
    for (int i = 0; i < N_SECURITY_WARNINGS; i++) {
        const char *warning = security_warning(security, (enum security_warning)i);
        if (warning)
            fprintf(stderr, "%s: warning: %s\n", file, warning);
    }
}

static void print_error(const char *file, const struct error *error)
{
    char text[1024];

    /* The position comes first, as editors expect. */
    fprintf(stderr, "%s\n", config_format_error(file, error, text, sizeof(text)));
}

/* Prints the errors in a file, sorted by position. Returns whether there are any errors. */
static bool print_errors(const char *file, struct error_list *errors)
{
    error_list_sort(errors);
    for (size_t i = 0; i < errors->n; i++)
        print_error(file, &errors->items[i]);
    if (errors->n == ERROR_LIST_MAX)
        fprintf(stderr, "%s: only the first %d errors are shown\n", file, ERROR_LIST_MAX);
    return errors->n > 0;
}

/*
 * Prints all errors in the configuration file. Returns false if the file cannot be read, or if it has no errors, in
 * which case a flag is wrong.
 */
static bool print_config_errors(struct session *session, const char *file)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    struct config *config = NULL;
    struct error error;

    if (config_load(NULL, file, &errors, &config, &error) == 0 && session->machine)
        config_check_all_events(config, &session->sys, session->machine, &errors);
    config_free(config);
    return print_errors(file, &errors);
}

static bool print_web_config_errors(const char *file)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    struct web_config *config = NULL;
    struct error error;

    web_config_load(NULL, file, &errors, &config, &error);
    web_config_free(config);
    return print_errors(file, &errors);
}

/* Checks the web configuration, and loads the certificates named there. */
static bool check_web_config(const char *file)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    _cleanup_(file_versions_done) struct file_versions stamps = {0};
    struct error error = {0};

    if (security_load(NULL, file, &security, &stamps, &error) < 0) {
        if (!print_web_config_errors(file))
            fprintf(stderr, "%s\n", error.message);
        return false;
    }
    print_warnings(file, security);
    return true;
}

static void warn_event(const struct config *config, const struct config_event *event, struct error *error)
{
    error_set_position(error, event->line, event->column);
    error_prefix(error, "warning");
    print_error(config->file, error);
}

/* Warns about the modifiers h, G and H on a clock, which perf accepts and the clock ignores. */
static void warn_ignored_modifiers(const struct config *config, const struct config_event *event)
{
    struct error error;

    if (!event_has_ignored_modifiers(&event->event))
        return;
    error_set(&error, 0, "the modifiers h, G and H of \"%.256s\" have no effect: %s counts time whatever the CPU does",
              event->event.text, event->event.name);
    warn_event(config, event, &error);
}

/*
 * Counts the events that cannot be found on this machine. They need not be errors: another machine may have them,
 * another user may see them, and presets leave out missing events. Warns only about a tracepoint that is known not to
 * exist here: its name is probably misspelt.
 */
static size_t warn_groups(struct session *session, const struct config_groups *groups)
{
    struct error error;
    size_t missing = 0;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; !groups->items[i].preset && k < groups->items[i].n_events; k++) {
            const struct config_event *event = &groups->items[i].events[k];
            warn_ignored_modifiers(session->config, event);
            if (event->event.kind != EVENT_TRACEPOINT && event->event.kind != EVENT_PMU)
                continue;
            int r = attr_check(&session->sys, session->machine, &event->event, &error);
            missing += r < 0;
            if (r != -ENOENT || event->event.kind != EVENT_TRACEPOINT)
                continue;
            warn_event(session->config, event, &error);
        }
    return missing;
}

static void print_good(struct session *session)
{
    const struct config *config = session->config;
    size_t missing = warn_groups(session, &config->cpu.groups) + warn_groups(session, &config->pmu.groups) +
                     warn_groups(session, &config->cgroup.groups);

    printf("%s: ok%s\n", config->file ? config->file : "built-in configuration",
           missing ? "; \"perfcountd plan\" says what this machine can count" : "");
    if (config->web.config_file[0])
        printf("%s: ok\n", config->web.config_file);
}

static void print_deprecated(const struct config *config)
{
    struct error warning;

    if (!config_has_deprecated_key(config, &warning))
        return;
    error_prefix(&warning, "warning");
    print_error(config->file, &warning);
}

/*
 * Warns if hindsight is enabled without the sampler. This is not an error, because the service may be started with
 * --sampler.enabled, which this command cannot know.
 */
static void warn_hindsight(const struct config *config)
{
    struct error warning;

    if (config->sampler.enabled || !config->sampler.hindsight.enabled)
        return;
    error_set(
        &warning, 0,
        "warning: sampler.hindsight keeps no samples unless sampler.enabled is true, or perfcountd is started with "
        "--sampler.enabled, which \"perfcountd setup --profiles\" arranges");
    print_error(config->file, &warning);
}

/* Checks the configured user, but only when run as root, because nobody else can become another user. */
static int check_user(const struct config *config, struct error *error)
{
    struct user user;
    int r = user_choose(config->user, &user, error);

    if (r < 0 && config->file)
        error_prefix(error, "%.200s", config->file);
    return r;
}

int command_check_config(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};

    sys_init(&session.sys);
    bool loaded = session_load(&session, options, &error) == 0;
    if (!loaded && print_config_errors(&session, settings_file(options)))
        return EXIT_BAD_USAGE;
    if (!loaded || check_user(session.config, &error) < 0) {
        fprintf(stderr, "%s\n", error.message); /* the message already contains the position */
        return EXIT_BAD_USAGE;
    }
    if (!check_web_config(session.config->web.config_file))
        return EXIT_BAD_USAGE;
    print_deprecated(session.config);
    warn_hindsight(session.config);
    print_good(&session);
    return EXIT_SUCCESS;
}
