/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/bpf-counts.h"

#include "base/cleanup.h"

struct bpf_total {
    struct fixed scaled;
    uint64_t raw;
};

struct bpf_row {
    struct group_row own; /* own.row is NULL if no row could be allocated */
    const char *signature;
    struct bpf_total *totals; /* one total for each counter */
    struct scale_times times;
    uint64_t ran;        /* mask of the events that ran at least once, on any CPU */
    uint32_t activities; /* mask of enum group_activity: activities since the row was last updated */
};

/* The increment that a slot accrued from one perf group on one CPU. */
struct bpf_increment {
    const struct bpf_part *part;
    struct scale_times times;
    bool ran;                        /* the perf group was counting on its PMU */
    enum group_activity activity;    /* set by bpf_increment_scale() */
    uint64_t values[BPF_EVENTS_MAX]; /* one value for each field of the part */
    struct fixed scaled[BPF_EVENTS_MAX];
};

struct unrun_time {
    uint64_t unrun_ns;
    uint32_t row; /* index of the perf group's row; a row has at most one perf group on each CPU */
    uint16_t cpu;
    bool starved; /* the perf group was enabled, but has not run since */
};

/*
 * The enabled times that cannot be scaled until their perf groups run again. The list usually has only a few entries.
 * Must be zeroed before the first use.
 *
 * `unrun_ns` only includes the time of the cgroup's own slot. The time of tasks in an inner watched cgroup is kept in
 * the counts of that cgroup.
 */
struct unrun_times {
    struct unrun_time *items; /* sorted by CPU, then row */
    uint32_t n;
};

/* In a table that maps old row numbers to new ones, marks a row that no longer exists. */
#define ROW_GONE UINT32_MAX

/* --- rows --- */

/* Returns whether `wanted` describes `row`, apart from their events, which may differ. */
static bool bpf_row_matches(const struct bpf_row *row, const struct planned_row *wanted)
{
    const struct group_row *planned = wanted->planned;

    return row->own.row && row->own.ordinal == planned->ordinal && row->own.cpu == planned->cpu &&
           str_equal(row->own.pmu, planned->pmu) && str_equal(row->signature, wanted->signature);
}

/*
 * Creates the row that `wanted` describes. `whose` is passed to row_template_make(). Returns -ENOMEM on failure.
 * bpf_row_done() must be called in either case.
 */
static int bpf_row_init(struct bpf_row *row, const struct collector_env *env, const struct planned_row *wanted,
                        const struct row_target *whose)
{
    *row = (struct bpf_row){.own = *wanted->planned, .signature = wanted->signature};
    row->own.created_ns = whose->created_ns;
    row->totals = calloc(wanted->template->n, sizeof(row->totals[0]));
    row->own.row = row->totals ? row_template_make(wanted->template, env, wanted->planned, whose) : NULL;
    return row->own.row ? 0 : -ENOMEM;
}

/* Removes the row and zeroes the structure. */
static void bpf_row_done(struct bpf_row *row, struct snapshot *snapshot)
{
    if (row->own.row)
        snapshot_remove_row(snapshot, row->own.row);
    free(row->totals);
    *row = (struct bpf_row){0};
}

static size_t counter_of(const struct bpf_row *row, size_t event)
{
    return event_count(row->own.events & (event_bit(event) - 1));
}

/* Copies the totals of `before`, an earlier version of the same row with other events. */
static void bpf_row_take(struct bpf_row *row, const struct bpf_row *before)
{
    row->times = before->times;
    row->ran = before->ran;
    row->activities = before->activities;
    row->own.row->state = before->own.row->state;
    EVENTS_FOREACH (event, row->own.events & before->own.events)
        row->totals[counter_of(row, event)] = before->totals[counter_of(before, event)];
}

