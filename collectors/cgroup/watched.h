/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of watched cgroups: the cgroups of the hierarchy that are counted. It changes as cgroups come and go.
 *
 * The tree (`cgroups/tree.h`) reports directories. A cgroup is wanted if the patterns match its path or its names; the
 * result is stored in the cgroup's node in the tree. The selection (`cgroups/selection.h`) chooses the watched cgroups
 * among the wanted ones that are not vacant, within max_cgroups and the descriptor and memory budgets; the remaining
 * wanted cgroups are dropped. The last counts of a removed cgroup linger for a while.
 *
 * One engine counts all cgroups. The perf engine opens the configured groups on each cgroup and CPU. The perf engine is
 * exact, but each switch between tasks of two cgroups takes all events off the CPU and puts them back. The bpf engine
 * opens the groups once on each CPU, and a BPF program (`bpf/layout.h`) divides their counts among the cgroups.
 */
#ifndef COLLECTORS_CGROUP_WATCHED_H
#define COLLECTORS_CGROUP_WATCHED_H

#include "cgroups/cgroupfs.h"
#include "cgroups/resolver.h"
#include "cgroups/selection.h"
#include "cgroups/tree.h"
#include "collectors/cgroup/counts.h"

/*
 * Opens the configured engine; for `auto`, chooses one. If bpf is configured but cannot be used, returns the error and
 * fills `error`. Returns -EPIPE if the opener is gone, even with `auto`, or -ENOMEM.
 */
int cgroup_engine_open(struct cgroup_engine *engine, const struct collector_env *env, const struct hierarchy *hierarchy,
                       struct error *error);
void cgroup_engine_done(struct cgroup_engine *engine, const struct collector_env *env);

/*
 * Must be called after a reload and after CPUs went offline or came online, before the counts are resumed. On failure
 * the engine can no longer be used: it must be opened again, and all counts then start at 0. Returns -ESTALE if another
 * engine is configured, or the errors of cgroup_engine_open().
 */
int cgroup_engine_resume(struct cgroup_engine *engine, const struct collector_env *env, struct error *error);
/* Must be called after cgroups were opened or ended. */
void cgroup_engine_settle(struct cgroup_engine *engine);

/*
 * Sets the limits in `rules`: max_cgroups, and the descriptors and memory that are free now or already used by the `n`
 * cgroups of this engine.
 */
void cgroup_budget_update(struct cgroup_rules *rules, const struct collector_env *env,
                          const struct cgroup_engine_type *type, struct cgroup_counts *const *counts, size_t n);

struct cgroup_set {
    struct sys *sys;
    /* Only set while changes of the tree are handled, so that new cgroups can be opened at once; NULL otherwise. */
    const struct collector_env *env;
    struct hierarchy hierarchy;
    struct cgroup_engine engine;
    struct cgroup_tree *tree;
    struct resolver *resolver;
    struct empty_cgroups empty_cgroups;
    int fd; /* becomes readable when cgroup_set_dispatch() has work; -1 if changes of the tree are not reported */
    struct cgroup_counts **counts; /* the counts of the watched and the lingering cgroups */
    size_t n;
    struct cgroup_node **dropped; /* nodes of the dropped cgroups, borrowed from the tree until it changes */
    size_t n_dropped, n_wanted;
    bool rescan_due;           /* the patterns changed, so the tree may lack directories that now match */
    struct cgroup_rules rules; /* rules of the selection; the patterns are borrowed from the configuration */
    uint64_t limit, n_free;    /* number of cgroups that there is room for: in total, and remaining */
    bool changed;              /* a new selection might choose other cgroups */
    bool unsettled;            /* cgroups came or went since the last cgroup_engine_settle() */
    enum reason_span span;     /* how long the errors that prevented cgroups from being opened may last */
};

/*
 * Opens a zeroed set. The set must not be moved in memory afterwards. Returns the errors of hierarchy_find(),
 * cgroup_engine_open(), cgroup_tree_new() and resolver_new(). cgroup_set_done() must be called in either case.
 */
int cgroup_set_open(struct cgroup_set *set, const struct collector_env *env, struct error *error);
void cgroup_set_done(struct cgroup_set *set, const struct collector_env *env);

/* Switches to the patterns of `config`. cgroup_set_configure() must be called next. */
void cgroup_set_adopt(struct cgroup_set *set, const struct config_cgroup *config);
/*
 * Applies a new configuration or a change of CPUs: brings the tree up to date with the patterns, resumes all counts,
 * and selects cgroups. Returns -ENOMEM on failure.
 */
int cgroup_set_configure(struct cgroup_set *set, const struct collector_env *env);
/* Opens the cgroups that are selected now, and stops counting all others. Returns -ENOMEM on failure. */
int cgroup_set_select(struct cgroup_set *set, const struct collector_env *env);
/* Handles the events of the descriptor: new cgroups, which are opened before anything else, and changed names. */
int cgroup_set_dispatch(struct cgroup_set *set, const struct collector_env *env);
/* Implements cgroup_find_names() (collectors/cgroup/cgroup.h). */
int cgroup_set_find_names(const struct cgroup_set *set, const char *path, struct names *names);
/* Compares the tree with the directories of the hierarchy. */
void cgroup_set_rescan(struct cgroup_set *set, const struct collector_env *env);
/* Frees cgroups that have lingered long enough, and the oldest lingering cgroups if more than max_cgroups linger. */
void cgroup_set_forget(struct cgroup_set *set, const struct collector_env *env);

#endif
