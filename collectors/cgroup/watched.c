/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups of a hierarchy, and which of them are counted: see set.h. */
#include "collectors/cgroup/watched.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "cgroups/directory.h"
#include "cgroups/label.h"
#include "collectors/cgroup/budget.h"
#include "collectors/cgroup/candidates.h"
#include "collectors/cgroup/lingering.h"
#include "collectors/cgroup/verdict.h"

void cgroup_set_done(struct cgroup_set *set, const struct collector_context *context)
{
    for (size_t i = 0; i < set->n; i++)
        cgroup_counts_free(set->counts[i], context->snapshot);
    cgroup_engine_done(&set->engine, context);
    vacancies_done(&set->vacancies);
    closep(&set->fd);
    name_book_free(set->book);
    cgroup_tree_free(set->tree);
    hierarchy_done(&set->hierarchy);
    free(set->counts);
    free(set->dropped);
    *set = (struct cgroup_set){.fd = -1, .vacancies.fd = -1};
}

static bool is_label_taken(const void *userdata, const char *label)
{
    const struct cgroup_set *set = userdata;

    for (size_t i = 0; i < set->n; i++)
        if (str_equal(set->counts[i]->label, label))
            return true;
    return false;
}

static void attach_counts(struct cgroup_counts *counts, struct cgroup_node *node)
{
    counts->node = node;
    counts->inode = node->inode;
    counts->exceeds = false;
    node->userdata = counts;
}

/* Nobody wants to see a pause container, whatever the patterns say: it does not linger either. */
static int name_cgroup(struct cgroup_set *set, const struct collector_context *context, struct cgroup_counts *counts)
{
    int r = cgroup_counts_find_names(counts, context, set->book);

    if (r < 0 || !counts->node || !counts->names.is_pause)
        return r;
    counts->node->left_out = true;
    counts->exceeds = true;
    set->changed = true;
    cgroup_counts_end(counts, set->sys);
    return 0;
}

/* Goes on with a cgroup after a reload, after CPUs came or went, or after it lingered under the same name. */
static int resume_cgroup(struct cgroup_set *set, const struct collector_context *context, struct cgroup_counts *counts,
                         struct cgroup_node *node, int fd)
{
    if (fd < 0) {
        cgroup_counts_leave(counts, context);
        return fd;
    }
    int r = cgroup_counts_resume(counts, context, fd);
    if (r < 0)
        return r;
    attach_counts(counts, node);
    return name_cgroup(set, context, counts);
}

static int open_cgroup(struct cgroup_set *set, const struct collector_context *context, struct cgroup_node *node,
                       int fd)
{
    _cleanup_(freep) char *label = NULL;
    struct cgroup_counts *counts;
    int r = cgroup_label_choose(node->path, is_label_taken, set, &label);

    if (r < 0)
        return r;
    r = array_grow(&set->counts, set->n);
    if (r == 0)
        r = cgroup_counts_open(&set->engine, context, node->path, label, fd, &counts);
    if (r < 0)
        return r;
    attach_counts(counts, node);
    set->counts[set->n++] = counts;
    return name_cgroup(set, context, counts);
}

/* `fd` is its directory, or an error. A cgroup that vanished while it was opened is no failure: the tree reports it. */
static int watch_cgroup(struct cgroup_set *set, const struct collector_context *context, struct cgroup_node *node,
                        int fd)
{
    struct cgroup_counts *counts = lingering_find(set->counts, set->n, node->path);

    if (counts)
        return resume_cgroup(set, context, counts, node, fd);
    return fd < 0 ? fd : open_cgroup(set, context, node, fd);
}

/* --- what the tree asks and reports --- */

static bool set_wants(void *userdata, const char *path)
{
    return cgroup_rules_may_want(&((const struct cgroup_set *)userdata)->rules, path);
}

static bool set_wants_below(void *userdata, const char *path)
{
    return cgroup_rules_want_below(&((const struct cgroup_set *)userdata)->rules, path);
}

/* A selection would choose what is watched now, and each that comes while there is room. Descriptors may be others'. */
static bool is_all_watched(const struct cgroup_set *set)
{
    return set->n_dropped == 0 && set->span == REASON_LASTS && set->rules.descriptors_per_cgroup == 0;
}

/*
 * At once, before anything else is looked at, because the events of its tasks until then are not counted. If it cannot
 * be opened, the next selection sees why.
 */
static void set_on_added(void *userdata, struct cgroup_node *node, int fd)
{
    struct cgroup_set *set = userdata;

    verdict_update(node, &set->rules, set->book);
    if (!node->wanted)
        return;
    int r = set->context && set->n_free > 0 && fd >= 0 ? watch_cgroup(set, set->context, node, fd) : -EAGAIN;
    set->n_free -= r == 0;
    set->n_wanted += r == 0;
    if (r == -ENOSPC) /* nor for the next, until the selection makes room */
        set->n_free = 0;
    set->unsettled = true;
    set->changed |= r < 0 || !is_all_watched(set);
}

