/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd stat`: what was counted between two readings, while a command ran or for an interval. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/stat-tables.h"
#include "cmd/table.h"
#include "cmd/workload.h"
#include "collectors/rates.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "formats/counters.h"
#include "formats/query.h"

struct stat_view {
    const struct options *options;
    struct session session;
    struct workload workload;
    struct filter filter;
    struct order order;
    char *sort; /* what to sort by, spelt as in metrics: page_faults */
    FILE *file; /* NULL until it is opened */
};

/* --- view --- */

static void stat_view_done(struct stat_view *view)
{
    workload_done(&view->workload);
    session_done(&view->session);
    filter_done(&view->filter);
    free(view->sort);
    if (view->file && view->file != stdout && view->file != stderr)
        fclose(view->file);
}

/* Errors of formats/query.h name a parameter of a request. This names the flag instead. */
static int refuse_flag(const struct error *error)
{
    static const char before[] = "parameter \"";
    const char *text = error->message;
    struct error refused;

    if (!str_starts(text, before))
        return command_fail(EXIT_BAD_USAGE, error);
    text += strlen(before);
    size_t name = strcspn(text, "\"");
    bool is_name = !str_starts(text, "cgroup\"") && !str_starts(text, "limit\"");
    error_set(&refused, -EINVAL, "--%s%.*s%s", is_name ? "cgroup=" : "", (int)name, text,
              text[name] ? text + name + 1 : "");
    return command_fail(EXIT_BAD_USAGE, &refused);
}

/* Events may be named as in the configuration: page-faults becomes page_faults. */
static char *metric_name(const char *name)
{
    char *copy = strdup(name);

    for (char *c = copy; c && *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return copy;
}

/* "container=grafana" is the parameter `container` of formats/query.h. */
static int add_cgroups(struct stat_view *view, const char *pattern, struct error *error)
{
    static const char *const no_collectors[] = {NULL};
    const char *glob = pattern;
    enum name_kind kind;
    bool is_name = name_kind_parse(pattern, &kind, &glob) == 0;

    return filter_add(&view->filter, no_collectors, is_name ? name_kind_text(kind) : "cgroup", glob, error);
}

/* Reads the flags. Returns the exit status; call stat_view_done() in any case. */
static int stat_view_parse(struct stat_view *view)
{
    const struct options *options = view->options;
    struct error error;
    int r = 0;

    for (size_t i = 0; r == 0 && i < options->n_cgroups; i++)
        r = add_cgroups(view, options->cgroups[i], &error);
    if (r == 0 && options->limit)
        r = order_add(&view->order, "limit", options->limit, &error);
    if (r < 0)
        return refuse_flag(&error);
    view->sort = options->sort ? metric_name(options->sort) : NULL;
    if (options->sort && !view->sort)
        return command_fail_memory();
    view->order.sort = view->sort;
    return EXIT_SUCCESS;
}

typedef bool (*row_predicate)(const void *userdata, const struct row *row);

static bool is_any(const void *userdata, const struct row *row)
{
    (void)userdata;
    (void)row;
    return true;
}

static bool is_of_machine(const void *userdata, const struct row *row)
{
    (void)userdata;
    return !row->cgroup;
}

static bool is_chosen_cgroup(const void *userdata, const struct row *row)
{
    return row->cgroup && filter_passes_row(userdata, row);
}

static bool has_rows(const struct snapshot *snapshot, row_predicate passes, const struct filter *filter)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE && passes(filter, snapshot->rows[i]))
            return true;
    return false;
}

/* Cgroups are shown if a flag asks for them, or if nothing else is counted. */
static bool stat_view_shows_cgroups(const struct stat_view *view, const struct snapshot *snapshot)
{
    const struct options *options = view->options;

    return options->n_cgroups || options->sort || options->limit ||
           (!options->per_cpu && !has_rows(snapshot, is_of_machine, NULL));
}

/* Reports that none of the cgroups that flags ask for is counted. */
static int refuse_cgroups(const struct stat_view *view)
{
    _cleanup_(buffer_done) struct buffer patterns = {0};

    for (size_t i = 0; i < view->options->n_cgroups; i++) {
        buffer_append_text(&patterns, i ? ", " : " that matches ");
        escape_append_printable(&patterns, view->options->cgroups[i]);
    }
    buffer_append_char(&patterns, '\0');
    fprintf(stderr,
            "perfcountd: no cgroup is counted%s; collectors.cgroup.include of the configuration chooses the cgroups "
            "that are counted\n",
            patterns.failed ? "" : patterns.data);
    return EXIT_FAILURE;
}

/* Appends " NAME," to `names`, which starts with a comma, unless the name is listed already. */
static void add_name(struct buffer *names, const char *name)
{
    char text[128];

    snprintf(text, sizeof(text), ", %s,", name);
    buffer_append_char(names, '\0');
    bool listed = !names->failed && strstr(names->data, text);
    names->size -= !names->failed;
    if (!listed)
        buffer_appendf(names, " %s,", name);
}

static void add_names(struct buffer *names, const struct row *row)
{
    for (size_t i = 0; row->metric_set && i < metric_set_count(row->metric_set); i++)
        add_name(names, metric_set_metric(row->metric_set, i)->name);
    for (size_t i = 0; i < row->n_counters; i++)
        add_name(names, row->counters[i].event);
}

/* Checks that a row that is shown has what rows are sorted by. Returns the exit status. */
static int check_sort(const struct stat_view *view, const struct snapshot *snapshot, row_predicate passes)
{
    _cleanup_(buffer_done) struct buffer names = {0};
    char wanted[128];

    if (!view->order.sort)
        return EXIT_SUCCESS;
    buffer_append_char(&names, ',');
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE && passes(&view->filter, snapshot->rows[i]))
            add_names(&names, snapshot->rows[i]);
    buffer_append_char(&names, '\0');
    if (names.failed)
        return command_fail_memory();
    snprintf(wanted, sizeof(wanted), " %s,", view->order.sort);
    if (strstr(names.data, wanted))
        return EXIT_SUCCESS;
    fprintf(stderr, "perfcountd: --sort: nothing here has \"%.64s\"; known are%.*s\n", view->options->sort,
            (int)names.size - 3, names.data + 1);
    return EXIT_BAD_USAGE;
}

/* Checks that there is something to show and to sort by. Returns the exit status. */
static int stat_view_check(const struct stat_view *view, const struct snapshot *snapshot)
{
    row_predicate passes = view->options->json && !view->options->n_cgroups ? is_any : is_chosen_cgroup;

    if (passes == is_chosen_cgroup && stat_view_shows_cgroups(view, snapshot) &&
        !has_rows(snapshot, is_chosen_cgroup, &view->filter))
        return refuse_cgroups(view);
    return check_sort(view, snapshot, passes);
}

/* Adds up the rows that are shown. Returns -ENOMEM; call totals_done() in any case. */
static int stat_view_totals(const struct stat_view *view, const struct baseline *baseline,
                            const struct snapshot *snapshot, struct totals *ret)
{
    if (stat_view_shows_cgroups(view, snapshot))
        return totals_make(baseline, snapshot, TOTALS_BY_CGROUP, is_chosen_cgroup, &view->filter, ret);
    return totals_make(baseline, snapshot, view->options->per_cpu ? TOTALS_BY_CPU : TOTALS_BY_PMU, is_of_machine, NULL,
                       ret);
}

/* --- `perfcountd stat` --- */

DEFINE_CLEANUP(struct baseline *, baseline_free);

static int open_output(struct stat_view *view)
{
    const char *path = view->options->output;
    struct error error;

    view->file = view->options->workload ? stderr : stdout;
    if (!path)
        return EXIT_SUCCESS;
    view->file = fopen(path, "we");
    if (view->file)
        return EXIT_SUCCESS;
    error_set(&error, -errno, "--output: cannot write %s: %s", path, strerror(errno));
    return command_fail(EXIT_FAILURE, &error);
}

static int print_json(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (rates_json_write(&text, baseline, snapshot, &view->filter, &view->order, NULL) < 0)
        return -ENOMEM;
    fwrite(text.data, 1, text.size, view->file);
    return 0;
}

static int print_title(const struct stat_view *view)
{
    _cleanup_(buffer_done) struct buffer command = {0};

    for (char *const *argument = view->options->workload; argument && *argument; argument++) {
        buffer_append_text(&command, argument == view->options->workload ? "" : " ");
        escape_append_printable(&command, *argument);
    }
    buffer_append_char(&command, '\0');
    if (command.failed)
        return -ENOMEM;
    fprintf(view->file, "\nCounts of this machine%s%s%s:\n", view->options->workload ? " while '" : "", command.data,
            view->options->workload ? "' ran" : "");
    return 0;
}

static void print_times(const struct stat_view *view, double seconds)
{
    const struct rusage *usage = &view->workload.usage;

    fprintf(view->file, "\n%.6f seconds time elapsed\n", seconds);
    if (view->options->workload)
        fprintf(view->file, "%.6f seconds user\n%.6f seconds sys\n",
                (double)usage->ru_utime.tv_sec + (double)usage->ru_utime.tv_usec / 1e6,
                (double)usage->ru_stime.tv_sec + (double)usage->ru_stime.tv_usec / 1e6);
}

static int print_text(struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    bool cgroups = stat_view_shows_cgroups(view, snapshot);
    _cleanup_(totals_done) struct totals totals = {0};
    int r = stat_view_totals(view, baseline, snapshot, &totals);

    if (r == 0 && cgroups)
        r = stat_cgroups_print(&totals, &view->order, view->file);
    if (r == 0 && !cgroups)
        r = print_title(view);
    if (r == 0 && !cgroups)
        r = stat_counts_print(&totals, registry_failures(view->session.registry), view->file);
    if (r == 0)
        print_times(view, totals.seconds);
    return r;
}

static int print_view(struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    int r = view->options->json ? print_json(view, baseline, snapshot) : print_text(view, baseline, snapshot);
    struct error error;

    if (r < 0)
        return command_fail_memory();
    if (fflush(view->file) == 0 && !ferror(view->file))
        return EXIT_SUCCESS;
    error_set(&error, -errno, "cannot write the counts: %s", strerror(errno));
    return command_fail(EXIT_FAILURE, &error);
}

/* Returns the exit status of the command, unless the counts cannot be printed. */
static int count_workload(struct stat_view *view)
{
    _cleanup_(baseline_freep) struct baseline *baseline = NULL;
    struct registry *registry = view->session.registry;
    struct error error;

    baseline = baseline_new(registry_read(registry, UINT32_MAX, 0));
    if (!baseline)
        return command_fail_memory();
    int r = workload_run(&view->workload, &error);
    const struct snapshot *snapshot = registry_read(registry, UINT32_MAX, 0);
    if (r < 0)
        return command_fail(view->workload.status, &error);
    int status = print_view(view, baseline, snapshot);
    return status == EXIT_SUCCESS ? view->workload.status : status;
}

/* Sleeps for `ns`. Returns whether SIGINT or SIGTERM ended the sleep. */
static bool sleep_until_interrupt(uint64_t ns)
{
    struct timespec now, rest;
    sigset_t set, before;
    int signal = -1;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t end = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec + ns;
    while (signal < 0 && ns > 0) {
        rest = (struct timespec){.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};
        signal = sigtimedwait(&set, NULL, &rest);
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t at = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
        ns = at < end ? end - at : 0;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return signal > 0;
}

/* *ret_last is set if a signal ended the interval; what was counted until then is printed. */
static int count_interval(struct stat_view *view, bool *ret_last)
{
    _cleanup_(baseline_freep) struct baseline *baseline = NULL;
    struct registry *registry = view->session.registry;

    baseline = baseline_new(registry_read(registry, UINT32_MAX, 0));
    if (!baseline)
        return command_fail_memory();
    *ret_last = sleep_until_interrupt(view->options->interval_ns);
    return print_view(view, baseline, registry_read(registry, UINT32_MAX, 0));
}

static bool any_open(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE)
            return true;
    return false;
}

/* Reports on standard error what is not counted. Returns EXIT_FAILURE if nothing can be counted. */
static int report_unavailable(struct registry *registry)
{
    bool open = any_open(registry_read(registry, UINT32_MAX, 0));
    char **sentences;
    size_t n;

    if (failures_sentences(registry_failures(registry), &sentences, &n) < 0)
        return command_fail_memory();
    for (size_t i = 0; i < n; i++)
        table_print_styled(stderr, TABLE_WARNING, "not counted: %s\n", sentences[i]);
    strings_free(sentences, n);
    if (!open)
        fputs("perfcountd: no group can be opened here\n", stderr);
    return open ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int open_view(struct stat_view *view)
{
    struct error error = {0};
    int status = session_start(&view->session, view->options, false, &error);

    if (status != EXIT_SUCCESS)
        return command_fail(status, &error);
    status = report_unavailable(view->session.registry);
    if (status != EXIT_SUCCESS)
        return status;
    return stat_view_check(view, registry_read(view->session.registry, UINT32_MAX, 0));
}

int command_stat(const struct options *options)
{
    _cleanup_(stat_view_done) struct stat_view view = {.options = options};
    struct error error;
    int status = stat_view_parse(&view);
    bool last = false;

    if (status == EXIT_SUCCESS)
        status = open_output(&view);
    /* Before anything is opened, so that the command inherits only what the caller has. */
    if (status == EXIT_SUCCESS && options->workload && workload_start(options->workload, &view.workload, &error) < 0)
        status = command_fail(EXIT_FAILURE, &error);
    if (status == EXIT_SUCCESS)
        status = open_view(&view);
    if (status == EXIT_SUCCESS && options->workload)
        return count_workload(&view);
    for (uint64_t i = 0; status == EXIT_SUCCESS && !last && (options->count == 0 || i < options->count); i++)
        status = count_interval(&view, &last);
    return status;
}
