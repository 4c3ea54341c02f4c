/* SPDX-License-Identifier: Apache-2.0 */
/* A session, and how its counts are shown: see stat-view.h. */
#include "cmd/stat-view.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "daemon/command.h"

void stat_view_done(struct stat_view *view)
{
    workload_done(&view->workload);
    session_done(&view->session);
    filter_done(&view->filter);
    free(view->sort);
    if (view->file && view->file != stdout && view->file != stderr)
        fclose(view->file);
}

/* --- flags */

/* A sentence about a parameter of a request is one about the flag of this name. */
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

/* An event may be named as it is configured: page-faults is page_faults. */
static char *metric_name(const char *name)
{
    char *copy = strdup(name);

    for (char *c = copy; c && *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return copy;
}

/* "container=grafana" is the parameter of that name. */
static int add_cgroups(struct stat_view *view, const char *pattern, struct error *error)
{
    static const char *const no_collectors[] = {NULL};
    const char *glob = pattern;
    enum name_kind kind;
    bool is_name = name_kind_parse(pattern, &kind, &glob) == 0;

    return filter_add(&view->filter, no_collectors, is_name ? name_kind_text(kind) : "cgroup", glob, error);
}

int stat_view_parse(struct stat_view *view)
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

/* --- which rows are shown */

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

/* Cgroups are shown where they were asked for, and where nothing else is counted. */
bool stat_view_shows_cgroups(const struct stat_view *view, const struct snapshot *snapshot)
{
    const struct options *options = view->options;

    return options->n_cgroups || options->sort || options->limit ||
           (!options->per_cpu && !has_rows(snapshot, is_of_machine, NULL));
}

/* Cgroups are asked for, and none is counted that is meant. */
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

/* Each name once, behind commas. */
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
    for (size_t i = 0; row->derivation && i < derivation_count(row->derivation); i++)
        add_name(names, derivation_metric(row->derivation, i)->name);
    for (size_t i = 0; i < row->n_counters; i++)
        add_name(names, row->counters[i].event);
}

/* Whether one of the rows that are shown has what they are sorted by. */
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

int stat_view_check(const struct stat_view *view, const struct snapshot *snapshot)
{
    row_predicate passes = view->options->json && !view->options->n_cgroups ? is_any : is_chosen_cgroup;

    if (passes == is_chosen_cgroup && stat_view_shows_cgroups(view, snapshot) &&
        !has_rows(snapshot, is_chosen_cgroup, &view->filter))
        return refuse_cgroups(view);
    return check_sort(view, snapshot, passes);
}

int stat_view_totals(const struct stat_view *view, const struct baseline *baseline, const struct snapshot *snapshot,
                     struct totals *ret)
{
    if (stat_view_shows_cgroups(view, snapshot))
        return totals_make(baseline, snapshot, TOTALS_BY_CGROUP, is_chosen_cgroup, &view->filter, ret);
    return totals_make(baseline, snapshot, view->options->per_cpu ? TOTALS_BY_CPU : TOTALS_BY_PMU, is_of_machine, NULL,
                       ret);
}