/* At once: open descriptors would keep the dead cgroup. */
static void set_on_removed(void *userdata, struct cgroup_node *node)
{
    struct cgroup_set *set = userdata;

    bool counted = node->wanted && node->userdata;
    set->n_free += counted;
    set->n_wanted -= counted;
    set->unsettled |= counted;
    set->changed |= node->wanted && (!counted || !is_all_watched(set));
    vacancies_forget(&set->vacancies, node);
    if (node->userdata)
        cgroup_counts_end(node->userdata, set->sys);
    else if (set->book) /* it may have been asked about */
        name_book_forget(set->book, node->path);
}

/* --- which are watched --- */

static int note_dropped(struct cgroup_set *set, struct cgroup_node *node)
{
    int r = array_grow(&set->dropped, set->n_dropped);

    if (node->userdata)
        cgroup_counts_end(node->userdata, set->sys);
    if (r == 0)
        set->dropped[set->n_dropped++] = node;
    return r;
}

/* Cgroups that are not watched end first, so that their descriptors are free. */
static int end_others(struct cgroup_set *set, const struct cgroup_candidate *candidates, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cgroup_node *node = candidates[i].userdata;
        if (candidates[i].choice == CGROUP_UNWANTED && node->userdata)
            cgroup_counts_end(node->userdata, set->sys);
        if (candidates[i].choice == CGROUP_DROPPED && note_dropped(set, node) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* One that is gone is heard to be removed; where it is not, the kernel meant something else. */
static enum reason_span refusal_span(int error)
{
    return error == -ENOSPC || cgroup_directory_is_gone(error) ? REASON_PASSES : reason_span(error);
}

/* A cgroup that is there and could not be opened may be opened later. */
static int note_refused(struct cgroup_set *set, struct cgroup_node *node, int error)
{
    set->span = MAX(set->span, refusal_span(error));
    return error == -ENOMEM || cgroup_directory_is_gone(error) ? error : note_dropped(set, node);
}

static int watch_chosen(const struct collector_context *context, struct cgroup_set *set,
                        const struct cgroup_candidate *candidates, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r != -ENOMEM; i++) {
        struct cgroup_node *node = candidates[i].userdata;
        if (candidates[i].choice != CGROUP_WATCHED)
            continue;
        struct cgroup_counts *counts = node->userdata;
        if (counts) { /* there may have been no memory for its names when it came */
            r = counts->info ? 0 : name_cgroup(set, context, counts);
            continue;
        }
        _cleanup_(closep) int fd = cgroup_tree_open(set->tree, node);
        r = watch_cgroup(set, context, node, fd);
        if (r < 0)
            r = note_refused(set, node, r);
    }
    return r == -ENOMEM ? r : 0;
}

/* The cgroups that are watched go on with the new configuration and CPUs; the tree is kept. */
static int resume_all(struct cgroup_set *set, const struct collector_context *context, enum reason_span *ret_span)
{
    int r;

    for (size_t i = 0; i < set->n; i++) {
        struct cgroup_counts *counts = set->counts[i];
        if (!counts->node || !counts->node->wanted)
            continue;
        _cleanup_(closep) int fd = cgroup_tree_open(set->tree, counts->node);
        r = resume_cgroup(set, context, counts, counts->node, fd);
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            *ret_span = MAX(*ret_span, refusal_span(r));
        if (r < 0 && refusal_span(r) == REASON_LASTS) /* the selection tries once more, and drops it */
            cgroup_counts_end(counts, set->sys);
    }
    return 0;
}

static void set_settle(struct cgroup_set *set)
{
    cgroup_engine_settle(&set->engine);
    set->unsettled = false;
}

static int select_cgroups(struct cgroup_set *set, const struct collector_context *context)
{
    _cleanup_(freep) struct cgroup_candidate *candidates = NULL;
    size_t n;

    int r = cgroup_candidates_list(set->tree, &set->vacancies, &candidates, &n);
    if (r < 0)
        return r;
    cgroup_budget_update(&set->rules, context, set->engine.type, set->counts, set->n);
    struct cgroup_selection selection = cgroup_select(&set->rules, candidates, n);
    set->n_wanted = selection.watched + selection.dropped;
    set->limit = cgroup_rules_room(&set->rules);
    set->n_free = set->limit - selection.watched;
    r = end_others(set, candidates, n);
    if (r == 0 && cgroup_engine_make_room(&set->engine, selection.watched, set->rules.max_cgroups) == 1)
        r = resume_all(set, context, &set->span);
    if (r == 0)
        r = watch_chosen(context, set, candidates, n);
    set_settle(set);
    return r;
}

int cgroup_set_select(struct cgroup_set *set, const struct collector_context *context)
{
    set->changed = false;
    set->span = REASON_LASTS;
    set->n_dropped = 0;
    int r = select_cgroups(set, context);
    if (r == -ENOMEM || (set->n_dropped && cgroup_rules_want_memory(&set->rules)))
        set->span = REASON_PASSES;
    return r;
}

/* --- cgroups that linger --- */

void cgroup_set_forget(struct cgroup_set *set, const struct collector_context *context)
{
    lingering_limit(set->counts, set->n, set->rules.max_cgroups);
    set->n = lingering_expire(set->counts, set->n, context, set->book);
}

/* --- the set as a whole --- */

static int set_open_book(struct cgroup_set *set, struct error *error)
{
    int fds[1 + NAME_BOOK_FDS] = {cgroup_tree_fd(set->tree)};
    int r = name_book_new(set->sys, &set->book);

    if (r == 0)
        r = set->fd = set->vacancies.joined = fd_join(fds, 1 + name_book_fds(set->book, fds + 1));
    return r < 0 ? error_set(error, r, "cannot open the sources of cgroups' names: %s", strerror(-r)) : 0;
}

/* The patterns stay the configuration's. */
static void borrow_patterns(struct cgroup_rules *rules, const struct config_cgroup *config)
{
    rules->include = config->include;
    rules->exclude = config->exclude;
    rules->n_include = config->n_include;
    rules->n_exclude = config->n_exclude;
}

int cgroup_set_open(struct cgroup_set *set, const struct collector_context *context, struct error *error)
{
    struct cgroup_listener listener = {.userdata = set,
                                       .wants = set_wants,
                                       .wants_below = set_wants_below,
                                       .added = set_on_added,
                                       .removed = set_on_removed};

    set->sys = context->sys;
    set->fd = set->vacancies.fd = -1;
    borrow_patterns(&set->rules, &context->config->cgroup);
    int r = hierarchy_find(context->sys, &set->hierarchy, error);
    if (r == 0)
        r = cgroup_engine_open(&set->engine, context, &set->hierarchy, error);
    if (r == 0)
        r = cgroup_tree_new(set->hierarchy.path, &listener, &set->tree, error);
    return r < 0 ? r : set_open_book(set, error);
}

void cgroup_set_adopt(struct cgroup_set *set, const struct config_cgroup *config)
{
    set->rescan_due |= config->include != set->rules.include || config->exclude != set->rules.exclude;
    borrow_patterns(&set->rules, config);
}

int cgroup_set_configure(struct cgroup_set *set, const struct collector_context *context)
{
    enum reason_span span = REASON_LASTS;
    const struct config_cgroup *config = &context->config->cgroup;

    cgroup_set_adopt(set, config);
    if (set->rescan_due) /* of another configuration: the one before is there until this one is in use */
        cgroup_tree_rescan(set->tree);
    set->rescan_due = false;
    verdict_update_all(set->tree, &set->rules, set->book);
    int r = resume_all(set, context, &span);
    if (r == 0)
        r = cgroup_set_select(set, context);
    set->span = MAX(set->span, span);
    return r;
}

/* After changes were heard. */
static int set_follow(struct cgroup_set *set, const struct collector_context *context)
{
    if (set->changed)
        return cgroup_set_select(set, context);
    if (set->unsettled)
        set_settle(set);
    return 0;
}

static void set_hear(struct cgroup_set *set, const struct collector_context *context,
                     void (*hear)(struct cgroup_tree *tree))
{
    set->context = context;
    hear(set->tree);
    set->context = NULL;
}

/* Those that the machine has no memory for keep the names that they have until the next change. */
static void set_name_all(struct cgroup_set *set, const struct collector_context *context)
{
    for (size_t i = 0; i < set->n; i++)
        name_cgroup(set, context, set->counts[i]);
    if (cgroup_rules_use_names(&set->rules))
        set->changed |= verdict_update_all(set->tree, &set->rules, set->book);
}

int cgroup_set_dispatch(struct cgroup_set *set, const struct collector_context *context)
{
    set_hear(set, context, cgroup_tree_dispatch);
    set->changed |= vacancies_dispatch(&set->vacancies, set->tree);
    if (name_book_dispatch(set->book))
        set_name_all(set, context);
    int r = set_follow(set, context);
    cgroup_set_forget(set, context);
    return r;
}

void cgroup_set_rescan(struct cgroup_set *set, const struct collector_context *context)
{
    set_hear(set, context, cgroup_tree_rescan);
    set->changed |= set->span != REASON_LASTS;
    set_follow(set, context);
}
