/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/bpf-rows.h"

#include "base/cleanup.h"

#define BPF_ROW_NONE UINT32_MAX

/* --- plan of a configured group --- */

static void free_draft(struct row_template *template)
{
    struct row_counter *counters = template->counters;

    row_template_done(template);
    free(counters);
}

static void bpf_plan_done(struct bpf_plan *plan)
{
    for (size_t i = 0; i < plan->n_templates; i++)
        free_draft(&plan->templates[i]);
    free(plan->templates);
    free(plan->placed);
    free(plan->rows.items);
    *plan = (struct bpf_plan){0};
}

/*
 * Creates an empty plan for a configured group. Returns -ENOMEM on failure. bpf_plan_done() must be called in either
 * case.
 */
static int bpf_plan_init(struct bpf_plan *plan, const struct collector_env *env, const struct config_group *group,
                         bool summed)
{
    struct intern *texts = &env->snapshot->texts;

    *plan =
        (struct bpf_plan){.signature = intern_text(texts, group->signature), .name = intern_text(texts, group->name)};
    group_rows_init(&plan->rows, env->machine, group, summed);
    return plan->signature && plan->name ? 0 : -ENOMEM;
}

/* State of bpf_plan_place(), which finds the row of each open group. */
struct placing {
    struct bpf_plan *plan;
    const struct collector_env *env;
    struct target_events *events; /* the group's events on `cpu` */
    int cpu;                      /* CPU of the current open group; -1 before the first one */
};

static int placing_find_events(struct placing *placing, int cpu)
{
    if (placing->cpu == cpu)
        return 0;
    int r = target_events_find(placing->events, placing->env, cpu);
    placing->cpu = r < 0 ? -1 : cpu;
    return r;
}

static bool placing_knows(const struct placing *placing, uint64_t mask)
{
    EVENTS_FOREACH (event, mask)
        if (!placing->events->attrs[event].pmu)
            return false;
    return true;
}

/*
 * Interns the template's strings, because the plan outlives the machine and the configuration. Returns -ENOMEM on
 * failure.
 */
static int keep_texts(struct row_template *template, struct group_row *row, struct intern *texts)
{
    const char *pmu = intern_text(texts, row->pmu);
    bool are_kept = pmu != NULL;

    for (size_t i = 0; i < template->n; i++) {
        struct row_counter *counter = &template->counters[i];
        counter->event = intern_text(texts, counter->event);
        counter->pmu = intern_text(texts, counter->pmu);
        counter->unit = counter->metric.unit = intern_text(texts, counter->unit);
        are_kept &= counter->event && counter->pmu && counter->unit;
    }
    row->pmu = pmu ? pmu : row->pmu;
    return are_kept ? 0 : -ENOMEM;
}

static int make_draft(struct placing *placing, struct group_row *row, uint64_t mask, struct row_template *ret)
{
    const struct collector_env *env = placing->env;
    struct row_counter *counters = calloc(event_count(mask), sizeof(counters[0]));
    int r =
        counters ? row_template_init(ret, counters, env, &placing->plan->rows, row, placing->events, mask) : -ENOMEM;

    if (r < 0) {
        free(counters);
        return r;
    }
    r = keep_texts(ret, row, &env->snapshot->texts);
    if (r < 0)
        free_draft(ret);
    return r;
}

/*
 * Recreates a row's template when a perf group with additional events is added to the row, so that the row has counters
 * for all events. Returns -ENODATA if the machine no longer knows one of the events.
 */
static int placing_template(struct placing *placing, struct group_row *row, uint64_t mask)
{
    struct bpf_plan *plan = placing->plan;
    size_t i = (size_t)(row - plan->rows.items);
    struct row_template template;
    int r = i < plan->n_templates ? 0 : array_grow(&plan->templates, plan->n_templates);

    if (!placing_knows(placing, mask))
        return -ENODATA;
    if (r == 0)
        r = make_draft(placing, row, mask, &template);
    if (r < 0)
        return r;
    if (i < plan->n_templates)
        free_draft(&plan->templates[i]);
    else
        plan->n_templates++;
    plan->templates[i] = template;
    row->events = mask;
    return 0;
}

