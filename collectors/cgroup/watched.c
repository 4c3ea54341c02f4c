/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/watched.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/path.h"
#include "collectors/cgroup/bpf-engine.h"
#include "collectors/cgroup/counts.h"
#include "config/keys.h"
#include "perf/reason.h"
#include "perf/sys.h"
#include "perf/user-read.h"
#include "process/memory-limit.h"

/* --- budget --- */

/*
 * Upper bounds of the memory that a cgroup takes in this process and in the kernel, in bytes. tests/pressure/memory.sh
 * compares them with a cgroup's memory on a real machine.
 */
#define BYTES_PER_CGROUP 2048
#define BYTES_PER_GROUP 512
#define BYTES_PER_COUNTER 256
#define BYTES_PER_DESCRIPTOR 640

/*
 * Returns how many descriptors all cgroups together may use. Descriptors of other collectors are excluded; the few that
 * the `self` collector opens after the cgroups are reserved here.
 */
static uint64_t descriptor_budget(const struct collector_env *env, struct cgroup_counts *const *counts, size_t n)
{
    uint64_t self = env->config->self_enabled ? N_THREAD_COUNTER_EVENTS * thread_counter_needs(env->machine) : 0;
    uint64_t own = 0, room;

    for (size_t i = 0; i < n; i++)
        own += group_set_descriptors(&counts[i]->groups);
    room = descriptors_room(env->sys, own);
    return room - MIN(room, self);
}

static uint64_t memory_each(const struct collector_env *env, uint64_t descriptors)
{
    const struct config_cgroup *config = &env->config->cgroup;
    uint64_t rows = config->per_cpu ? cpuset_count(&env->machine->online) : 1;
    uint64_t each = BYTES_PER_CGROUP + BYTES_PER_DESCRIPTOR * descriptors;

    for (size_t i = 0; i < config->groups.n; i++)
        each += rows * (BYTES_PER_GROUP + BYTES_PER_COUNTER * config->groups.items[i].n_events);
    return each;
}

/*
 * Returns the memory budget for counting cgroups: half of the sum of the memory that they take now and the memory that
 * is still available. The other half is needed to render documents for clients. The budget always suffices for the
 * current cgroups.
 */
static uint64_t memory_budget(const struct collector_env *env, uint64_t own)
{
    const struct memory_limit *limit = env->sys->memory;
    uint64_t room = limit ? memory_limit_room(limit) : UINT64_MAX;

    return room == UINT64_MAX ? room : MAX(own, own / 2 + room / 2);
}

void cgroup_budget_update(struct cgroup_rules *rules, const struct collector_env *env,
                          const struct cgroup_engine_type *type, struct cgroup_counts *const *counts, size_t n)
{
    rules->max_cgroups = config_max_cgroups(env->config, type->number);
    rules->descriptor_budget = descriptor_budget(env, counts, n);
    rules->descriptors_per_cgroup = type->needs(env);
    rules->memory_per_cgroup = memory_each(env, rules->descriptors_per_cgroup);
    rules->memory_budget = memory_budget(env, n * rules->memory_per_cgroup);
}

/* --- candidates --- */

/*
 * Lists the candidates for the selection: all cgroups in the tree, except empty cgroups and cgroups that the tree
 * leaves out. The `userdata` of each candidate is its node. The caller frees the array. Returns -ENOMEM on failure.
 */
static int cgroup_candidates_list(const struct cgroup_tree *tree, struct empty_cgroups *empty_cgroups,
                                  struct cgroup_candidate **ret, size_t *ret_n)
{
    struct cgroup_candidate *candidates = NULL;
    struct cgroup_node *node;
    size_t n = 0;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++) {
        if (node->left_out || (node->wanted && empty_cgroups_find(empty_cgroups, tree, node)))
            continue;
        if (array_grow(&candidates, n) < 0) {
            free(candidates);
            return -ENOMEM;
        }
        candidates[n++] = (struct cgroup_candidate){
            .path = node->path, .depth = node->depth, .wanted = node->wanted, .userdata = node};
    }
    *ret = candidates;
    *ret_n = n;
    return 0;
}

