/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line: see summary.h. */
#include "daemon/status.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collectors/cgroup/cgroup.h"
#include "config/keys.h"

static void count_watched(void *userdata, const struct cgroup_view *view)
{
    *(size_t *)userdata += view->state == CGROUP_STATE_WATCHED;
}

static void append_count(struct buffer *line, const char *before, size_t n, const char *noun)
{
    buffer_appendf(line, "%s%zu %s%s", before, n, noun, n == 1 ? "" : "s");
}

static size_t count_cgroups(const struct registry *registry)
{
    const void *cgroup = registry_state(registry, &collector_cgroup);
    size_t n = 0;

    if (cgroup && !registry_has_failed(registry, &collector_cgroup))
        cgroup_visit(cgroup, count_watched, &n);
    return n;
}

/* All zero where cgroups are not counted. */
static struct cgroup_summary summarize_cgroups(const struct registry *registry)
{
    const void *cgroup = registry_state(registry, &collector_cgroup);
    struct cgroup_summary summary = {0};

    if (cgroup)
        cgroup_summarize(cgroup, &summary);
    return summary;
}

static bool is_counted(const struct snapshot *snapshot, const struct row *row)
{
    return row->state != ROW_UNAVAILABLE && !row->absent && !snapshot_row_failed(snapshot, row);
}

static void append_counted(struct buffer *line, struct registry *registry)
{
    const struct snapshot *snapshot = registry_read(registry, 0, UINT64_MAX);
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    size_t groups = 0, cgroups = count_cgroups(registry);

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (!is_counted(snapshot, row))
            continue;
        groups++;
        if (row->cpu >= 0 && cpuset_add(&cpus, (unsigned)row->cpu) < 0)
            line->failed = true;
    }
    append_count(line, "counting ", groups, "group");
    if (cpuset_count(&cpus) > 0)
        append_count(line, " on ", (size_t)cpuset_count(&cpus), "CPU");
    if (cgroups > 0)
        append_count(line, cpuset_count(&cpus) > 0 ? " and " : " on ", cgroups, "cgroup");
}

/* Failures of events, and others, such as a limit that was reached. */
static size_t count_failures(const struct registry *registry, size_t *ret_others)
{
    const struct failures *failures = registry_failures(registry);
    size_t events = 0;

    for (size_t i = 0; i < failures->n; i++)
        events += failures->items[i].event[0] != '\0';
    *ret_others = failures->n - events;
    return events;
}

static void append_failures(struct buffer *line, const struct registry *registry)
{
    size_t others, events = count_failures(registry, &others);

    if (events > 0)
        append_count(line, "; ", events, "event");
    if (others > 0)
        append_count(line, events > 0 ? " and " : "; ", others, "other failure");
    if (events + others > 0)
        buffer_append_text(line, " unavailable, see /api/v1/status");
}

static void put_line(const struct buffer *line, char *text, size_t size)
{
    size_t n = line->failed ? 0 : MIN(line->size, size - 1);

    memcpy(text, n ? line->data : "", n);
    text[n] = '\0';
}

void summary_format(struct registry *registry, const struct summary_state *state, char *text, size_t size)
{
    _cleanup_(buffer_done) struct buffer line = {0};

    if (state->opener_lost)
        buffer_append_text(&line, state->ends ? "the opener is gone, perfcountd ends so that it is started again; "
                                              : "the opener is gone, restart perfcountd; ");
    if (state->reload_error[0])
        buffer_appendf(&line, "reload failed, the old configuration stays in use: %s; ", state->reload_error);
    if (state->paused_seconds > 0) {
        append_count(&line, "paused for ", state->paused_seconds, "second");
        buffer_append_text(&line, "; ");
    }
    append_counted(&line, registry);
    append_failures(&line, registry);
    put_line(&line, text, size);
}

/* --- what is counted --- */

/* A row of each group and PMU of each collector. */
struct row_list {
    const struct row **rows;
    size_t n;
};

static bool is_same_group(const struct row *a, const struct row *b)
{
    return a->collector == b->collector && str_equal(a->group, b->group);
}

