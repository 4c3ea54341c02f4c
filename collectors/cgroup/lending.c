/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the collector cpu that others count with: see lending.h. */
#include "collectors/cgroup/lending.h"

#include "base/cleanup.h"
#include "perf/generic-events.h"

bool lending_is_clock(const struct event *event)
{
    return event->generic && event->generic->clock;
}

/* Finds the attrs that the events of a configured group have on the CPU; there are reasons elsewhere for the others. */
static int find_attrs(struct place_events *events, const struct collector_context *context, int cpu)
{
    struct unavailable_events ignored = {0};
    int r = place_events_find(events, context, &(struct place){.kind = PLACE_CPU, .target = {.pid = -1, .cpu = cpu}},
                              &ignored);

    unavailable_done(&ignored, context->snapshot);
    return r;
}

/* Whether two attrs count the same. `pinned` and `exclusive` are of the leaders. */
static bool count_same(const struct attr *a, const struct attr *b)
{
    struct perf_event_attr first = a->kernel, second = b->kernel;

    first.pinned = second.pinned = 0;
    first.exclusive = second.exclusive = 0;
    first.precise_ip = second.precise_ip = 0;
    return a->pmu == b->pmu && str_equal(a->text ? a->text : "", b->text ? b->text : "") &&
           memcmp(&first, &second, sizeof(first)) == 0;
}

static const struct perf_event_attr *leader_of(const struct place_events *events, uint64_t members)
{
    return &events->attrs[__builtin_ctzll(members)].kernel;
}

/* The number of the member, -1 where there is none. */
static int find_member(const struct attr *attr, const struct place_events *lent, uint64_t members)
{
    int n = 0;

    EVENTS_FOREACH (event, members) {
        if (count_same(attr, &lent->attrs[event]))
            return n;
        n++;
    }
    return -1;
}

/* Finds the members of the group that is lent which count the events of `own`; false where it does not count all. */
static bool find_members(const struct place_events *own, uint64_t events, const struct place_events *lent,
                         uint64_t members, int *ret)
{
    const struct perf_event_attr *leader = leader_of(own, events), *other = leader_of(lent, members);
    bool clocks_only = true;

    if (leader->pinned != other->pinned || leader->exclusive != other->exclusive)
        return false;
    EVENTS_FOREACH (event, events) {
        bool is_clock = lending_is_clock(&own->group->events[event].event);
        *ret = is_clock ? GROUP_CLOCK : find_member(&own->attrs[event], lent, members);
        if (!is_clock && *ret < 0)
            return false;
        clocks_only &= is_clock;
        ret++;
    }
    return !clocks_only;
}

/* Replaces the group by a part of one of the lender's, if that has one for it. *ret_found: it is done. */
static int borrow_from(const struct collector_context *context, const struct place_events *own,
                       struct opened_group *group, const struct group_counts *lender, bool *ret_found)
{
    struct place_events events = {.group = group_counts_find_config(lender, &context->config->cpu.groups)};
    struct group_counts_view lent = group_counts_view(lender);
    int members[GROUP_MEMBERS_MAX];
    int r = -ENOENT;

    for (size_t i = 0; i < lent.n_groups; i++) {
        const struct opened_group *other = &lent.groups[i];
        if (other->cpu != group->cpu || !other->group || other->activity == GROUP_STALE || !events.group)
            continue;
        if (r == -ENOENT)
            r = find_attrs(&events, context, group->cpu);
        if (r < 0)
            return r;
        if ((other->events & ~events.mask) || !find_members(own, group->events, &events, other->events, members))
            continue;
        struct group *part = group_part(other->group, members, event_count(group->events));
        if (!part)
            return -ENOMEM;
        opened_group_replace(group, part);
        *ret_found = true;
        return 0;
    }
    return 0;
}

int lending_borrow(const struct collector_context *context, const struct config_group *config,
                   struct opened_group *group)
{
    struct place_events own = {.group = config};
    bool found = false;
    int r = 0;

    if (!context->cpu || !group->group)
        return 0;
    r = find_attrs(&own, context, group->cpu);
    if (r < 0 || (group->events & ~own.mask))
        return r;
    for (size_t i = 0; i < context->cpu->n && r == 0 && !found; i++)
        r = borrow_from(context, &own, group, context->cpu->items[i], &found);
    return r;
}