/*
 * Finds the row of a perf group and sets *ret to its index. Returns -ENODATA if the machine no longer knows the events.
 */
static int placing_place(struct placing *placing, const struct row_part *part, uint32_t *ret)
{
    struct group_rows *rows = &placing->plan->rows;
    struct group_row *row;
    int r = placing_find_events(placing, part->cpu);

    if (r == 0 && (part->events & ~placing->events->mask))
        return -ENODATA;
    if (r == 0)
        r = group_rows_place(rows, placing->env, placing->events, part, &row);
    if (r < 0)
        return r;
    row->uneven |= row->events && part->events != row->events;
    if (part->events & ~row->events)
        r = placing_template(placing, row, row->events | part->events);
    if (r < 0) {
        rows->n -= !row->events; /* removes a row that group_rows_place() has just appended */
        return r;
    }
    *ret = (uint32_t)(row - rows->items);
    return 0;
}

static bool is_same_part(const struct row_part *a, const struct row_part *b)
{
    return a->cpu == b->cpu && a->ordinal == b->ordinal && a->events == b->events;
}

/* Finds a row for each open group that does not have one yet. Returns -ENOMEM on failure. */
static int bpf_plan_place(struct bpf_plan *plan, const struct collector_env *env, const struct bpf_span *span,
                          const struct group_counts_view *view)
{
    struct target_events events;
    struct placing placing = {.plan = plan, .env = env, .events = &events, .cpu = -1};

    target_events_init(&events, span->group, NULL);
    for (size_t i = 0; i < view->n_groups; i++) {
        struct placed_part placed = {.part = {.cpu = view->groups[i].cpu,
                                              .ordinal = span->times[i] - span->first_times + 1U,
                                              .events = view->groups[i].events},
                                     .row = BPF_ROW_NONE};
        if (i < plan->n_placed && is_same_part(&plan->placed[i].part, &placed.part) &&
            plan->placed[i].row != BPF_ROW_NONE)
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

/* Returns whether a row of the plan has a counter for an unavailable event, on the event's PMU and CPU. */
static bool bpf_plan_has(const struct bpf_plan *plan, const struct unavailable_event *event)
{
    uint64_t bit = event_bit(event->refusal.event);

    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct group_row *row = &plan->rows.items[i];
        size_t at = event_count(row->events & (bit - 1));
        if ((row->events & bit) && row->cpu == event->cpu &&
            str_equal(plan->templates[i].counters[at].pmu, event->refusal.pmu))
            return true;
    }
    return false;
}

/* --- plan of all cgroups --- */

/* Frees everything except the plans of the configured groups. */
static void forget_parts(struct bpf_rows *rows)
{
    free(rows->rows);
    free(rows->parts);
    free(rows->fields);
    free(rows->first_on_cpu);
    free(rows->unavailable);
    rows->rows = NULL;
    rows->parts = NULL;
    rows->fields = NULL;
    rows->first_on_cpu = NULL;
    rows->unavailable = NULL;
    rows->n_rows = rows->n_parts = rows->n_fields = rows->n_cpus = rows->n_unavailable = 0;
    rows->n_without_rows = 0;
}

static void free_plans(struct bpf_plan *plans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bpf_plan_done(&plans[i]);
    free(plans);
}

struct bpf_rows *bpf_rows_free(struct bpf_rows *rows)
{
    if (!rows)
        return NULL;
    forget_parts(rows);
    free_plans(rows->plans, rows->n_plans);
    free(rows);
    return NULL;
}

/* Reuses the existing plan of an equal group, or creates a new one. */
static int take_plan(struct bpf_plan *plan, struct bpf_rows *rows, const struct collector_env *env,
                     const struct config_group *group)
{
    bool summed = !env->config->cgroup.per_cpu;

    for (size_t i = 0; i < rows->n_plans; i++)
        if (rows->plans[i].signature && str_equal(rows->plans[i].signature, group->signature) &&
            rows->plans[i].rows.summed == summed) {
            *plan = rows->plans[i];
            rows->plans[i] = (struct bpf_plan){0};
            return 0;
        }
    return bpf_plan_init(plan, env, group, summed);
}

static int plan_all(struct bpf_rows *rows, const struct collector_env *env, const struct bpf_groups *groups)
{
    size_t n = groups->set.n;
    struct bpf_plan *plans = calloc(n + 1, sizeof(plans[0]));
    int r = plans ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        r = take_plan(&plans[i], rows, env, groups->spans[i].group);
        if (r == 0)
            r = bpf_plan_place(&plans[i], env, &groups->spans[i], &view);
    }
    if (r < 0) {
        free_plans(plans, plans ? n : 0);
        return r;
    }
    free_plans(rows->plans, rows->n_plans);
    rows->plans = plans;
    rows->n_plans = n;
    return 0;
}

