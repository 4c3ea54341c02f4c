/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/group-counts.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/group-rows.h"
#include "perf/group.h"
#include "perf/reason.h"

/* --- group counts --- */

struct group_counts {
    /* Interned in the snapshot; `pmu` is from place_pmu_name(). */
    const char *signature, *name, *pmu;
    uint32_t n_groups;
    bool bare;       /* makes no rows */
    bool awaits_cpu; /* a CPU is online but cannot count yet (ENODEV), as while it is coming up */
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

static struct group_counts *group_counts_new(const struct collector_env *env, const struct config_group *group,
                                             const struct places *target)
{
    struct intern *texts = &env->snapshot->texts;
    struct group_counts *counts = calloc(1, sizeof(*counts));

    if (!counts)
        return NULL;
    group_rows_init(&counts->rows, env->machine, group, target->summed);
    counts->unavailable.summed = target->summed;
    counts->bare = target->bare;
    counts->signature = intern_text(texts, group->signature);
    counts->name = intern_text(texts, group->name);
    counts->pmu = intern_text(texts, place_pmu_name(&target->items[0]));
    if (!counts->signature || !counts->name || !counts->pmu)
        return group_counts_free(counts, NULL);
    return counts;
}

/* State of opening a group at one place after the other. */
struct opening {
    struct group_counts *counts;
    const struct collector_env *env;
    struct place_events events; /* at the current place */
};

/* --- opening --- */

/*
 * Returns whether the event is silently left out. A preset lists what PMUs of its kind may have, and this PMU lacks the
 * event. The kernel refuses cache events that are marked -1 in its tables with EINVAL.
 */
static bool is_left_out(const struct config_group *group, const struct attr *attr, int error)
{
    return group->preset && !group->strict && !attr->pmu->absent &&
           (error == -ENOENT || (error == -EINVAL && attr->kernel.type == PERF_TYPE_HW_CACHE));
}

/* Writes why the i-th event of a strict group is left out. `reason` is why the group did not open. */
static void explain_strict(const struct config_group *group, const struct partition *partition, size_t i,
                           const char *reason, char *text, size_t size)
{
    if (partition->fits)
        snprintf(
            text, size,
            "a strict group has more events than the PMU has counters (%s): only %zu of its %zu events can be counted "
            "at once; set strict: false, or divide the group",
            reason_name(partition->errors[i]), partition->fits, group->n_events);
    else if (partition->culprit != i)
        snprintf(text, size, "left out with its strict group, because of %s: %s",
                 group->events[partition->culprit].event.text, reason);
    else
        snprintf(text, size, "%s", reason);
}

/* `strict` is the partition of a strict group that could not be opened, or NULL. */
static int opening_add_refused(struct opening *opening, const struct place *place, size_t i, int error,
                               const struct partition *strict)
{
    const struct config_event *event = &opening->events.group->events[i];
    const struct pmu *pmu = opening->events.attrs[i].pmu;
    char message[512], whole[1024];

    if (is_left_out(opening->events.group, &opening->events.attrs[i], error))
        return 0;
    struct unavailable_event why = {
        .event = i, .pmu = pmu->name, .error = error, .span = reason_span(error), .message = message};

    reason_format(opening->env->machine, pmu, error, message, sizeof(message));
    if (strict) {
        explain_strict(opening->events.group, strict, i, message, whole, sizeof(whole));
        why.message = whole;
    }
    return unavailable_add(&opening->counts->unavailable, opening->env, place->target.cpu, event, why);
}

/* Leaves out the whole strict group, because some of its events cannot be counted at the place. */
static int opening_leave_out_strict(struct opening *opening, const struct place *place)
{
    const struct place_events *events = &opening->events;
    int r = 0;

    EVENTS_FOREACH (event, events->mask) {
        struct unavailable_event why = {.event = event,
                                        .pmu = events->attrs[event].pmu->name,
                                        .error = -ENOENT,
                                        .span = REASON_LASTS,
                                        .message = "left out with its strict group, because another of its events is "
                                                   "not there"};
        if (r == 0)
            r = unavailable_add(&opening->counts->unavailable, opening->env, place->target.cpu,
                                &events->group->events[event], why);
    }
    return r;
}

/* A group that is opened while paused stays disabled until group_set_pause() enables it. */
static struct group_target opening_target(const struct opening *opening, const struct place *place)
{
    struct group_target target = place->target;