/* Updates node->wanted, and returns whether it changed. Without a resolver (NULL), only the path is matched. */
static bool wanted_update(struct cgroup_node *node, const struct cgroup_rules *rules, struct resolver *resolver)
{
    _cleanup_(names_done) struct names names = {0};
    bool before = node->wanted;

    /* If memory runs out, only the names found so far are matched. */
    if (resolver && cgroup_rules_use_names(rules))
        resolver_find(resolver, node->path, &names);
    node->wanted = cgroup_rules_want(rules, node->path, &names);
    return node->wanted != before;
}

/* Updates `wanted` of all nodes of the tree. Returns whether any node's `wanted` changed. */
static bool wanted_update_all(const struct cgroup_tree *tree, const struct cgroup_rules *rules,
                              struct resolver *resolver)
{
    struct cgroup_node *node;
    bool any = false;

    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++)
        any |= wanted_update(node, rules, resolver);
    return any;
}

/* --- lingering --- */

static struct cgroup_counts *lingering_find(struct cgroup_counts *const *counts, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!counts[i]->node && str_equal(counts[i]->path, path))
            return counts[i];
    return NULL;
}

static int compare_gone(const void *a, const void *b)
{
    const struct cgroup_counts *const *first = a, *const *second = b;

    return (*first)->gone_ns < (*second)->gone_ns ? -1 : (*first)->gone_ns > (*second)->gone_ns;
}

static size_t count_lingering(struct cgroup_counts *const *counts, size_t n)
{
    size_t lingering = 0;

    for (size_t i = 0; i < n; i++)
        lingering += !counts[i]->node;
    return lingering;
}

/* Sets the member `exceeds` of all lingering counts except the newest `max`. */
static void lingering_limit(struct cgroup_counts *const *counts, size_t n, uint64_t max)
{
    _cleanup_(freep) struct cgroup_counts **lingering = NULL;
    size_t n_lingering = count_lingering(counts, n), k = 0;

    if (n_lingering > max)
        lingering = calloc(n_lingering, sizeof(lingering[0]));
    if (!lingering)
        return;
    for (size_t i = 0; i < n; i++)
        if (!counts[i]->node)
            lingering[k++] = counts[i];
    qsort(lingering, k, sizeof(lingering[0]), compare_gone);
    for (size_t i = 0; i < k - max; i++)
        lingering[i]->exceeds = true;
}

static bool is_over(const struct cgroup_counts *counts, uint64_t now, uint64_t linger_ns)
{
    return !counts->node && (counts->exceeds || now - counts->gone_ns >= linger_ns);
}

/* Frees the counts that have lingered long enough. Returns the number of remaining counts. */
static size_t lingering_expire(struct cgroup_counts **counts, size_t n, const struct collector_env *env,
                               struct resolver *resolver)
{
    uint64_t now = sys_now(env->sys, CLOCK_MONOTONIC);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_over(counts[i], now, env->config->cgroup.linger_ns)) {
            resolver_forget(resolver, counts[i]->path);
            cgroup_counts_free(counts[i], env->snapshot);
        } else {
            counts[kept++] = counts[i];
        }
    }
    return kept;
}

/* --- engine --- */

static int engine_try_bpf(struct cgroup_engine *engine, const struct collector_env *env,
                          const struct hierarchy *hierarchy, struct error *error)
{
    if (hierarchy->kind == HIERARCHY_V1)
        return error_set(error, -EOPNOTSUPP,
                         "the BPF program supports only cgroup v2, but this machine uses v1; boot with "
                         "systemd.unified_cgroup_hierarchy=1, or set collectors.cgroup.engine to perf");
    if (!bpf_is_available(env->bpf))
        return error_set(error, -ENOSYS, "this process cannot load a BPF program");
    int r = bpf_engine_new(env, hierarchy->namespaced, &engine->bpf, error);
    if (r == 0)
        engine->type = &cgroup_engine_bpf;
    return r;
}

int cgroup_engine_open(struct cgroup_engine *engine, const struct collector_env *env, const struct hierarchy *hierarchy,
                       struct error *error)
{
    enum config_engine asked = env->config->cgroup.engine;
    int r = 0;

