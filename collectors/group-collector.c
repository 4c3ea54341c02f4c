/* SPDX-License-Identifier: Apache-2.0 */
/* Configured groups counted at places: see group-collector.h. */
#include "collectors/group-collector.h"

#include "base/cleanup.h"

struct counted {
    struct tally **tallies; /* by place, then in the order of the configuration */
    size_t n;
    size_t next; /* behind the one that was taken over last */
    struct series *groups[N_ROW_STATES];
};

void counted_close(const struct collector_context *context, void *state)
{
    struct counted *counted = state;

    if (!counted)
        return;
    for (size_t i = 0; i < counted->n; i++)
        tally_free(counted->tallies[i], context->snapshot);
    for (size_t i = 0; i < N_ROW_STATES; i++)
        metrics_remove(&context->snapshot->metrics, counted->groups[i]);
    free(counted->tallies);
    free(counted);
}

/*
 * Takes a tally that counts the same at the same place out of the previous state. Both are in the order of places, so
 * it is mostly the next one.
 */
static struct tally *take_over(struct counted *previous, const struct config_group *group, const struct place *place)
{
    for (size_t k = 0; previous && k < previous->n; k++) {
        size_t i = (previous->next + k) % previous->n;
        if (!previous->tallies[i] || !tally_goes_on(previous->tallies[i], group->signature, place))
            continue;
        previous->next = i + 1;
        return steal(previous->tallies[i]);
    }
    return NULL;
}

static int add_tally(struct counted *counted, struct tally *tally)
{
    int r = array_grow(&counted->tallies, counted->n);

    if (r == 0)
        counted->tallies[counted->n++] = tally;
    return r;
}

/* What goes on, by place and then by group; NULL where nothing does. What does not is closed: others need the room. */
static struct tally **keep(const struct collector_context *context, struct counted *previous,
                           const struct config_groups *groups, const struct places *places)
{
    struct tally **kept = calloc(places->n * groups->n + 1, sizeof(*kept));

    for (size_t i = 0; kept && i < places->n; i++)
        for (size_t k = 0; k < groups->n; k++)
            kept[i * groups->n + k] = take_over(previous, &groups->items[k], &places->items[i]);
    counted_close(context, previous);
    return kept;
}

static int open_at(const struct collector_context *context, struct counted *counted, struct tally **kept,
                   const struct config_groups *groups, const struct place *place)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        struct tally *tally = steal(kept[i]);
        int r = 0;
        if (tally)
            r = tally_resume(tally, context, group, place, 1);
        else if (!place->away)
            r = tally_open(context, group, place, 1, false, &tally);
        if (r == 0 && tally)
            r = add_tally(counted, tally);
        if (r < 0) {
            tally_free(tally, context->snapshot);
            return r;
        }
    }
    return 0;
}

int counted_add_states(const struct collector_context *context, struct series *states[N_ROW_STATES])
{
    static const struct metric metric = {
        .name = "perfcountd_groups",
        .help = "Number of groups in each state; a group is counted once for each target.",
        .unit = "",
        .type = METRIC_GAUGE,
    };
    const char *collector = context->snapshot->collector_names[context->collector];

    for (size_t i = 0; i < N_ROW_STATES; i++) {
        struct label labels[] = {{"collector", collector}, {"state", row_state_name((enum row_state)i)}};
        states[i] =
            metrics_add(&context->snapshot->metrics, &metric, context->collector, 0, labels, ARRAY_SIZE(labels));
        if (!states[i])
            return -ENOMEM;
    }
    return 0;
}

int counted_open(const struct collector_context *context, const struct config_groups *groups,
                 const struct places *places, struct counted *previous, struct counted **ret, struct error *error)
{
    _cleanup_(freep) struct tally **kept = keep(context, previous, groups, places);
    struct counted *counted = calloc(1, sizeof(*counted));
    int r = counted && kept ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < places->n; i++)
        r = open_at(context, counted, &kept[i * groups->n], groups, &places->items[i]);
    for (size_t i = 0; kept && i < places->n * groups->n; i++)
        tally_free(kept[i], context->snapshot);
    if (r == 0)
        r = counted_add_states(context, counted->groups);
    if (r < 0) {
        counted_close(context, counted);
        return error_oom(error);
    }
    *ret = counted;
    return 0;
}

int counted_collect(const struct collector_context *context, void *state, struct error *error)
{
    size_t counts[N_ROW_STATES] = {0}, readable = 0;
    struct counted *counted = state;

    for (size_t i = 0; i < counted->n; i++) {
        readable += tally_collect(counted->tallies[i], context->sys);
        if (tally_is_stale(counted->tallies[i]))
            *context->stale = true;
        tally_count(counted->tallies[i], counts);
    }
    for (size_t i = 0; i < N_ROW_STATES; i++)
        series_set(counted->groups[i], counts[i]);
    if (counted->n > 0 && readable == 0)
        return error_set(error, -ENODATA, "no group of the collector %s could be read",
                         context->snapshot->collector_names[context->collector]);
    return 0;
}

int counted_pause(const struct collector_context *context, void *state)
{
    struct counted *counted = state;
    int r = 0;

    for (size_t i = 0; i < counted->n; i++) {
        int error = tally_pause(counted->tallies[i], context->paused);
        r = r < 0 ? r : error;
    }
    return r;
}

int counted_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct counted *counted = state;
    int r = 0;

    for (size_t i = 0; i < counted->n && r == 0; i++)
        r = tally_report(counted->tallies[i], context, failures);
    return r;
}
