/* SPDX-License-Identifier: Apache-2.0 */
/* One cgroup, counted: see count.h. */
#include "collectors/cgroup/count.h"

#include "base/cleanup.h"
#include "collectors/group-counts.h"
#include "collectors/place.h"

struct cgroup_count {
    const char *label;
    struct tally **tallies; /* in the order of the configuration, but for groups of which nothing is to be counted */
    uint32_t n;
    bool per_cpu;
    bool ended; /* nothing is open; the rows are the last */
};

static void free_tallies(struct tally **tallies, size_t n, struct snapshot *snapshot)
{
    for (size_t i = 0; i < n; i++)
        tally_free(tallies[i], snapshot);
    free(tallies);
}

struct cgroup_count *cgroup_count_free(struct cgroup_count *count, struct snapshot *snapshot)
{
    if (!count)
        return NULL;
    free_tallies(count->tallies, count->n, snapshot);
    free(count);
    return NULL;
}

/* Each possible CPU, and one more that takes what no CPU takes. */
static int choose_places(const struct collector_context *context, const char *label, int fd, struct places *places)
{
    const struct machine *machine = context->machine;
    int r = 0;

    for (int cpu = cpuset_next(&machine->possible, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&machine->possible, cpu))
        r = places_add(places, &(struct place){
                                   .kind = PLACE_CPU,
                                   .target = {.pid = fd, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP},
                                   .cgroup = label,
                                   .away = !cpuset_has(&machine->online, (unsigned)cpu),
                               });
    if (r == 0)
        r = places_add(places, &(struct place){
                                   .kind = PLACE_NO_CPU,
                                   .target = {.cpu = -1},
                                   .cgroup = label,
                                   .list = places,
                               });
    return r;
}

/* Takes the tally that counts the same out of those there were. */
static struct tally *take_over(const struct cgroup_count *count, const struct config_group *group)
{
    for (size_t i = 0; i < count->n; i++)
        if (count->tallies[i] && tally_counts(count->tallies[i], group->signature))
            return steal(count->tallies[i]);
    return NULL;
}

/* Those that go on, in the order of the configuration; the others are closed: what is opened needs the room. */
static struct tally **keep(struct cgroup_count *count, const struct collector_context *context)
{
    const struct config_groups *groups = &context->config->cgroup.groups;
    struct tally **kept = calloc(groups->n + 1, sizeof(*kept));

    if (!kept)
        return NULL;
    for (size_t i = 0; i < groups->n; i++)
        kept[i] = take_over(count, &groups->items[i]);
    free_tallies(count->tallies, count->n, context->snapshot);
    count->tallies = NULL;
    count->n = 0;
    return kept;
}

static int open_groups(struct cgroup_count *count, const struct collector_context *context, const struct places *places)
{
    const struct config_groups *groups = &context->config->cgroup.groups;
    struct tally **tallies = keep(count, context);
    uint32_t n = 0;
    int r = 0;

    if (!tallies)
        return -ENOMEM;
    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        struct tally *tally = steal(tallies[i]);
        if (r == 0)
            r = tally ? tally_resume(tally, context, group, places->items, places->n)
                      : tally_open(context, group, places->items, places->n, !count->per_cpu, &tally);
        if (tally)
            tallies[n++] = tally;
    }
    count->tallies = tallies;
    count->n = n;
    return r;
}

/*
 * Of a removed cgroup the kernel says ENOENT, as of an event that a PMU does not have (perf_cgroup_connect(), by way of
 * css_tryget_online_from_dir()). An event that every kernel has tells the two apart.
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

static void close_all(struct cgroup_count *count)
{
    for (size_t i = 0; i < count->n; i++)
        tally_end(count->tallies[i]);
    count->ended = true;
}

/* Whether rows are of one CPU is as the configuration says when they are made: what changes starts at 0. */
static void follow_per_cpu(struct cgroup_count *count, const struct collector_context *context)
{
    if (count->per_cpu == context->config->cgroup.per_cpu)
        return;
    free_tallies(count->tallies, count->n, context->snapshot);
    count->tallies = NULL;
    count->n = 0;
    count->per_cpu = context->config->cgroup.per_cpu;
}

