/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/bpf-groups.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "perf/generic-events.h"
#include "perf/sys.h"

/* --- shared groups --- */

/* Returns whether the event counts the running time of its group. */
static bool counts_running_time(const struct event *event)
{
    return event->generic && event->generic->clock;
}

/*
 * Returns whether two attrs count the same event. `pinned` and `exclusive` only matter in leaders, which find_members()
 * compares.
 */
static bool count_same(const struct attr *a, const struct attr *b)
{
    struct perf_event_attr first = a->kernel, second = b->kernel;

    first.pinned = second.pinned = 0;
    first.exclusive = second.exclusive = 0;
    first.precise_ip = second.precise_ip = 0;
    return a->pmu == b->pmu && str_equal(a->text ? a->text : "", b->text ? b->text : "") &&
           memcmp(&first, &second, sizeof(first)) == 0;
}

static const struct perf_event_attr *leader_of(const struct target_events *events, uint64_t members)
{
    return &events->attrs[__builtin_ctzll(members)].kernel;
}

/* Returns the position of the group member that counts the same event as `attr`, or -1 if there is none. */
static int find_member(const struct attr *attr, const struct target_events *lent, uint64_t members)
{
    int n = 0;

    EVENTS_FOREACH (event, members) {
        if (count_same(attr, &lent->attrs[event]))
            return n;
        n++;
    }
    return -1;
}

/*
 * For each event in the mask `events`, finds the member of the other group that counts the same event. Returns false if
 * the other group does not count one of the events, or if all events are clocks.
 */
static bool find_members(const struct target_events *own, uint64_t events, const struct target_events *lent,
                         uint64_t members, int *ret)
{
    const struct perf_event_attr *leader = leader_of(own, events), *other = leader_of(lent, members);
    bool clocks_only = true;

    if (leader->pinned != other->pinned || leader->exclusive != other->exclusive)
        return false;
    EVENTS_FOREACH (event, events) {
        bool is_clock = counts_running_time(&own->group->events[event].event);
        *ret = is_clock ? GROUP_CLOCK : find_member(&own->attrs[event], lent, members);
        if (!is_clock && *ret < 0)
            return false;
        clocks_only &= is_clock;
        ret++;
    }
    return !clocks_only;
}

/*
 * Replaces `group` with a subgroup of one of the groups of `owner` on the same CPU, and sets *ret_found if such a group
 * exists.
 */
static int share_from(const struct collector_env *env, const struct target_events *own, struct open_group *group,
                      const struct group_counts *owner, bool *ret_found)
{
    const struct config_group *config = group_counts_find_config(owner, &env->config->cpu.groups);
    struct group_counts_view lent = group_counts_view(owner);
    struct target_events events;
    int members[GROUP_MEMBERS_MAX];
    int r = -ENOENT;

    if (!config)
        return 0;
    target_events_init(&events, config, NULL);
    for (size_t i = 0; i < lent.n_groups; i++) {
        const struct open_group *other = &lent.groups[i];
        if (other->cpu != group->cpu || !other->group || other->activity == GROUP_STALE)
            continue;
        if (r == -ENOENT)
            r = target_events_find(&events, env, group->cpu);
        if (r < 0)
            return r;
        if ((other->events & ~events.mask) || !find_members(own, group->events, &events, other->events, members))
            continue;
        struct group *part = group_subgroup(other->group, members, event_count(group->events));
        if (!part)
            return -ENOMEM;
        open_group_replace(group, part);
        *ret_found = true;
        return 0;
    }
    return 0;
}

/*
 * Makes `group`, which was opened for events of `config`, share the `cpu` collector's descriptors if that collector now
 * counts the same events on the CPU. The group's own descriptors are then closed. Returns -ENOMEM on failure.
 */
static int share_cpu_groups(const struct collector_env *env, const struct config_group *config,
                            struct open_group *group)
{
    struct target_events own;
    bool found = false;
    int r;

