/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd stat`: prints the counts of a command, those between two readings (while a command ran, or over an
 * interval), or those that a running daemon has recorded in the last minutes.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/past.h"
#include "cmd/stat-tables.h"
#include "cmd/table.h"
#include "cmd/workload.h"
#include "collectors/rates.h"
#include "collectors/task-counts.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "formats/counters.h"
#include "formats/query.h"
#include "top/http-get.h"

struct stat_view {
    const struct options *options;
    struct session session;
    struct workload workload;
    struct filter filter;
    struct order order;
    char *sort;                 /* name of the value to sort by, spelt as in metrics (page_faults) */
    FILE *file;                 /* output file, or NULL before it is opened */
    struct past past;           /* counts recorded by a daemon, for --last; zeroed without --last */
    json_t *findings;           /* document of /api/v1/findings, or NULL if unknown */
    struct snapshot command;    /* the rows, if only a command is counted */
    struct task_counts *counts; /* counts of a command, or NULL if the machine or cgroups are counted */
};

/* --- view --- */

static void stat_view_done(struct stat_view *view)
{
    workload_done(&view->workload);
    task_counts_free(view->counts);
    snapshot_done(&view->command);
    session_done(&view->session);
    filter_done(&view->filter);
    past_done(&view->past);
    json_decref(view->findings);
    free(view->sort);
    if (view->file && view->file != stdout && view->file != stderr)
        fclose(view->file);
}

/* Reports an error from formats/query.h, whose parameter is a value of --cgroup here. */
static int refuse_flag(const struct error *error)
{
    bool is_flag =
        str_starts(error->message, "parameter \"cgroup\"") || str_starts(error->message, "parameter \"limit\"");

    return command_fail_flag(EXIT_BAD_USAGE, is_flag ? "" : "cgroup=", error);
}

/*
 * Converts the name of the value to sort by: page-faults, an event as named in the configuration, becomes page_faults,
 * and "cpu", a column of `top`, becomes CPU_UTILIZATION.
 */
static char *metric_name(const char *name)
{
    char *copy = strdup(str_equal(name, "cpu") ? CPU_UTILIZATION : name);

    for (char *c = copy; c && *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return copy;
}

/*
 * Adds a value of --cgroup to the filter, where "container=grafana" becomes the parameter `container` of
 * formats/query.h.
 */
static int add_cgroups(struct stat_view *view, const char *pattern, struct error *error)
{
    static const char *const no_collectors[] = {NULL};
    const char *glob = pattern;
    enum name_kind kind;
    bool is_name = name_kind_parse(pattern, &kind, &glob) == 0;

    return filter_add(&view->filter, no_collectors, is_name ? name_kind_text(kind) : "cgroup", glob, error);
}

/*
 * Reads the flags of the command line into `view`. Returns the exit status. The caller must call stat_view_done() in
 * any case.
 */
static int stat_view_parse(struct stat_view *view)
{
    const struct options *options = view->options;
    struct error error;
    int r = 0;

    for (size_t i = 0; r == 0 && i < options->n_cgroups; i++)
        r = add_cgroups(view, options->cgroups[i], &error);
    if (r == 0 && options->limit)
        r = order_add(&view->order, "limit", options->limit, &error);
    if (r == 0 && options->order)
        r = order_add(&view->order, "order", options->order, &error);
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

/* Returns whether to show cgroups: if a flag asks for them, or if nothing else is counted. */
static bool stat_view_shows_cgroups(const struct stat_view *view, const struct snapshot *snapshot)
{
    const struct options *options = view->options;

    return options_of_cgroups(options) || (!options->per_cpu && !has_rows(snapshot, is_of_machine, NULL));
}

static bool has_cgroup(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->cgroup)
            return true;
    return false;
}

/* Reports that no cgroup selected by flags is counted. */
static int refuse_cgroups(const struct stat_view *view, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer patterns = {0};
    const char *why = "; collectors.cgroup.include in the configuration selects the cgroups to count";

    if (!view->options->n_cgroups && !view->options->last_ns)
        why = ": name some with --cgroup, or in collectors.cgroup.include";
    else if (!view->options->last_ns)
        why = has_cgroup(snapshot) ? "" : ": none exists, or collectors.cgroup.exclude matches it";

    for (size_t i = 0; i < view->options->n_cgroups; i++) {
        buffer_append_text(&patterns, i ? ", " : " that matches ");
        escape_append_printable(&patterns, view->options->cgroups[i]);
    }
    buffer_append_char(&patterns, '\0');
    fprintf(stderr, "perfcountd: no cgroup is counted%s%s\n", patterns.failed ? "" : patterns.data, why);
    return EXIT_FAILURE;
}

/* Appends " NAME," to `names`, which starts with a comma, unless it already contains the name. */
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

/* Checks that some row to show has the value to sort by. Returns the exit status. */
static int check_sort(const struct stat_view *view, const struct snapshot *snapshot, row_predicate passes)
{
    _cleanup_(buffer_done) struct buffer names = {0};
    struct error refused, error;
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
    if (derived_find(view->order.sort)) {
        order_refuse(&view->order, snapshot, passes, &view->filter, &refused);
        error_set(&error, -EINVAL, "--sort%s", refused.message + strlen("parameter \"sort\""));
        return command_fail(EXIT_BAD_USAGE, &error);
    }
    fprintf(stderr, "perfcountd: --sort: there is no event or derived metric \"%.64s\" here; known are%.*s\n",
            view->options->sort, (int)names.size - 3, names.data + 1);
    return EXIT_BAD_USAGE;
}

/* Checks that there are rows to show, and that some have the value to sort by. Returns the exit status. */
static int stat_view_check(const struct stat_view *view, const struct snapshot *snapshot)
{
    row_predicate passes = view->options->json && !view->options->n_cgroups ? is_any : is_chosen_cgroup;

    if (passes == is_chosen_cgroup && stat_view_shows_cgroups(view, snapshot) &&
        !has_rows(snapshot, is_chosen_cgroup, &view->filter))
        return refuse_cgroups(view, snapshot);
    return check_sort(view, snapshot, passes);
}

/*
 * Adds up the rows of cgroups or of the machine since `baseline` or, if `baseline` is NULL, in a past interval. Returns
 * -ENOMEM on failure. totals_done() must be called in any case.
 */
static int stat_view_totals(const struct stat_view *view, const struct baseline *baseline,
                            const struct snapshot *snapshot, enum totals_order order, struct totals *ret)
{
    row_predicate passes = order == TOTALS_BY_CGROUP ? is_chosen_cgroup : is_of_machine;

    if (!baseline)
        return past_totals(&view->past, order, passes, &view->filter, ret);
    return totals_make(baseline, snapshot, order, passes, &view->filter, ret);
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
    error_of_file(&error, -errno, "write", path);
    return command_fail(EXIT_FAILURE, &error);
}

static int print_json(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (rates_json_write(&text, baseline, snapshot, &view->filter, &view->order, NULL, true) < 0)
        return -ENOMEM;
    fwrite(text.data, 1, text.size, view->file);
    return 0;
}

static void print_past_title(const struct stat_view *view)
{
    char last[NUMBER_SIZE_MAX + 3];

    number_format_duration(view->options->last_ns, last);
    fprintf(view->file, "\nCounts of the last %s:\n", last);
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
    if (view->options->last_ns)
        print_past_title(view);
    else if (view->counts)
        fprintf(view->file, "\nCounts of '%s':\n", command.data);
    else
        fprintf(view->file, "\nCounts of this machine%s%s%s:\n", view->options->workload ? " while '" : "",
                command.data, view->options->workload ? "' ran" : "");
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

/* Returns which events are not counted, and why. */
static const struct failures *view_failures(const struct stat_view *view)
{
    static const struct failures none = {0};

    if (view->counts)
        return task_counts_failures(view->counts);
    return view->session.registry ? registry_failures(view->session.registry) : &none;
}

/* Prints the counts of the machine or of a command, or the table of cgroups. */
static int print_totals(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot,
                        bool cgroups, double *ret_seconds)
{
    enum totals_order order = cgroups ? TOTALS_BY_CGROUP : view->options->per_cpu ? TOTALS_BY_CPU : TOTALS_BY_PMU;
    _cleanup_(totals_done) struct totals totals = {0};
    int r = stat_view_totals(view, baseline, snapshot, order, &totals);

    if (r == 0 && cgroups)
        r = stat_cgroups_print(&totals, &view->order, view->file);
    if (r == 0 && !cgroups)
        r = print_title(view);
    if (r == 0 && !cgroups)
        r = stat_counts_print(&totals, view_failures(view), view->file);
    *ret_seconds = totals.seconds;
    return r;
}

/* Prints how busy the counted CPUs were, if known. Each CPU has a row for each group, but is counted only once. */
static int print_busy(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(totals_done) struct totals totals = {0};
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    double seconds = 0;
    int r = stat_view_totals(view, baseline, snapshot, TOTALS_BY_CPU, &totals);

    for (size_t i = 0; r == 0 && i < totals.n; i++) {
        const struct total *total = &totals.items[i];
        const struct row *row = total->row;
        if (row->state == ROW_UNAVAILABLE || row->cpu < 0 || isnan(total->times.busy) ||
            cpuset_has(&cpus, (unsigned)row->cpu))
            continue;
        seconds += total->times.busy;
        r = cpuset_add(&cpus, (unsigned)row->cpu);
    }
    _cleanup_(freep) char *list = cpuset_format(&cpus);
    if (r < 0 || !list)
        return -ENOMEM;
    if (*list && totals.seconds > 0)
        fprintf(view->file, "%.6f seconds CPU time, %.1f%% of CPU %s\n", seconds,
                100 * seconds / totals.seconds / cpuset_count(&cpus), list);
    return 0;
}

static int print_text(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    bool cgroups = stat_view_shows_cgroups(view, snapshot);
    double seconds;
    int r = print_totals(view, baseline, snapshot, cgroups, &seconds);

    if (r < 0)
        return r;
    print_times(view, seconds);
    return cgroups ? 0 : print_busy(view, baseline, snapshot);
}

/* Returns the exit status. */
static int end_output(const struct stat_view *view)
{
    const char *path = view->options->output;

    return command_end_output(view->file,
                              path                   ? path
                              : view->file == stderr ? "standard error"
                                                     : "standard output",
                              EXIT_SUCCESS);
}

static int print_view(struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot)
{
    int r = view->options->json ? print_json(view, baseline, snapshot) : print_text(view, baseline, snapshot);

    return r < 0 ? command_fail_memory() : end_output(view);
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

/* Returns the signals that end an interval. They are blocked before counters are opened, so that none is lost. */
static sigset_t interrupts(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

/* Sleeps for `ns`. Returns whether an interrupt ended the sleep. */
static bool sleep_until_interrupt(uint64_t ns)
{
    const sigset_t set = interrupts();
    struct timespec now, rest;
    int signal = -1;

    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t end = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec + ns;
    while (signal < 0 && ns > 0) {
        rest = (struct timespec){.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};
        signal = sigtimedwait(&set, NULL, &rest);
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t at = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
        ns = at < end ? end - at : 0;
    }
    return signal > 0;
}

/* **ret_last is set if a signal ended the interval; the counts so far are printed. */
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

/* Reports to standard error which events are not counted. Returns EXIT_FAILURE if nothing can be counted. */
static int report_unavailable(const struct stat_view *view, const struct snapshot *snapshot)
{
    bool open = any_open(snapshot);
    char **sentences;
    size_t n;

    if (failures_sentences(view_failures(view), &sentences, &n) < 0)
        return command_fail_memory();
    for (size_t i = 0; i < n; i++)
        table_print_styled(stderr, TABLE_WARNING, "not counted: %s\n", sentences[i]);
    strings_free(sentences, n);
    if (!open && view->options->n_cgroups)
        return refuse_cgroups(view, snapshot);
    if (!open)
        fprintf(stderr, "perfcountd: no group can be opened here%s\n",
                view->options->workload ? ", so the command was not run" : "");
    return open ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int open_view(struct stat_view *view)
{
    struct error error = {0};
    int status = session_start(&view->session, view->options, false, &error);

    if (status != EXIT_SUCCESS)
        return command_fail(status, &error);
    status = report_unavailable(view, registry_read(view->session.registry, UINT32_MAX, 0));
    if (status != EXIT_SUCCESS)
        return status;
    return stat_view_check(view, registry_read(view->session.registry, UINT32_MAX, 0));
}

/* --- counts of a command --- */

/* Groups that are counted for every command, as in perf-stat(1). */
static const char time_groups[] = "collectors: {cpu: {groups: [{name: time, events: task-clock}]}}";

static bool counts_task_clock(const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++)
            if (str_equal(groups->items[i].events[k].event.metric, "task_clock"))
                return true;
    return false;
}

/* Opens the events of --event or, without it, those configured for CPUs or, if there are none, for cgroups. */
static int open_events(struct stat_view *view, struct error *error)
{
    const struct config *config = view->session.config;
    bool of_cpu = config->cpu.enabled && config->cpu.groups.n > 0;
    const struct config_groups *groups = of_cpu ? &config->cpu.groups : &config->cgroup.groups;
    _cleanup_(config_freep) struct config *time = NULL;
    int r = 0;

    if (!view->options->event && !counts_task_clock(groups)) {
        r = config_parse(time_groups, strlen(time_groups), &time, error);
        if (r == 0 && task_counts_open(view->counts, &time->cpu.groups) < 0)
            r = error_oom(error);
    }
    if (r == 0 && task_counts_open(view->counts, groups) < 0)
        r = error_oom(error);
    return r;
}

static int open_command(struct stat_view *view)
{
    static const char *const collectors[] = {TASK_COLLECTOR, NULL};
    struct session *session = &view->session;
    struct error error = {0};

    sys_init(&session->sys);
    if (session_load(session, view->options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    view->command.collector_names = collectors;
    if (task_counts_new(&session->sys, session->machine, view->workload.pid, &view->command, &view->counts) < 0)
        return command_fail_memory();
    if (open_events(view, &error) < 0)
        return command_fail(EXIT_FAILURE, &error);
    if (task_counts_user_only(view->counts))
        table_print_styled(stderr, TABLE_WARNING,
                           "not counted: what the command does in the kernel, since this user may count only user mode "
                           "(kernel.perf_event_paranoid is %d): run it with sudo, or lower that to 1\n",
                           session->machine->paranoid);
    return report_unavailable(view, &view->command);
}

/* Returns the exit status of the command, unless the counts cannot be printed. */
static int count_command(struct stat_view *view)
{
    _cleanup_(baseline_freep) struct baseline *baseline = NULL;
    struct sys *sys = &view->session.sys;
    struct error error;
    int status = open_command(view);

    if (status != EXIT_SUCCESS)
        return status;
    view->command.monotonic_ns = sys_now(sys, CLOCK_MONOTONIC);
    baseline = baseline_new(&view->command);
    if (!baseline)
        return command_fail_memory();
    if (workload_run(&view->workload, &error) < 0)
        return command_fail(view->workload.status, &error);
    view->command.monotonic_ns = sys_now(sys, CLOCK_MONOTONIC);
    view->command.realtime_ns = sys_now(sys, CLOCK_REALTIME);
    if (task_counts_read(view->counts) < 0)
        return command_fail_memory();
    status = print_view(view, baseline, &view->command);
    return status == EXIT_SUCCESS ? view->workload.status : status;
}

/* --- `perfcountd stat --last` --- */

#define PAST_CGROUPS 10               /* number of cgroups listed below the counts, unless --limit is given */
#define PAST_STEPS 20                 /* number of steps into which the interval is divided */
#define ANSWER_NS (30 * NSEC_PER_SEC) /* timeout for a request to the daemon */

static void append_parameter(struct buffer *path, const char *name, const char *value)
{
    buffer_appendf(path, "&%s=", name);
    escape_append_url(path, value);
}

static void append_duration(struct buffer *path, const char *name, uint64_t ns)
{
    buffer_appendf(path, "%s%" PRIu64 ".%09" PRIu64 "s", name, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

/*
 * Requests the counts of the last `last_ns` nanoseconds: with --json as a single step, else in several steps, because a
 * step that is only partly known is left out (cmd/past.h).
 */
static void append_question(struct buffer *path, const struct stat_view *view)
{
    const struct options *options = view->options;
    uint64_t step_ns = options->json ? options->last_ns : MAX(options->last_ns / PAST_STEPS, NSEC_PER_SEC);

    append_duration(path, "/api/v1/history?until=-0s&totals=pmu&since=-", options->last_ns);
    append_duration(path, "&step=", step_ns);
    for (size_t i = 0; i < options->n_cgroups; i++) {
        const char *glob = options->cgroups[i];
        enum name_kind kind;
        bool is_name = name_kind_parse(glob, &kind, &glob) == 0;
        append_parameter(path, is_name ? name_kind_text(kind) : "cgroup", glob);
    }
    if (options->json && view->sort)
        append_parameter(path, "sort", view->sort);
    if (options->json && options->order)
        append_parameter(path, "order", options->order);
    if (options->json && options->limit)
        append_parameter(path, "limit", options->limit);
    buffer_append_char(path, '\0');
}

static int refuse_past(const char *url, int code, const struct error *error)
{
    struct error refused;

    if (code == -ENOTCONN)
        error_set(&refused, code,
                  "no daemon answers on %s (%s): start it, run this as a user who may use its socket, or name a daemon "
                  "by --url=unix:/PATH or --url=http://HOST:PORT",
                  url, error->message);
    else if (code == -ENOENT && !strstr(error->message, "history.enabled"))
        error_set(&refused, code,
                  "%s: %s: it is not perfcountd, or an older version, which records nothing: upgrade it", url,
                  error->message);
    else
        error_set(&refused, code, "%s: %s", url, error->message);
    return command_fail(EXIT_FAILURE, &refused);
}

/*
 * Gets the documents from the daemon and fills view->past. Appends the text of the history document to `text`. Returns
 * the exit status.
 */
static int get_past(struct stat_view *view, struct buffer *text)
{
    const char *url = view->options->url ? view->options->url : "unix:" TOP_DEFAULT_SOCKET;
    _cleanup_(top_address_done) struct top_address address = {0};
    _cleanup_(buffer_done) struct buffer path = {0}, unused = {0}, unread = {0};
    json_t *history = NULL, *cgroups = NULL;
    struct error error, ignored;
    int r = top_address_parse(url, &address, &error);

    if (r < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    append_question(&path, view);
    if (path.failed)
        return command_fail_memory();
    r = top_address_resolve(&address, &error);
    if (r < 0)
        return command_fail(EXIT_FAILURE, &error);
    r = top_get(&address, path.data, ANSWER_NS, text, &history, &error);
    if (r == 0 && !view->options->json)
        (void)top_get(&address, "/api/v1/cgroups", ANSWER_NS, &unused, &cgroups, &ignored); /* names are optional */
    if (r == 0 && !view->options->json)
        (void)top_get(&address, "/api/v1/findings", ANSWER_NS, &unread, &view->findings,
                      &ignored); /* older daemons have no findings */
    if (r == 0)
        r = past_parse(history, cgroups, &view->past, &error);
    json_decref(history);
    json_decref(cgroups);
    return r < 0 ? refuse_past(url, r, &error) : EXIT_SUCCESS;
}

/* Prints the time of a finding, as "since 14:02" or "from 14:02 to 14:20" in local time. */
static void print_time(FILE *file, const json_t *finding)
{
    static const char *const members[] = {"since", "until"};
    char text[2][32] = {"", ""};

    for (size_t i = 0; i < 2; i++) {
        const json_t *number = json_object_get(finding, members[i]);
        double since_epoch = json_number_value(number); /* 0 if `number` is not a JSON number */
        time_t seconds = since_epoch > 0 && since_epoch < INT32_MAX ? (time_t)since_epoch : 0;
        struct tm tm;
        if (seconds > 0 && localtime_r(&seconds, &tm))
            strftime(text[i], sizeof(text[i]), "%H:%M", &tm);
    }
    if (text[0][0] && text[1][0])
        fprintf(file, ", from %s to %s", text[0], text[1]);
    else if (text[0][0])
        fprintf(file, ", since %s", text[0]);
}

/* Prints the findings of the interval from `document`, which is not trusted. */
static void print_findings(const struct stat_view *view, const json_t *document)
{
    double begin = json_number_value(json_object_get(document, "timestamp")) -
                   (double)view->options->last_ns / (double)NSEC_PER_SEC;
    const json_t *finding;
    bool any = false;
    size_t i;

    json_array_foreach (json_object_get(document, "findings"), i, finding) {
        const json_t *until = json_object_get(finding, "until");
        const char *title = json_string_value(json_object_get(finding, "title"));
        const char *text = json_string_value(json_object_get(finding, "text"));
        _cleanup_(buffer_done) struct buffer line = {0};
        if (!title || !text || (json_is_number(until) && json_number_value(until) < begin))
            continue;
        fputs(any ? "" : "\nWhat stands out:\n\n", view->file);
        any = true;
        escape_append_printable(&line, title);
        buffer_append_char(&line, '\0');
        fprintf(view->file, "%s", line.failed ? "" : line.data);
        print_time(view->file, finding);
        buffer_clear(&line);
        escape_append_printable(&line, text);
        buffer_append_char(&line, '\0');
        fprintf(view->file, "\n    %s\n", line.failed ? "" : line.data);
    }
}

static int refuse_unknown(const struct stat_view *view)
{
    char last[NUMBER_SIZE_MAX + 3];
    struct error error;

    number_format_duration(view->options->last_ns, last);
    error_set(&error, -ENODATA,
              "the daemon recorded nothing in the last %s: ask again after history.interval, or for a longer time",
              last);
    return command_fail(EXIT_FAILURE, &error);
}

/* Prints "8 of 10 minutes are known" if part of the interval is unknown. */
static void print_known(const struct stat_view *view)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"hours", 3600}, {"minutes", 60}, {"seconds", 1}};
    double asked = (double)view->options->last_ns / (double)NSEC_PER_SEC;
    size_t i = 0;

    while (i + 1 < ARRAY_SIZE(units) && (asked < 2 * units[i].seconds || view->past.seconds < units[i].seconds))
        i++;
    /* The known time is rounded down, so that it is never printed as the whole interval. */
    if (view->past.seconds < asked)
        fprintf(view->file, "%.15g of %.15g %s are known\n", floor(view->past.seconds / units[i].seconds * 10) / 10,
                asked / units[i].seconds, units[i].name);
}

static bool counts_cpu_time(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        for (size_t k = 0; snapshot->rows[i]->cgroup && k < snapshot->rows[i]->n_counters; k++)
            if (str_equal(snapshot->rows[i]->counters[k].event, "task_clock"))
                return true;
    return false;
}

/* Prints the machine's counts and the cgroups with the most CPU time, or the cgroups selected by flags. */
static int print_past(struct stat_view *view)
{
    const struct snapshot *snapshot = &view->past.snapshot;
    bool machine = !stat_view_shows_cgroups(view, snapshot), by_time = counts_cpu_time(snapshot);
    bool cgroups = !machine || has_rows(snapshot, is_chosen_cgroup, &view->filter);
    double seconds;
    int r = machine ? print_totals(view, NULL, snapshot, false, &seconds) : 0;

    if (!view->order.sort && by_time)
        view->order.sort = "cpu_utilization";
    if (!view->order.limit && !view->options->n_cgroups)
        view->order.limit = PAST_CGROUPS;
    if (machine && cgroups)
        fprintf(view->file, "\n%s\n\n",
                by_time ? "Cgroups with the most CPU time:"
                        : "Cgroups (unsorted, because no group counts task-clock, which is their CPU time):");
    if (r == 0 && cgroups)
        r = print_totals(view, NULL, snapshot, true, &seconds);
    if (r < 0)
        return r;
    print_findings(view, view->findings);
    print_times(view, view->past.seconds);
    if (machine && print_busy(view, NULL, snapshot) < 0)
        return -ENOMEM;
    print_known(view);
    if (view->past.left_out)
        fprintf(view->file,
                "counts of cgroups may be too low: %" PRIu64 " did not always fit into the history (history.memory)\n",
                view->past.left_out);
    return 0;
}

static int show_past(struct stat_view *view)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    int status = get_past(view, &text);

    if (status == EXIT_SUCCESS && view->past.seconds <= 0)
        return refuse_unknown(view);
    /* Drop the filter: the daemon, which knows more names than this process, has already applied it. */
    filter_done(&view->filter);
    view->filter = (struct filter){0};
    if (status == EXIT_SUCCESS && !view->options->json)
        status = stat_view_check(view, &view->past.snapshot);
    if (status == EXIT_SUCCESS)
        status = open_output(view);
    if (status != EXIT_SUCCESS)
        return status;
    if (view->options->json)
        fwrite(text.data, 1, text.size, view->file);
    else if (print_past(view) < 0)
        return command_fail_memory();
    return end_output(view);
}

int command_stat(const struct options *options)
{
    _cleanup_(stat_view_done) struct stat_view view = {.options = options};
    struct error error;
    int status = stat_view_parse(&view);
    const sigset_t set = interrupts();
    bool last = false;

    if (status == EXIT_SUCCESS && options->last_ns)
        return show_past(&view);
    if (status == EXIT_SUCCESS)
        status = open_output(&view);
    /*
     * The command's process is forked before anything is opened, and so inherits only the caller's descriptors.
     */
    if (status == EXIT_SUCCESS && options->workload && workload_start(options->workload, &view.workload, &error) < 0)
        status = command_fail(EXIT_FAILURE, &error);
    else if (status == EXIT_SUCCESS && !options->workload)
        sigprocmask(SIG_BLOCK, &set, NULL);
    if (status == EXIT_SUCCESS && options_of_command(options))
        return count_command(&view);
    if (status == EXIT_SUCCESS)
        status = open_view(&view);
    if (status == EXIT_SUCCESS && options->workload)
        return count_workload(&view);
    for (uint64_t i = 0; status == EXIT_SUCCESS && !last && (options->count == 0 || i < options->count); i++)
        status = count_interval(&view, &last);
    return status;
}
