/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd stat [FLAGS] [-- COMMAND]`: two readings, and what was counted between them. */
#include <signal.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cmd/stat-cgroups.h"
#include "cmd/stat-tables.h"
#include "cmd/stat-view.h"
#include "cmd/table.h"
#include "daemon/command.h"
#include "formats/rates-json.h"

DEFINE_CLEANUP(struct baseline *, baseline_free);

/* --- output */

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

    if (rates_json_write(&text, baseline, snapshot, &view->filter, &view->order, false) < 0)
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

/* --- measuring */

/* `ret_status` is that of the command, unless the counts cannot be shown. */
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

/* Waits for the end of the interval. Returns whether SIGINT or SIGTERM ended it before. */
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

/* `ret_last` is set where somebody wants no more: what was counted until then is printed. */
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

/* Reports once, on standard error, what is not counted. Returns EXIT_FAILURE where nothing can be. */
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
    /* First of all, so that the command has what the caller has. */
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
