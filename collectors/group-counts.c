/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/group-counts.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/group-rows.h"
#include "perf/reason.h"

/* --- unavailable events --- */

struct unavailable_events {
    struct unavailable_event *items;
    uint32_t n;
};

static void unavailable_event_done(struct unavailable_event *event, struct snapshot *snapshot)
{
    cpuset_done(&event->cpus);
    if (event->row)
        snapshot_remove_row(snapshot, event->row);
}

static void unavailable_done(struct unavailable_events *events, struct snapshot *snapshot)
{
    for (size_t i = 0; i < events->n; i++)
        unavailable_event_done(&events->items[i], snapshot);
    free(events->items);
    *events = (struct unavailable_events){0};
}

/* Finds the entry with the same event and reason whose row is that of `cpu`. */
static struct unavailable_event *unavailable_find(const struct unavailable_events *events,
                                                  const struct refusal *refusal, int cpu)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct refusal *other = &events->items[i].refusal;
        if (other->event == refusal->event && events->items[i].cpu == cpu && other->error == refusal->error &&
            str_equal(other->pmu, refusal->pmu) && str_equal(other->message, refusal->message))
            return &events->items[i];
    }
    return NULL;
}

static int unavailable_append(struct unavailable_events *events, struct intern *texts,
                              const struct config_event *config, const struct refusal *refusal, int cpu)
{
    struct unavailable_event event = {
        .refusal = *refusal,
        .text = intern_text(texts, config->event.text),
        .metric = intern_text(texts, config->event.metric),
        .cpu = cpu,
    };

    event.refusal.pmu = intern_text(texts, refusal->pmu);
    event.refusal.message = intern_text(texts, refusal->message);
    if (!event.text || !event.metric || !event.refusal.pmu || !event.refusal.message ||
        array_grow(&events->items, events->n) < 0)
        return -ENOMEM;
    events->items[events->n++] = event;
    return 0;
}

/*
 * Removes `cpu` (-1 for no CPU) from the entries of the events in `mask`, which are about to be retried on that CPU.
 */
static void unavailable_forget(struct unavailable_events *events, uint64_t mask, int cpu)
{
    for (size_t i = 0; i < events->n; i++) {
        struct unavailable_event *event = &events->items[i];
        if (!(mask & event_bit(event->refusal.event)))
            continue;
        if (cpu < 0)
            event->on_no_cpu = false;
        else
            cpuset_remove(&event->cpus, (unsigned)cpu);
    }
}

/* Frees the entries of events that are available everywhere again, and their rows. */
static void unavailable_sweep(struct unavailable_events *events, struct snapshot *snapshot)
{
    uint32_t n = 0;

    for (size_t i = 0; i < events->n; i++) {
        struct unavailable_event *event = &events->items[i];
        if (event->on_no_cpu || cpuset_next(&event->cpus, -1) >= 0)
            events->items[n++] = *event;
        else
            unavailable_event_done(event, snapshot);
    }
    events->n = n;
}

struct row *unavailable_event_add_row(const struct unavailable_event *event, const struct collector_env *env,
                                      const struct row_target *where)
{
    struct row_counter counter = {.event = event->metric, .pmu = event->refusal.pmu, .unit = ""};
    struct row_target target = {.collector = env->collector,
                                .group = where->group,
                                .pmu = event->refusal.pmu,
                                .cgroup = where->cgroup,
                                .names = where->names,
                                .cpu = event->cpu,
                                .error = event->refusal.message};

    return snapshot_add_row(env->snapshot, &target, &counter, 1);
}

/*
 * Adds the row that shows an unavailable event if `visible` is true, and removes the row otherwise. Returns -ENOMEM on
 * failure.
 */
static int unavailable_show(struct unavailable_event *event, const struct collector_env *env,
                            const struct row_target *where, bool visible)
{
    if (visible == (event->row != NULL))
        return 0;
    if (!visible) {
        snapshot_remove_row(env->snapshot, event->row);
        event->row = NULL;
        return 0;
    }
    event->row = unavailable_event_add_row(event, env, where);
    return event->row ? 0 : -ENOMEM;
}

