/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of configured groups on targets: see group-collector.h. */
#include "collectors/group-collector.h"

#include "base/cleanup.h"

void group_collector_done(struct group_collector *collector, struct snapshot *snapshot)
{
    for (size_t i = 0; i < collector->n; i++)
        group_counts_free(collector->items[i], snapshot);
    free(collector->items);
    *collector = (struct group_collector){0};
}

/* The i-th target. */
static struct places target_at(const struct places *places, size_t i)
{
    return places->one_target ? *places : (struct places){.items = places->items + i, .n = 1};
}

/* Takes the counts of this group on this target out. Counts are in the order of targets, so it is mostly the next. */
static struct group_counts *take_counts(struct group_collector *collector, const struct config_group *group,
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

static int configure_counts(struct group_counts **counts, const struct collector_context *context,
                            const struct config_group *group, const struct places *target)
{
    return *counts ? group_counts_resume(*counts, context, group, target)
                   : group_counts_open(context, group, target, counts);
}

int group_collector_configure(struct group_collector *collector, const struct collector_context *context,
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
    /* Counts that do not go on are closed first: those that are opened need the room. */
    group_collector_done(collector, context->snapshot);
    for (size_t i = 0; i < n; i++) {
        struct group_counts *counts = steal(items[i]);
        target = target_at(places, i / groups->n);
        if (r == 0)
            r = configure_counts(&counts, context, &groups->items[i % groups->n], &target);
        if (counts)
            items[n_counts++] = counts;
    }
    *collector = (struct group_collector){.items = items, .n = n_counts};
    return r;
}

size_t group_collector_read(struct group_collector *collector, struct sys *sys)
{
    size_t readable = 0;

    for (size_t i = 0; i < collector->n; i++)
        readable += group_counts_read(collector->items[i], sys);
    return readable;
}

bool group_collector_is_stale(const struct group_collector *collector)
{
    for (size_t i = 0; i < collector->n; i++)
        if (group_counts_are_stale(collector->items[i]))
            return true;
    return false;
}

void group_collector_add_states(const struct group_collector *collector, size_t states[N_ROW_STATES])
{
    for (size_t i = 0; i < collector->n; i++)
        group_counts_add_states(collector->items[i], states);
}

void group_collector_leave(struct group_collector *collector, const struct collector_context *context)
{
    for (size_t i = 0; i < collector->n; i++)
        group_counts_leave(collector->items[i], context);
}

size_t group_collector_descriptors(const struct group_collector *collector)
{
    size_t n = 0;

    for (size_t i = 0; i < collector->n; i++)
        n += group_counts_descriptors(collector->items[i]);
    return n;
}

int group_collector_open(const struct collector_context *context, const struct config_groups *groups,
                         const struct places *places, void *previous, void **ret, struct error *error)
{
    struct group_collector *collector = previous ? previous : calloc(1, sizeof(*collector));

    if (!collector)
        return error_oom(error);
    *ret = collector;
    return group_collector_configure(collector, context, groups, places) < 0 ? error_oom(error) : 0;
}

int group_collector_collect(const struct collector_context *context, void *state, struct error *error)
{
    struct group_collector *collector = state;
    size_t readable = 0;

    for (size_t i = 0; i < collector->n; i++) {
        struct group_counts *counts = collector->items[i];
        readable += group_counts_read(counts, context->sys);
        if (group_counts_are_stale(counts))
            *context->stale = true;
        group_counts_add_states(counts, context->groups);
    }
    if (collector->n > 0 && readable == 0)
        return error_set(error, -ENODATA, "no group of the collector %s could be read",
                         context->snapshot->collector_names[context->collector]);
    return 0;
}

int group_collector_pause(const struct collector_context *context, void *state)
{
    struct group_collector *collector = state;
    int r = 0;

    for (size_t i = 0; i < collector->n; i++) {
        int error = group_counts_pause(collector->items[i], context->paused);
        r = r < 0 ? r : error;
    }
    return r;
}

int group_collector_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct group_collector *collector = state;
    int r = 0;

    for (size_t i = 0; i < collector->n && r == 0; i++)
        r = group_counts_report(collector->items[i], context, failures);
    return r;
}

void group_collector_close(const struct collector_context *context, void *state)
{
    struct group_collector *collector = state;

    if (collector)
        group_collector_done(collector, context->snapshot);
    free(collector);
}