static void bpf_increment_init(struct bpf_increment *increment, const struct bpf_part *part, const uint64_t *delta)
{
    increment->part = part;
    increment->times = (struct scale_times){delta[part->enabled], delta[part->enabled + 1]};
    increment->ran = increment->times.running > 0;
    for (uint32_t i = 0; i < part->n_fields; i++) {
        increment->values[i] = delta[part->fields[i].word];
        increment->ran |= increment->values[i] > 0;
    }
}

/*
 * Scales the values by enabled / running time, after adding `unrun_ns` to the enabled time. Values of a perf group
 * without running time are not scaled.
 */
static void bpf_increment_scale(struct bpf_increment *increment, uint64_t unrun_ns)
{
    uint64_t enabled = increment->times.enabled + unrun_ns, running = increment->times.running;
    bool is_scaled = running > 0 && running < enabled;

    increment->activity = !increment->ran ? GROUP_STARVED : running < enabled ? GROUP_MULTIPLEXED : GROUP_COUNTED;
    for (uint32_t i = 0; i < increment->part->n_fields; i++)
        increment->scaled[i] =
            is_scaled ? muldiv(increment->values[i], enabled, running) : (struct fixed){.whole = increment->values[i]};
}

static void bpf_row_attribute(struct bpf_row *row, const struct bpf_increment *increment)
{
    const struct bpf_part *part = increment->part;

    row->times.enabled += increment->times.enabled;
    row->times.running += increment->times.running;
    row->activities |= 1U << increment->activity;
    if (!increment->ran)
        return;
    for (uint32_t i = 0; i < part->n_fields; i++) {
        struct bpf_total *total = &row->totals[part->fields[i].counter];
        total->scaled = fixed_add(total->scaled, increment->scaled[i]);
        total->raw += increment->values[i];
    }
    row->ran |= part->events;
}

/*
 * Updates the row and its series. `known` is the mask of events whose totals are valid even if the events never ran.
 * `sum` already has the states that note_parts() found.
 */
static void bpf_row_show(struct bpf_row *row, uint64_t known, struct row_sum *sum)
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

/* --- pending time --- */

static void unrun_times_done(struct unrun_times *waits)
{
    free(waits->items);
    *waits = (struct unrun_times){0};
}

static bool is_before(const struct unrun_time *wait, unsigned cpu, uint32_t row)
{
    return wait->cpu != cpu ? wait->cpu < cpu : wait->row < row;
}

/* Returns the index of the entry, or the index at which a new entry must be inserted. */
static size_t search_wait(const struct unrun_times *waits, unsigned cpu, uint32_t row)
{
    return array_search(waits->n, i, is_before(&waits->items[i], cpu, row));
}

static struct unrun_time *unrun_times_find(const struct unrun_times *waits, unsigned cpu, uint32_t row)
{
    size_t at = search_wait(waits, cpu, row);

    if (at == waits->n || waits->items[at].cpu != cpu || waits->items[at].row != row)
        return NULL;
    return &waits->items[at];
}

/* On failure the pending time is lost, and totals become slightly too low. */
static void unrun_times_add(struct unrun_times *waits, unsigned cpu, uint32_t row, uint64_t unrun_ns, bool starved)
{
    struct unrun_time *wait = unrun_times_find(waits, cpu, row);

    if (!wait) {
        if (array_grow(&waits->items, waits->n) < 0)
            return;
        size_t at = search_wait(waits, cpu, row);
        wait = &waits->items[at];
        memmove(wait + 1, wait, (waits->n++ - at) * sizeof(*wait));
        *wait = (struct unrun_time){.row = row, .cpu = (uint16_t)cpu};
    }
    wait->unrun_ns += unrun_ns;
    wait->starved |= starved;
}

/*
 * Must be called when the perf group ran on its CPU. If `whole` is true, the perf group ran for the cgroup's own slot,
 * and the increment already includes the pending time.
 */