static int unavailable_report(const struct unavailable_event *event, const struct collector_env *env, const char *group,
                              struct failures *failures)
{
    struct failure failure = {
        .collector = env->collector,
        .group = group,
        .event = event->text,
        .metric = event->metric,
        .pmu = event->refusal.pmu,
        .reason = event->refusal.reason,
        .message = event->refusal.message,
        .span = event->refusal.span,
    };
    int r = event->on_no_cpu ? failures_add(failures, &failure, -1) : 0;

    for (int cpu = cpuset_next(&event->cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(&event->cpus, cpu))
        r = failures_add(failures, &failure, cpu);
    return r;
}

/* --- group counts --- */

/* The counts of a configured group on one target, or the list of its events that no target counts. */
struct group_counts {
    const char *signature, *name; /* interned in the snapshot */
    const char *pmu;              /* name of the target's PMU, interned; "" for a target without a PMU */
    int cpu;                      /* lowest CPU of the target, or -1 */
    uint32_t n_groups;
    bool bare;       /* the counts have no rows */
    bool awaits_cpu; /* a CPU is online but still coming up, so it cannot count yet (ENODEV) */
    struct open_group *groups;
    struct group_rows rows;
    struct unavailable_events unavailable;
};

/* Closes the descriptors and removes the rows. */
static struct group_counts *group_counts_free(struct group_counts *counts, struct snapshot *snapshot)
{
    if (!counts)
        return NULL;
    for (size_t i = 0; i < counts->n_groups; i++)
        open_group_done(&counts->groups[i]);
    group_rows_done(&counts->rows, snapshot);
    unavailable_done(&counts->unavailable, snapshot);
    free(counts->groups);
    free(counts);
    return NULL;
}

static const struct target no_target = {.pid = -1};

static int target_first_cpu(const struct target *target)
{
    return cpuset_next(&target->cpus, -1);
}

static const char *target_pmu_name(const struct target *target)
{
    return target->pmu ? target->pmu->name : "";
}

static struct group_counts *group_counts_new(const struct collector_env *env, const struct config_group *group,
                                             const struct target *target)
{
    struct intern *texts = &env->snapshot->texts;
    struct group_counts *counts = calloc(1, sizeof(*counts));

    if (!counts)
        return NULL;
    group_rows_init(&counts->rows, env->machine, group, target->summed);
    counts->bare = target->bare;
    counts->cpu = target_first_cpu(target);
    counts->signature = intern_text(texts, group->signature);
    counts->name = intern_text(texts, group->name);
    counts->pmu = intern_text(texts, target_pmu_name(target));
    if (!counts->signature || !counts->name || !counts->pmu)
        return group_counts_free(counts, NULL);
    return counts;
}

/* Adds an event that is unavailable on `cpu` (-1 for no CPU in particular). Returns -ENOMEM on failure. */
static int group_counts_add_unavailable(struct group_counts *counts, const struct collector_env *env,
                                        const struct config_group *group, const struct refusal *refusal, int cpu)
{
    struct unavailable_events *events = &counts->unavailable;
    int row_cpu = counts->rows.summed ? -1 : cpu;
    struct unavailable_event *event = unavailable_find(events, refusal, row_cpu);

    if (!event) {
        if (unavailable_append(events, &env->snapshot->texts, &group->events[refusal->event], refusal, row_cpu) < 0)
            return -ENOMEM;
        event = &events->items[events->n - 1];
    }
    if (cpu >= 0)
        return cpuset_add(&event->cpus, (unsigned)cpu);
    event->on_no_cpu = true;
    return 0;
}

static int group_counts_add_refusals(struct group_counts *counts, const struct collector_env *env,
                                     const struct target_events *events, int cpu)
{
    int r = 0;

    for (size_t i = 0; i < events->n_refusals && r == 0; i++)
        r = group_counts_add_unavailable(counts, env, events->group, &events->refusals[i], cpu);
    return r;
}

/* State while a group is opened on the CPUs of a target, one CPU at a time. */
struct opening {
    struct group_counts *counts;
    const struct collector_env *env;
    const struct target *target;
    int cpu;                      /* -1 if the target has no CPU */
    struct target_events *events; /* the group's events on `cpu` */
};

/* --- opening --- */

/* `strict` is the partition of a strict group that could not be opened, or NULL. */
static int opening_add_refused(struct opening *opening, size_t i, int error, const struct partition *strict)
{
    char message[REFUSAL_SIZE];
    struct refusal refusal;

    if (!target_events_explain(opening->events, opening->env->machine, i, error, strict, message, &refusal))
        return 0;
    return group_counts_add_unavailable(opening->counts, opening->env, opening->events->group, &refusal, opening->cpu);
}

/* Leaves out a whole strict group because some of its events cannot be counted on the CPU. */
static int opening_leave_out_strict(struct opening *opening)
{
    const struct target_events *events = opening->events;
    int r = 0;

    EVENTS_FOREACH (event, events->mask) {
        struct refusal refusal = {.event = event,
                                  .pmu = events->attrs[event].pmu->name,
                                  .message = "left out with its strict group, because another of its events is missing",
                                  .reason = events->refusals[0].reason,
                                  .error = -ENOENT,
                                  .span = REASON_LASTS};
        if (r == 0)
            r = group_counts_add_unavailable(opening->counts, opening->env, events->group, &refusal, opening->cpu);
    }
    return r;
}

/* A group that is opened during a pause stays disabled until group_set_pause() enables it. */
static struct group_target opening_target(const struct opening *opening)
{
    return (struct group_target){.pid = opening->target->pid,
                                 .cpu = opening->cpu,
                                 .flags = opening->target->flags,
                                 .paused = opening->env->paused};
}

static int opening_add_group(struct opening *opening, struct partition_group *part)
{
    struct group_counts *counts = opening->counts;
    int r = array_grow(&counts->groups, counts->n_groups);

    if (r < 0)
        return r;
    counts->groups[counts->n_groups] = (struct open_group){
        .group = steal(part->group),
        .scale = scale_new(event_count(part->events)),
        .events = part->events,
        .cpu = opening->cpu,
        .paused = opening->env->paused,
        .next_in_row = GROUP_ROW_END,
    };
    counts->n_groups++;
    if (!counts->groups[counts->n_groups - 1].scale)
        return -ENOMEM;
    return counts->bare ? 0
                        : group_rows_add(&counts->rows, opening->env, opening->events, opening->target, counts->groups,
                                         counts->n_groups - 1);
}

/*
 * Returns an error of the group that may be temporary, or 0 if the group has no such error. A group with a temporary
 * error is left closed and retried as a whole, so that its events stay together. EBUSY is not treated as temporary,
 * because another profiler may hold a counter for a long time; the rest of the group is counted without the refused
 * event.
 */
static int passing_error(const struct partition *partition, uint64_t events)
{
    EVENTS_FOREACH (event, events)
        if (partition->errors[event] != -EBUSY && reason_span(partition->errors[event]) != REASON_LASTS)
            return partition->errors[event];
    return 0;
}

static int opening_open_events(struct opening *opening, uint64_t events)
{
    const struct config_group *group = opening->events->group;
    struct group_target target = opening_target(opening);
    _cleanup_(partition_done) struct partition partition = {0};

    if (!events)
        return 0;
    int r = partition_open(opening->env->sys, opening->events->attrs, events, group->strict, &target, &partition);
    if (r < 0)
        return r;
    int passing = passing_error(&partition, events);
    for (size_t i = 0; i < partition.n_groups && r == 0 && !passing; i++)
        r = opening_add_group(opening, &partition.groups[i]);
    EVENTS_FOREACH (event, events) {
        int error = passing ? passing : partition.errors[event];
        if (error < 0 && r == 0)
            r = opening_add_refused(opening, event, error, group->strict ? &partition : NULL);
    }
    return r;
}

static int opening_reopen_group(struct opening *opening, struct open_group *group)
{
    struct group_target target = opening_target(opening);
    struct attr attrs[GROUP_MEMBERS_MAX];
    size_t n = 0;
    int r = 0;

    if (group->events & ~opening->events->mask)
        return 0;
    EVENTS_FOREACH (event, group->events)
        attrs[n++] = opening->events->attrs[event];
    int error = open_group_reopen(group, opening->env->sys, attrs, &target);
    opening->counts->awaits_cpu |= error == -ENODEV;
    if (error == 0 || error == -ENODEV)
        return 0;
    EVENTS_FOREACH (event, group->events)
        if (r == 0)
            r = opening_add_refused(opening, event, error, NULL);
    return r;
}

/* Reopens the groups that were open on this CPU before. */
static int opening_reopen_closed(struct opening *opening)
{
    struct group_counts *counts = opening->counts;
    int r = 0;

    for (size_t i = 0; i < counts->n_groups && r == 0; i++)
        if (counts->groups[i].cpu == opening->cpu && !counts->groups[i].group)
            r = opening_reopen_group(opening, &counts->groups[i]);
    return r;
}

/* Returns whether all events of the group are open. A strict group is either completely open or closed. */
static bool is_complete(const struct config_group *group, uint64_t events)
{
    uint64_t all = group->n_events < 64 ? event_bit(group->n_events) - 1 : UINT64_MAX;

    return events == all || (group->strict && events);
}

/*
 * Closes the CPU's groups that no longer count, reopens closed groups, and opens the events that have no group yet.
 */
static int opening_resume(struct opening *opening)
{
    const struct config_group *group = opening->events->group;
    struct group_counts *counts = opening->counts;
    bool offline = target_is_offline(opening->target, opening->env->machine, opening->cpu);
    uint64_t counted = 0, open = 0; /* masks of the events that have a perf group, and of those whose group is open */

    for (size_t i = 0; i < counts->n_groups; i++) {
        struct open_group *open_group = &counts->groups[i];
        if (open_group->cpu != opening->cpu)
            continue;
        if (open_group->activity == GROUP_STALE || offline ||
            cpuset_has(opening->env->went_offline, (unsigned)open_group->cpu))
            open_group_leave(open_group, opening->env->sys, offline);
        counted |= open_group->events;
        open |= open_group->group ? open_group->events : 0;
    }
    if (is_complete(group, open) || target_is_unreachable(opening->target))
        return 0;
    unavailable_forget(&counts->unavailable, ~open, opening->cpu);
    if (offline)
        return 0;
    int r = target_events_find(opening->events, opening->env, opening->cpu);
    if (r == 0)
        r = group_counts_add_refusals(counts, opening->env, opening->events, opening->cpu);
    if (r == 0)
        r = opening_reopen_closed(opening);
    if (r < 0 || is_complete(group, counted))
        return r;
    if (group->strict && opening->events->n_refusals > 0)
        return opening_leave_out_strict(opening);
    return opening_open_events(opening, opening->events->mask & ~counted);
}

/*
 * Closes the groups on CPUs that are offline or in env->went_offline. On the other CPUs, opens groups that are closed
 * or stale. Totals continue. Events that could not be opened earlier are retried in a perf group of their own. `group`
 * has the same signature as the group that was opened. Returns -ENOMEM on failure.
 */
static int group_counts_resume(struct group_counts *counts, const struct collector_env *env,
                               const struct config_group *group, const struct target *target)
{
    struct target_events events;
    struct opening opening = {
        .counts = counts, .env = env, .target = target, .cpu = target_first_cpu(target), .events = &events};
    int r;

    target_events_init(&events, group, target->pmu);
    counts->awaits_cpu = false;
    do {
        r = opening_resume(&opening);
        opening.cpu = cpuset_next(&target->cpus, opening.cpu);
    } while (r == 0 && opening.cpu >= 0);
    group_rows_settle(&counts->rows, counts->groups);
    return r;
}

/* Lists the events that no target counts, without naming a particular CPU for them. */
static int group_counts_explain_nowhere(struct group_counts *counts, const struct collector_env *env,
                                        const struct config_group *group, const struct targets *targets)
{
    struct target_events events;
    int r = targets_explain_nowhere(targets, env, group, &events);

    unavailable_forget(&counts->unavailable, UINT64_MAX, -1);
    return r < 0 ? r : group_counts_add_refusals(counts, env, &events, -1);
}

static int group_counts_show_unavailable(struct group_counts *counts, const struct collector_env *env,
                                         const struct target *target)
{
    struct row_target where = {.group = counts->name, .cgroup = target->cgroup, .names = target->names};
    int r = 0;

    unavailable_sweep(&counts->unavailable, env->snapshot);
    for (size_t i = 0; i < counts->unavailable.n && r == 0 && !counts->bare; i++) {
        struct unavailable_event *event = &counts->unavailable.items[i];
        /* If an event is unavailable only on some CPUs of a kind, the row that sums these CPUs shows it. */
        bool counted = group_rows_have(&counts->rows, event->refusal.event, event->cpu, event->refusal.pmu);
        r = unavailable_show(event, env, &where, !counted);
    }
    return r;
}

/* Returns whether the counts belong to this group on this target, so that a reload keeps the counts. */
static bool group_counts_match(const struct group_counts *counts, const struct config_group *group,
                               const struct target *target)
{
    return str_equal(counts->signature, group->signature) && counts->rows.summed == target->summed &&
           counts->cpu == target_first_cpu(target) && str_equal(counts->pmu, target_pmu_name(target));
}

struct group_counts_view group_counts_view(const struct group_counts *counts)
{
    return (struct group_counts_view){.groups = counts->groups,
                                      .n_groups = counts->n_groups,
                                      .unavailable = counts->unavailable.items,
                                      .n_unavailable = counts->unavailable.n};
}

const struct config_group *group_counts_find_config(const struct group_counts *counts,
                                                    const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        if (str_equal(groups->items[i].signature, counts->signature))
            return &groups->items[i];
    return NULL;
}

/* --- closing --- */

void group_counts_close(struct group_counts *counts)
{
    for (size_t i = 0; i < counts->n_groups; i++)
        open_group_close(&counts->groups[i]);
    group_rows_settle(&counts->rows, counts->groups);
}

/* --- reading --- */

/*
 * Reads each open group with one read(2), updates the rows, and adds the states of the rows to *ret. For counts without
 * rows, adds one unavailable group. Returns how many groups could be read.
 */
static size_t group_counts_read(struct group_counts *counts, struct sys *sys, struct collected *ret)
{
    struct group_reading reading;
    size_t readable = 0;
    bool quiet = true;

    for (size_t i = 0; i < counts->n_groups; i++) {
        struct open_group *group = &counts->groups[i];
        readable += open_group_read(group, sys, &reading) == 0;
        ret->stale |= group->activity == GROUP_STALE;
        quiet &= group->activity == GROUP_IDLE || group->activity == GROUP_OFFLINE;
    }
    group_rows_update(&counts->rows, counts->groups, quiet);
    group_rows_count(&counts->rows, ret->groups);
    ret->groups[ROW_UNAVAILABLE] += counts->rows.n == 0;
    return readable;
}

/* Disables or enables the open groups. Returns the first error of ioctl(2); the remaining groups are still tried. */
static int group_counts_pause(struct group_counts *counts, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < counts->n_groups; i++) {
        int error = open_group_pause(&counts->groups[i], paused);
        r = r < 0 ? r : error;
    }
    return r;
}