    if (!env->shared || !group->group)
        return 0;
    target_events_init(&own, config, NULL);
    r = target_events_find(&own, env, group->cpu);
    if (r < 0 || (group->events & ~own.mask))
        return r;
    for (size_t i = 0; i < env->shared->n && r == 0 && !found; i++)
        r = share_from(env, &own, group, env->shared->items[i], &found);
    return r;
}

/* --- groups of the bpf engine --- */

static void free_spans(struct bpf_groups *groups)
{
    for (size_t i = 0; i < groups->set.n && groups->spans; i++)
        free(groups->spans[i].times);
    free(groups->spans);
    groups->spans = NULL;
    groups->events = groups->groups = 0;
}

void bpf_groups_done(struct bpf_groups *groups, const struct collector_env *env)
{
    free_spans(groups);
    group_set_done(&groups->set, env->snapshot);
}

/*
 * Returns whether the event is context-switches without filters. The BPF program counts context switches itself,
 * because the kernel increments this event only after the context-switch tracepoint.
 */
static bool is_switches(const struct event *event)
{
    const unsigned filters = EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST | EVENT_NO_IDLE;

    return event->generic && event->generic->type == PERF_TYPE_SOFTWARE &&
           event->generic->config == PERF_COUNT_SW_CONTEXT_SWITCHES && !(event->modifiers & filters);
}

/* How the BPF program gets the value of each member of an open group, in the order of the members. */
struct member_sources {
    enum word_source sources[GROUP_MEMBERS_MAX];
    size_t times; /* index of the member that is read together with the group's times */
    bool spare;   /* the member `times` is read only for the times; its value goes to the spare word */
};

/*
 * The kernel returns a group's times only together with a counter's value. If all members of a group are clocks, the
 * first member is therefore read like a counter. If the BPF program itself counts all members that are not clocks, one
 * of these members is read only for the times.
 */
static void find_sources(const struct bpf_span *span, const struct open_group *open_group, struct member_sources *ret)
{
    size_t n = 0, reads = 0, switches = 0;

    *ret = (struct member_sources){0};
    EVENTS_FOREACH (event, open_group->events) {
        enum word_source *source = &ret->sources[n++];
        *source = SOURCE_READ;
        if (span->clocks & event_bit(event))
            *source = SOURCE_RUNNING;
        else if (group_always_runs(open_group->group) && (span->switches & event_bit(event)))
            *source = SOURCE_SWITCHES;
        if (*source == SOURCE_READ && reads++ == 0)
            ret->times = n - 1;
        if (*source == SOURCE_SWITCHES && switches++ == 0 && reads == 0)
            ret->times = n - 1;
    }
    ret->spare = reads == 0 && switches > 0;
    if (reads == 0 && switches == 0)
        ret->sources[0] = SOURCE_READ;
}

/*
 * Returns the span's spare word, which is the last word. The spare word receives the value of a member that is read
 * only for the times.
 */
static unsigned spare_word(const struct bpf_span *span)
{
    return span->first_event + (unsigned)event_count(span->events);
}

/* Assigns words to a configured group, after the words that are already assigned. Returns -ENOMEM on failure. */
static int span_init(struct bpf_span *span, struct bpf_groups *groups, const struct collector_env *env,
                     const struct group_counts *counts)
{
    struct group_counts_view view = group_counts_view(counts);
    struct member_sources sources;
    bool spare = false;

    /* Numbers above UINT8_MAX are clamped; make_spans() then fails with -E2BIG. */
    *span = (struct bpf_span){
        .group = group_counts_find_config(counts, &env->config->cgroup.groups),
        .first_event = (uint8_t)MIN(groups->events, UINT8_MAX),
        .first_times = (uint8_t)MIN(groups->groups, UINT8_MAX),
        .times = calloc(view.n_groups + 1, sizeof(span->times[0])),
    };
    if (!span->times)
        return -ENOMEM;
    for (size_t i = 0; i < span->group->n_events; i++) {
        span->clocks |= counts_running_time(&span->group->events[i].event) ? event_bit(i) : 0;
        span->switches |= is_switches(&span->group->events[i].event) ? event_bit(i) : 0;
    }
    for (size_t i = 0; i < view.n_groups; i++) {
        const struct open_group *open_group = &view.groups[i];
        size_t n = 0;
        for (size_t k = 0; k < i; k++)
            n += view.groups[k].cpu == open_group->cpu;
        span->times[i] = (uint8_t)MIN(span->first_times + n, UINT8_MAX);
        span->n_times = (uint8_t)MAX(span->n_times, MIN(n + 1, UINT8_MAX));
        span->events |= open_group->events;
        if (!open_group->group)
            continue;
        find_sources(span, open_group, &sources);
        spare |= sources.spare;
    }
    groups->events += (uint32_t)event_count(span->events) + spare;
    groups->groups += span->n_times;
    return 0;
}

