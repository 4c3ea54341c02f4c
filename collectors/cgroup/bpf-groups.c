/* SPDX-License-Identifier: Apache-2.0 */
/* The perf groups whose counts a tally divides among cgroups: see tally-groups.h. */
#include "collectors/cgroup/bpf-groups.h"

#include "base/cleanup.h"
#include "collectors/cgroup/lending.h"
#include "perf/generic-events.h"

static void free_spans(struct tally_groups *groups)
{
    for (size_t i = 0; i < groups->collector.n && groups->spans; i++)
        free(groups->spans[i].times);
    free(groups->spans);
    groups->spans = NULL;
    groups->events = groups->groups = 0;
}

void tally_groups_done(struct tally_groups *groups, const struct collector_context *context)
{
    free_spans(groups);
    group_collector_done(&groups->collector, context->snapshot);
}

/* --- where the values of a perf group come from --- */

/* The program counts these at each switch; the kernel does later, when the next task has come already. */
static bool is_switches(const struct event *event)
{
    const unsigned filters = EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST | EVENT_NO_IDLE;

    return event->generic && event->generic->type == PERF_TYPE_SOFTWARE &&
           event->generic->config == PERF_COUNT_SW_CONTEXT_SWITCHES && !(event->modifiers & filters);
}

/* The members of an opened group, in order. */
struct member_sources {
    enum tally_source sources[GROUP_MEMBERS_MAX];
    size_t times; /* the member that gives the times */
    bool spare;   /* nothing else of it is wanted: its value goes to the span's spare word */
};

/*
 * The times come with a value that is read. In a group of clocks alone that is the first of them; where the program
 * counts all that is left, a value is read for the times alone.
 */
static void find_sources(const struct config_group *config, const struct opened_group *opened,
                         struct member_sources *ret)
{
    size_t n = 0, reads = 0, switches = 0;

    *ret = (struct member_sources){0};
    EVENTS_FOREACH (event, opened->events) {
        enum tally_source *source = &ret->sources[n++];
        *source = TALLY_READ;
        if (lending_is_clock(&config->events[event].event))
            *source = TALLY_RUNNING;
        else if (group_always_runs(opened->group) && is_switches(&config->events[event].event))
            *source = TALLY_SWITCHES;
        if (*source == TALLY_READ && reads++ == 0)
            ret->times = n - 1;
        if (*source == TALLY_SWITCHES && switches++ == 0 && reads == 0)
            ret->times = n - 1;
    }
    ret->spare = reads == 0 && switches > 0;
    if (reads == 0 && switches == 0)
        ret->sources[0] = TALLY_READ;
}

/* Where a group has a word for nothing but its times, it is the last one of the span. */
static unsigned spare_word(const struct tally_span *span)
{
    return span->first_event + (unsigned)event_count(span->events);
}

/* --- words --- */

/* Gives the configured group its words, behind those that have been given. -ENOMEM. */
static int span_init(struct tally_span *span, struct tally_groups *groups, const struct collector_context *context,
                     const struct group_counts *counts)
{
    struct group_counts_view view = group_counts_view(counts);
    struct member_sources sources;
    bool spare = false;

    *span = (struct tally_span){
        .group = group_counts_find_config(counts, &context->config->cgroup.groups),
        .first_event = (uint8_t)MIN(groups->events, UINT8_MAX),
        .first_times = (uint8_t)MIN(groups->groups, UINT8_MAX),
        .times = calloc(view.n_groups + 1, sizeof(span->times[0])),
    };
    if (!span->times)
        return -ENOMEM;
    for (size_t i = 0; i < view.n_groups; i++) {
        const struct opened_group *opened = &view.groups[i];
        size_t n = 0;
        for (size_t k = 0; k < i; k++)
            n += view.groups[k].cpu == opened->cpu;
        span->times[i] = (uint8_t)MIN(span->first_times + n, UINT8_MAX);
        span->n_times = (uint8_t)MAX(span->n_times, MIN(n + 1, UINT8_MAX));
        span->events |= opened->events;
        if (!opened->group)
            continue;
        find_sources(span->group, opened, &sources);
        spare |= sources.spare;
    }
    groups->events += (uint32_t)event_count(span->events) + spare;
    groups->groups += span->n_times;
    return 0;
}

static int make_spans(struct tally_groups *groups, const struct collector_context *context, struct error *error)
{
    groups->spans = calloc(groups->collector.n + 1, sizeof(groups->spans[0]));
    int r = groups->spans ? 0 : -ENOMEM;

    for (size_t i = 0; i < groups->collector.n && r == 0; i++)
        r = span_init(&groups->spans[i], groups, context, groups->collector.items[i]);
    if (r < 0)
        return error_oom(error);
    if (groups->events > TALLY_EVENTS_MAX || groups->groups > TALLY_GROUPS_MAX)
        return error_set(
            error, -E2BIG,
            "collectors.cgroup.groups are %u events in %u perf groups here, and by BPF at most %u in %u are "
            "counted: use fewer, or collectors.cgroup.engine: perf",
            groups->events, groups->groups, TALLY_EVENTS_MAX, TALLY_GROUPS_MAX);
    return 0;
}

/* --- opening --- */