/* --- reporting --- */

/* Adds the events that could not be opened, with their CPUs. Returns -ENOMEM on failure. */
static int group_counts_report(const struct group_counts *counts, const struct collector_env *env,
                               struct failures *failures)
{
    int r = 0;

    if (counts->awaits_cpu)
        failures_note(failures, REASON_BRIEF);
    for (size_t i = 0; i < counts->unavailable.n && r == 0; i++)
        r = unavailable_report(&counts->unavailable.items[i], env, counts->name, failures);
    return r;
}

/* --- group set --- */

void group_set_done(struct group_set *set, struct snapshot *snapshot)
{
    for (size_t i = 0; i < set->n; i++)
        group_counts_free(set->items[i], snapshot);
    free(set->items);
    *set = (struct group_set){0};
}

/*
 * Removes and returns the counts of this group on this target. Counts are ordered by target, so the next counts usually
 * match.
 */
static struct group_counts *take_counts(struct group_set *set, const struct config_group *group,
                                        const struct target *target)
{
    for (uint32_t k = 0; k < set->n; k++) {
        uint32_t i = (set->next + k) % set->n;
        if (!set->items[i] || !group_counts_match(set->items[i], group, target))
            continue;
        set->next = i + 1;
        return steal(set->items[i]);
    }
    return NULL;
}