/*
 * Lists the unavailable events of a plan. An event that is unavailable only on some CPUs of a kind is left out, because
 * the row that sums these CPUs shows it.
 */
static void list_unavailable(struct bpf_rows *rows, const struct bpf_plan *plan, const struct group_counts_view *view)
{
    for (size_t i = 0; i < view->n_unavailable; i++)
        if (!bpf_plan_has(plan, &view->unavailable[i]))
            rows->unavailable[rows->n_unavailable++] = (struct bpf_unavailable){plan->name, &view->unavailable[i]};
}

static void list_rows(struct bpf_rows *rows, const struct bpf_plan *plan)
{
    for (size_t i = 0; i < plan->rows.n; i++)
        rows->rows[rows->n_rows++] = (struct planned_row){.signature = plan->signature,
                                                          .planned = &plan->rows.items[i],
                                                          .template = &plan->templates[i],
                                                          .first_part = BPF_PART_NONE};
    rows->n_without_rows += plan->rows.n == 0;
}

static void list_part(struct bpf_rows *rows, const struct bpf_span *span, struct bpf_part *part)
{
    uint64_t in_row = rows->rows[part->row].planned->events;
    uint32_t *first_on_cpu = &rows->first_on_cpu[part->cpu], *first_in_row = &rows->rows[part->row].first_part;

    part->fields = &rows->fields[rows->n_fields];
    part->n_fields = (uint32_t)event_count(part->events);
    EVENTS_FOREACH (event, part->events)
        rows->fields[rows->n_fields++] = (struct bpf_field){(uint8_t)bpf_span_word(span, event),
                                                            (uint8_t)event_count(in_row & (event_bit(event) - 1))};
    rows->parts[rows->n_parts] = *part;
    rows->parts[rows->n_parts].next_on_cpu = *first_on_cpu;
    rows->parts[rows->n_parts].next_in_row = *first_in_row;
    *first_on_cpu = *first_in_row = rows->n_parts++;
}

/* Appends the parts of a configured group to the list of parts. `first` is the index of the group's first row. */
static void list_parts(struct bpf_rows *rows, const struct bpf_groups *groups, size_t i, uint32_t first)
{
    struct group_counts_view view = group_counts_view(groups->set.items[i]);
    const struct bpf_span *span = &groups->spans[i];

    for (size_t k = 0; k < view.n_groups; k++) {
        uint32_t row = rows->plans[i].placed[k].row;
        struct bpf_part part = {.open_group = &view.groups[k],
                                .events = view.groups[k].events,
                                .cpu = (uint32_t)view.groups[k].cpu,
                                .enabled = bpf_groups_enabled(groups, span->times[k]),
                                .row = first + row};
        if (row != BPF_ROW_NONE)
            list_part(rows, span, &part);
    }
}