    *engine = (struct cgroup_engine){.type = &cgroup_engine_perf, .asked = asked};
    if (asked != ENGINE_PERF)
        r = engine_try_bpf(engine, env, hierarchy, &engine->reason);
    /* If the opener is gone, the perf engine could not open events either. */
    if (r == 0 || (asked != ENGINE_BPF && r != -EPIPE))
        return 0;
    if (asked == ENGINE_BPF)
        error_prefix(&engine->reason, "collectors.cgroup.engine is bpf");
    *error = engine->reason;
    return r;
}

void cgroup_engine_done(struct cgroup_engine *engine, const struct collector_env *env)
{
    bpf_engine_free(engine->bpf, env);
    *engine = (struct cgroup_engine){0};
}

int cgroup_engine_resume(struct cgroup_engine *engine, const struct collector_env *env, struct error *error)
{
    if (engine->asked != env->config->cgroup.engine)
        return error_set(error, -ESTALE, "another engine is configured");
    if (engine->bpf && bpf_engine_is_lost(engine->bpf))
        return error_set(error, -EPIPE, REASON_OPENER_GONE "; " REASON_OPENER_GONE_REMEDY);
    return engine->bpf ? bpf_engine_resume(engine->bpf, env, error) : 0;
}

/* Makes room for `n` cgroups, but for no more than `max`. If there is not enough room, engine->no_room says why. */
static void cgroup_engine_make_room(struct cgroup_engine *engine, uint64_t n, uint64_t max)
{
    engine->no_room = (struct error){0};
    if (engine->bpf)
        bpf_engine_make_room(engine->bpf, n, max, &engine->no_room);
}

void cgroup_engine_settle(struct cgroup_engine *engine)
{
    if (engine->bpf)
        bpf_engine_settle(engine->bpf);
}

/* --- set --- */