/*
 * Opens or resumes a group on a target. If `target` is NULL, lists the events of the group that no target counts.
 * Events that cannot be opened are not an error. Fails only with -ENOMEM; existing counts are then kept. *counts is
 * NULL afterwards if the target has no event of the group.
 */
static int configure_counts(struct group_counts **counts, const struct collector_env *env,
                            const struct config_group *group, const struct targets *targets,
                            const struct target *target)
{
    const struct target *shown = target ? target : &no_target;
    bool is_new = !*counts;
    int r;

    if (is_new && shown->moved)
        return 0;
    if (is_new)
        *counts = group_counts_new(env, group, shown);
    if (!*counts)
        return -ENOMEM;
    r = target ? group_counts_resume(*counts, env, group, target) : 0;
    /* A cgroup is the only target of its group set, and its rows show the events that no CPU counts. */
    if (r == 0 && (!target || target->cgroup))
        r = group_counts_explain_nowhere(*counts, env, group, targets);
    if (r == 0)
        r = group_counts_show_unavailable(*counts, env, shown);
    if ((r < 0 && is_new) || ((*counts)->n_groups == 0 && (*counts)->unavailable.n == 0))
        *counts = group_counts_free(*counts, env->snapshot);
    return r;
}

int group_set_configure(struct group_set *set, const struct collector_env *env, const struct config_groups *groups,
                        const struct targets *targets)
{
    size_t on_targets = groups->n * targets->n;
    bool of_cgroup = targets->n > 0 && targets->items[0].cgroup;
    size_t n = on_targets + (of_cgroup ? 0 : groups->n); /* the last items are for events that no target counts */
    struct group_counts **items = calloc(n + 1, sizeof(items[0]));
    uint32_t n_counts = 0;
    int r = 0;

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < on_targets; i++)
        items[i] = take_counts(set, &groups->items[i % groups->n], &targets->items[i / groups->n]);
    /* Counts that do not continue are closed first, to free their descriptors and hardware counters for new counts. */
    group_set_done(set, env->snapshot);
    for (size_t i = 0; i < n; i++) {
        struct group_counts *counts = steal(items[i]);
        const struct target *target = i < on_targets ? &targets->items[i / groups->n] : NULL;
        if (r == 0)
            r = configure_counts(&counts, env, &groups->items[i % groups->n], targets, target);
        if (counts)
            items[n_counts++] = counts;
    }
    *set = (struct group_set){.items = items, .n = n_counts};
    return r;
}