static void unrun_times_run(struct unrun_times *waits, unsigned cpu, uint32_t row, bool whole)
{
    struct unrun_time *wait = unrun_times_find(waits, cpu, row);

    if (!wait)
        return;
    wait->starved = false;
    if (!whole && wait->unrun_ns > 0)
        return;
    memmove(wait, wait + 1, (size_t)(waits->items + --waits->n - wait) * sizeof(*wait));
}

static int compare_waits(const void *a, const void *b)
{
    const struct unrun_time *one = a, *other = b;

    return is_before(one, other->cpu, other->row) ? -1 : is_before(other, one->cpu, one->row);
}

static void unrun_times_move(struct unrun_times *waits, const uint32_t *rows)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < waits->n; i++) {
        struct unrun_time wait = waits->items[i];
        wait.row = rows[wait.row];
        if (wait.row != ROW_GONE)
            waits->items[n++] = wait;
    }
    waits->n = n;
    if (n > 0)
        qsort(waits->items, n, sizeof(waits->items[0]), compare_waits);
}

/* --- counts --- */

struct bpf_counts {
    const struct bpf_rows *plan; /* NULL once the counts have ended */
    struct bpf_row *rows;        /* parallel to plan->rows */
    struct row **unavailable;
    uint32_t n_rows, n_unavailable;
    struct unrun_times waits;
    bool changed;              /* increments were attributed since the last update */
    uint64_t edition, changes; /* edition of the rows' plan (0: no rows), and plan->changes at the last update */
};

static bool is_current(const struct bpf_counts *counts)
{
    return counts->plan && counts->edition == counts->plan->edition;
}

/*
 * Adds an increment to the counts. `itself` is true if the increment is from the cgroup's own slot, and false if it is
 * from an inner cgroup.
 */
static void counts_attribute(struct bpf_counts *counts, const struct bpf_increment *increment, bool itself)
{
    const struct bpf_part *part = increment->part;

    if (!is_current(counts))
        return;
    bpf_row_attribute(&counts->rows[part->row], increment);
    if (!increment->ran)
        unrun_times_add(&counts->waits, part->cpu, part->row, itself ? increment->times.enabled : 0, true);
    else if (counts->waits.n > 0)
        unrun_times_run(&counts->waits, part->cpu, part->row, itself && increment->times.running > 0);
    counts->changed = true;
}

static void attribute_part(struct bpf_counts *const *chain, size_t n, const struct bpf_part *part,
                           const uint64_t *delta)
{
    struct bpf_increment increment;

    bpf_increment_init(&increment, part, delta);
    if (!increment.ran && increment.times.enabled == 0)
        return;
    const struct unrun_time *wait = unrun_times_find(&chain[0]->waits, part->cpu, part->row);
    bpf_increment_scale(&increment, wait ? wait->unrun_ns : 0);
    for (size_t i = 0; i < n; i++)
        counts_attribute(chain[i], &increment, i == 0);
}

void bpf_counts_attribute(struct bpf_counts *const *chain, size_t n, unsigned cpu, const uint64_t *delta)
{
    /* Counts whose rows could not be created are skipped; the cgroups above still get the increment. */
    for (; n > 0 && !is_current(chain[0]); n--)
        chain++;
    if (n == 0)
        return;
    const struct bpf_rows *plan = chain[0]->plan;
    for (uint32_t i = bpf_rows_on_cpu(plan, cpu); i != BPF_PART_NONE; i = plan->parts[i].next_on_cpu)
        attribute_part(chain, n, &plan->parts[i], delta);
}

/*
 * Returns the mask of events of the row whose totals are valid. Notes in `sum` which perf groups are idle, starved or
 * unreadable; the row's own `activities` only show what ran.
 */