void cgroup_set_done(struct cgroup_set *set, const struct collector_env *env)
{
    for (size_t i = 0; i < set->n; i++)
        cgroup_counts_free(set->counts[i], env->snapshot);
    cgroup_engine_done(&set->engine, env);
    empty_cgroups_done(&set->empty_cgroups);
    closep(&set->fd);
    resolver_free(set->resolver);
    cgroup_tree_free(set->tree);
    hierarchy_done(&set->hierarchy);
    free(set->counts);
    free(set->dropped);
    *set = (struct cgroup_set){.fd = -1, .empty_cgroups.fd = -1};
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

/*
 * A pause container only holds a pod's namespaces. A pause container is never watched, whatever the patterns are, and
 * does not linger.
 */
static int name_cgroup(struct cgroup_set *set, const struct collector_env *env, struct cgroup_counts *counts)
{
    int r = cgroup_counts_find_names(counts, env, set->resolver);

    if (r < 0 || !counts->node || !counts->names.is_pause)
        return r;
    counts->node->left_out = true;
    counts->exceeds = true;
    set->changed = true;
    cgroup_counts_end(counts, set->sys);
    return 0;
}

/*
 * Continues to count a cgroup after a reload, after CPUs went offline or came online, or when the cgroup comes back
 * while its counts linger.
 */
static int resume_cgroup(struct cgroup_set *set, const struct collector_env *env, struct cgroup_counts *counts,
                         struct cgroup_node *node, int fd)
{
    int r = cgroup_counts_resume(counts, env, fd);
    if (r < 0)
        return r;
    attach_counts(counts, node);
    return name_cgroup(set, env, counts);
}

static int open_cgroup(struct cgroup_set *set, const struct collector_env *env, struct cgroup_node *node, int fd)
{
    _cleanup_(freep) char *label = NULL;
    struct cgroup_counts *counts;
    int r = cgroup_label_choose(node->path, is_label_taken, set, &label);

    if (r < 0)
        return r;
    r = array_grow(&set->counts, set->n);
    if (r == 0)
        r = cgroup_counts_open(&set->engine, env, node->path, label, fd, &counts);
    if (r < 0)
        return r;
    attach_counts(counts, node);
    set->counts[set->n++] = counts;
    return name_cgroup(set, env, counts);
}

/*
 * `fd` is the cgroup's directory, or -errno if it could not be opened. If the cgroup vanishes in the meantime, that is
 * not an error of the collector, because the tree reports the removal.
 */
static int watch_cgroup(struct cgroup_set *set, const struct collector_env *env, struct cgroup_node *node, int fd)
{
    struct cgroup_counts *counts = lingering_find(set->counts, set->n, node->path);

    if (counts)
        return resume_cgroup(set, env, counts, node, fd);
    return fd < 0 ? fd : open_cgroup(set, env, node, fd);
}

/* --- tree changes --- */

static bool set_wants(void *userdata, const char *path)
{
    return cgroup_rules_may_want(&((const struct cgroup_set *)userdata)->rules, path);
}

static bool set_wants_below(void *userdata, const char *path)
{
    return cgroup_rules_want_below(&((const struct cgroup_set *)userdata)->rules, path);
}

/*
 * Returns whether the selection need not be repeated, because it would keep all watched cgroups, and new cgroups can be
 * added while there is room. Always false for an engine that needs descriptors for each cgroup, because other parts of
 * the daemon use descriptors, too.
 */
static bool is_all_watched(const struct cgroup_set *set)
{
    return set->n_dropped == 0 && set->span == REASON_LASTS && set->rules.descriptors_per_cgroup == 0;
}

/*
 * A new cgroup is opened at once, before anything else is handled, because its tasks' events are lost until then. If
 * the cgroup cannot be opened, the next selection finds out why.
 */
static void set_on_added(void *userdata, struct cgroup_node *node, int fd)
{
    struct cgroup_set *set = userdata;

    wanted_update(node, &set->rules, set->resolver);
    if (!node->wanted)
        return;
    int r = set->env && set->n_free > 0 && fd >= 0 ? watch_cgroup(set, set->env, node, fd) : -EAGAIN;
    set->n_free -= r == 0;
    set->n_wanted += r == 0;
    if (r == -ENOSPC) /* no new cgroup fits until the selection makes room */
        set->n_free = 0;
    set->unsettled = true;
    set->changed |= r < 0 || !is_all_watched(set);
}

/* Stops counting at once, because open events pin the dead cgroup in the kernel. */
static void set_on_removed(void *userdata, struct cgroup_node *node)
{
    struct cgroup_set *set = userdata;

    bool counted = node->wanted && node->userdata;
    set->n_free += counted;
    set->n_wanted -= counted;
    set->unsettled |= counted;
    set->changed |= node->wanted && (!counted || !is_all_watched(set));
    empty_cgroups_forget(&set->empty_cgroups, node);
    if (node->userdata)
        cgroup_counts_end(node->userdata, set->sys);
    else if (set->resolver) /* the resolver may be looking up this cgroup */
        resolver_forget(set->resolver, node->path);
}

/* --- selection --- */

static int note_dropped(struct cgroup_set *set, struct cgroup_node *node)
{
    int r = array_grow(&set->dropped, set->n_dropped);

    if (node->userdata)
        cgroup_counts_end(node->userdata, set->sys);
    if (r == 0)
        set->dropped[set->n_dropped++] = node;
    return r;
}

/*
 * Stops counting cgroups that are no longer watched. Called before other cgroups are opened, so that these can use the
 * freed descriptors.
 */
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

/*
 * -ENOSPC goes away once slots become free. If a cgroup seems to be gone but the tree does not report its removal, the
 * error had another cause, and opening is retried.
 */
static enum reason_span refusal_span(int error)
{
    return error == -ENOSPC || cgroup_directory_is_gone(error) ? REASON_PASSES : reason_span(error);
}

/* An existing cgroup that could not be opened is dropped, and may be opened later. */
static int note_refused(struct cgroup_set *set, struct cgroup_node *node, int error)
{
    set->span = MAX(set->span, refusal_span(error));
    return error == -ENOMEM || cgroup_directory_is_gone(error) ? error : note_dropped(set, node);
}

static int watch_chosen(const struct collector_env *env, struct cgroup_set *set,
                        const struct cgroup_candidate *candidates, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r != -ENOMEM; i++) {
        struct cgroup_node *node = candidates[i].userdata;
        if (candidates[i].choice != CGROUP_WATCHED)
            continue;
        struct cgroup_counts *counts = node->userdata;
        if (counts) { /* names may be missing after an earlier -ENOMEM */
            r = counts->info ? 0 : name_cgroup(set, env, counts);
            continue;
        }
        _cleanup_(closep) int fd = cgroup_tree_open(set->tree, node);
        r = watch_cgroup(set, env, node, fd);
        if (r < 0)
            r = note_refused(set, node, r);
    }
    return r == -ENOMEM ? r : 0;
}