    target.paused = opening->env->paused;
    return target;
}

static int opening_add_group(struct opening *opening, const struct place *place, struct partition_group *opened)
{
    struct group_counts *counts = opening->counts;
    int r = array_grow(&counts->groups, counts->n_groups);

    if (r < 0)
        return r;
    counts->groups[counts->n_groups] = (struct open_group){
        .group = steal(opened->group),
        .scale = scale_new(event_count(opened->events)),
        .events = opened->events,
        .cpu = place->target.cpu,
        .paused = opening->env->paused,
        .next_in_row = GROUP_ROW_END,
    };
    counts->n_groups++;
    if (!counts->groups[counts->n_groups - 1].scale)
        return -ENOMEM;
    return counts->bare ? 0
                        : group_rows_add(&counts->rows, opening->env, &opening->events, place, counts->groups,
                                         counts->n_groups - 1);
}

/*
 * Returns an error that may pass, or 0 if there is none. With such an error the group is left closed and tried again as
 * a whole, so that its events stay together. EBUSY does not count: another profiler may hold a counter for long, and
 * the rest of the group is counted without it.
 */
static int passing_error(const struct partition *partition, uint64_t events)
{
    EVENTS_FOREACH (event, events)
        if (partition->errors[event] != -EBUSY && reason_span(partition->errors[event]) != REASON_LASTS)
            return partition->errors[event];
    return 0;
}

static int opening_open_events(struct opening *opening, const struct place *place, uint64_t events)
{
    const struct config_group *group = opening->events.group;
    struct group_target target = opening_target(opening, place);
    _cleanup_(partition_done) struct partition partition = {0};

    if (!events)
        return 0;
    int r = partition_open(opening->env->sys, opening->events.attrs, events, group->strict, &target, &partition);
    if (r < 0)
        return r;
    int passing = passing_error(&partition, events);
    for (size_t i = 0; i < partition.n_groups && r == 0 && !passing; i++)
        r = opening_add_group(opening, place, &partition.groups[i]);
    EVENTS_FOREACH (event, events) {
        int error = passing ? passing : partition.errors[event];
        if (error < 0 && r == 0)
            r = opening_add_refused(opening, place, event, error, group->strict ? &partition : NULL);
    }
    return r;
}

static int opening_reopen_group(struct opening *opening, const struct place *place, struct open_group *group)
{
    struct group_target target = opening_target(opening, place);
    struct attr attrs[GROUP_MEMBERS_MAX];
    int r = 0;

    if (group->events & ~opening->events.mask)
        return 0;
    place_events_attrs(&opening->events, group->events, attrs);
    int error = open_group_reopen(group, opening->env->sys, attrs, &target);
    opening->counts->awaits_cpu |= error == -ENODEV;
    if (error == 0 || error == -ENODEV)
        return 0;
    EVENTS_FOREACH (event, group->events)
        if (r == 0)
            r = opening_add_refused(opening, place, event, error, NULL);
    return r;
}

/* Opens the groups again that were open at this place before. */
static int opening_reopen_closed(struct opening *opening, const struct place *place)
{
    struct group_counts *counts = opening->counts;
    int r = 0;

    for (size_t i = 0; i < counts->n_groups && r == 0; i++)
        if (counts->groups[i].cpu == place->target.cpu && !counts->groups[i].group)
            r = opening_reopen_group(opening, place, &counts->groups[i]);
    return r;
}

/* Returns whether nothing of the group is left to try. A strict group is either open as a whole or closed. */
static bool is_complete(const struct config_group *group, uint64_t events)
{
    uint64_t all = group->n_events < 64 ? event_bit(group->n_events) - 1 : UINT64_MAX;

    return events == all || (group->strict && events);
}

/*
 * Closes the groups that are dead at the place, opens closed ones again, and opens the events that have no group yet.
 */
static int opening_resume_at(struct opening *opening, const struct place *place)
{
    const struct config_group *group = opening->events.group;
    struct group_counts *counts = opening->counts;
    uint64_t counted = 0, open = 0; /* events that have a group at this place, and events whose group is open */

    for (size_t i = 0; i < counts->n_groups; i++) {
        struct open_group *opened = &counts->groups[i];
        if (opened->cpu != place->target.cpu)
            continue;
        if (opened->activity == GROUP_STALE || place->offline ||
            cpuset_has(opening->env->went_offline, (unsigned)opened->cpu))
            open_group_leave(opened, opening->env->sys, place->offline);
        counted |= opened->events;
        open |= opened->group ? opened->events : 0;
    }
    if (is_complete(group, open))
        return 0;
    unavailable_forget(&counts->unavailable, ~open, place->target.cpu);
    if (place->offline)
        return 0;
    int r = place_events_find(&opening->events, opening->env, place, &counts->unavailable);
    if (r == 0)
        r = opening_reopen_closed(opening, place);
    if (r < 0 || is_complete(group, counted))
        return r;
    if (group->strict && opening->events.refused)
        return opening_leave_out_strict(opening, place);
    return opening_open_events(opening, place, opening->events.mask & ~counted);
}

static int show_unavailable(struct group_counts *counts, const struct collector_env *env, const struct place *place)
{
    struct row_target where = {.group = counts->name, .cgroup = place->cgroup, .names = place->names};
    int r = 0;

    unavailable_sweep(&counts->unavailable, env->snapshot);
    if (counts->bare)
        return 0;
    for (size_t i = 0; i < counts->unavailable.n && r == 0; i++) {
        struct unavailable_event *event = &counts->unavailable.items[i];
        /* An event that is unavailable only on some CPUs of a kind is shown by the row that sums these CPUs. */
        bool counted = group_rows_have(&counts->rows, event->event, event->cpu, event->pmu);
        r = unavailable_show(event, env, &where, !counted);
    }
    return r;
}

/*
 * Closes the groups at places that are `offline` or in env->went_offline, and opens groups that are closed or stale
 * at the other places. Totals continue. Events that could not be opened before are tried once more, as a further perf
 * group. `group` has the same signature as the group that was opened. Returns -ENOMEM on failure.
 */
static int group_counts_resume(struct group_counts *counts, const struct collector_env *env,
                               const struct config_group *group, const struct places *target)
{
    struct opening opening = {.counts = counts, .env = env, .events = {.group = group}};
    int r = 0;

    counts->awaits_cpu = false;
    for (size_t i = 0; i < target->n && r == 0; i++)
        r = opening_resume_at(&opening, &target->items[i]);
    group_rows_settle(&counts->rows, counts->groups);
    return r < 0 ? r : show_unavailable(counts, env, &target->items[0]);
}

/*
 * Opens `group` at the places of a target. Events that cannot be opened are no error. Fails only with -ENOMEM. *ret is
 * NULL if no event belongs to these places.
 */
static int group_counts_open(const struct collector_env *env, const struct config_group *group,
                             const struct places *target, struct group_counts **ret)
{
    bool nothing = target->n == 1 && target->items[0].offline;
    struct group_counts *counts = nothing ? NULL : group_counts_new(env, group, target);
    int r = counts ? group_counts_resume(counts, env, group, target) : nothing ? 0 : -ENOMEM;

    if (counts && (r < 0 || (counts->n_groups == 0 && counts->unavailable.n == 0)))
        counts = group_counts_free(counts, env->snapshot);
    if (r == 0)
        *ret = counts;
    return r;
}

/* Returns whether the counts are of this group on this target, so that a reload keeps them. */
static bool group_counts_match(const struct group_counts *counts, const struct config_group *group,
                               const struct places *target)
{
    if (!str_equal(counts->signature, group->signature) || counts->rows.summed != target->summed)
        return false;
    return target->one_target || (counts->n_groups > 0 && counts->groups[0].cpu == target->items[0].target.cpu &&
                                  str_equal(counts->pmu, place_pmu_name(&target->items[0])));
}

struct group_counts_view group_counts_view(const struct group_counts *counts)
{
    return (struct group_counts_view){counts->groups, counts->n_groups, &counts->unavailable};
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

/* Closes the groups on CPUs that are offline or in env->went_offline, for a caller that cannot resume yet. */
static void group_counts_leave(struct group_counts *counts, const struct collector_env *env)
{
    for (size_t i = 0; i < counts->n_groups; i++) {
        struct open_group *group = &counts->groups[i];
        bool offline = !cpuset_has(&env->machine->online, (unsigned)group->cpu);
        if (offline || cpuset_has(env->went_offline, (unsigned)group->cpu))
            open_group_leave(group, env->sys, offline);
    }
    group_rows_settle(&counts->rows, counts->groups);
}

/* --- reading --- */

/*
 * Reads each open group with one read(2), updates the rows, and adds their states to *ret; counts without rows are one
 * unavailable group. Returns how many groups could be read.
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

/* Disables or enables the open groups. Returns the first error of ioctl(2); all groups are tried. */
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
    if (counts->awaits_cpu)
        failures_note(failures, REASON_BRIEF);
    return unavailable_report(&counts->unavailable, env, counts->name, failures);
}

/* --- group set --- */

void group_set_done(struct group_set *collector, struct snapshot *snapshot)
{
    for (size_t i = 0; i < collector->n; i++)
        group_counts_free(collector->items[i], snapshot);
    free(collector->items);
    *collector = (struct group_set){0};
}

static struct places target_at(const struct places *places, size_t i)
{
    return places->one_target ? *places : (struct places){.items = places->items + i, .n = 1};
}

/*
 * Removes and returns the counts of this group on this target. Counts are ordered by target, so the next one usually
 * matches.
 */
static struct group_counts *take_counts(struct group_set *collector, const struct config_group *group,
                                        const struct places *target)
{
    for (uint32_t k = 0; k < collector->n; k++) {
        uint32_t i = (collector->next + k) % collector->n;
        if (!collector->items[i] || !group_counts_match(collector->items[i], group, target))
            continue;
        collector->next = i + 1;
        return steal(collector->items[i]);
    }
    return NULL;
}

static int configure_counts(struct group_counts **counts, const struct collector_env *env,
                            const struct config_group *group, const struct places *target)
{
    return *counts ? group_counts_resume(*counts, env, group, target) : group_counts_open(env, group, target, counts);
}

int group_set_configure(struct group_set *collector, const struct collector_env *env,
                        const struct config_groups *groups, const struct places *places)
{
    size_t n = groups->n * (places->one_target ? 1 : places->n);
    struct group_counts **items = calloc(n + 1, sizeof(items[0]));
    struct places target;
    uint32_t n_counts = 0;
    int r = 0;

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        target = target_at(places, i / groups->n);
        items[i] = take_counts(collector, &groups->items[i % groups->n], &target);
    }
    /* Counts that do not continue are closed first, to free their descriptors and counters for the new ones. */
    group_set_done(collector, env->snapshot);
    for (size_t i = 0; i < n; i++) {
        struct group_counts *counts = steal(items[i]);
        target = target_at(places, i / groups->n);
        if (r == 0)
            r = configure_counts(&counts, env, &groups->items[i % groups->n], &target);
        if (counts)
            items[n_counts++] = counts;
    }
    *collector = (struct group_set){.items = items, .n = n_counts};
    return r;
}