static int make_spans(struct bpf_groups *groups, const struct collector_env *env, struct error *error)
{
    groups->spans = calloc(groups->set.n + 1, sizeof(groups->spans[0]));
    int r = groups->spans ? 0 : -ENOMEM;

    for (size_t i = 0; i < groups->set.n && r == 0; i++)
        r = span_init(&groups->spans[i], groups, env, groups->set.items[i]);
    if (r < 0)
        return error_oom(error);
    if (groups->events > BPF_EVENTS_MAX || groups->groups > BPF_GROUPS_MAX)
        return error_set(error, -E2BIG,
                         "collectors.cgroup.groups need %u events in %u perf groups here, but the bpf engine counts at "
                         "most %u events in %u groups: use fewer, or set collectors.cgroup.engine to perf",
                         groups->events, groups->groups, BPF_EVENTS_MAX, BPF_GROUPS_MAX);
    return 0;
}

/* --- opening --- */

static int share_all(struct bpf_groups *groups, const struct collector_env *env)
{
    int r = 0;

    for (size_t i = 0; i < groups->set.n; i++) {
        const struct group_counts *counts = groups->set.items[i];
        struct group_counts_view view = group_counts_view(counts);
        const struct config_group *config = group_counts_find_config(counts, &env->config->cgroup.groups);
        for (size_t k = 0; k < view.n_groups && r == 0; k++)
            r = share_cpu_groups(env, config, &view.groups[k]);
    }
    return r;
}

int bpf_groups_configure(struct bpf_groups *groups, const struct collector_env *env, struct error *error)
{
    _cleanup_(targets_done) struct targets targets = {0};
    int r = targets_add_cgroup(&targets, env, &(struct target){.cgroup = "", .pid = -1, .bare = true});

    free_spans(groups);
    if (r == 0)
        r = group_set_configure(&groups->set, env, &env->config->cgroup.groups, &targets);
    if (r == 0)
        r = share_all(groups, env);
    return r < 0 ? error_oom(error) : make_spans(groups, env, error);
}

/* --- sources --- */

static void describe_event(struct cpu_source *ret, unsigned word, enum word_source source, unsigned times,
                           const struct group *group, size_t member)
{
    bool is_read = source == SOURCE_READ;

    ret->events[word] = (struct bpf_event){.source = (__u8)source, .group = (__u8)times};
    ret->fds[word] = is_read ? group_fd(group, member) : -1;
    ret->ids[word] = is_read ? group_id(group, member) : 0;
}

static void describe_group(const struct bpf_span *span, size_t i, const struct open_group *open_group,
                           struct cpu_source *ret)
{
    struct member_sources sources;
    size_t n = 0;

    find_sources(span, open_group, &sources);
    EVENTS_FOREACH (event, open_group->events) {
        unsigned word = bpf_span_word(span, event);
        describe_event(ret, word, sources.sources[n], span->times[i], open_group->group, n);
        ret->events[word].gives_times = n == sources.times && !sources.spare;
        n++;
    }
    if (sources.spare) {
        describe_event(ret, spare_word(span), SOURCE_READ, span->times[i], open_group->group, sources.times);
        ret->events[spare_word(span)].gives_times = true;
    }
}

