/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a cgroup that is counted by a tally: see tallied.h. */
#include "collectors/cgroup/bpf-counts.h"

#include "base/cleanup.h"
#include "collectors/cgroup/tallied-row.h"
#include "collectors/cgroup/tally-waits.h"

struct tallied_counts {
    const struct tally_rows *plan; /* NULL: it has ended */
    struct tallied_row *rows;      /* as plan->rows */
    struct row **unavailable;
    uint32_t n_rows, n_unavailable;
    struct tally_waits waits;
    bool changed;              /* since the update before */
    uint64_t edition, changes; /* those of the plan that the rows are of, and that they show */
};

static bool is_current(const struct tallied_counts *counts)
{
    return counts->plan && counts->edition == counts->plan->edition;
}

/* --- crediting --- */

/* The first of the chain has it itself; those above because it is inside. */
static void counts_credit(struct tallied_counts *counts, const struct tallied_increment *increment, bool itself)
{
    const struct tally_part *part = increment->part;

    if (!is_current(counts))
        return;
    tallied_row_credit(&counts->rows[part->row], increment);
    if (!increment->ran)
        tally_waits_add(&counts->waits, part->cpu, part->row, itself ? increment->times.enabled : 0, true);
    else if (counts->waits.n > 0)
        tally_waits_run(&counts->waits, part->cpu, part->row, itself && increment->times.running > 0);
    counts->changed = true;
}

static void credit_part(struct tallied_counts *const *chain, size_t n, const struct tally_part *part,
                        const uint64_t *delta)
{
    struct tallied_increment increment;

    tallied_increment_init(&increment, part, delta);
    if (!increment.ran && increment.times.enabled == 0)
        return;
    const struct tally_wait *wait = tally_waits_find(&chain[0]->waits, part->cpu, part->row);
    tallied_increment_scale(&increment, wait ? wait->pending_ns : 0);
    for (size_t i = 0; i < n; i++)
        counts_credit(chain[i], &increment, i == 0);
}

void tallied_counts_credit(struct tallied_counts *const *chain, size_t n, unsigned cpu, const uint64_t *delta)
{
    /* One whose rows could not be made leaves it to those above. */
    for (; n > 0 && !is_current(chain[0]); n--)
        chain++;
    if (n == 0)
        return;
    const struct tally_rows *plan = chain[0]->plan;
    for (uint32_t i = tally_rows_on_cpu(plan, cpu); i != TALLY_PART_NONE; i = plan->parts[i].next_on_cpu)
        credit_part(chain, n, &plan->parts[i], delta);
}

/* --- showing --- */

/* Gives the events of the row that are known, and adds what happened on the CPUs where nothing ran. */
static uint64_t note_parts(const struct tallied_counts *counts, uint32_t row, struct row_sum *sum)
{
    const struct tally_rows *plan = counts->plan;
    uint64_t known = 0;

    for (uint32_t i = plan->rows[row].first_part; i != TALLY_PART_NONE; i = plan->parts[i].next_in_row) {
        const struct tally_part *part = &plan->parts[i];
        const struct tally_wait *wait = tally_waits_find(&counts->waits, part->cpu, row);
        bool starved = part->activity == GROUP_IDLE && wait && wait->starved;
        row_sum_note(sum, starved ? GROUP_STARVED : part->activity, part->error);
        if (!starved && !part->error)
            known |= part->events;
    }
    return known;
}

static void row_update(struct tallied_counts *counts, uint32_t i)
{
    struct tallied_row *row = &counts->rows[i];
    const struct tally_row *planned = &counts->plan->rows[i];
    uint64_t known = row->ran;
    struct row_sum sum;

    row_set_absent(row->own.row, planned->absent);
    if (planned->absent)
        return;
    row_sum_init(&sum, row->own.row->n_counters);
    /* Mostly all events have run, and there is nothing else to say. */
    if (known != row->own.events || counts->waits.n > 0 || planned->is_unreadable || row->own.row->state == ROW_STARVED)
        known = note_parts(counts, i, &sum);
    tallied_row_show(row, known, &sum);
}

void tallied_counts_update(struct tallied_counts *counts)
{
    if (!is_current(counts) || (!counts->changed && counts->changes == counts->plan->changes))
        return;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        row_update(counts, i);
    counts->changed = false;
    counts->changes = counts->plan->changes;
}

void tallied_counts_add_states(const struct tallied_counts *counts, size_t states[N_ROW_STATES])
{
    if (!is_current(counts))
        return;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        states[counts->rows[i].own.row->state] += !counts->rows[i].own.row->absent;
    states[ROW_UNAVAILABLE] += counts->plan->n_without_rows;
}

/* --- making the rows --- */

/* Whose rows are made. */
struct making {
    const struct tally_rows *plan;
    const struct collector_context *context;
    struct row_target whose;
};

/* The number of the row that was there before; n_rows where there is none. Mostly the plan is what it was. */
static uint32_t find_row(const struct tallied_counts *counts, uint32_t hint, const struct tally_row *wanted)
{
    for (uint32_t k = 0; k < counts->n_rows; k++) {
        uint32_t i = (hint + k) % counts->n_rows;
        if (tallied_row_matches(&counts->rows[i], wanted))
            return i;
    }
    return counts->n_rows;
}

/* Makes a row, or goes on with the one that was there. */
static int make_row(const struct making *making, const struct tally_row *wanted, struct tallied_row *before,
                    struct tallied_row *ret)
{
    struct row_target whose = making->whose;

