/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `cgroup` collector: counts the configured groups in each cgroup that the patterns match, as cgroups come and go.
 * The set of watched cgroups (`collectors/cgroup/watched.h`) does the counting. This file connects the set of watched
 * cgroups to the registry, and reports the set's state.
 */
#include "collectors/cgroup/cgroup.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "cgroups/path.h"
#include "collectors/cgroup/bpf-engine.h"
#include "collectors/cgroup/watched.h"
#include "collectors/group-counts.h"
#include "config/keys.h"
#include "metrics/own-metrics.h"

/*
 * If inotify does not watch the whole tree, the tree is compared with the directories before a reading, but at most
 * once in this interval.
 */
#define RESCAN_NS NSEC_PER_SEC

struct cgroup {
    struct cgroup_set set;
    bool complete; /* the collector has been opened completely at least once */
    uint64_t rescanned_ns;
    struct series *states[N_CGROUP_STATES];
    struct series *engine, *unknown; /* own metrics; `unknown` is only set with the bpf engine */
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

static void cgroup_remove_engine(const struct collector_env *env, struct cgroup *cgroup)
{
    metrics_remove(&env->snapshot->metrics, cgroup->engine);
    metrics_remove(&env->snapshot->metrics, cgroup->unknown);
    cgroup->engine = cgroup->unknown = NULL;
}

static void cgroup_close(const struct collector_env *env, void *state)
{
    struct cgroup *cgroup = state;

    if (!cgroup)
        return;
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        metrics_remove(&env->snapshot->metrics, cgroup->states[i]);
    cgroup_remove_engine(env, cgroup);
    cgroup_set_done(&cgroup->set, env);
    free(cgroup);
}

static int cgroup_add_gauges(const struct collector_env *env, struct cgroup *cgroup)
{
    for (size_t i = 0; i < N_CGROUP_STATES; i++) {
        struct label label = {"state", state_names[i]};
        cgroup->states[i] = own_metrics_add(&env->snapshot->metrics, OWN_CGROUPS, env->collector, &label, 1);
        if (!cgroup->states[i])
            return -ENOMEM;
    }
    return 0;
}

/*
 * Adds the series of the engine in use, and removes those of the previous engine, because a reload may change the
 * engine.
 */
static int cgroup_add_engine(const struct collector_env *env, struct cgroup *cgroup)
{
    struct metrics *metrics = &env->snapshot->metrics;
    struct label label = {"engine", config_engine_name(cgroup->set.engine.type->number)};

    cgroup_remove_engine(env, cgroup);
    cgroup->engine = own_metrics_add(metrics, OWN_CGROUP_ENGINE, env->collector, &label, 1);
    if (!cgroup->engine)
        return -ENOMEM;
    series_set(cgroup->engine, 1);
    if (!cgroup->set.engine.bpf)
        return 0;
    cgroup->unknown = own_metrics_add_created(metrics, OWN_CGROUP_UNKNOWN, env->collector, NULL, 0,
                                              bpf_engine_unknown(cgroup->set.engine.bpf)->created_ns);
    return cgroup->unknown ? 0 : -ENOMEM;
}

/* If the engine cannot continue, a new one is chosen and opened, and all counts start at 0. */
static int cgroup_resume(const struct collector_env *env, struct cgroup *cgroup, struct error *error)
{
    int r = cgroup_engine_resume(&cgroup->set.engine, env, error);

    if (r == 0 || r == -ENOMEM)
        return r;
    cgroup_set_done(&cgroup->set, env);
    cgroup->complete = false;
    return cgroup_set_open(&cgroup->set, env, error);
}

/*
 * On -ENOMEM a collector that was once opened completely continues with the groups it has. The bpf engine is reopened
 * instead, because its half-updated state may point into the previous configuration.
 */
static bool may_go_on(const struct cgroup *cgroup, int error)
{
    return error == -ENOMEM && cgroup && cgroup->complete && !cgroup->set.engine.bpf;
}

static int cgroup_open(const struct collector_env *env, void *previous, struct opened *ret, struct error *error)
{
    struct cgroup *cgroup = previous ? previous : calloc(1, sizeof(*cgroup));
    int r = cgroup ? 0 : error_oom(error);

    if (r == 0)
        r = previous ? cgroup_resume(env, cgroup, error) : cgroup_set_open(&cgroup->set, env, error);
    if (r == 0 && !previous && cgroup_add_gauges(env, cgroup) < 0)
        r = error_oom(error);
    if (r == 0 && cgroup_add_engine(env, cgroup) < 0)
        r = error_oom(error);
    if (r == 0 && cgroup_set_configure(&cgroup->set, env) < 0)
        r = error_oom(error);
    if (r < 0 && !may_go_on(cgroup, r)) {
        cgroup_close(env, cgroup);
        return r;
    }
    if (r < 0)
        cgroup_set_adopt(&cgroup->set, &env->config->cgroup);
    cgroup->complete = true;
    *ret = (struct opened){.state = cgroup, .fd = cgroup->set.fd};
    return r;
}

static int cgroup_dispatch(const struct collector_env *env, void *state)
{
    struct cgroup *cgroup = state;

    return cgroup_set_dispatch(&cgroup->set, env);
}

static void cgroup_count_states(const struct cgroup *cgroup, size_t states[N_CGROUP_STATES])
{
    states[CGROUP_STATE_DROPPED] = cgroup->set.n_dropped;
    for (size_t i = 0; i < cgroup->set.n; i++)
        states[cgroup->set.counts[i]->node ? CGROUP_STATE_WATCHED : CGROUP_STATE_LINGERING]++;
}

static void cgroup_rescan_if_blind(const struct collector_env *env, struct cgroup *cgroup)
{
    uint64_t now = sys_now(cgroup->set.sys, CLOCK_MONOTONIC);

    if (!cgroup_tree_limitation(cgroup->set.tree) || now - cgroup->rescanned_ns < RESCAN_NS)
        return;
    cgroup->rescanned_ns = now;
    cgroup_set_rescan(&cgroup->set, env);
}

static int cgroup_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error)
{
    size_t states[N_CGROUP_STATES] = {0};
    struct cgroup *cgroup = state;

    cgroup_rescan_if_blind(env, cgroup);
    cgroup_set_forget(&cgroup->set, env);
    int r = cgroup->set.engine.type->read_all(&cgroup->set.engine, env, cgroup->set.counts, cgroup->set.n, ret, error);
    if (r < 0)
        return r;
    cgroup_count_states(cgroup, states);
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        series_set(cgroup->states[i], states[i]);
    if (cgroup->unknown)
        series_set(cgroup->unknown, bpf_engine_unknown(cgroup->set.engine.bpf)->ns);
    return 0;
}

