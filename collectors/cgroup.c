/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector `cgroup`: the configured groups on each cgroup that the patterns want, as cgroups come and go.
 *
 * The tree tells of directories; select_cgroups() decides which of them are watched; an entry is one that is, or was
 * and lingers.
 */
#include "collectors/cgroup.h"

#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "collectors/cgroup-entry.h"
#include "collectors/cgroup-label.h"
#include "collectors/cgroup-selection.h"
#include "collectors/counted.h"
#include "perf/hierarchy.h"

/* Where changes are not told, the directories are compared this often, at a reading. */
#define RESCAN_NS NSEC_PER_SEC
/* Descriptors that are left to clients; on a small limit a quarter of it. */
#define RESERVE 600

struct cgroup {
    struct sys *sys;
    struct hierarchy hierarchy;
    struct cgroup_tree *tree;
    struct cgroup_entry **entries; /* watched and lingering */
    size_t n;
    struct cgroup_node **dropped; /* borrowed from the tree; valid until it changes */
    size_t n_dropped, n_wanted;
    uint64_t limit, descriptors_each; /* as struct cgroup_summary has them */
    bool changed;                     /* the tree did, since the last selection */
    uint64_t rescanned_ns;
    struct series *groups[N_ROW_STATES], *states[N_CGROUP_STATES];
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

static bool cgroup_enabled(const struct config *config)
{
    return config->cgroup.enabled;
}

static void cgroup_close(const struct collector_context *context, void *state)
{
    struct cgroup *cgroup = state;

    if (!cgroup)
        return;
    for (size_t i = 0; i < cgroup->n; i++)
        cgroup_entry_free(cgroup->entries[i], context->snapshot);
    for (size_t i = 0; i < N_ROW_STATES; i++)
        metrics_remove(&context->snapshot->metrics, cgroup->groups[i]);
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        metrics_remove(&context->snapshot->metrics, cgroup->states[i]);
    cgroup_tree_free(cgroup->tree);
    hierarchy_done(&cgroup->hierarchy);
    free(cgroup->entries);
    free(cgroup->dropped);
    free(cgroup);
}

static void on_added(void *userdata, struct cgroup_node *node)
{
    (void)node;
    ((struct cgroup *)userdata)->changed = true;
}

/* At once: open descriptors would keep the dead cgroup. */
static void on_removed(void *userdata, struct cgroup_node *node)
{
    struct cgroup *cgroup = userdata;

    cgroup->changed = true;
    if (node->userdata)
        cgroup_entry_end(node->userdata, cgroup->sys);
}

/* What is left of descriptors for all cgroups, beside all else that is open; UINT64_MAX where that cannot be told. */
static uint64_t descriptor_budget(const struct cgroup *cgroup)
{
    size_t own = 0;
    struct rlimit limit;
    uint64_t open = 0;

    for (size_t i = 0; i < cgroup->n; i++)
        own += cgroup_count_descriptors(cgroup->entries[i]->count);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || fd_count_open(-1, &open) < 0)
        return UINT64_MAX;
    uint64_t others = open - MIN(open, own) + MIN((uint64_t)RESERVE, limit.rlim_cur / 4);
    return limit.rlim_cur - MIN(limit.rlim_cur, others);
}

static struct cgroup_rules rules_of(const struct collector_context *context, const struct cgroup *cgroup)
{
    const struct config_cgroup *config = &context->config->cgroup;

    return (struct cgroup_rules){
        .include = config->include,
        .exclude = config->exclude,
        .n_include = config->n_include,
        .n_exclude = config->n_exclude,
        .max_cgroups = config->max_cgroups,
        .descriptor_budget = descriptor_budget(cgroup),
        .descriptors_per_cgroup = cgroup_count_needs(context),
    };
}

static struct cgroup_entry *find_lingering(const struct cgroup *cgroup, const char *path)
{
    for (size_t i = 0; i < cgroup->n; i++)
        if (!cgroup->entries[i]->node && str_equal(cgroup->entries[i]->path, path))
            return cgroup->entries[i];
    return NULL;
}

static int append(struct cgroup *cgroup, struct cgroup_entry *entry)
{
    int r = array_grow(&cgroup->entries, cgroup->n);

    if (r == 0)
        cgroup->entries[cgroup->n++] = entry;
    return r;
}

