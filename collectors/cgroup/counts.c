/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of one cgroup: see counts.h. */
#include "collectors/cgroup/counts.h"

#include "base/cleanup.h"

struct cgroup_counts *cgroup_counts_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    if (!counts)
        return NULL;
    counts->engine->type->free(counts, snapshot);
    metrics_remove(&snapshot->metrics, counts->info);
    names_done(&counts->names);
    free(counts->path);
    free(counts->label);
    free(counts);
    return NULL;
}

/* --- opening --- */

static void cgroup_counts_close(struct cgroup_counts *counts)
{
    counts->engine->type->close(counts);
    counts->ended = true;
}

int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_context *context, int fd)
{
    bool was_ended = counts->ended;
    int r = counts->engine->type->resume(counts, context, fd);

    counts->ended = false;
    if (r != -ENODEV)
        return r;
    /* Counts that had ended could not be opened again, and have had their last reading. */
    if (!was_ended)
        cgroup_counts_read(counts, context->sys);
    cgroup_counts_close(counts);
    return -ENODEV;
}

int cgroup_counts_open(struct cgroup_engine *engine, const struct collector_context *context, const char *path,
                       const char *label, int fd, struct cgroup_counts **ret)
{
    struct cgroup_counts *counts = calloc(1, sizeof(*counts));
    int r = counts ? 0 : -ENOMEM;

    if (r == 0) {
        counts->engine = engine;
        counts->path = strdup(path);
        counts->label = strdup(label);
        r = counts->path && counts->label ? cgroup_counts_resume(counts, context, fd) : -ENOMEM;
    }
    if (r < 0) {
        cgroup_counts_free(counts, context->snapshot);
        return r;
    }
    *ret = counts;
    return 0;
}

/* --- names --- */

/* A gauge in the text format, an info in OpenMetrics; for joins. */
static struct series *cgroup_counts_add_info(const struct collector_context *context,
                                             const struct cgroup_counts *counts, const struct names *names)
{
    static const struct metric metric = {
        .name = "perf_cgroup_info",
        .help = "The names of what runs in a cgroup: its systemd unit, its container, its pod.",
        .unit = "",
        .type = METRIC_INFO,
    };
    struct label labels[1 + NAME_RUNTIME + 1] = {{"cgroup", counts->label}};
    size_t n = 1;

    for (enum name_kind kind = 0; kind <= NAME_RUNTIME; kind++)
        if (names->texts[kind])
            labels[n++] = (struct label){name_kind_text(kind), names->texts[kind]};
    struct series *series = metrics_add(&context->snapshot->metrics, &metric, context->collector, 0, labels, n);

    if (series)
        series_set(series, 1);
    return series;
}

static bool have_same_labels(const struct names *a, const struct names *b)
{
    for (enum name_kind kind = 0; kind <= NAME_RUNTIME; kind++) {
        const char *text = a->texts[kind], *other = b->texts[kind];
        if (text && other ? !str_equal(text, other) : text != other)
            return false;
    }
    return true;
}

int cgroup_counts_find_names(struct cgroup_counts *counts, const struct collector_context *context,
                             struct name_book *book)
{
    _cleanup_(names_done) struct names names = {0};
    int r = name_book_find(book, counts->path, &names);

    if (r == 0 && !counts->node && counts->names.texts[NAME_CONTAINER]) {
        r = names_merge(&names, &counts->names);
        names.unnamed = NULL;
    }
    if (r < 0)
        return r;
    if (!counts->info || !have_same_labels(&counts->names, &names)) {
        struct series *info = cgroup_counts_add_info(context, counts, &names);
        if (!info)
            return -ENOMEM;
        metrics_remove(&context->snapshot->metrics, counts->info);
        counts->info = info;
    }
    names_done(&counts->names);
    counts->names = names;
    names = (struct names){0};
    return 0;
}

/* --- closing --- */

void cgroup_counts_leave(struct cgroup_counts *counts, const struct collector_context *context)
{
    if (!counts->ended)
        counts->engine->type->leave(counts, context);
}

void cgroup_counts_end(struct cgroup_counts *counts, struct sys *sys)
{
    cgroup_counts_read(counts, sys);
    cgroup_counts_close(counts);
    if (counts->node)
        counts->node->userdata = NULL;
    counts->node = NULL;
    counts->gone_ns = sys->now(sys, CLOCK_MONOTONIC);
}

/* --- reading --- */

size_t cgroup_counts_read(struct cgroup_counts *counts, struct sys *sys)
{
    return counts->ended ? 0 : counts->engine->type->read(counts, sys);
}

void cgroup_counts_add_states(const struct cgroup_counts *counts, size_t states[N_ROW_STATES])
{
    if (!counts->ended)
        counts->engine->type->add_states(counts, states);
}

struct cgroup_counts *cgroup_counts_above(const struct cgroup_counts *counts)
{
    const struct cgroup_node *node = counts->node ? counts->node->parent : NULL;

    while (node && !node->userdata)
        node = node->parent;
    return node ? node->userdata : NULL;
}

size_t cgroup_counts_descriptors(const struct cgroup_counts *counts)
{
    return counts->engine->type->descriptors(counts);
}
