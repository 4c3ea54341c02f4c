/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a configured group that a tally counts: see tally-plan.h. */
#include "collectors/cgroup/tally-plan.h"

static void free_draft(struct row_draft *draft)
{
    struct row_counter *counters = draft->counters;

    row_draft_done(draft);
    free(counters);
}

void tally_plan_done(struct tally_plan *plan)
{
    for (size_t i = 0; i < plan->n_drafts; i++)
        free_draft(&plan->drafts[i]);
    free(plan->drafts);
    free(plan->placed);
    free(plan->rows.items);
    *plan = (struct tally_plan){0};
}

int tally_plan_init(struct tally_plan *plan, const struct collector_context *context, const struct config_group *group,
                    bool summed)
{
    struct intern *texts = &context->snapshot->texts;

    *plan =
        (struct tally_plan){.signature = intern_text(texts, group->signature), .name = intern_text(texts, group->name)};
    group_rows_init(&plan->rows, context->machine, group, summed);
    return plan->signature && plan->name ? 0 : -ENOMEM;
}

/* The state of finding the rows of one opened group after the other. */
struct placing {
    struct tally_plan *plan;
    const struct collector_context *context;
    struct place_events events; /* of `cpu` */
    int cpu;                    /* -1: of none yet */
};

static int placing_find_events(struct placing *placing, int cpu)
{
    const struct place place = {.kind = PLACE_CPU, .target = {.pid = -1, .cpu = cpu}};
    struct unavailable_events unavailable = {0};

    if (placing->cpu == cpu)
        return 0;
    int r = place_events_find(&placing->events, placing->context, &place, &unavailable);
    unavailable_done(&unavailable, placing->context->snapshot);
    placing->cpu = r < 0 ? -1 : cpu;
    return r;
}

static bool placing_knows(const struct placing *placing, uint64_t mask)
{
    EVENTS_FOREACH (event, mask)
        if (!placing->events.attrs[event].pmu)
            return false;
    return true;
}

/* The machine and the configuration may be others soon. -ENOMEM. */
static int keep_texts(struct row_draft *draft, struct group_row *row, struct intern *texts)
{
    const char *pmu = intern_text(texts, row->pmu);
    bool are_kept = pmu != NULL;

    for (size_t i = 0; i < draft->n; i++) {
        struct row_counter *counter = &draft->counters[i];
        counter->event = intern_text(texts, counter->event);
        counter->pmu = intern_text(texts, counter->pmu);
        counter->unit = counter->metric.unit = intern_text(texts, counter->unit);
        are_kept &= counter->event && counter->pmu && counter->unit;
    }
    row->pmu = pmu ? pmu : row->pmu;
    return are_kept ? 0 : -ENOMEM;
}

static int make_draft(struct placing *placing, struct group_row *row, uint64_t mask, struct row_draft *ret)
{
    const struct collector_context *context = placing->context;
    struct row_counter *counters = calloc(event_count(mask), sizeof(counters[0]));
    int r =
        counters ? row_draft_init(ret, counters, context, &placing->plan->rows, row, &placing->events, mask) : -ENOMEM;

    if (r < 0) {
        free(counters);
        return r;
    }
    r = keep_texts(ret, row, &context->snapshot->texts);
    if (r < 0)
        free_draft(ret);
    return r;
}

/* The row has counters of all events that some perf group has for it. */
static int placing_draft(struct placing *placing, struct group_row *row, uint64_t mask)
{
    struct tally_plan *plan = placing->plan;
    size_t i = (size_t)(row - plan->rows.items);
    struct row_draft draft;
    int r = i < plan->n_drafts ? 0 : array_grow(&plan->drafts, plan->n_drafts);

    if (!placing_knows(placing, mask))
        return -ENODATA;
    if (r == 0)
        r = make_draft(placing, row, mask, &draft);
    if (r < 0)
        return r;
    if (i < plan->n_drafts)
        free_draft(&plan->drafts[i]);
    else
        plan->n_drafts++;
    plan->drafts[i] = draft;
    row->events = mask;
    return 0;
}

/* The index of the row; -ENODATA where the machine does not know the events any more. */
static int placing_place(struct placing *placing, const struct row_part *part, uint32_t *ret)
{
    struct group_rows *rows = &placing->plan->rows;
    struct group_row *row;
    int r = placing_find_events(placing, part->cpu);

    if (r == 0 && (part->events & ~placing->events.mask))
        return -ENODATA;
    if (r == 0)
        r = group_rows_place(rows, placing->context, &placing->events, part, &row);
    if (r < 0)
        return r;
    row->uneven |= row->events && part->events != row->events;
    if (part->events & ~row->events)
        r = placing_draft(placing, row, row->events | part->events);
    if (r < 0) {
        rows->n -= !row->events; /* it is the last */
        return r;
    }
    *ret = (uint32_t)(row - rows->items);
    return 0;
}

static bool is_same_part(const struct row_part *a, const struct row_part *b)
{
    return a->cpu == b->cpu && a->ordinal == b->ordinal && a->events == b->events;
}

int tally_plan_place(struct tally_plan *plan, const struct collector_context *context, const struct tally_span *span,
                     const struct group_counts_view *view)
{
    struct placing placing = {.plan = plan, .context = context, .events = {.group = span->group}, .cpu = -1};

    for (size_t i = 0; i < view->n_groups; i++) {
        struct placed_part placed = {.part = {.cpu = view->groups[i].cpu,
                                              .ordinal = span->times[i] - span->first_times + 1U,
                                              .events = view->groups[i].events},
                                     .row = TALLY_ROW_NONE};
        if (i < plan->n_placed && is_same_part(&plan->placed[i].part, &placed.part) &&
            plan->placed[i].row != TALLY_ROW_NONE)
            continue;
        int r = placing_place(&placing, &placed.part, &placed.row);
        if (r == 0 || r == -ENODATA)
            r = i < plan->n_placed ? 0 : array_grow(&plan->placed, plan->n_placed);
        if (r < 0)
            return r;
        plan->n_placed = MAX(plan->n_placed, i + 1);
        plan->placed[i] = placed;
    }
    plan->n_placed = view->n_groups;
    return 0;
}

bool tally_plan_has(const struct tally_plan *plan, const struct unavailable_event *event)
{
    uint64_t bit = event_bit(event->event);

    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct group_row *row = &plan->rows.items[i];
        size_t at = event_count(row->events & (bit - 1));
        if ((row->events & bit) && row->cpu == event->cpu && str_equal(plan->drafts[i].counters[at].pmu, event->pmu))
            return true;
    }
    return false;
}