static bool is_taken(const struct cgroup *cgroup, const char *label)
{
    for (size_t i = 0; i < cgroup->n; i++)
        if (str_equal(cgroup->entries[i]->label, label))
            return true;
    return false;
}

/* Names that are not UTF-8 may look the same, and a name may be made to look like such a one: that one is not watched.
 */
static int choose_label(const struct cgroup *cgroup, const char *path, char **ret)
{
    _cleanup_(freep) char *plain = NULL, *distinct = NULL;
    int r = cgroup_label(path, CGROUP_LABEL_PLAIN, &plain);

    if (r == 0 && !is_taken(cgroup, plain)) {
        *ret = steal(plain);
        return 0;
    }
    if (r == 0)
        r = cgroup_label(path, CGROUP_LABEL_DISTINCT, &distinct);
    if (r == 0 && is_taken(cgroup, distinct))
        r = -EEXIST;
    if (r == 0)
        *ret = steal(distinct);
    return r;
}

/* A cgroup that vanished while it was opened is no failure: the tree tells of it. */
static int watch(const struct collector_context *context, struct cgroup *cgroup, struct cgroup_node *node)
{
    struct cgroup_entry *entry = node->userdata ? node->userdata : find_lingering(cgroup, node->path);

    if (entry && entry->node)
        return 0;
    if (entry)
        return cgroup_entry_resume(entry, context, cgroup->tree, node);
    _cleanup_(freep) char *label = NULL;
    int r = choose_label(cgroup, node->path, &label);
    if (r == 0)
        r = cgroup_entry_open(context, cgroup->tree, node, label, &entry);
    if (r < 0)
        return r;
    r = append(cgroup, entry);
    if (r < 0) {
        node->userdata = NULL;
        cgroup_entry_free(entry, context->snapshot);
    }
    return r;
}

static int list_candidates(const struct cgroup *cgroup, struct cgroup_candidate **ret, size_t *ret_n)
{
    struct cgroup_candidate *candidates = NULL;
    struct cgroup_node *node;
    size_t n = 0;

    for (size_t i = 0; (node = cgroup_tree_node(cgroup->tree, i)); i++) {
        if (array_grow(&candidates, n) < 0) {
            free(candidates);
            return -ENOMEM;
        }
        candidates[n++] = (struct cgroup_candidate){.path = node->path, .depth = node->depth, .userdata = node};
    }
    *ret = candidates;
    *ret_n = n;
    return 0;
}

static int note_dropped(struct cgroup *cgroup, struct cgroup_node *node)
{
    int r = array_grow(&cgroup->dropped, cgroup->n_dropped);

    if (node->userdata)
        cgroup_entry_end(node->userdata, cgroup->sys);
    if (r == 0)
        cgroup->dropped[cgroup->n_dropped++] = node;
    return r;
}