static int cgroup_pause(const struct collector_env *env, void *state)
{
    struct cgroup_set *set = &((struct cgroup *)state)->set;

    return set->engine.type->pause(&set->engine, env, set->counts, set->n);
}

static int cgroup_add_failure(const struct collector_env *env, struct failures *failures, const char *reason,
                              const char *message)
{
    struct failure failure = {
        .collector = env->collector,
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

/* Reports why the collector may not see all cgroups that the configuration asks for. */
static int cgroup_report_sight(const struct collector_env *env, const struct cgroup *cgroup, struct failures *failures)
{
    const char *limitation = cgroup_tree_limitation(cgroup->set.tree);
    int r = 0;

    if (limitation)
        r = cgroup_add_failure(env, failures, "inotify", limitation);
    if (r == 0 && cgroup->set.hierarchy.namespaced)
        r = cgroup_add_failure(
            env, failures, "namespace",
            "this process is in a cgroup namespace and sees only the cgroups below its own root; to see "
            "all cgroups, start it outside, or give it the host's /sys/fs/cgroup");
    if (r == 0 && cgroup->set.n_wanted == 0)
        r = cgroup_add_failure(
            env, failures, "patterns",
            "no cgroup matches collectors.cgroup.include. Its paths are relative to the root that /api/v1/cgroups "
            "shows; patterns such as container=... match once the name is known");
    return r;
}

/* Reports why some cgroups are not watched. */
static int cgroup_report_dropped(const struct collector_env *env, const struct cgroup *cgroup,
                                 struct failures *failures)
{
    const char *no_room = cgroup->set.engine.no_room.message;
    char message[sizeof(cgroup->set.engine.no_room.message) + 64];

    if (cgroup_rules_want_memory(&cgroup->set.rules))
        return cgroup_add_failure(env, failures, "limit",
                                  "some are not watched, because the memory limit of this service or container is "
                                  "reached; raise it (MemoryMax= of the unit); /api/v1/cgroups lists them");
    if (!no_room[0])
        return cgroup_add_failure(env, failures, "limit",
                                  "some are not watched, because collectors.cgroup.max_cgroups or the limit of open "
                                  "files (LimitNOFILE=, ulimit -n) is reached; /api/v1/cgroups lists them");
    snprintf(message, sizeof(message), "some are not watched (/api/v1/cgroups lists them): %s", no_room);
    return cgroup_add_failure(env, failures, "limit", message);
}

static int cgroup_report(const struct collector_env *env, const void *state, struct failures *failures)
{
    const struct cgroup *cgroup = state;
    const struct cgroup_set *set = &cgroup->set;

    failures_note(failures, set->span);
    int r = set->engine.type->report_all(&set->engine, env, set->counts, set->n, failures);
    if (r == 0)
        r = cgroup_report_sight(env, cgroup, failures);
    if (r == 0 && cgroup->set.n_dropped)
        r = cgroup_report_dropped(env, cgroup, failures);
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
            .descriptors = group_set_descriptors(&counts->groups),
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
            names.unnamed = "the cgroup is dropped, so its name is not looked up; raise max_cgroups";
        struct cgroup_view view = {
            .label = label, .state = CGROUP_STATE_DROPPED, .inode = cgroup->set.dropped[i]->inode, .names = &names};
        visit(userdata, &view);
    }
}

int cgroup_find_names(const void *state, const char *path, struct names *names)
{
    return state ? cgroup_set_find_names(&((const struct cgroup *)state)->set, path, names)
                 : names_from_path(names, path);
}

void cgroup_summarize(const void *state, struct cgroup_summary *ret)
{
    const struct cgroup *cgroup = state;

    *ret = (struct cgroup_summary){
        .engine = cgroup->set.engine.type->number,
        .descriptors_shared = cgroup->set.engine.bpf ? bpf_engine_descriptors(cgroup->set.engine.bpf) : 0,
        .unknown_ns = cgroup->set.engine.bpf ? bpf_engine_unknown(cgroup->set.engine.bpf)->ns : 0,
        .engine_reason = cgroup->set.engine.reason.message[0] ? cgroup->set.engine.reason.message : NULL,
        .max_cgroups = cgroup->set.rules.max_cgroups,
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