static uint64_t note_parts(const struct bpf_counts *counts, uint32_t row, struct row_sum *sum)
{
    const struct bpf_rows *plan = counts->plan;
    uint64_t known = 0;

    for (uint32_t i = plan->rows[row].first_part; i != BPF_PART_NONE; i = plan->parts[i].next_in_row) {
        const struct bpf_part *part = &plan->parts[i];
        const struct unrun_time *wait = unrun_times_find(&counts->waits, part->cpu, row);
        bool starved = part->activity == GROUP_IDLE && wait && wait->starved;
        row_sum_note(sum, starved ? GROUP_STARVED : part->activity, part->error);
        if (!starved && !part->error)
            known |= part->events;
    }
    return known;
}

static void row_update(struct bpf_counts *counts, uint32_t i)
{
    struct bpf_row *row = &counts->rows[i];
    const struct planned_row *planned = &counts->plan->rows[i];
    uint64_t known = row->ran;
    struct row_sum sum;

    row_set_absent(row->own.row, planned->absent);
    if (planned->absent)
        return;
    row_sum_init(&sum, row->own.row->n_counters);
    /* Usually all events have run, and note_parts() has nothing to add. */
    if (known != row->own.events || counts->waits.n > 0 || planned->is_unreadable || row->own.row->state == ROW_STARVED)
        known = note_parts(counts, i, &sum);
    bpf_row_show(row, known, &sum);
}

void bpf_counts_update(struct bpf_counts *counts)
{
    if (!is_current(counts) || (!counts->changed && counts->changes == counts->plan->changes))
        return;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        row_update(counts, i);
    counts->changed = false;
    counts->changes = counts->plan->changes;
}

void bpf_counts_add_states(const struct bpf_counts *counts, size_t states[N_ROW_STATES])
{
    if (!is_current(counts))
        return;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        states[counts->rows[i].own.row->state] += !counts->rows[i].own.row->absent;
    states[ROW_UNAVAILABLE] += counts->plan->n_without_rows;
}

/* --- plan changes --- */

/* The inputs for creating the rows of one cgroup. */
struct making {
    const struct bpf_rows *plan;
    const struct collector_env *env;
    struct row_target whose;
};

/*
 * Returns the index of the existing row that matches `wanted`, or n_rows if no row matches. The search starts at
 * `hint`, the row's index if the plan has not changed.
 */
static uint32_t find_row(const struct bpf_counts *counts, uint32_t hint, const struct planned_row *wanted)
{
    for (uint32_t k = 0; k < counts->n_rows; k++) {
        uint32_t i = (hint + k) % counts->n_rows;
        if (bpf_row_matches(&counts->rows[i], wanted))
            return i;
    }
    return counts->n_rows;
}

/* Creates a row of the plan, or reuses the existing row if it has the same events. */
static int make_row(const struct making *making, const struct planned_row *wanted, struct bpf_row *before,
                    struct bpf_row *ret)
{
    struct row_target whose = making->whose;

    if (before && before->own.events == wanted->planned->events) {
        *ret = *before;
        *before = (struct bpf_row){0};
    } else {
        whose.created_ns = before ? before->own.created_ns : whose.created_ns;
        int r = bpf_row_init(ret, making->env, wanted, &whose);
        if (r < 0)
            return r;
        if (before)
            bpf_row_take(ret, before);
    }
    ret->own.row->uneven = wanted->planned->uneven;
    return 0;
}

/* Creates all rows of the plan. On failure some rows are missing, and their pending time is lost. */
static int make_rows(struct bpf_counts *counts, const struct making *making)
{
    uint32_t n = making->plan->n_rows;
    struct bpf_row *rows = calloc(n + 1, sizeof(rows[0]));
    _cleanup_(freep) uint32_t *moved = malloc((counts->n_rows + 1) * sizeof(moved[0]));
    int r = rows && moved ? 0 : -ENOMEM;

    if (r < 0) {
        free(rows);
        return r;
    }
    memset(moved, 0xff, (counts->n_rows + 1) * sizeof(moved[0])); /* sets all entries to ROW_GONE */
    for (uint32_t i = 0; i < n && r == 0; i++) {
        uint32_t before = find_row(counts, i, &making->plan->rows[i]);
        moved[before] = i;
        r = make_row(making, &making->plan->rows[i], before < counts->n_rows ? &counts->rows[before] : NULL, &rows[i]);
    }
    unrun_times_move(&counts->waits, moved);
    for (uint32_t i = 0; i < counts->n_rows; i++)
        bpf_row_done(&counts->rows[i], making->env->snapshot);
    free(counts->rows);
    counts->rows = rows;
    counts->n_rows = n;
    return r;
}