size_t group_set_read(struct group_set *collector, struct sys *sys, struct collected *ret)
{
    size_t readable = 0;

    for (size_t i = 0; i < collector->n; i++)
        readable += group_counts_read(collector->items[i], sys, ret);
    return readable;
}

void group_set_leave(struct group_set *collector, const struct collector_env *env)
{
    for (size_t i = 0; i < collector->n; i++)
        group_counts_leave(collector->items[i], env);
}

size_t group_set_descriptors(const struct group_set *collector)
{
    size_t n = 0;

    for (size_t i = 0; i < collector->n; i++) {
        const struct group_counts *counts = collector->items[i];
        for (size_t k = 0; k < counts->n_groups; k++)
            n += counts->groups[k].group ? group_descriptors(counts->groups[k].group) : 0;
    }
    return n;
}

int group_set_open(const struct collector_env *env, const struct config_groups *groups, const struct places *places,
                   void *previous, struct opened *ret, struct error *error)
{
    struct group_set *collector = previous ? previous : calloc(1, sizeof(*collector));

    if (!collector)
        return error_oom(error);
    ret->state = collector;
    return group_set_configure(collector, env, groups, places) < 0 ? error_oom(error) : 0;
}

int group_set_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error)
{
    struct group_set *collector = state;

    if (group_set_read(collector, env->sys, ret) == 0 && collector->n > 0)
        return error_set(error, -ENODATA, "no group of the collector %s could be read",
                         env->snapshot->collector_names[env->collector]);
    return 0;
}

int group_set_pause(const struct collector_env *env, void *state)
{
    struct group_set *collector = state;
    int r = 0;

    for (size_t i = 0; i < collector->n; i++) {
        int error = group_counts_pause(collector->items[i], env->paused);
        r = r < 0 ? r : error;
    }
    return r;
}

int group_set_report(const struct collector_env *env, const void *state, struct failures *failures)
{
    const struct group_set *collector = state;
    int r = 0;

    for (size_t i = 0; i < collector->n && r == 0; i++)
        r = group_counts_report(collector->items[i], env, failures);
    return r;
}

void group_set_close(const struct collector_env *env, void *state)
{
    struct group_set *collector = state;

    if (collector)
        group_set_done(collector, env->snapshot);
    free(collector);
}