    if (before && before->own.events == wanted->planned->events) {
        *ret = *before;
        *before = (struct tallied_row){0};
    } else {
        whose.created_ns = before ? before->own.created_ns : whose.created_ns;
        int r = tallied_row_init(ret, making->context, wanted, &whose);
        if (r < 0)
            return r;
        if (before)
            tallied_row_take(ret, before);
    }
    ret->own.row->uneven = wanted->planned->uneven;
    return 0;
}

/* On failure the rows that could not be made are missing, and nothing waits. */
static int make_rows(struct tallied_counts *counts, const struct making *making)
{
    uint32_t n = making->plan->n_rows;
    struct tallied_row *rows = calloc(n + 1, sizeof(rows[0]));
    _cleanup_(freep) uint32_t *moved = malloc((counts->n_rows + 1) * sizeof(moved[0]));
    int r = rows && moved ? 0 : -ENOMEM;

    if (r < 0) {
        free(rows);
        return r;
    }
    memset(moved, 0xff, (counts->n_rows + 1) * sizeof(moved[0])); /* TALLY_WAITS_GONE */
    for (uint32_t i = 0; i < n && r == 0; i++) {
        uint32_t before = find_row(counts, i, &making->plan->rows[i]);
        moved[before] = i;
        r = make_row(making, &making->plan->rows[i], before < counts->n_rows ? &counts->rows[before] : NULL, &rows[i]);
    }
    tally_waits_move(&counts->waits, moved);
    for (uint32_t i = 0; i < counts->n_rows; i++)
        tallied_row_done(&counts->rows[i], making->context->snapshot);
    free(counts->rows);
    counts->rows = rows;
    counts->n_rows = n;
    return r;
}

/* --- events that are not counted --- */

static bool shows_event(const struct row *row, const struct tally_unavailable *wanted)
{
    return row->cpu == wanted->event->cpu && str_equal(row->group, wanted->group) &&
           str_equal(row->pmu, wanted->event->pmu) && str_equal(row->counters[0].event, wanted->event->metric) &&
           str_equal(row->error, wanted->event->message);
}

static struct row *take_unavailable(struct tallied_counts *counts, const struct tally_unavailable *wanted)
{
    for (uint32_t i = 0; i < counts->n_unavailable; i++)
        if (counts->unavailable[i] && shows_event(counts->unavailable[i], wanted))
            return steal(counts->unavailable[i]);
    return NULL;
}

static struct row *make_unavailable(const struct making *making, const struct tally_unavailable *wanted)
{
    struct unavailable_event event = *wanted->event;
    struct row_target where = making->whose;

    event.row = NULL;
    where.group = wanted->group;
    return unavailable_show(&event, making->context, &where, true) == 0 ? event.row : NULL;
}

static void remove_unavailable(struct tallied_counts *counts, struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < counts->n_unavailable; i++)
        if (counts->unavailable[i])
            snapshot_remove_row(snapshot, counts->unavailable[i]);
    free(counts->unavailable);
    counts->unavailable = NULL;
    counts->n_unavailable = 0;
}

static int show_unavailable(struct tallied_counts *counts, const struct making *making)
{
    uint32_t n = making->plan->n_unavailable;
    struct row **rows = calloc(n + 1, sizeof(rows[0]));
    int r = rows ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < n && r == 0; i++) {
        rows[i] = take_unavailable(counts, &making->plan->unavailable[i]);
        rows[i] = rows[i] ? rows[i] : make_unavailable(making, &making->plan->unavailable[i]);
        r = rows[i] ? 0 : -ENOMEM;
    }
    if (!rows)
        return r;
    remove_unavailable(counts, making->context->snapshot);
    counts->unavailable = rows;
    counts->n_unavailable = n;
    return r;
}

/* --- the counts as a whole --- */

struct tallied_counts *tallied_counts_free(struct tallied_counts *counts, struct snapshot *snapshot)
{
    if (!counts)
        return NULL;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        tallied_row_done(&counts->rows[i], snapshot);
    remove_unavailable(counts, snapshot);
    free(counts->rows);
    tally_waits_done(&counts->waits);
    free(counts);
    return NULL;
}

int tallied_counts_resume(struct tallied_counts *counts, const struct tally_rows *rows,
                          const struct collector_context *context, const char *label, const struct names *names)
{
    /* Cgroups come and go, and Prometheus cannot see that a series began at 0. */
    struct making making = {
        .plan = rows,
        .context = context,
        .whose = {.cgroup = label, .names = names, .created_ns = context->sys->now(context->sys, CLOCK_REALTIME)}};
    int r = make_rows(counts, &making);

    counts->plan = rows;
    counts->edition = 0;
    if (r == 0)
        r = show_unavailable(counts, &making);
    if (r < 0)
        return r;
    counts->edition = rows->edition;
    counts->changed = true;
    return 0;
}

int tallied_counts_new(const struct tally_rows *rows, const struct collector_context *context, const char *label,
                       const struct names *names, struct tallied_counts **ret)
{
    struct tallied_counts *counts = calloc(1, sizeof(*counts));
    int r = counts ? tallied_counts_resume(counts, rows, context, label, names) : -ENOMEM;

    if (r < 0)
        tallied_counts_free(counts, context->snapshot);
    else
        *ret = counts;
    return r;
}

void tallied_counts_end(struct tallied_counts *counts, struct tallied_counts *heir)
{
    tallied_counts_update(counts);
    for (uint32_t i = 0; i < counts->waits.n && heir && is_current(counts) && is_current(heir); i++) {
        const struct tally_wait *left = &counts->waits.items[i];
        if (left->pending_ns > 0)
            tally_waits_add(&heir->waits, left->cpu, left->row, left->pending_ns, false);
    }
    tally_waits_done(&counts->waits);
    counts->plan = NULL;
}