/* What is not watched ends first, so that its descriptors are free. */
static int end_others(struct cgroup *cgroup, const struct cgroup_candidate *candidates, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cgroup_node *node = candidates[i].userdata;
        if (candidates[i].choice == CGROUP_UNWANTED && node->userdata)
            cgroup_entry_end(node->userdata, cgroup->sys);
        if (candidates[i].choice == CGROUP_DROPPED && note_dropped(cgroup, node) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int watch_chosen(const struct collector_context *context, struct cgroup *cgroup,
                        const struct cgroup_candidate *candidates, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r != -ENOMEM; i++) {
        if (candidates[i].choice != CGROUP_WATCHED)
            continue;
        r = watch(context, cgroup, candidates[i].userdata);
        if (r == -EEXIST)
            r = note_dropped(cgroup, candidates[i].userdata);
    }
    return r == -ENOMEM ? r : 0;
}

static int select_cgroups(const struct collector_context *context, struct cgroup *cgroup)
{
    _cleanup_(freep) struct cgroup_candidate *candidates = NULL;
    struct cgroup_rules rules = rules_of(context, cgroup);
    size_t n;

    cgroup->changed = false;
    cgroup->n_dropped = 0;
    int r = list_candidates(cgroup, &candidates, &n);
    if (r < 0)
        return r;
    struct cgroup_selection selection = cgroup_select(&rules, candidates, n);
    cgroup->n_wanted = selection.watched + selection.dropped;
    cgroup->limit = cgroup_rules_room(&rules);
    cgroup->descriptors_each = rules.descriptors_per_cgroup;
    r = end_others(cgroup, candidates, n);
    return r < 0 ? r : watch_chosen(context, cgroup, candidates, n);
}

/* Those whose time is over; with linger 0 at once. */
static void forget_lingering(const struct collector_context *context, struct cgroup *cgroup)
{
    uint64_t now = cgroup->sys->now(cgroup->sys, CLOCK_MONOTONIC);
    size_t n = 0;

    for (size_t i = 0; i < cgroup->n; i++) {
        struct cgroup_entry *entry = cgroup->entries[i];
        if (!entry->node && now - entry->gone_ns >= context->config->cgroup.linger_ns)
            cgroup_entry_free(entry, context->snapshot);
        else
            cgroup->entries[n++] = entry;
    }
    cgroup->n = n;
}

/* The entries go on with the new configuration and CPUs; the tree is kept. */
static int go_on(const struct collector_context *context, struct cgroup *cgroup)
{
    struct cgroup_rules rules = rules_of(context, cgroup);

    for (size_t i = 0; i < cgroup->n; i++) {
        struct cgroup_entry *entry = cgroup->entries[i];
        if (!entry->node || !cgroup_rules_want(&rules, entry->path))
            continue;
        if (cgroup_entry_resume(entry, context, cgroup->tree, entry->node) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

static int add_gauges(const struct collector_context *context, struct cgroup *cgroup)
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
    return counted_add_states(context, cgroup->groups);
}

static int start(const struct collector_context *context, struct cgroup *cgroup, struct error *error)
{
    struct cgroup_listener listener = {.userdata = cgroup, .added = on_added, .removed = on_removed};
    int r = hierarchy_find(context->sys, &cgroup->hierarchy, error);

    if (r == 0)
        r = cgroup_tree_new(cgroup->hierarchy.path, &listener, &cgroup->tree, error);
    if (r == 0 && add_gauges(context, cgroup) < 0)
        r = error_oom(error);
    return r;
}

static int cgroup_open(const struct collector_context *context, void *previous, void **ret, struct error *error)
{
    struct cgroup *cgroup = previous ? previous : calloc(1, sizeof(*cgroup));
    int r = cgroup ? 0 : error_oom(error);

    if (r == 0 && !previous) {
        cgroup->sys = context->sys;
        r = start(context, cgroup, error);
    }
    if (r == 0 && (go_on(context, cgroup) < 0 || select_cgroups(context, cgroup) < 0))
        r = error_oom(error);
    if (r < 0) {
        cgroup_close(context, cgroup);
        return r;
    }
    *ret = cgroup;
    return 0;
}

static int cgroup_fd(const void *state)
{
    const struct cgroup *cgroup = state;

    return cgroup_tree_fd(cgroup->tree);
}

static void cgroup_dispatch(const struct collector_context *context, void *state)
{
    struct cgroup *cgroup = state;

    cgroup_tree_dispatch(cgroup->tree);
    if (cgroup->changed)
        select_cgroups(context, cgroup);
    forget_lingering(context, cgroup);
}

static void count_states(const struct cgroup *cgroup, size_t states[N_CGROUP_STATES])
{
    states[CGROUP_STATE_DROPPED] = cgroup->n_dropped;
    for (size_t i = 0; i < cgroup->n; i++)
        states[cgroup->entries[i]->node ? CGROUP_STATE_WATCHED : CGROUP_STATE_LINGERING]++;
}

static void rescan_if_blind(const struct collector_context *context, struct cgroup *cgroup)
{
    uint64_t now = cgroup->sys->now(cgroup->sys, CLOCK_MONOTONIC);

    if (!cgroup_tree_limitation(cgroup->tree) || now - cgroup->rescanned_ns < RESCAN_NS)
        return;
    cgroup->rescanned_ns = now;
    cgroup_tree_rescan(cgroup->tree);
    if (cgroup->changed)
        select_cgroups(context, cgroup);
}

static int cgroup_collect(const struct collector_context *context, void *state, struct error *error)
{
    size_t groups[N_ROW_STATES] = {0}, states[N_CGROUP_STATES] = {0};
    struct cgroup *cgroup = state;

    (void)error;
    rescan_if_blind(context, cgroup);
    forget_lingering(context, cgroup);
    for (size_t i = 0; i < cgroup->n; i++) {
        struct cgroup_entry *entry = cgroup->entries[i];
        if (!entry->node)
            continue;
        cgroup_count_collect(entry->count, context->sys);
        cgroup_count_states(entry->count, groups);
        if (cgroup_count_is_stale(entry->count))
            *context->stale = true;
    }
    count_states(cgroup, states);
    for (size_t i = 0; i < N_ROW_STATES; i++)
        series_set(cgroup->groups[i], groups[i]);
    for (size_t i = 0; i < N_CGROUP_STATES; i++)
        series_set(cgroup->states[i], states[i]);
    return 0;
}

static int complain(const struct collector_context *context, struct failures *failures, const char *reason,
                    const char *message)
{
    struct failure item = {
        .collector = context->collector,
        .group = (char *)"",
        .event = (char *)"",
        .metric = (char *)"",
        .pmu = (char *)"",
        .reason = (char *)reason,
        .message = (char *)message,
        .place = (char *)"cgroups",
    };

    return failures_add(failures, &item, -1);
}

/* What keeps the collector from seeing all that is meant, first to last. */
static int complain_of_sight(const struct collector_context *context, const struct cgroup *cgroup,
                             struct failures *failures)
{
    const char *limitation = cgroup_tree_limitation(cgroup->tree);
    int r = 0;

    if (limitation)
        r = complain(context, failures, "inotify", limitation);
    if (r == 0 && cgroup->hierarchy.namespaced)
        r = complain(context, failures, "namespace",
                     "this process is in a cgroup namespace and sees only what is below its own root; start it outside "
                     "to see all");
    if (r == 0 && cgroup->n_wanted == 0)
        r = complain(context, failures, "patterns",
                     "no cgroup matches collectors.cgroup.include; patterns are relative to the root of the hierarchy, "
                     "which /api/v1/cgroups names");
    return r;
}

static int cgroup_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct cgroup *cgroup = state;
    int r = 0;

    for (size_t i = 0; i < cgroup->n && r == 0; i++)
        if (cgroup->entries[i]->node)
            r = cgroup_count_report(cgroup->entries[i]->count, context, failures);
    if (r == 0)
        r = complain_of_sight(context, cgroup, failures);
    if (r == 0 && cgroup->n_dropped)
        r = complain(context, failures, "limit",
                     "some are not watched, because collectors.cgroup.max_cgroups or the limit of open files "
                     "(LimitNOFILE, ulimit -n) is reached; /api/v1/cgroups names them");
    return r;
}

void cgroup_visit(const void *state, void (*visit)(void *userdata, const struct cgroup_view *view), void *userdata)
{
    const struct cgroup *cgroup = state;

    for (size_t i = 0; i < cgroup->n; i++) {
        const struct cgroup_entry *entry = cgroup->entries[i];
        struct cgroup_view view = {
            .label = entry->label,
            .state = entry->node ? CGROUP_STATE_WATCHED : CGROUP_STATE_LINGERING,
            .inode = entry->inode,
            .identity = &entry->identity,
            .descriptors = cgroup_count_descriptors(entry->count),
        };
        visit(userdata, &view);
    }
    for (size_t i = 0; i < cgroup->n_dropped; i++) {
        _cleanup_(freep) char *label = NULL;
        if (cgroup_label(cgroup->dropped[i]->path, CGROUP_LABEL_PLAIN, &label) < 0)
            return;
        struct cgroup_view view = {.label = label, .state = CGROUP_STATE_DROPPED, .inode = cgroup->dropped[i]->inode};
        visit(userdata, &view);
    }
}

void cgroup_summarize(const void *state, struct cgroup_summary *ret)
{
    const struct cgroup *cgroup = state;

    *ret = (struct cgroup_summary){
        .hierarchy = cgroup->hierarchy.path,
        .v1 = cgroup->hierarchy.kind == HIERARCHY_V1,
        .n_wanted = cgroup->n_wanted,
        .descriptors_each = cgroup->descriptors_each,
        .limit = cgroup->limit,
        .limitation = cgroup_tree_limitation(cgroup->tree),
    };
}

const struct collector collector_cgroup = {
    .name = "cgroup",
    .enabled = cgroup_enabled,
    .open = cgroup_open,
    .collect = cgroup_collect,
    .report = cgroup_report,
    .close = cgroup_close,
    .fd = cgroup_fd,
    .dispatch = cgroup_dispatch,
};