void bpf_groups_describe(const struct bpf_groups *groups, unsigned cpu, struct cpu_source *ret)
{
    *ret = (struct cpu_source){0};
    for (size_t i = 0; i < BPF_EVENTS_MAX; i++)
        ret->fds[i] = -1;
    for (size_t i = 0; i < groups->set.n; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        for (size_t k = 0; k < view.n_groups; k++)
            if (view.groups[k].cpu == (int)cpu && view.groups[k].group)
                describe_group(&groups->spans[i], k, &view.groups[k], ret);
    }
}

/* Returns whether both sources have the same counters, in which case the CPU's map entries need no update. */
static bool cpu_source_matches(const struct cpu_source *a, const struct cpu_source *b)
{
    return memcmp(a->events, b->events, sizeof(a->events)) == 0 && memcmp(a->ids, b->ids, sizeof(a->ids)) == 0;
}

/* --- reading --- */

static void put_word(unsigned word, uint64_t value, uint64_t *words, uint64_t *valid)
{
    words[word] = value;
    *valid |= UINT64_C(1) << word;
}

static int read_group(const struct bpf_groups *groups, struct sys *sys, const struct bpf_span *span, size_t i,
                      struct open_group *open_group, uint64_t *words, uint64_t *valid)
{
    unsigned enabled = bpf_groups_enabled(groups, span->times[i]);
    struct group_reading reading;
    struct member_sources sources;
    size_t n = 0;
    int r = open_group_read(open_group, sys, &reading);

    if (r < 0)
        return r;
    find_sources(span, open_group, &sources);
    EVENTS_FOREACH (event, open_group->events) {
        if (sources.sources[n] == SOURCE_READ)
            put_word(bpf_span_word(span, event), reading.values[n], words, valid);
        n++;
    }
    if (sources.spare)
        put_word(spare_word(span), reading.values[sources.times], words, valid);
    put_word(enabled, reading.enabled, words, valid);
    put_word(enabled + 1, reading.running, words, valid);
    return 0;
}

int bpf_groups_read(struct bpf_groups *groups, struct sys *sys, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    uint64_t valid = 0;
    int error = -ENODEV;

    for (size_t i = 0; i < groups->set.n; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        for (size_t k = 0; k < view.n_groups; k++) {
            struct open_group *open_group = &view.groups[k];
            if (open_group->cpu != (int)cpu || !open_group->group)
                continue;
            int r = read_group(groups, sys, &groups->spans[i], k, open_group, words, &valid);
            error = error == -ENODEV ? r : error;
        }
    }
    if (!valid)
        return error;
    *ret_valid = valid;
    return 0;
}

bool bpf_groups_are_stale(const struct bpf_groups *groups)
{
    for (size_t i = 0; i < groups->set.n; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        for (size_t k = 0; k < view.n_groups; k++)
            if (view.groups[k].activity == GROUP_STALE)
                return true;
    }
    return false;
}

/* --- runs --- */

/* How often a CPU is read again if it switched tasks during the reading; never reached in practice. */
#define TEST_READINGS 1000
/* A difference between the slots and the counters is an error only if it persists for this many readings. */
#define TEST_TRIES 10

struct bpf_run *bpf_run_free(struct bpf_run *run)
{
    if (!run)
        return NULL;
    bpf_reader_free(run->reader);
    free(run->sources);
    free(run);
    return NULL;
}

DEFINE_CLEANUP(struct bpf_run *, bpf_run_free);

static bool run_has_cpu(const struct bpf_run *run, unsigned cpu)
{
    for (uint32_t i = 0; i < run->shape.events; i++)
        if (run->sources[cpu].events[i].source != SOURCE_NONE)
            return true;
    return false;
}

int bpf_run_set_cpus(struct bpf_run *run, const struct bpf_groups *groups, struct error *error)
{
    int any = 0, failed = 0;

    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++) {
        struct cpu_source sources;
        bpf_groups_describe(groups, cpu, &sources);
        if (cpu_source_matches(&sources, &run->sources[cpu]))
            continue;
        int r = run->calls->set_cpu(run->calls->owner, cpu, sources.events, sources.fds);
        /*
         * The failed call may have replaced some counters of this CPU, so the CPU is not read until a later call
         * succeeds.
         */
        if (r < 0)
            sources = (struct cpu_source){0};
        bpf_reader_set_cpu(run->reader, cpu, sources.events);
        run->sources[cpu] = sources;
        failed = r < 0 ? r : failed;
        any |= r == 0;
    }
    return failed == 0 ? any
                       : error_set(error, failed, "cannot pass the counters to the BPF program: %s", strerror(-failed));
}

