/* SPDX-License-Identifier: Apache-2.0 */
/* The engine bpf: see engine-bpf.h. */
#include "collectors/cgroup/bpf-engine.h"

#include "base/cleanup.h"
#include "cgroups/directory.h"
#include "collectors/cgroup/bpf-counts.h"
#include "collectors/cgroup/crediting.h"
#include "collectors/cgroup/tally-engine.h"
#include "perf/reason.h"

/* A cgroup needs no descriptor of its own. */
static size_t bpf_needs(const struct collector_context *context)
{
    (void)context;
    return 0;
}

static int resume_rows(struct cgroup_counts *counts, const struct collector_context *context)
{
    const struct tally_rows *rows = cgroup_tally_rows(counts->engine->tally);

    if (!counts->tallied)
        return tallied_counts_new(rows, context, counts->label, &counts->names, &counts->tallied);
    return tallied_counts_resume(counts->tallied, rows, context, counts->label, &counts->names);
}

/* Why a cgroup that is there gets no slot, where that is not for want of room. */
static void note_refused(struct cgroup_engine *engine, const struct collector_context *context, int error)
{
    char text[sizeof(engine->no_room.message)];

    if (error == -ENOSPC || error == -ENOMEM || cgroup_directory_is_gone(error))
        return;
    reason_format(context->machine, NULL, error, text, sizeof(text));
    error_set(&engine->no_room, error, "%s", text);
}

static int bpf_resume(struct cgroup_counts *counts, const struct collector_context *context, int fd)
{
    int r = resume_rows(counts, context);

    if (r < 0)
        return r;
    r = cgroup_tally_watch(counts->engine->tally, counts, fd);
    if (r < 0)
        note_refused(counts->engine, context, r);
    return r;
}

/* It goes on to be counted by the slot that it has. */
static void bpf_leave(struct cgroup_counts *counts, const struct collector_context *context)
{
    resume_rows(counts, context);
}

static void bpf_close(struct cgroup_counts *counts)
{
    cgroup_tally_unwatch(counts->engine->tally, counts);
}

static void bpf_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    cgroup_tally_forget(counts->engine->tally, counts);
    counts->tallied = tallied_counts_free(counts->tallied, snapshot);
}

static size_t bpf_read(struct cgroup_counts *counts, struct sys *sys)
{
    size_t n = cgroup_tally_read_one(counts->engine->tally, counts);

    (void)sys;
    /* Those above, too: a scrape that shares the last reading sees no cgroup with less than one inside of it. */
    for (const struct cgroup_counts *above = counts; above; above = crediting_find_above(above))
        tallied_counts_update(above->tallied);
    return n;
}

static void bpf_add_states(const struct cgroup_counts *counts, size_t states[N_ROW_STATES])
{
    tallied_counts_add_states(counts->tallied, states);
}

static size_t bpf_descriptors(const struct cgroup_counts *counts)
{
    (void)counts;
    return 0;
}

static int bpf_read_all(struct cgroup_engine *engine, const struct collector_context *context,
                        struct cgroup_counts *const *counts, size_t n, struct error *error)
{
    if (cgroup_tally_is_lost(engine->tally))
        return error_set(error, -EPIPE,
                         "the opener is gone, and with it the program in the kernel that counts cgroups; restart "
                         "perfcountd");
    cgroup_tally_read(engine->tally);
    for (size_t i = 0; i < n; i++)
        if (counts[i]->node)
            tallied_counts_update(counts[i]->tallied);
    *context->stale |= cgroup_tally_is_stale(engine->tally);
    return cgroup_tally_check(engine->tally, error);
}

/* All have the same counters, and so the same failures. */
static int bpf_report_all(const struct cgroup_engine *engine, const struct collector_context *context,
                          struct cgroup_counts *const *counts, size_t n, struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    size_t n_watched = 0;

    for (size_t i = 0; i < n; i++)
        n_watched += !counts[i]->ended;
    int r = n_watched > 0 ? cgroup_tally_report(engine->tally, context, &own) : 0;
    return r < 0 ? r : failures_add_cgroups(failures, &own, n_watched);
}

static int bpf_pause(struct cgroup_engine *engine, const struct collector_context *context,
                     struct cgroup_counts *const *counts, size_t n)
{
    (void)counts;
    (void)n;
    return cgroup_tally_pause(engine->tally, context);
}

const struct cgroup_engine_type cgroup_engine_bpf = {
    .number = ENGINE_BPF,
    .needs = bpf_needs,
    .resume = bpf_resume,
    .leave = bpf_leave,
    .close = bpf_close,
    .free = bpf_free,
    .read = bpf_read,
    .add_states = bpf_add_states,
    .descriptors = bpf_descriptors,
    .read_all = bpf_read_all,
    .report_all = bpf_report_all,
    .pause = bpf_pause,
};
