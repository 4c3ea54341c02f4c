/* SPDX-License-Identifier: Apache-2.0 */
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

int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_env *env, int fd)
{
    bool was_ended = counts->ended;

    if (fd < 0 && was_ended)
        return fd;
    int r = counts->engine->type->resume(counts, env, fd);
    if (fd < 0)
        return r < 0 ? r : fd;
    counts->ended = false;
    if (r != -ENODEV)
        return r;
    /* Counts that had already ended were read a last time when they ended. */
    if (!was_ended)
        cgroup_counts_read(counts, env->sys);
    cgroup_counts_close(counts);
    return -ENODEV;
}

int cgroup_counts_open(struct cgroup_engine *engine, const struct collector_env *env, const char *path,
                       const char *label, int fd, struct cgroup_counts **ret)
{
    struct cgroup_counts *counts = calloc(1, sizeof(*counts));
    int r = counts ? 0 : -ENOMEM;

    if (r == 0) {
        counts->engine = engine;
        counts->path = strdup(path);
        counts->label = strdup(label);
        r = counts->path && counts->label ? cgroup_counts_resume(counts, env, fd) : -ENOMEM;
    }
    if (r < 0) {
        cgroup_counts_free(counts, env->snapshot);
        return r;
    }
    *ret = counts;
    return 0;
}

/* --- names --- */

/*
 * Adds the series perf_cgroup_info, which queries join with other series. perf_cgroup_info is a gauge in the text
 * format and an info metric in OpenMetrics.
 */
static struct series *cgroup_counts_add_info(const struct collector_env *env, const struct cgroup_counts *counts,
                                             const struct names *names)
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
    struct series *series = metrics_add(&env->snapshot->metrics, &metric, env->collector, 0, labels, n);

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

int cgroup_counts_find_names(struct cgroup_counts *counts, const struct collector_env *env, struct resolver *resolver)
{
    _cleanup_(names_done) struct names names = {0};
    int r = resolver_find(resolver, counts->path, &names);

    if (r == 0 && !counts->node && counts->names.texts[NAME_CONTAINER])
        r = names_merge(&names, &counts->names);
    if (r < 0)
        return r;
    if (!counts->info || !have_same_labels(&counts->names, &names)) {
        struct series *info = cgroup_counts_add_info(env, counts, &names);
        if (!info)
            return -ENOMEM;
        metrics_remove(&env->snapshot->metrics, counts->info);
        counts->info = info;
    }
    names_done(&counts->names);
    counts->names = names;
    names = (struct names){0};
    return 0;
}

/* --- closing --- */

void cgroup_counts_end(struct cgroup_counts *counts, struct sys *sys)
{
    cgroup_counts_read(counts, sys);
    cgroup_counts_close(counts);
    if (counts->node)
        counts->node->userdata = NULL;
    counts->node = NULL;
    counts->gone_ns = sys_now(sys, CLOCK_MONOTONIC);
}

/* --- reading --- */

size_t cgroup_counts_read(struct cgroup_counts *counts, struct sys *sys)
{
    return counts->ended ? 0 : counts->engine->type->read(counts, sys);
}

struct cgroup_counts *cgroup_counts_above(const struct cgroup_counts *counts)
{
    const struct cgroup_node *node = counts->node ? counts->node->parent : NULL;

    while (node && !node->userdata)
        node = node->parent;
    return node ? node->userdata : NULL;
}

/*
 * --- perf engine ---
 *
 * Each cgroup has its own events, and the events of two cgroups are never read at the same instant. A cgroup must not
 * show less than the sum of the cgroups inside it. Its events are therefore opened and enabled before theirs, and
 * disabled and read after theirs.
 *
 * In lists of counts, a cgroup precedes the cgroups inside it, unless the inner cgroups were chosen earlier. In that
 * case the outer cgroup's totals start later than those of the inner cgroups anyway.
 */

/*
 * perf_event_open(2) fails with ENOENT for a removed cgroup (perf_cgroup_connect(), css_tryget_online_from_dir()), but
 * also for an event that the PMU does not have. A dummy event, which every kernel has, distinguishes a removed cgroup
 * from a missing event.
 */