/* Resumes all watched cgroups with the new configuration and CPUs. The tree is kept. */
static int resume_all(struct cgroup_set *set, const struct collector_env *env, enum reason_span *ret_span)
{
    int r;

    for (size_t i = 0; i < set->n; i++) {
        struct cgroup_counts *counts = set->counts[i];
        if (!counts->node || !counts->node->wanted)
            continue;
        _cleanup_(closep) int fd = cgroup_tree_open(set->tree, counts->node);
        r = resume_cgroup(set, env, counts, counts->node, fd);
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            *ret_span = MAX(*ret_span, refusal_span(r));
        if (r < 0 && refusal_span(r) == REASON_LASTS) /* the selection retries the cgroup once, and then drops it */
            cgroup_counts_end(counts, set->sys);
    }
    return 0;
}

static void set_settle(struct cgroup_set *set)
{
    cgroup_engine_settle(&set->engine);
    set->unsettled = false;
}

static int select_cgroups(struct cgroup_set *set, const struct collector_env *env)
{
    _cleanup_(freep) struct cgroup_candidate *candidates = NULL;
    size_t n;

    int r = cgroup_candidates_list(set->tree, &set->empty_cgroups, &candidates, &n);
    if (r < 0)
        return r;
    cgroup_budget_update(&set->rules, env, set->engine.type, set->counts, set->n);
    struct cgroup_selection selection = cgroup_select(&set->rules, candidates, n);
    set->n_wanted = selection.watched + selection.dropped;
    set->limit = cgroup_rules_room(&set->rules);
    set->n_free = set->limit - selection.watched;
    r = end_others(set, candidates, n);
    if (r == 0) {
        cgroup_engine_make_room(&set->engine, selection.watched, set->rules.max_cgroups);
        r = watch_chosen(env, set, candidates, n);
    }
    set_settle(set);
    return r;
}

int cgroup_set_select(struct cgroup_set *set, const struct collector_env *env)
{
    set->changed = false;
    set->span = REASON_LASTS;
    set->n_dropped = 0;
    int r = select_cgroups(set, env);
    if (r == -ENOMEM || (set->n_dropped && cgroup_rules_want_memory(&set->rules)))
        set->span = REASON_PASSES;
    return r;
}

void cgroup_set_forget(struct cgroup_set *set, const struct collector_env *env)
{
    lingering_limit(set->counts, set->n, set->rules.max_cgroups);
    set->n = lingering_expire(set->counts, set->n, env, set->resolver);
}

/* --- lifetime --- */

static int set_open_names(struct cgroup_set *set, const struct collector_env *env, struct error *error)
{
    int fds[1 + RESOLVER_FDS] = {cgroup_tree_fd(set->tree)};
    int r = resolver_new(env->sys, env->state_files, &set->resolver);

    if (r == 0)
        r = set->fd = set->empty_cgroups.joined = fd_join(fds, 1 + resolver_fds(set->resolver, fds + 1));
    return r < 0 ? error_set(error, r, "cannot open the sources of cgroup names: %s", strerror(-r)) : 0;
}

/* The configuration still owns the patterns. */
static void borrow_patterns(struct cgroup_rules *rules, const struct config_cgroup *config)
{
    rules->include = config->include;
    rules->exclude = config->exclude;
    rules->n_include = config->n_include;
    rules->n_exclude = config->n_exclude;
}

int cgroup_set_open(struct cgroup_set *set, const struct collector_env *env, struct error *error)
{
    struct cgroup_listener listener = {.userdata = set,
                                       .wants = set_wants,
                                       .wants_below = set_wants_below,
                                       .added = set_on_added,
                                       .removed = set_on_removed};

    set->sys = env->sys;
    set->fd = set->empty_cgroups.fd = -1;
    borrow_patterns(&set->rules, &env->config->cgroup);
    int r = hierarchy_find(env->sys, &set->hierarchy, error);
    if (r == 0)
        r = cgroup_engine_open(&set->engine, env, &set->hierarchy, error);
    if (r == 0)
        r = cgroup_tree_new(set->hierarchy.path, &listener, &set->tree, error);
    return r < 0 ? r : set_open_names(set, env, error);
}