static int allocate_lists(struct bpf_rows *rows, const struct bpf_groups *groups)
{
    size_t n_rows = 0, n_parts = 0, n_fields = 0, n_unavailable = 0;

    for (size_t i = 0; i < rows->n_plans; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        n_rows += rows->plans[i].rows.n;
        n_parts += view.n_groups;
        n_unavailable += view.n_unavailable;
        for (size_t k = 0; k < view.n_groups; k++) {
            n_fields += event_count(view.groups[k].events);
            rows->n_cpus = MAX(rows->n_cpus, (uint32_t)view.groups[k].cpu + 1);
        }
    }
    rows->rows = calloc(n_rows + 1, sizeof(rows->rows[0]));
    rows->parts = calloc(n_parts + 1, sizeof(rows->parts[0]));
    rows->fields = calloc(n_fields + 1, sizeof(rows->fields[0]));
    rows->unavailable = calloc(n_unavailable + 1, sizeof(rows->unavailable[0]));
    rows->first_on_cpu = calloc(rows->n_cpus + 1, sizeof(rows->first_on_cpu[0]));
    if (!rows->rows || !rows->parts || !rows->fields || !rows->unavailable || !rows->first_on_cpu)
        return -ENOMEM;
    memset(rows->first_on_cpu, 0xff, rows->n_cpus * sizeof(rows->first_on_cpu[0])); /* all BPF_PART_NONE */
    return 0;
}

static int list_all(struct bpf_rows *rows, const struct bpf_groups *groups)
{
    int r = allocate_lists(rows, groups);

    for (size_t i = 0; i < rows->n_plans && r == 0; i++) {
        struct group_counts_view view = group_counts_view(groups->set.items[i]);
        uint32_t first = rows->n_rows;
        list_rows(rows, &rows->plans[i]);
        list_parts(rows, groups, i, first);
        list_unavailable(rows, &rows->plans[i], &view);
    }
    return r;
}

int bpf_rows_resume(struct bpf_rows **rows, const struct collector_env *env, const struct bpf_groups *groups)
{
    if (!*rows)
        *rows = calloc(1, sizeof(**rows));
    if (!*rows)
        return -ENOMEM;
    forget_parts(*rows);
    (*rows)->edition++;
    int r = plan_all(*rows, env, groups);
    if (r == 0)
        r = list_all(*rows, groups);
    if (r < 0)
        forget_parts(*rows);
    (*rows)->changes++;
    bpf_rows_update(*rows);
    return r;
}

/* --- readability --- */

static bool part_update(struct bpf_part *part)
{
    bool offline = part->open_group->activity == GROUP_OFFLINE;
    bool unreadable = part->open_group->error && !offline &&
                      (part->open_group->activity == GROUP_STARVED || part->open_group->activity == GROUP_STALE);
    enum group_activity activity = offline || unreadable ? part->open_group->activity : GROUP_IDLE;
    int error = unreadable ? part->open_group->error : 0;

    if (activity == part->activity && error == part->error)
        return false;
    part->activity = activity;
    part->error = error;
    return true;
}

void bpf_rows_update(struct bpf_rows *rows)
{
    bool changed = false;

    for (size_t i = 0; i < rows->n_parts; i++)
        changed |= part_update(&rows->parts[i]);
    if (!changed)
        return;
    rows->changes++;
    for (size_t i = 0; i < rows->n_rows; i++) {
        struct planned_row *row = &rows->rows[i];
        row->is_unreadable = false;
        row->absent = row->planned->cpu >= 0;
        for (uint32_t k = row->first_part; k != BPF_PART_NONE; k = rows->parts[k].next_in_row) {
            row->is_unreadable |= rows->parts[k].error != 0;
            row->absent &= rows->parts[k].activity == GROUP_OFFLINE;
        }
    }
}