/* --- unavailable events --- */

static bool shows_event(const struct row *row, const struct bpf_unavailable *wanted)
{
    return row->cpu == wanted->event->cpu && str_equal(row->group, wanted->group) &&
           str_equal(row->pmu, wanted->event->refusal.pmu) &&
           str_equal(row->counters[0].event, wanted->event->metric) &&
           str_equal(row->error, wanted->event->refusal.message);
}

static struct row *take_unavailable(struct bpf_counts *counts, const struct bpf_unavailable *wanted)
{
    for (uint32_t i = 0; i < counts->n_unavailable; i++)
        if (counts->unavailable[i] && shows_event(counts->unavailable[i], wanted))
            return steal(counts->unavailable[i]);
    return NULL;
}

static struct row *make_unavailable(const struct making *making, const struct bpf_unavailable *wanted)
{
    struct row_target where = making->whose;

    where.group = wanted->group;
    return unavailable_event_add_row(wanted->event, making->env, &where);
}

static void remove_unavailable(struct bpf_counts *counts, struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < counts->n_unavailable; i++)
        if (counts->unavailable[i])
            snapshot_remove_row(snapshot, counts->unavailable[i]);
    free(counts->unavailable);
    counts->unavailable = NULL;
    counts->n_unavailable = 0;
}

static int show_unavailable(struct bpf_counts *counts, const struct making *making)
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
    remove_unavailable(counts, making->env->snapshot);
    counts->unavailable = rows;
    counts->n_unavailable = n;
    return r;
}

/* --- lifetime --- */

struct bpf_counts *bpf_counts_free(struct bpf_counts *counts, struct snapshot *snapshot)
{
    if (!counts)
        return NULL;
    for (uint32_t i = 0; i < counts->n_rows; i++)
        bpf_row_done(&counts->rows[i], snapshot);
    remove_unavailable(counts, snapshot);
    free(counts->rows);
    unrun_times_done(&counts->waits);
    free(counts);
    return NULL;
}

int bpf_counts_resume(struct bpf_counts *counts, const struct bpf_rows *rows, const struct collector_env *env,
                      const char *label, const struct names *names)
{
    /* Because cgroups come and go, Prometheus needs _created to know when a series started at 0. */
    struct making making = {
        .plan = rows,
        .env = env,
        .whose = {.cgroup = label, .names = names, .created_ns = sys_now(env->sys, CLOCK_REALTIME)}};
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

int bpf_counts_new(const struct bpf_rows *rows, const struct collector_env *env, const char *label,
                   const struct names *names, struct bpf_counts **ret)
{
    struct bpf_counts *counts = calloc(1, sizeof(*counts));
    int r = counts ? bpf_counts_resume(counts, rows, env, label, names) : -ENOMEM;

    if (r < 0)
        bpf_counts_free(counts, env->snapshot);
    else
        *ret = counts;
    return r;
}

void bpf_counts_end(struct bpf_counts *counts, struct bpf_counts *parent)
{
    bpf_counts_update(counts);
    for (uint32_t i = 0; i < counts->waits.n && parent && is_current(counts) && is_current(parent); i++) {
        const struct unrun_time *left = &counts->waits.items[i];
        if (left->unrun_ns > 0)
            unrun_times_add(&parent->waits, left->cpu, left->row, left->unrun_ns, false);
    }
    unrun_times_done(&counts->waits);
    counts->plan = NULL;
}
