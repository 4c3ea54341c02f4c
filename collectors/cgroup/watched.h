/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How cgroups are counted: by one of two engines, which show the same rows.
 *
 * "perf" opens the configured groups on each cgroup and CPU: exact, and each switch between two cgroups takes all
 * events off the CPU and puts them back. "bpf" opens them once on each CPU, and a tally (tally.h) divides what they
 * count among the cgroups.
 *
 * How much of the machine cgroups may take, and how much one of them takes: descriptors, and memory where it is
 * limited.
 *
 * The cgroups that the selection (selection.h) chooses from: those that the tree knows, without the vacant ones.
 *
 * Whether the patterns want a cgroup, by its path and its names: kept in the node until one of them is another.
 *
 * The cgroups that are gone and whose last counts are still shown, among `n` counts.
 *
 * The cgroups of a hierarchy, and which of them are counted, as they come and go.
 *
 * The tree reports directories, and the selection says which of them there is room for.
 */
#ifndef COLLECTORS_CGROUP_WATCHED_H
#define COLLECTORS_CGROUP_WATCHED_H

#include "cgroups/cgroupfs.h"
#include "cgroups/resolver.h"
#include "cgroups/selection.h"
#include "cgroups/tree.h"
#include "collectors/cgroup/counts.h"

/*
 * Chooses as the configuration says. Where it says bpf and that is not possible: the error, with a sentence. -EPIPE
 * where the opener is gone, also with `auto`. -ENOMEM.
 */
int cgroup_engine_open(struct cgroup_engine *engine, const struct collector_context *context,
                       const struct hierarchy *hierarchy, struct error *error);
void cgroup_engine_done(struct cgroup_engine *engine, const struct collector_context *context);

/*
 * After a reload, and when CPUs came or went: before the counts are resumed. On failure the engine is of no use any
 * more, and must be opened again with counts that begin at 0: another is configured (-ESTALE), or errors of
 * cgroup_engine_open().
 */
int cgroup_engine_resume(struct cgroup_engine *engine, const struct collector_context *context, struct error *error);
/* After cgroups were opened or ended. */
void cgroup_engine_settle(struct cgroup_engine *engine);

/* Sets the numbers of the rules, by what there is now beside the `n` cgroups that are counted by this engine. */
void cgroup_budget_update(struct cgroup_rules *rules, const struct collector_context *context,
                          const struct cgroup_engine_type *type, struct cgroup_counts *const *counts, size_t n);

struct cgroup_set {
    struct sys *sys;
    const struct collector_context *context; /* while changes are taken in: new cgroups are opened at once */
    struct hierarchy hierarchy;
    struct cgroup_engine engine;
    struct cgroup_tree *tree;
    struct name_book *book;
    struct vacancies vacancies;
    int fd; /* readable when cgroup_set_dispatch() has something to do; -1 where nothing would say so */
    struct cgroup_counts **counts; /* of cgroups that are watched, and that linger */
    size_t n;
    struct cgroup_node **dropped; /* borrowed from the tree; valid until it changes */
    size_t n_dropped, n_wanted;
    bool rescan_due;           /* directories that the patterns lead to may not be in the tree */
    struct cgroup_rules rules; /* the patterns are the configuration's */
    uint64_t limit, n_free;    /* how many cgroups there is room for, and for how many more */
    bool changed;              /* another selection may choose others */
    bool unsettled;            /* cgroups came or went since the engine was settled */
    enum reason_span span;     /* of the errors that kept cgroups from being opened or from going on */
};

/*
 * `set` is zeroed, and stays where it is. Errors of hierarchy_find(), cgroup_engine_open(), cgroup_tree_new() and
 * name_book_new(); cgroup_set_done() in any case.
 */
int cgroup_set_open(struct cgroup_set *set, const struct collector_context *context, struct error *error);
void cgroup_set_done(struct cgroup_set *set, const struct collector_context *context);

/* The patterns are those of `config` from now on; another cgroup_set_configure() must follow. */
void cgroup_set_adopt(struct cgroup_set *set, const struct config_cgroup *config);
/*
 * After a new configuration, or when CPUs came or went: the tree has the directories that the patterns lead to, and the
 * counts go on; then selects. -ENOMEM.
 */
int cgroup_set_configure(struct cgroup_set *set, const struct collector_context *context);
/* Opens the cgroups that are selected now, and ends the others. -ENOMEM. */
int cgroup_set_select(struct cgroup_set *set, const struct collector_context *context);
/*
 * Takes in what the descriptor reports: cgroups that are new, which are opened before anything else is done, and names
 * that changed.
 */
int cgroup_set_dispatch(struct cgroup_set *set, const struct collector_context *context);
/* Compares the tree with the directories. */
void cgroup_set_rescan(struct cgroup_set *set, const struct collector_context *context);
/*
 * Removes cgroups that have lingered for their time, and the oldest beyond max_cgroups: as many may linger as may be
 * watched.
 */
void cgroup_set_forget(struct cgroup_set *set, const struct collector_context *context);

#endif