int cgroup_count_resume(struct cgroup_count *count, const struct collector_context *context, int fd)
{
    _cleanup_(places_done) struct places places = {0};
    int r = choose_places(context, count->label, fd, &places);

    if (r < 0)
        return r;
    follow_per_cpu(count, context);
    bool was_ended = count->ended;
    r = open_groups(count, context, &places);
    count->ended = false;
    if (r < 0 || !is_removed(context, fd))
        return r;
    /* What ended before could not be opened anew, and has had its last reading. */
    if (!was_ended)
        cgroup_count_collect(count, context->sys);
    close_all(count);
    return -ENODEV;
}

int cgroup_count_open(const struct collector_context *context, const char *label, int fd, struct cgroup_count **ret)
{
    struct cgroup_count *count = calloc(1, sizeof(*count));

    if (!count)
        return -ENOMEM;
    count->per_cpu = context->config->cgroup.per_cpu;
    count->label = label;
    int r = cgroup_count_resume(count, context, fd);
    if (r < 0) {
        cgroup_count_free(count, context->snapshot);
        return r;
    }
    *ret = count;
    return 0;
}

size_t cgroup_count_collect(struct cgroup_count *count, struct sys *sys)
{
    size_t readable = 0;

    for (size_t i = 0; i < count->n && !count->ended; i++)
        readable += tally_collect(count->tallies[i], sys);
    return readable;
}

int cgroup_count_pause(struct cgroup_count *count, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < count->n && !count->ended; i++) {
        int error = tally_pause(count->tallies[i], paused);
        r = r < 0 ? r : error;
    }
    return r;
}

void cgroup_count_end(struct cgroup_count *count, struct sys *sys)
{
    cgroup_count_collect(count, sys);
    close_all(count);
}

void cgroup_count_leave(struct cgroup_count *count, const struct collector_context *context)
{
    for (size_t i = 0; i < count->n && !count->ended; i++)
        tally_leave(count->tallies[i], context);
}

int cgroup_count_report(const struct cgroup_count *count, const struct collector_context *context,
                        struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    int r = 0;

    for (size_t i = 0; i < count->n && r == 0 && !count->ended; i++)
        r = tally_report(count->tallies[i], context, &own);
    return r < 0 ? r : failures_add_cgroup(failures, &own);
}

bool cgroup_count_is_stale(const struct cgroup_count *count)
{
    for (size_t i = 0; i < count->n; i++)
        if (tally_is_stale(count->tallies[i]))
            return true;
    return false;
}

size_t cgroup_count_descriptors(const struct cgroup_count *count)
{
    size_t n = 0;

    for (size_t i = 0; i < count->n; i++)
        n += tally_descriptors(count->tallies[i]);
    return n;
}

void cgroup_count_states(const struct cgroup_count *count, size_t counts[N_ROW_STATES])
{
    for (size_t i = 0; i < count->n && !count->ended; i++)
        tally_count(count->tallies[i], counts);
}

size_t cgroup_count_needs(const struct collector_context *context)
{
    const struct config_groups *groups = &context->config->cgroup.groups;
    const struct machine *machine = context->machine;
    size_t n = 0;

    for (int cpu = cpuset_next(&machine->online, -1); cpu >= 0; cpu = cpuset_next(&machine->online, cpu))
        for (size_t i = 0; i < groups->n; i++)
            for (size_t k = 0; k < groups->items[i].n_events; k++) {
                const struct pmu *pmu = attr_pmu(machine, &groups->items[i].events[k].event, (unsigned)cpu);
                n += pmu && !pmu->absent;
            }
    return n;
}
