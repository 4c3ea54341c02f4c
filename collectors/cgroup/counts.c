/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of one cgroup: see counts.h. */
#include "collectors/cgroup/counts.h"

#include "base/cleanup.h"

struct cgroup_counts *cgroup_counts_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    if (!counts)
        return NULL;
    group_collector_done(&counts->groups, snapshot);
    metrics_remove(&snapshot->metrics, counts->info);
    names_done(&counts->names);
    free(counts->path);
    free(counts->label);
    free(counts);
    return NULL;
}

/* --- opening --- */

/* Each possible CPU, and the last place of a list of CPUs. */
static int cgroup_counts_list_places(const struct cgroup_counts *counts, const struct collector_context *context,
                                     int fd, struct places *places)
{
    const struct machine *machine = context->machine;
    int r = 0;

    places->one_target = true;
    places->summed = !context->config->cgroup.per_cpu;
    for (int cpu = cpuset_next(&machine->possible, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&machine->possible, cpu))
        r = places_add(places, &(struct place){
                                   .kind = PLACE_CPU,
                                   .target = {.pid = fd, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP},
                                   .cgroup = counts->label,
                                   .names = &counts->names,
                                   .away = !cpuset_has(&machine->online, (unsigned)cpu),
                               });
    if (r == 0)
        r = places_add(places, &(struct place){
                                   .kind = PLACE_NO_CPU,
                                   .target = {.cpu = -1},
                                   .cgroup = counts->label,
                                   .names = &counts->names,
                                   .list = places,
                               });
    return r;
}

/*
 * The kernel says ENOENT of a removed cgroup, as of an event that a PMU does not have (perf_cgroup_connect(), by way of
 * css_tryget_online_from_dir()). An event that every kernel has distinguishes the two.
 */
static bool is_removed(const struct collector_context *context, int fd)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof(attr),
        .disabled = 1,
    };
    int event = context->sys->perf_event_open(context->sys, &attr, fd, cpuset_next(&context->machine->online, -1), -1,
                                              PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);

    if (event >= 0)
        context->sys->close(context->sys, event);
    return event == -ENOENT;
}

static void cgroup_counts_close(struct cgroup_counts *counts)
{
    for (size_t i = 0; i < counts->groups.n; i++)
        group_counts_close(counts->groups.items[i]);
    counts->ended = true;
}

int cgroup_counts_resume(struct cgroup_counts *counts, const struct collector_context *context, int fd)
{
    _cleanup_(places_done) struct places places = {0};
    int r = cgroup_counts_list_places(counts, context, fd, &places);
    bool was_ended = counts->ended;

    if (r < 0)
        return r;
    r = group_collector_configure(&counts->groups, context, &context->config->cgroup.groups, &places);
    counts->ended = false;
    if (r < 0 || !is_removed(context, fd))
        return r;
    /* Counts that had ended could not be opened again, and have had their last reading. */
    if (!was_ended)
        cgroup_counts_read(counts, context->sys);
    cgroup_counts_close(counts);
    return -ENODEV;
}

int cgroup_counts_open(const struct collector_context *context, const char *path, const char *label, int fd,
                       struct cgroup_counts **ret)
{
    struct cgroup_counts *counts = calloc(1, sizeof(*counts));
    int r = counts ? 0 : -ENOMEM;

    if (r == 0) {
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
    for (size_t i = 0; i < counts->groups.n && !counts->ended; i++)
        group_counts_leave(counts->groups.items[i], context);
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
    return counts->ended ? 0 : group_collector_read(&counts->groups, sys);
}

void cgroup_counts_add_states(const struct cgroup_counts *counts, size_t states[N_ROW_STATES])
{
    if (!counts->ended)
        group_collector_add_states(&counts->groups, states);
}

int cgroup_counts_report(const struct cgroup_counts *counts, const struct collector_context *context,
                         struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    int r = counts->ended ? 0 : group_collector_report(context, &counts->groups, &own);

    return r < 0 ? r : failures_add_cgroup(failures, &own);
}

size_t cgroup_counts_descriptors(const struct cgroup_counts *counts)
{
    size_t n = 0;

    for (size_t i = 0; i < counts->groups.n; i++)
        n += group_counts_descriptors(counts->groups.items[i]);
    return n;
}

size_t cgroup_counts_needs(const struct collector_context *context)
{
    const struct config_groups *groups = &context->config->cgroup.groups;
    const struct machine *machine = context->machine;
    size_t n = 0;

    CPUSET_FOREACH (cpu, &machine->online)
        for (size_t i = 0; i < groups->n; i++)
            for (size_t k = 0; k < groups->items[i].n_events; k++) {
                const struct pmu *pmu = attr_pmu(machine, &groups->items[i].events[k].event, (unsigned)cpu);
                n += pmu && !pmu->absent;
            }
    return n;
}
