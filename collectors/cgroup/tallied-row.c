/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a cgroup that is counted by a tally: see tallied-row.h. */
#include "collectors/cgroup/tallied-row.h"

bool tallied_row_matches(const struct tallied_row *row, const struct tally_row *wanted)
{
    const struct group_row *planned = wanted->planned;

    return row->own.row && row->own.ordinal == planned->ordinal && row->own.cpu == planned->cpu &&
           str_equal(row->own.pmu, planned->pmu) && str_equal(row->signature, wanted->signature);
}

int tallied_row_init(struct tallied_row *row, const struct collector_context *context, const struct tally_row *wanted,
                     const struct row_target *whose)
{
    *row = (struct tallied_row){.own = *wanted->planned, .signature = wanted->signature};
    row->own.created_ns = whose->created_ns;
    row->totals = calloc(wanted->draft->n, sizeof(row->totals[0]));
    row->own.row = row->totals ? row_draft_make(wanted->draft, context, wanted->planned, whose) : NULL;
    return row->own.row ? 0 : -ENOMEM;
}

void tallied_row_done(struct tallied_row *row, struct snapshot *snapshot)
{
    if (row->own.row)
        snapshot_remove_row(snapshot, row->own.row);
    free(row->totals);
    *row = (struct tallied_row){0};
}

static size_t counter_of(const struct tallied_row *row, size_t event)
{
    return event_count(row->own.events & (event_bit(event) - 1));
}

void tallied_row_take(struct tallied_row *row, const struct tallied_row *before)
{
    row->times = before->times;
    row->ran = before->ran;
    row->activities = before->activities;
    row->own.row->state = before->own.row->state;
    EVENTS_FOREACH (event, row->own.events & before->own.events)
        row->totals[counter_of(row, event)] = before->totals[counter_of(before, event)];
}

/* --- crediting --- */

void tallied_increment_init(struct tallied_increment *increment, const struct tally_part *part, const uint64_t *delta)
{
    increment->part = part;
    increment->times = (struct scale_times){delta[part->enabled], delta[part->enabled + 1]};
    increment->ran = increment->times.running > 0;
    for (uint32_t i = 0; i < part->n_fields; i++) {
        increment->values[i] = delta[part->fields[i].word];
        increment->ran |= increment->values[i] > 0;
    }
}

void tallied_increment_scale(struct tallied_increment *increment, uint64_t pending_ns)
{
    uint64_t enabled = increment->times.enabled + pending_ns, running = increment->times.running;
    bool is_scaled = running > 0 && running < enabled;

    increment->activity = !increment->ran ? GROUP_STARVED : running < enabled ? GROUP_MULTIPLEXED : GROUP_COUNTED;
    for (uint32_t i = 0; i < increment->part->n_fields; i++)
        increment->scaled[i] =
            is_scaled ? muldiv(increment->values[i], enabled, running) : (struct fixed){.whole = increment->values[i]};
}

void tallied_row_credit(struct tallied_row *row, const struct tallied_increment *increment)
{
    const struct tally_part *part = increment->part;

    row->times.enabled += increment->times.enabled;
    row->times.running += increment->times.running;
    row->activities |= 1U << increment->activity;
    if (!increment->ran)
        return;
    for (uint32_t i = 0; i < part->n_fields; i++) {
        struct tallied_total *total = &row->totals[part->fields[i].counter];
        total->scaled = fixed_add(total->scaled, increment->scaled[i]);
        total->raw += increment->values[i];
    }
    row->ran |= part->events;
}

/* --- showing --- */

void tallied_row_show(struct tallied_row *row, uint64_t known, struct row_sum *sum)
{
    size_t n = 0;

    sum->activities |= row->activities;
    sum->times = (struct scale_times){row->times.enabled, MIN(row->times.running, row->times.enabled)};
    EVENTS_FOREACH (event, row->own.events) {
        sum->counters[n] = (struct counter_sum){
            .total = row->totals[n].scaled, .raw = row->totals[n].raw, .known = (row->ran | known) & event_bit(event)};
        n++;
    }
    row_sum_show(sum, row->own.row);
    row->activities = 0;
}