static bool is_removed(const struct collector_env *env, int fd)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof(attr),
        .disabled = 1,
    };
    int event = sys_perf_event_open(env->sys, &attr, fd, cpuset_next(&env->machine->online, -1), -1,
                                    PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);

    if (event >= 0)
        sys_close(env->sys, event);
    return event == -ENOENT;
}

static int perf_resume(struct cgroup_counts *counts, const struct collector_env *env, int fd)
{
    const struct target cgroup = {
        .cgroup = counts->label, .names = &counts->names, .flags = PERF_FLAG_PID_CGROUP, .pid = fd};
    _cleanup_(targets_done) struct targets targets = {0};
    int r = targets_add_cgroup(&targets, env, &cgroup);

    if (r == 0)
        r = group_set_configure(&counts->groups, env, &env->config->cgroup.groups, &targets);
    return r == 0 && fd >= 0 && is_removed(env, fd) ? -ENODEV : r;
}

static void perf_close(struct cgroup_counts *counts)
{
    for (size_t i = 0; i < counts->groups.n; i++)
        group_counts_close(counts->groups.items[i]);
}

static void perf_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    group_set_done(&counts->groups, snapshot);
}

/*
 * Reads this cgroup and then the cgroups above it, because a scrape that reuses the last reading shows the new totals
 * of this cgroup.
 */
static size_t perf_read(struct cgroup_counts *counts, struct sys *sys)
{
    struct collected unused = {0};
    size_t n = group_set_read(&counts->groups, sys, &unused);

    for (struct cgroup_counts *above = cgroup_counts_above(counts); above; above = cgroup_counts_above(above))
        if (!above->ended)
            group_set_read(&above->groups, sys, &unused);
    return n;
}

static int report_cgroup(const struct cgroup_counts *counts, const struct collector_env *env, struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    int r = group_set_report(env, &counts->groups, &own);

    return r < 0 ? r : failures_add_cgroups(failures, &own, 1);
}

static int perf_report_all(const struct cgroup_engine *engine, const struct collector_env *env,
                           struct cgroup_counts *const *counts, size_t n, struct failures *failures)
{
    int r = 0;

    (void)engine;
    for (size_t i = 0; i < n && r == 0; i++)
        if (!counts[i]->ended)
            r = report_cgroup(counts[i], env, failures);
    return r;
}

static size_t perf_needs(const struct collector_env *env)
{
    const struct config_groups *groups = &env->config->cgroup.groups;
    const struct machine *machine = env->machine;
    size_t n = 0;

    CPUSET_FOREACH (cpu, &machine->online)
        for (size_t i = 0; i < groups->n; i++)
            for (size_t k = 0; k < groups->items[i].n_events; k++) {
                const struct pmu *pmu = attr_pmu(machine, &groups->items[i].events[k].event, (unsigned)cpu);
                n += pmu && !pmu->absent;
            }
    return n;
}

static int perf_read_all(struct cgroup_engine *engine, const struct collector_env *env,
                         struct cgroup_counts *const *counts, size_t n, struct collected *ret, struct error *error)
{
    (void)engine;
    (void)error;
    for (size_t i = n; i-- > 0;)
        if (counts[i]->node && !counts[i]->ended)
            group_set_read(&counts[i]->groups, env->sys, ret);
    return 0;
}

static int perf_pause(struct cgroup_engine *engine, const struct collector_env *env,
                      struct cgroup_counts *const *counts, size_t n)
{
    int r = 0;

    (void)engine;
    for (size_t i = 0; i < n; i++) {
        struct cgroup_counts *next = counts[env->paused ? n - 1 - i : i];
        int error = next->ended ? 0 : group_set_pause(env, &next->groups);
        r = r < 0 ? r : error;
    }
    return r;
}

const struct cgroup_engine_type cgroup_engine_perf = {
    .number = ENGINE_PERF,
    .needs = perf_needs,
    .resume = perf_resume,
    .close = perf_close,
    .free = perf_free,
    .read = perf_read,
    .read_all = perf_read_all,
    .report_all = perf_report_all,
    .pause = perf_pause,
};