void cgroup_set_adopt(struct cgroup_set *set, const struct config_cgroup *config)
{
    /*
     * The addresses of the configurations can be compared, because the previous configuration is freed only once the
     * new one is in use.
     */
    set->rescan_due |= config->include != set->rules.include || config->exclude != set->rules.exclude;
    borrow_patterns(&set->rules, config);
}

int cgroup_set_configure(struct cgroup_set *set, const struct collector_env *env)
{
    enum reason_span span = REASON_LASTS;
    const struct config_cgroup *config = &env->config->cgroup;

    cgroup_set_adopt(set, config);
    if (set->rescan_due)
        cgroup_tree_rescan(set->tree);
    set->rescan_due = false;
    wanted_update_all(set->tree, &set->rules, set->resolver);
    int r = resume_all(set, env, &span);
    if (r == 0)
        r = cgroup_set_select(set, env);
    set->span = MAX(set->span, span);
    return r;
}

/*
 * Called after changes of the tree were handled. Selects the cgroups again if necessary, or else only settles the
 * engine.
 */
static int set_follow(struct cgroup_set *set, const struct collector_env *env)
{
    if (set->changed)
        return cgroup_set_select(set, env);
    if (set->unsettled)
        set_settle(set);
    return 0;
}

static void set_update_tree(struct cgroup_set *set, const struct collector_env *env,
                            void (*update)(struct cgroup_tree *tree))
{
    set->env = env;
    update(set->tree);
    set->env = NULL;
}

/* On -ENOMEM a cgroup keeps its previous names until the next change. */
static void set_name_all(struct cgroup_set *set, const struct collector_env *env)
{
    for (size_t i = 0; i < set->n; i++)
        name_cgroup(set, env, set->counts[i]);
    if (cgroup_rules_use_names(&set->rules))
        set->changed |= wanted_update_all(set->tree, &set->rules, set->resolver);
}

int cgroup_set_dispatch(struct cgroup_set *set, const struct collector_env *env)
{
    set_update_tree(set, env, cgroup_tree_dispatch);
    set->changed |= empty_cgroups_dispatch(&set->empty_cgroups, set->tree);
    if (resolver_dispatch(set->resolver))
        set_name_all(set, env);
    int r = set_follow(set, env);
    cgroup_set_forget(set, env);
    return r;
}

/* Returns whether the cgroup at `path` is the cgroup at `outer`, or is inside it. */
static bool is_within(const char *path, const char *outer)
{
    size_t size = strlen(outer);

    return strncmp(path, outer, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

/* Returns the counts of the innermost counted cgroup at `path` or above it; these may be lingering. */
static const struct cgroup_counts *find_innermost(const struct cgroup_set *set, const char *path)
{
    const struct cgroup_node *node = cgroup_tree_innermost(set->tree, path);
    const struct cgroup_counts *innermost = node ? node->userdata : NULL;

    for (size_t i = 0; i < set->n; i++) {
        const struct cgroup_counts *counts = set->counts[i];
        if (!counts->node && is_within(path, counts->path) &&
            (!innermost || strlen(counts->path) > strlen(innermost->path)))
            innermost = counts;
    }
    return innermost;
}

int cgroup_set_find_names(const struct cgroup_set *set, const char *path, struct names *names)
{
    const struct cgroup_counts *counts = find_innermost(set, path);

    int r = names_from_path(names, path);
    if (r < 0 || !counts)
        return r;
    const char *id = names->texts[NAME_CONTAINER_ID], *outer = counts->names.texts[NAME_CONTAINER_ID];
    bool is_same = str_equal(path, counts->path) || (id && outer && str_equal(id, outer));
    return is_same ? names_merge(names, &counts->names) : 0;
}

void cgroup_set_rescan(struct cgroup_set *set, const struct collector_env *env)
{
    set_update_tree(set, env, cgroup_tree_rescan);
    set->changed |= set->span != REASON_LASTS;
    set_follow(set, env);
}
