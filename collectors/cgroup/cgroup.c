/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector `cgroup`: the configured groups on each cgroup that the patterns want, as cgroups come and go.
 *
 * The set (set.h) knows which cgroups there are and counts them; this file reads them and reports.
 */
#include "collectors/cgroup/cgroup.h"

#include "base/cleanup.h"
#include "collectors/cgroup/label.h"
#include "collectors/cgroup/set.h"
#include "collectors/group-collector.h"
#include "collectors/names/path.h"

/* How often, at a reading, the directories are compared where inotify does not report all changes. */
#define RESCAN_NS NSEC_PER_SEC

struct cgroup {
    struct cgroup_set set;
    uint64_t rescanned_ns;
    struct series *states[N_CGROUP_STATES];
};

static const char *const state_names[N_CGROUP_STATES] = {
    [CGROUP_STATE_WATCHED] = "watched",
    [CGROUP_STATE_DROPPED] = "dropped",
    [CGROUP_STATE_LINGERING] = "lingering",
};

const char *cgroup_state_name(enum cgroup_state state)
{
    return state_names[state];
}

static void cgroup_close(const struct collector_context *context, void *state)
{
    struct cgroup *cgroup = state;

    if (!cgroup)
        return;
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        metrics_remove(&context->snapshot->metrics, cgroup->states[i]);
    cgroup_set_done(&cgroup->set, context);
    free(cgroup);
}

static int cgroup_add_gauges(const struct collector_context *context, struct cgroup *cgroup)
{
    static const struct metric metric = {
        .name = "perfcountd_cgroups",
        .help = "Number of cgroups that are watched, dropped for want of room, or gone and lingering.",
        .unit = "",
        .type = METRIC_GAUGE,
    };

    for (size_t i = 0; i < N_CGROUP_STATES; i++) {
        struct label label = {"state", state_names[i]};
        cgroup->states[i] = metrics_add(&context->snapshot->metrics, &metric, context->collector, 0, &label, 1);
        if (!cgroup->states[i])
            return -ENOMEM;
    }
    return 0;
}

static int cgroup_open(const struct collector_context *context, void *previous, void **ret, struct error *error)
{
    struct cgroup *cgroup = previous ? previous : calloc(1, sizeof(*cgroup));
    int r = cgroup ? 0 : error_oom(error);

    if (r == 0 && !previous)
        r = cgroup_set_open(&cgroup->set, context, error);
    if (r == 0 && !previous && cgroup_add_gauges(context, cgroup) < 0)
        r = error_oom(error);
    if (r == 0 && cgroup_set_configure(&cgroup->set, context) < 0)
        r = error_oom(error);
    if (r < 0) {
        cgroup_close(context, cgroup);
        return r;
    }
    *context->fd = cgroup->set.fd;
    *ret = cgroup;
    return 0;
}

static void cgroup_dispatch(const struct collector_context *context, void *state)
{
    struct cgroup *cgroup = state;

    cgroup_set_dispatch(&cgroup->set, context);
}

static void cgroup_count_states(const struct cgroup *cgroup, size_t states[N_CGROUP_STATES])
{
    states[CGROUP_STATE_DROPPED] = cgroup->set.n_dropped;
    for (size_t i = 0; i < cgroup->set.n; i++)
        states[cgroup->set.counts[i]->node ? CGROUP_STATE_WATCHED : CGROUP_STATE_LINGERING]++;
}

static void cgroup_rescan_if_blind(const struct collector_context *context, struct cgroup *cgroup)
{
    uint64_t now = cgroup->set.sys->now(cgroup->set.sys, CLOCK_MONOTONIC);

    if (!cgroup_tree_limitation(cgroup->set.tree) || now - cgroup->rescanned_ns < RESCAN_NS)
        return;
    cgroup->rescanned_ns = now;
    cgroup_set_rescan(&cgroup->set, context);
}

static int cgroup_collect(const struct collector_context *context, void *state, struct error *error)
{
    size_t states[N_CGROUP_STATES] = {0};
    struct cgroup *cgroup = state;

    (void)error;
    cgroup_rescan_if_blind(context, cgroup);
    cgroup_set_forget(&cgroup->set, context);
    for (size_t i = 0; i < cgroup->set.n; i++) {
        struct cgroup_counts *counts = cgroup->set.counts[i];
        if (!counts->node)
            continue;
        cgroup_counts_read(counts, context->sys);
        cgroup_counts_add_states(counts, context->groups);
        *context->stale |= group_collector_is_stale(&counts->groups);
    }
    cgroup_count_states(cgroup, states);
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        series_set(cgroup->states[i], states[i]);
    return 0;
}

