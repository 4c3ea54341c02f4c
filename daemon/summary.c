/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line: see summary.h. */
#include "daemon/summary.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collectors/cgroup/cgroup.h"

static void count_watched(void *userdata, const struct cgroup_view *view)
{
    *(size_t *)userdata += view->state == CGROUP_STATE_WATCHED;
}

static void append_count(struct buffer *line, const char *before, size_t n, const char *noun)
{
    buffer_appendf(line, "%s%zu %s%s", before, n, noun, n == 1 ? "" : "s");
}

static void append_counted(struct buffer *line, struct registry *registry)
{
    const struct snapshot *snapshot = registry_read(registry, 0, UINT64_MAX);
    const void *cgroup = registry_state(registry, &collector_cgroup);
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    size_t groups = 0, cgroups = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->state == ROW_UNAVAILABLE || row->absent)
            continue;
        groups++;
        if (row->cpu >= 0 && cpuset_add(&cpus, (unsigned)row->cpu) < 0)
            line->failed = true;
    }
    if (cgroup)
        cgroup_visit(cgroup, count_watched, &cgroups);
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
    size_t n = line.failed ? 0 : MIN(line.size, size - 1);
    memcpy(text, n ? line.data : "", n);
    text[n] = '\0';
}