static int row_list_add(struct row_list *examples, const struct row *row)
{
    for (size_t i = 0; i < examples->n; i++)
        if (is_same_group(examples->rows[i], row) && str_equal(examples->rows[i]->pmu, row->pmu))
            return 0;
    if (array_grow(&examples->rows, examples->n) < 0)
        return -ENOMEM;
    examples->rows[examples->n++] = row;
    return 0;
}

/* "cpu 0-7", "pmu", or "24 cgroups by bpf". */
static void append_targets(struct buffer *line, const struct registry *registry, const struct snapshot *snapshot,
                           const struct row *example)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};

    if (example->cgroup) {
        append_count(line, "", count_cgroups(registry), "cgroup");
        buffer_appendf(line, " by %s", config_engine_name(summarize_cgroups(registry).engine));
        return;
    }
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->collector == example->collector && is_counted(snapshot, snapshot->rows[i]) &&
            cpuset_add(&cpus, (unsigned)snapshot->rows[i]->cpu) < 0)
            line->failed = true;
    _cleanup_(freep) char *text = cpuset_format(&cpus);
    /* A PMU of the system names itself; its CPU only reads it. */
    bool is_pmu = str_equal(example->collector_name, "pmu");
    buffer_appendf(line, "%s%s%s", example->collector_name, is_pmu ? "" : " ", is_pmu || !text ? "" : text);
}

/* "overview (armv8_cortex_a55, armv8_cortex_a76)" */
static void append_group(struct buffer *line, const struct row_list *examples, const struct row *group)
{
    size_t n = 0;

    buffer_append_text(line, group->group);
    for (size_t i = 0; i < examples->n; i++) {
        const char *pmu = examples->rows[i]->pmu;
        if (!is_same_group(examples->rows[i], group) || str_equal(pmu, "software") || str_equal(pmu, "tracepoint"))
            continue;
        buffer_appendf(line, "%s%s", n++ ? ", " : " (", pmu);
    }
    buffer_append_text(line, n ? ")" : "");
}

/* Whether row `i` is the first of its collector, or of its group. */
static bool is_first(const struct row_list *examples, size_t i, bool of_group)
{
    size_t k = 0;

    while (k < i && (of_group ? !is_same_group(examples->rows[k], examples->rows[i])
                              : examples->rows[k]->collector != examples->rows[i]->collector))
        k++;
    return k == i;
}

static void append_collector(struct buffer *line, const struct row_list *examples, unsigned collector)
{
    const char *before = ": ";

    for (size_t i = 0; i < examples->n; i++)
        if (examples->rows[i]->collector == collector && is_first(examples, i, true)) {
            buffer_append_text(line, before);
            append_group(line, examples, examples->rows[i]);
            before = ", ";
        }
}

void summary_describe(struct registry *registry, char *text, size_t size)
{
    const struct snapshot *snapshot = registry_read(registry, 0, UINT64_MAX);
    _cleanup_(buffer_done) struct buffer line = {0};
    struct row_list examples = {0};
    size_t others, events = count_failures(registry, &others);
    const char *reason = summarize_cgroups(registry).engine_reason;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (is_counted(snapshot, snapshot->rows[i]) && row_list_add(&examples, snapshot->rows[i]) < 0)
            line.failed = true;
    buffer_append_text(&line, examples.n > 0 ? "counting: " : "nothing can be counted");
    for (size_t i = 0; i < examples.n; i++)
        if (is_first(&examples, i, false)) {
            buffer_append_text(&line, i > 0 ? "; " : "");
            append_targets(&line, registry, snapshot, examples.rows[i]);
            append_collector(&line, &examples, examples.rows[i]->collector);
        }
    if (reason)
        buffer_appendf(&line, "; the engine for cgroups is not bpf: %s", reason);
    if (events > 0) {
        append_count(&line, "; ", events, "event");
        buffer_appendf(&line, " %s not counted, see \"perfcountd plan\"", events == 1 ? "is" : "are");
    }
    free(examples.rows);
    put_line(&line, text, size);
}