static int borrow_all(struct tally_groups *groups, const struct collector_context *context)
{
    int r = 0;

    for (size_t i = 0; i < groups->collector.n; i++) {
        const struct group_counts *counts = groups->collector.items[i];
        struct group_counts_view view = group_counts_view(counts);
        const struct config_group *config = group_counts_find_config(counts, &context->config->cgroup.groups);
        for (size_t k = 0; k < view.n_groups && r == 0; k++)
            r = lending_borrow(context, config, &view.groups[k]);
    }
    return r;
}

int tally_groups_configure(struct tally_groups *groups, const struct collector_context *context, struct error *error)
{
    _cleanup_(places_done) struct places places = {.one_target = true, .bare = true};

    places.summed = !context->config->cgroup.per_cpu;
    free_spans(groups);
    /* The text of the cgroup is for reasons: they do not name collectors.cpu.cpus. */
    int r = places_add_cpus(&places, context->machine, &context->machine->possible,
                            &(struct place){.target = {.pid = -1}, .cgroup = ""});
    if (r == 0)
        r = group_collector_configure(&groups->collector, context, &context->config->cgroup.groups, &places);
    if (r == 0)
        r = borrow_all(groups, context);
    return r < 0 ? error_oom(error) : make_spans(groups, context, error);
}

/* --- what is open on a CPU --- */

static void describe_event(struct tally_sources *ret, unsigned word, enum tally_source source, unsigned times,
                           const struct group *group, size_t member)
{
    bool is_read = source == TALLY_READ;

    ret->events[word] = (struct tally_event){.source = (__u8)source, .group = (__u8)times};
    ret->fds[word] = is_read ? group_fd(group, member) : -1;
    ret->ids[word] = is_read ? group_id(group, member) : 0;
}

static void describe_group(const struct tally_span *span, size_t i, const struct opened_group *opened,
                           struct tally_sources *ret)
{
    struct member_sources sources;
    size_t n = 0;

    find_sources(span->group, opened, &sources);
    EVENTS_FOREACH (event, opened->events) {
        unsigned word = tally_span_word(span, event);
        describe_event(ret, word, sources.sources[n], span->times[i], opened->group, n);
        ret->events[word].gives_times = n == sources.times && !sources.spare;
        n++;
    }
    if (sources.spare) {
        describe_event(ret, spare_word(span), TALLY_READ, span->times[i], opened->group, sources.times);
        ret->events[spare_word(span)].gives_times = true;
    }
}

void tally_groups_describe(const struct tally_groups *groups, unsigned cpu, struct tally_sources *ret)
{
    *ret = (struct tally_sources){0};
    for (size_t i = 0; i < TALLY_EVENTS_MAX; i++)
        ret->fds[i] = -1;
    for (size_t i = 0; i < groups->collector.n; i++) {
        struct group_counts_view view = group_counts_view(groups->collector.items[i]);
        for (size_t k = 0; k < view.n_groups; k++)
            if (view.groups[k].cpu == (int)cpu && view.groups[k].group)
                describe_group(&groups->spans[i], k, &view.groups[k], ret);
    }
}

bool tally_sources_match(const struct tally_sources *a, const struct tally_sources *b)
{
    return memcmp(a->events, b->events, sizeof(a->events)) == 0 && memcmp(a->ids, b->ids, sizeof(a->ids)) == 0;
}

/* --- reading --- */

static void put_word(unsigned word, uint64_t value, uint64_t *words, uint64_t *valid)
{
    words[word] = value;
    *valid |= UINT64_C(1) << word;
}

static int read_group(const struct tally_groups *groups, struct sys *sys, const struct tally_span *span, size_t i,
                      struct opened_group *opened, uint64_t *words, uint64_t *valid)
{
    unsigned enabled = tally_groups_enabled(groups, span->times[i]);
    struct group_reading reading;
    struct member_sources sources;
    size_t n = 0;
    int r = opened_group_read(opened, sys, &reading);

    if (r < 0)
        return r;
    find_sources(span->group, opened, &sources);
    EVENTS_FOREACH (event, opened->events) {
        if (sources.sources[n] == TALLY_READ)
            put_word(tally_span_word(span, event), reading.values[n], words, valid);
        n++;
    }
    if (sources.spare)
        put_word(spare_word(span), reading.values[sources.times], words, valid);
    put_word(enabled, reading.enabled, words, valid);
    put_word(enabled + 1, reading.running, words, valid);
    return 0;
}

int tally_groups_read(struct tally_groups *groups, struct sys *sys, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    uint64_t valid = 0;
    int error = -ENODEV;

    for (size_t i = 0; i < groups->collector.n; i++) {
        struct group_counts_view view = group_counts_view(groups->collector.items[i]);
        for (size_t k = 0; k < view.n_groups; k++) {
            struct opened_group *opened = &view.groups[k];
            if (opened->cpu != (int)cpu || !opened->group)
                continue;
            int r = read_group(groups, sys, &groups->spans[i], k, opened, words, &valid);
            error = error == -ENODEV ? r : error;
        }
    }
    if (!valid)
        return error;
    *ret_valid = valid;
    return 0;
}

bool tally_groups_are_stale(const struct tally_groups *groups)
{
    for (size_t i = 0; i < groups->collector.n; i++) {
        struct group_counts_view view = group_counts_view(groups->collector.items[i]);
        for (size_t k = 0; k < view.n_groups; k++)
            if (view.groups[k].activity == GROUP_STALE)
                return true;
    }
    return false;
}