static int cgroup_pause(const struct collector_context *context, void *state)
{
    struct cgroup *cgroup = state;
    int r = 0;

    for (size_t i = 0; i < cgroup->set.n; i++) {
        struct cgroup_counts *counts = cgroup->set.counts[i];
        int error = counts->ended ? 0 : group_collector_pause(context, &counts->groups);
        r = r < 0 ? r : error;
    }
    return r;
}

static int cgroup_add_failure(const struct collector_context *context, struct failures *failures, const char *reason,
                              const char *message)
{
    struct failure failure = {
        .collector = context->collector,
        .group = "",
        .event = "",
        .metric = "",
        .pmu = "",
        .reason = reason,
        .message = message,
        .where = "cgroups",
    };

    return failures_add(failures, &failure, -1);
}

/* Why the collector may not see all cgroups that are meant. */
static int cgroup_report_sight(const struct collector_context *context, const struct cgroup *cgroup,
                               struct failures *failures)
{
    const char *limitation = cgroup_tree_limitation(cgroup->set.tree);
    int r = 0;

    if (limitation)
        r = cgroup_add_failure(context, failures, "inotify", limitation);
    if (r == 0 && cgroup->set.hierarchy.namespaced)
        r = cgroup_add_failure(context, failures, "namespace",
                               "this process is in a cgroup namespace and sees only what is below its own root; start "
                               "it outside to see all");
    if (r == 0 && cgroup->set.n_wanted == 0)
        r = cgroup_add_failure(
            context, failures, "patterns",
            "no cgroup matches collectors.cgroup.include; patterns of paths are relative to the root "
            "of the hierarchy, which /api/v1/cgroups names, and those of names wait for a name");
    return r;
}

static int cgroup_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct cgroup *cgroup = state;
    int r = 0;

    failures_note(failures, cgroup->set.span);
    for (size_t i = 0; i < cgroup->set.n && r == 0; i++)
        if (cgroup->set.counts[i]->node)
            r = cgroup_counts_report(cgroup->set.counts[i], context, failures);
    if (r == 0)
        r = cgroup_report_sight(context, cgroup, failures);
    if (r == 0 && cgroup->set.n_dropped)
        r = cgroup_add_failure(context, failures, "limit",
                               "some are not watched, because collectors.cgroup.max_cgroups or the limit of open files "
                               "(LimitNOFILE, ulimit -n) is reached; /api/v1/cgroups names them");
    return r;
}

void cgroup_visit(const void *state, void (*visit)(void *userdata, const struct cgroup_view *view), void *userdata)
{
    const struct cgroup *cgroup = state;

    for (size_t i = 0; i < cgroup->set.n; i++) {
        const struct cgroup_counts *counts = cgroup->set.counts[i];
        struct cgroup_view view = {
            .label = counts->label,
            .state = counts->node ? CGROUP_STATE_WATCHED : CGROUP_STATE_LINGERING,
            .inode = counts->inode,
            .names = &counts->names,
            .descriptors = cgroup_counts_descriptors(counts),
        };
        visit(userdata, &view);
    }
    for (size_t i = 0; i < cgroup->set.n_dropped; i++) {
        _cleanup_(freep) char *label = NULL;
        _cleanup_(names_done) struct names names = {0};
        if (cgroup_label(cgroup->set.dropped[i]->path, CGROUP_LABEL_PLAIN, &label) < 0 ||
            names_from_path(&names, cgroup->set.dropped[i]->path) < 0)
            return;
        if (names.texts[NAME_CONTAINER_ID] && !names.texts[NAME_CONTAINER])
            names.unnamed = "it is dropped, and no source of names is asked about it; raise max_cgroups";
        struct cgroup_view view = {
            .label = label, .state = CGROUP_STATE_DROPPED, .inode = cgroup->set.dropped[i]->inode, .names = &names};
        visit(userdata, &view);
    }
}

void cgroup_summarize(const void *state, struct cgroup_summary *ret)
{
    const struct cgroup *cgroup = state;

    *ret = (struct cgroup_summary){
        .hierarchy = cgroup->set.hierarchy.path,
        .v1 = cgroup->set.hierarchy.kind == HIERARCHY_V1,
        .n_wanted = cgroup->set.n_wanted,
        .descriptors_each = cgroup->set.rules.descriptors_per_cgroup,
        .limit = cgroup->set.limit,
        .limitation = cgroup_tree_limitation(cgroup->set.tree),
    };
}

const struct collector collector_cgroup = {
    .name = "cgroup",
    .enabled = offsetof(struct config, cgroup.enabled),
    .has_groups = true,
    .open = cgroup_open,
    .collect = cgroup_collect,
    .pause = cgroup_pause,
    .report = cgroup_report,
    .close = cgroup_close,
    .dispatch = cgroup_dispatch,
};