void bpf_run_clear_cpus(struct bpf_run *run)
{
    struct cpu_source none = {0};

    memset(none.fds, -1, sizeof(none.fds));
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++) {
        if (!run_has_cpu(run, cpu))
            continue;
        (void)run->calls->set_cpu(run->calls->owner, cpu, none.events, none.fds);
        bpf_reader_set_cpu(run->reader, cpu, none.events);
        run->sources[cpu] = none;
    }
}

static int run_map(struct bpf_run *run, const struct bpf_maps *maps, struct error *error)
{
    int r = bpf_reader_new(run->sys, &run->shape, maps, &run->reader);

    sys_close(run->sys, maps->counts);
    sys_close(run->sys, maps->records);
    return r < 0 ? error_set(error, r, "cannot map the counts of the BPF program: %s", strerror(-r)) : 0;
}

int bpf_run_new(struct sys *sys, const struct bpf_calls *calls, const struct bpf_shape *shape,
                const struct bpf_groups *groups, struct bpf_run **ret, struct error *error)
{
    _cleanup_(bpf_run_freep) struct bpf_run *run = calloc(1, sizeof(*run));
    struct bpf_maps maps;

    if (!run)
        return error_oom(error);
    run->sys = sys;
    run->calls = calls;
    run->shape = *shape;
    run->sources = calloc(shape->cpus, sizeof(run->sources[0]));
    if (!run->sources)
        return error_oom(error);
    int r = calls->start(calls->owner, shape, &maps, error);
    if (r < 0)
        return r;
    *ret = run;
    r = run_map(run, &maps, error);
    if (r == 0)
        r = bpf_run_set_cpus(run, groups, error);
    run = NULL;
    return MIN(r, 0);
}

struct bpf_counters {
    struct bpf_groups *groups;
    struct sys *sys;
    uint64_t words[BPF_WORDS_MAX], valid; /* the words of the last reading, and the mask of valid words */
};

static int counters_read(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    struct bpf_counters *counters = userdata;
    int r = bpf_groups_read(counters->groups, counters->sys, cpu, words, ret_valid);

    memcpy(counters->words, words, sizeof(counters->words));
    counters->valid = r == 0 ? *ret_valid : 0;
    return r;
}

/* Replaces counters_read() when the BPF program no longer runs and its maps hold the final counts. */
static int counters_are_gone(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    (void)userdata, (void)cpu, (void)words, (void)ret_valid;
    return -ENODEV;
}

/* Attributes the counts that the slots from `first` to `last` have accrued since their previous reading. */
static void run_take_cpu(struct bpf_run *run, unsigned cpu, uint32_t first, uint32_t last, bpf_attribute attribute,
                         void *userdata)
{
    uint64_t delta[BPF_WORDS_MAX];

    for (uint32_t slot = first; slot <= last; slot++) {
        slot = bpf_reader_take(run->reader, cpu, slot, last + 1, delta);
        if (slot == BPF_SLOT_NONE)
            break;
        attribute(userdata, slot, cpu, delta);
    }
}

static int run_read_cpu(struct bpf_run *run, struct bpf_counters *counters, unsigned cpu, uint32_t first, uint32_t last,
                        bpf_attribute attribute, void *userdata)
{
    int r = bpf_reader_read(run->reader, cpu, counters_read, counters);

    run_take_cpu(run, cpu, first, last, attribute, userdata);
    return r;
}

size_t bpf_run_read(struct bpf_run *run, struct bpf_groups *groups, uint32_t first, uint32_t last,
                    bpf_attribute attribute, void *userdata)
{
    struct bpf_counters counters = {.groups = groups, .sys = run->sys};
    size_t n = 0;

    last = MIN(last, run->shape.slots - 1);
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++)
        if (run_has_cpu(run, cpu))
            n += run_read_cpu(run, &counters, cpu, first, last, attribute, userdata) >= 0;
    return n;
}