size_t group_set_read(struct group_set *set, struct sys *sys, struct collected *ret)
{
    size_t readable = 0;

    for (size_t i = 0; i < set->n; i++)
        readable += group_counts_read(set->items[i], sys, ret);
    return readable;
}

size_t group_set_descriptors(const struct group_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct group_counts *counts = set->items[i];
        for (size_t k = 0; k < counts->n_groups; k++)
            n += counts->groups[k].group ? group_descriptors(counts->groups[k].group) : 0;
    }
    return n;
}

int group_set_open(const struct collector_env *env, const struct config_groups *groups, const struct targets *targets,
                   void *previous, struct opened *ret, struct error *error)
{
    struct group_set *set = previous ? previous : calloc(1, sizeof(*set));

    if (!set)
        return error_oom(error);
    ret->state = set;
    return group_set_configure(set, env, groups, targets) < 0 ? error_oom(error) : 0;
}

int group_set_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error)
{
    struct group_set *set = state;

    if (group_set_read(set, env->sys, ret) == 0 && set->n > 0)
        return error_set(error, -ENODATA, "no group of the %s collector could be read",
                         env->snapshot->collector_names[env->collector]);
    return 0;
}

int group_set_pause(const struct collector_env *env, void *state)
{
    struct group_set *set = state;
    int r = 0;

    for (size_t i = 0; i < set->n; i++) {
        int error = group_counts_pause(set->items[i], env->paused);
        r = r < 0 ? r : error;
    }
    return r;
}

int group_set_report(const struct collector_env *env, const void *state, struct failures *failures)
{
    const struct group_set *set = state;
    int r = 0;

    for (size_t i = 0; i < set->n && r == 0; i++)
        r = group_counts_report(set->items[i], env, failures);
    return r;
}

void group_set_close(const struct collector_env *env, void *state)
{
    struct group_set *set = state;

    if (set)
        group_set_done(set, env->snapshot);
    free(set);
}