void bpf_run_read_last(struct bpf_run *run, bpf_attribute attribute, void *userdata)
{
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++) {
        if (!run_has_cpu(run, cpu))
            continue;
        (void)bpf_reader_read(run->reader, cpu, counters_are_gone, NULL);
        run_take_cpu(run, cpu, 0, run->shape.slots - 1, attribute, userdata);
    }
}

bool bpf_run_is_idle(const struct bpf_run *run, uint32_t slot)
{
    for (unsigned cpu = 0; cpu < run->shape.cpus; cpu++)
        if (run_has_cpu(run, cpu) && bpf_reader_running(run->reader, cpu) == slot)
            return false;
    return true;
}

/* --- test --- */

/* State of a bpf_attribute that sums the words of all of a CPU's slots and passes them on to another bpf_attribute. */
struct bpf_sum {
    uint32_t words;
    uint64_t sums[BPF_WORDS_MAX];
    bpf_attribute attribute;
    void *userdata;
};

static void sum_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta)
{
    struct bpf_sum *sum = userdata;

    for (uint32_t i = 0; i < sum->words; i++)
        sum->sums[i] += delta[i];
    sum->attribute(sum->userdata, slot, cpu, delta);
}

/* Reads a CPU repeatedly, until the reading is consistent and the CPU did not switch tasks during it. */
static bool read_exactly(struct bpf_run *run, struct bpf_counters *counters, unsigned cpu, struct bpf_sum *sum)
{
    for (size_t i = 0; i < TEST_READINGS; i++) {
        int r = run_read_cpu(run, counters, cpu, 0, run->shape.slots - 1, sum_add, sum);
        if (r < 0)
            return false;
        if (r == 1 && bpf_reader_is_exact(run->reader, cpu))
            return true;
    }
    return false;
}

/*
 * Returns the first word whose sum differs from the increment of the word's counter, or the number of words if all sums
 * agree.
 */
static uint32_t find_difference(const struct bpf_sum *sum, const struct bpf_counters *before,
                                const struct bpf_counters *after)
{
    uint32_t i = 0;

    while (i < sum->words &&
           (!((before->valid & after->valid) >> i & 1) || after->words[i] - before->words[i] == sum->sums[i]))
        i++;
    return i;
}

/* A difference that disappears in a later reading was caused by stores that were not visible yet. */
static int run_test_cpu(struct bpf_run *run, struct bpf_groups *groups, unsigned cpu, struct bpf_sum *sum,
                        struct error *error)
{
    struct bpf_counters before = {.groups = groups, .sys = run->sys}, after = before;
    bool exact = read_exactly(run, &before, cpu, sum);
    uint32_t word = 0;

    memset(sum->sums, 0, sizeof(sum->sums));
    for (size_t i = 0; i < TEST_TRIES && exact; i++) {
        exact = read_exactly(run, &after, cpu, sum);
        word = find_difference(sum, &before, &after);
        if (exact && word == sum->words)
            return 0;
    }
    if (!exact)
        return error_set(error, -EBADE, "the BPF program does not report what runs on CPU %u", cpu);
    return error_set(error, -EBADE,
                     "the BPF program attributed %" PRIu64
                     " to cgroups on CPU %u, but the counter increased by %" PRIu64,
                     sum->sums[word], cpu, after.words[word] - before.words[word]);
}

int bpf_run_test(struct bpf_run *run, struct bpf_groups *groups, bpf_attribute attribute, void *userdata,
                 struct error *error)
{
    struct bpf_sum sum = {.words = bpf_words(&run->shape), .attribute = attribute, .userdata = userdata};
    int r = 0;

    for (unsigned cpu = 0; cpu < run->shape.cpus && r == 0; cpu++)
        if (run_has_cpu(run, cpu))
            r = run_test_cpu(run, groups, cpu, &sum, error);
    return r;
}
