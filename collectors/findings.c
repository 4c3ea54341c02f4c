/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/findings.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cgroups/names.h"
#include "perf/group.h"

#define SECONDS(n) ((n)*NSEC_PER_SEC)
#define LOOK_BACK_NS SECONDS(3600)
/* The shortest step of the history that is searched. */
#define STEP_NS SECONDS(20)
/* A problem must have lasted this long to be a finding. */
#define LASTING_NS SECONDS(60)
/* A service must have run this long before its earlier behaviour counts as known. */
#define KNOWN_NS SECONDS(600)

void findings_done(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        struct finding *finding = &findings->items[i];
        free(finding->title);
        free(finding->text);
        free(finding->evidence);
        free(finding->cgroup);
        free(finding->cpus);
        free(finding->pmu);
    }
    free(findings->items);
    *findings = (struct findings){0};
}

/* --- searching --- */

struct search {
    const struct findings_sources *sources;
    struct history_range range; /* the last hour of the history; empty if there is no history */
    struct findings *to;
};

/* Adds a finding, which the caller fills in. Returns NULL if memory runs out. */
static struct finding *add(struct search *search, enum finding_rule rule)
{
    struct findings *to = search->to;

    if (array_grow(&to->items, to->n) < 0)
        return NULL;
    to->items[to->n] = (struct finding){.rule = rule, .before = NAN, .after = NAN};
    return &to->items[to->n++];
}

static const struct history *history_of(const struct search *search)
{
    return search->sources->histories ? search->sources->histories->coarse : NULL;
}

/* Reads the rows of the last hour that `passes` accepts. Returns an empty table if the table would be too large. */
static int look_back(const struct search *search, uint64_t step_ns,
                     bool (*passes)(const void *userdata, const struct history_row *row), const void *userdata,
                     struct history_table *ret)
{
    struct history_range range = search->range;

    range.step_ns = step_ns;
    int r = history_of(search) ? history_read(history_of(search), &range, passes, userdata, ret) : 0;
    if (r != -E2BIG)
        return r;
    history_table_done(ret);
    return 0;
}

static uint64_t step_begin(const struct search *search, size_t step)
{
    return search->range.since_ns + step * search->range.step_ns;
}

/* Converts a duration to a number of steps, rounded up. */
static size_t steps_in(const struct search *search, uint64_t ns)
{
    return (size_t)((ns + search->range.step_ns - 1) / search->range.step_ns);
}

/*
 * Sets `since` and `until` of a finding to the time range of the steps from `begin` (inclusive) to `end` (exclusive).
 * The last step of the history may be incomplete.
 */
static void set_time(const struct search *search, const struct history_table *table, size_t begin, size_t end,
                     struct finding *finding)
{
    finding->since_ns = step_begin(search, begin);
    finding->until_ns = end + 1 >= table->n_steps ? 0 : table->steps[end - 1].end_ns;
}

/* --- text --- */

/*
 * Appends a name as the value of a query parameter that is a pattern, with the special characters of patterns escaped.
 */
static void append_pattern(struct buffer *to, const char *name, const char *text)
{
    buffer_appendf(to, "&%s=", name);
    for (; *text; text++) {
        const char character[] = {*text, '\0'};
        if (strchr("*?[\\", *text))
            escape_append_url(to, "\\");
        escape_append_url(to, character);
    }
}

/* "23 minutes" */
static void append_duration(struct buffer *to, uint64_t ns)
{
    uint64_t minutes = (ns + SECONDS(30)) / SECONDS(60);

    buffer_appendf(to, "%llu minute%s", (unsigned long long)MAX(minutes, 1), minutes > 1 ? "s" : "");
}

static double gigahertz(double hz)
{
    return hz / 1e9;
}

static int take_text(struct buffer *from, char **to)
{
    *to = buffer_string(from);
    return *to ? 0 : -ENOMEM;
}

static int copy_text(const char *from, char **to)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

/* --- CPUs with limited clock rates --- */

/*
 * A step is limited if limits reduced a CPU's clock rate by at least a twentieth while the CPU was busy at least a
 * tenth of the time.
 */
#define LIMITED_SHARE 20
#define BUSY_SHARE 10

/* A set of CPUs that have the same highest frequency. */
struct slowed {
    uint64_t max_hz;
    struct cpuset cpus;
    size_t begin, end; /* range from the first to the last limited step */
    uint64_t causes;
    uint64_t covered_ns, limited_ns; /* sums over the limited steps of all CPUs */
    double busy, cycles;             /* busy seconds and cycles of the CPUs whose cycles were counted */
};

static bool is_cpu(const void *userdata, const struct history_row *row)
{
    (void)userdata;
    return row->cpu >= 0 && str_equal(row->collector, "cpu");
}

static bool is_no_row(const void *userdata, const struct history_row *row)
{
    (void)userdata, (void)row;
    return false;
}

static bool is_slowed(const struct history_cell *cell, const struct history_step *step)
{
    return cell->has_busy && step->covered_ns > 0 && cell->busy_ns >= step->covered_ns / BUSY_SHARE &&
           cell->limited_ns >= step->covered_ns / LIMITED_SHARE;
}

static size_t find_event(const struct history_row *row, const char *name)
{
    for (size_t i = 0; i < row->n_events; i++)
        if (derived_names_event(name, row->events[i].event))
            return i;
    return row->n_events;
}

static bool was_slowed(const struct history_line *line, const struct history_table *table)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < table->n_steps; i++)
        ns += is_slowed(&line->cells[i], &table->steps[i]) ? table->steps[i].covered_ns : 0;
    return ns >= LASTING_NS;
}

static int slowed_add(struct slowed *slowed, const struct history_line *line, const struct history_table *table)
{
    size_t cycles = find_event(&line->row, "cycles");

    for (size_t i = 0; i < table->n_steps; i++) {
        const struct history_cell *cell = &line->cells[i];
        const struct growth_event *value = &line->values[i * line->row.n_events + cycles];
        if (!is_slowed(cell, &table->steps[i]))
            continue;
        slowed->begin = MIN(slowed->begin, i);
        slowed->end = MAX(slowed->end, i + 1);
        slowed->causes |= table->steps[i].limited_by;
        slowed->covered_ns += table->steps[i].covered_ns;
        slowed->limited_ns += cell->limited_ns;
        if (cycles == line->row.n_events || !value->known)
            continue;
        slowed->busy += (double)cell->busy_ns / (double)NSEC_PER_SEC;
        slowed->cycles += growth_real(value, line->row.events[cycles].decimals);
    }
    return cpuset_add(&slowed->cpus, line->row.cpu);
}

/* Returns whether the line is the best line of its CPU. A line with the event `cycles` is preferred. */
static bool is_better(const struct history_table *table, size_t line)
{
    bool has_cycles = find_event(&table->lines[line].row, "cycles") < table->lines[line].row.n_events;

    for (size_t i = 0; i < table->n_lines; i++) {
        const struct history_row *other = &table->lines[i].row;
        bool other_has = find_event(other, "cycles") < other->n_events;
        if (i != line && other->cpu == table->lines[line].row.cpu &&
            (other_has > has_cycles || (other_has == has_cycles && i < line)))
            return false;
    }
    return true;
}

static void explain_limit(uint64_t causes, struct buffer *text)
{
    if (causes & CLOCK_COOLING)
        buffer_append_text(text, "A cooling device slows them down: they are too hot.");
    if (causes & CLOCK_UNDER_VOLTAGE)
        buffer_appendf(text, "%sThe supply voltage is too low.", causes & CLOCK_COOLING ? " " : "");
    if (!(causes & (CLOCK_COOLING | CLOCK_UNDER_VOLTAGE)))
        buffer_append_text(text, "No cooling device is active, so the limit was set in cpufreq (scaling_max_freq).");
}

static int report_slowed(struct search *search, const struct history_table *table, const struct slowed *slowed)
{
    struct finding *finding = add(search, FINDING_CLOCK_LIMITED);
    _cleanup_(freep) char *cpus = cpuset_format(&slowed->cpus);
    _cleanup_(buffer_done) struct buffer title = {0}, text = {0}, evidence = {0};
    double max = (double)slowed->max_hz, limit = max * (1 - (double)slowed->limited_ns / (double)slowed->covered_ns);
    bool many = cpuset_count(&slowed->cpus) > 1;

    if (!finding || !cpus)
        return -ENOMEM;
    set_time(search, table, slowed->begin, slowed->end, finding);
    if (slowed->busy > 0) {
        finding->metric = "cpu_frequency_hertz";
        finding->before = max;
        finding->after = slowed->cycles / slowed->busy;
        buffer_appendf(&title, "CPU%s %s %s at %.2f of %.2f GHz", many ? "s" : "", cpus,
                       finding->until_ns ? "ran"
                       : many            ? "run"
                                         : "runs",
                       gigahertz(finding->after), gigahertz(max));
    } else {
        buffer_appendf(&title, "CPU%s %s %s limited to %.2f of %.2f GHz", many ? "s" : "", cpus,
                       finding->until_ns ? (many ? "were" : "was")
                       : many            ? "are"
                                         : "is",
                       gigahertz(limit), gigahertz(max));
    }
    buffer_appendf(&text, "The frequency limit was %.2f GHz on average in ", gigahertz(limit));
    append_duration(&text, slowed->covered_ns / (uint64_t)cpuset_count(&slowed->cpus));
    buffer_append_text(&text, " under load. ");
    explain_limit(slowed->causes, &text);
    buffer_append_text(&evidence, "/api/v1/history?collector=cpu&derived=cpu_frequency_hertz&cpu=");
    escape_append_url(&evidence, cpus);
    if (take_text(&title, &finding->title) < 0 || take_text(&text, &finding->text) < 0 ||
        take_text(&evidence, &finding->evidence) < 0)
        return -ENOMEM;
    finding->cpus = steal(cpus);
    return 0;
}

static struct slowed *slowed_of(struct slowed **kinds, size_t *n, uint64_t max_hz)
{
    for (size_t i = 0; i < *n; i++)
        if ((*kinds)[i].max_hz == max_hz)
            return &(*kinds)[i];
    if (array_grow(kinds, *n) < 0)
        return NULL;
    (*kinds)[*n] = (struct slowed){.max_hz = max_hz, .begin = SIZE_MAX};
    return &(*kinds)[(*n)++];
}

static bool is_ever_limited(const struct history_table *table)
{
    uint64_t causes = 0;

    for (size_t i = 0; i < table->n_steps; i++)
        causes |= table->steps[i].limited_by;
    return causes != 0;
}

static int find_slowed(const struct search *search, const struct history_table *table, struct slowed **kinds, size_t *n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < table->n_lines; i++) {
        const struct history_line *line = &table->lines[i];
        const struct clock_limit *limit = clock_limit_find(&search->sources->snapshot->clock_limits, line->row.cpu);
        if (!limit || !is_better(table, i) || !was_slowed(line, table))
            continue;
        struct slowed *slowed = slowed_of(kinds, n, limit->max_hz);
        r = slowed ? slowed_add(slowed, line, table) : -ENOMEM;
    }
    return r;
}

static int find_clock_limited(struct search *search)
{
    _cleanup_(history_table_done) struct history_table steps = {0}, table = {0};
    struct slowed *kinds = NULL;
    size_t n = 0;

    int r = look_back(search, search->range.step_ns, is_no_row, NULL, &steps);
    if (r < 0 || !is_ever_limited(&steps))
        return r;
    r = look_back(search, search->range.step_ns, is_cpu, NULL, &table);
    if (r == 0)
        r = find_slowed(search, &table, &kinds, &n);
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = report_slowed(search, &table, &kinds[i]);
        cpuset_done(&kinds[i].cpus);
    }
    free(kinds);
    return r;
}

/* --- services that behave differently than earlier in the last hour --- */

/* Steps in which a service used less than a tenth of a CPU are left out. */
#define USED_SHARE 10

/*
 * The metrics that are compared with their earlier values. A finding is about the first metric in this table that
 * changed, and mentions the other changed metrics.
 */
static const struct compared {
    const char *metric, *name;
    double floor; /* the smallest change of the metric that is reported */
    int decimals;
    bool percent; /* the metric is a ratio that is printed as a percentage */
} compared[] = {
    {"ipc", "IPC", 0.1, 2, false},
    {"backend_stall_ratio", "backend stalls", 0.1, 0, true},
    {"frontend_stall_ratio", "frontend stalls", 0.1, 0, true},
    {"llc_mpki", "last-level cache misses per 1000 instructions", 1, 1, false},
    {"l2_mpki", "L2 cache misses per 1000 instructions", 1, 1, false},
    {"l1d_mpki", "L1 data cache misses per 1000 instructions", 2, 1, false},
    {"branch_mpki", "branch misses per 1000 instructions", 1, 1, false},
};

/* The factor from the median absolute deviation to the standard deviation of a normal distribution. */
#define SPREAD_SCALE 1.4826

/* Returns the median of `sorted`, which is in ascending order. */
static double median_of(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/*
 * Fills `room` with the distances of the sorted values from their median, in ascending order, by walking outwards from
 * the middle.
 */
static void sort_distances(const double *sorted, size_t n, double median, double *room)
{
    size_t above = array_search(n, k, sorted[k] < median), below = above;

    for (size_t i = 0; i < n; i++)
        if (below == 0 || (above < n && sorted[above] - median < median - sorted[below - 1]))
            room[i] = sorted[above++] - median;
        else
            room[i] = median - sorted[--below];
}

/*
 * Returns the distance from the median above which values are unusual. It also depends on the largest distances,
 * because values may alternate between two levels, as in a periodic job.
 */
static double usual_distance(const double *sorted, size_t n, double median, double *room)
{
    sort_distances(sorted, n, median, room);
    return MAX(5 * SPREAD_SCALE * median_of(room, n), 1.25 * room[(n - 1) * 19 / 20]);
}

static void insert_sorted(double *sorted, size_t n, double value)
{
    size_t at = array_search(n, k, sorted[k] < value);

    memmove(sorted + at + 1, sorted + at, (n - at) * sizeof(*sorted));
    sorted[at] = value;
}

/* Fills *ret with the run that starts at `begin`. Returns false if the run is too short. */
static bool run_from(const double *values, size_t n, size_t begin, size_t run, double median, double least,
                     double *room, struct change *ret)
{
    size_t used = 0, end = begin;

    for (size_t i = begin; i < n; i++) {
        if (isnan(values[i]))
            continue;
        if (fabs(values[i] - median) <= least || (used > 0 && (values[i] > median) != (room[0] > median)))
            break;
        room[used++] = values[i];
        end = i + 1;
    }
    if (used < run)
        return false;
    qsort(room, used, sizeof(*room), compare_doubles);
    *ret = (struct change){begin, end, median, median_of(room, used)};
    return true;
}

bool change_find(const double *values, size_t n, size_t run, size_t history, double floor, double *room,
                 struct change *ret)
{
    double *sorted = room, *scratch = room + n;
    size_t known = 0;
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        if (known >= MAX(history, 1)) {
            double median = median_of(sorted, known), least = MAX(fabs(median) / 4, floor);
            if (fabs(values[i] - median) > least)
                least = MAX(usual_distance(sorted, known, median, scratch), least);
            if (fabs(values[i] - median) > least && run_from(values, n, i, run, median, least, scratch, ret)) {
                found = true;
                i = ret->end - 1; /* the values of the run must not influence the median */
                continue;
            }
        }
        insert_sorted(sorted, known++, values[i]);
    }
    return found;
}

/* A change that was found in a cgroup. */
struct changed {
    const char *cgroup;
    struct change of[ARRAY_SIZE(compared)];
    bool found[ARRAY_SIZE(compared)];
    double cpus; /* CPUs that the cgroup used while the first changed metric differed */
};

static int compare_changed(const void *a, const void *b)
{
    const struct changed *x = a, *y = b;

    return (x->cpus < y->cpus) - (x->cpus > y->cpus);
}

static size_t first_changed(const struct changed *changed)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(compared) && !changed->found[i])
        i++;
    return i;
}

static bool is_used(const struct history_cell *cell, const struct history_step *step)
{
    return history_is_known(cell) && step->covered_ns > 0 && cell->enabled_ns >= step->covered_ns / USED_SHARE;
}

static bool is_cgroup(const void *userdata, const struct history_row *row)
{
    (void)userdata;
    return row->cgroup && !row->others;
}

/* The cgroups that used enough CPU time to be examined, as a NULL-terminated array. */
struct chosen {
    struct history_table table; /* owns the strings of the cgroups */
    const char **cgroups;
    size_t n;
};

static void chosen_done(struct chosen *chosen)
{
    history_table_done(&chosen->table);
    free(chosen->cgroups);
}

static bool is_chosen(const void *userdata, const struct history_row *row)
{
    const struct chosen *chosen = userdata;

    for (size_t i = 0; row->cgroup && !row->others && i < chosen->n; i++)
        if (str_equal(chosen->cgroups[i], row->cgroup))
            return true;
    return false;
}

static int choose_cgroups(const struct search *search, struct chosen *ret)
{
    int r = look_back(search, LOOK_BACK_NS / 12, is_cgroup, NULL, &ret->table);

    if (r == 0)
        r = history_table_add_up(&ret->table, TOTALS_BY_CGROUP);
    for (size_t i = 0; r == 0 && i < ret->table.n_lines; i++) {
        const struct history_line *line = &ret->table.lines[i];
        uint64_t ns = 0;
        for (size_t k = 0; k < ret->table.n_steps; k++)
            ns += line->cells[k].enabled_ns;
        if (line->row.n_events == 0 || ns < LASTING_NS / USED_SHARE || is_chosen(ret, &line->row))
            continue;
        r = array_grow(&ret->cgroups, ret->n);
        if (r == 0)
            ret->cgroups[ret->n++] = line->row.cgroup;
    }
    return r;
}

struct comparing {
    const struct search *search;
    const struct history_table *table;
    double *values, *room; /* array of n_steps values, and a scratch array of twice that size */
    struct changed *items;
    size_t n;
};

static void comparing_done(struct comparing *comparing)
{
    free(comparing->values);
    free(comparing->room);
    free(comparing->items);
}

static struct changed *changed_of(struct comparing *comparing, const char *cgroup)
{
    for (size_t i = 0; i < comparing->n; i++)
        if (str_equal(comparing->items[i].cgroup, cgroup))
            return &comparing->items[i];
    if (array_grow(&comparing->items, comparing->n) < 0)
        return NULL;
    comparing->items[comparing->n] = (struct changed){.cgroup = cgroup};
    return &comparing->items[comparing->n++];
}

static double cpus_used(const struct comparing *comparing, const struct history_line *line, const struct change *change)
{
    double enabled = 0, covered = 0;

    for (size_t i = change->begin; i < change->end; i++) {
        enabled += (double)line->cells[i].enabled_ns;
        covered += history_is_known(&line->cells[i]) ? (double)comparing->table->steps[i].covered_ns : 0;
    }
    return covered > 0 ? enabled / covered : 0;
}

static int compare_metric(struct comparing *comparing, const struct history_line *line,
                          const struct metric_set *metric_set, size_t metric, size_t which)
{
    const struct history_table *table = comparing->table;
    struct change change;

    for (size_t i = 0; i < table->n_steps; i++) {
        const struct history_cell *cell = &line->cells[i];
        comparing->values[i] =
            is_used(cell, &table->steps[i])
                ? history_metric(&line->row, metric_set, metric, cell, &line->values[i * line->row.n_events],
                                 (double)table->steps[i].covered_ns / (double)NSEC_PER_SEC)
                : NAN;
    }
    if (!change_find(comparing->values, table->n_steps, steps_in(comparing->search, LASTING_NS),
                     steps_in(comparing->search, KNOWN_NS), compared[which].floor, comparing->room, &change))
        return 0;
    struct changed *changed = changed_of(comparing, line->row.cgroup);
    if (!changed)
        return -ENOMEM;
    if (which < first_changed(changed))
        changed->cpus = cpus_used(comparing, line, &change);
    changed->of[which] = change;
    changed->found[which] = true;
    return 0;
}

static int compare_line(struct comparing *comparing, const struct history_line *line)
{
    struct metric_set *metric_set = history_metric_set(&line->row, comparing->search->sources->snapshot);
    int r = metric_set ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < metric_set_count(metric_set); i++)
        for (size_t k = 0; r == 0 && k < ARRAY_SIZE(compared); k++)
            if (str_equal(metric_set_metric(metric_set, i)->name, compared[k].metric))
                r = compare_metric(comparing, line, metric_set, i, k);
    metric_set_free(metric_set);
    return r;
}

static void append_value(struct buffer *to, const struct compared *metric, double value)
{
    buffer_appendf(to, "%.*f%s", metric->decimals, metric->percent ? 100 * value : value, metric->percent ? " %" : "");
}

static void append_change(struct buffer *to, const struct compared *metric, const struct change *change)
{
    buffer_appendf(to, "%s %s from ", metric->name, change->after < change->before ? "fell" : "rose");
    append_value(to, metric, change->before);
    buffer_append_text(to, " to ");
    append_value(to, metric, change->after);
}

/* Appends the cgroup's readable name, or its path if the cgroup has no readable name. */
static void append_name(const struct search *search, const char *cgroup, struct buffer *to)
{
    const struct names *names = snapshot_find_names(search->sources->snapshot, cgroup);
    char room[NAMES_BEST_MAX];
    const char *name = names ? names_best(names, room) : NULL;

    escape_append(to, name ? name : cgroup, ESCAPE_NOTHING);
}

static void append_other_changes(const struct changed *changed, size_t first, struct buffer *text)
{
    for (size_t i = first + 1; i < ARRAY_SIZE(compared); i++) {
        if (!changed->found[i])
            continue;
        buffer_append_text(text, "; ");
        append_change(text, &compared[i], &changed->of[i]);
    }
}

static void append_evidence(const struct search *search, const struct changed *changed, struct buffer *to)
{
    bool filled = false;

    buffer_append_text(to, "/api/v1/history?totals=cgroup");
    append_pattern(to, "cgroup", changed->cgroup);
    buffer_appendf(to, "&step=%llu&derived=", (unsigned long long)(search->range.step_ns / NSEC_PER_SEC));
    for (size_t i = 0; i < ARRAY_SIZE(compared); i++)
        if (changed->found[i]) {
            buffer_appendf(to, "%s%s", filled ? "," : "", compared[i].metric);
            filled = true;
        }
}

static int report_changed(const struct comparing *comparing, struct search *search, const struct changed *changed)
{
    struct finding *finding = add(search, FINDING_SERVICE_CHANGED);
    _cleanup_(buffer_done) struct buffer title = {0}, text = {0}, evidence = {0};
    size_t first = first_changed(changed);
    const struct change *change = &changed->of[first];

    if (!finding)
        return -ENOMEM;
    set_time(search, comparing->table, change->begin, change->end, finding);
    finding->metric = compared[first].metric;
    finding->before = change->before;
    finding->after = change->after;
    append_name(search, changed->cgroup, &title);
    buffer_append_text(&title, ": ");
    append_change(&title, &compared[first], change);
    buffer_append_text(&text, "This lasted ");
    append_duration(&text, (change->end - change->begin) * search->range.step_ns);
    buffer_appendf(&text, ", during which the cgroup used %.2f CPUs", changed->cpus);
    append_other_changes(changed, first, &text);
    buffer_append_text(&text, ".");
    append_evidence(search, changed, &evidence);
    if (take_text(&title, &finding->title) < 0 || take_text(&text, &finding->text) < 0 ||
        take_text(&evidence, &finding->evidence) < 0)
        return -ENOMEM;
    return copy_text(changed->cgroup, &finding->cgroup);
}

static bool is_below(const char *path, const char *above)
{
    size_t size = strlen(above);

    size -= size > 0 && above[size - 1] == '/';
    return strncmp(path, above, size) == 0 && path[size] == '/' && path[size + 1] != '\0';
}

/*
 * Returns whether a cgroup inside the changed cgroup changed at the same time, so that the inner cgroup is the cause.
 */
static bool is_explained(const struct comparing *comparing, const struct changed *changed)
{
    const struct change *change = &changed->of[first_changed(changed)];

    for (size_t i = 0; i < comparing->n; i++) {
        const struct changed *other = &comparing->items[i];
        const struct change *theirs = &other->of[first_changed(other)];
        if (is_below(other->cgroup, changed->cgroup) && theirs->begin < change->end && change->begin < theirs->end)
            return true;
    }
    return false;
}

static int find_service_changed(struct search *search)
{
    _cleanup_(chosen_done) struct chosen chosen = {0};
    _cleanup_(history_table_done) struct history_table table = {0};
    _cleanup_(comparing_done) struct comparing comparing = {.search = search, .table = &table};
    int r = choose_cgroups(search, &chosen);

    if (r == 0 && chosen.n > 0)
        r = look_back(search, search->range.step_ns, is_chosen, &chosen, &table);
    if (r == 0)
        r = history_table_add_up(&table, TOTALS_BY_CGROUP);
    comparing.values = calloc(table.n_steps + 1, sizeof(double));
    comparing.room = calloc(2 * table.n_steps + 1, sizeof(double));
    if (r == 0 && (!comparing.values || !comparing.room))
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < table.n_lines; i++)
        if (table.lines[i].row.n_events > 0)
            r = compare_line(&comparing, &table.lines[i]);
    if (comparing.items)
        qsort(comparing.items, comparing.n, sizeof(comparing.items[0]), compare_changed);
    for (size_t i = 0; r == 0 && i < comparing.n; i++)
        if (!is_explained(&comparing, &comparing.items[i]))
            r = report_changed(&comparing, search, &comparing.items[i]);
    return r;
}

/* --- counters that are starved or multiplexed --- */

/* The state of a group on all of its targets, for one collector and PMU. */
struct group_state {
    const char *collector, *group, *pmu;
    const char *cause; /* cause of the starvation, or NULL if unknown */
    size_t starved;    /* number of targets that are starved now */
    size_t since;      /* first step from which some target's counts have been unknown */
    uint64_t enabled_ns, running_ns;
};

struct group_states {
    struct group_state *items;
    size_t n;
};

static void group_states_done(struct group_states *states)
{
    free(states->items);
}

static struct group_state *group_state_of(struct group_states *states, const char *collector, const char *group,
                                          const char *pmu)
{
    for (size_t i = 0; i < states->n; i++) {
        struct group_state *state = &states->items[i];
        if (str_equal(state->collector, collector) && str_equal(state->group, group) && str_equal(state->pmu, pmu))
            return state;
    }
    if (array_grow(&states->items, states->n) < 0)
        return NULL;
    states->items[states->n] =
        (struct group_state){.collector = collector, .group = group, .pmu = pmu, .since = SIZE_MAX};
    return &states->items[states->n++];
}

static int list_starved(const struct snapshot *snapshot, struct group_states *ret)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->state != ROW_STARVED || row->absent || row->removed || snapshot_row_failed(snapshot, row))
            continue;
        struct group_state *state = group_state_of(ret, row->collector_name, row->group, row->pmu);
        if (!state)
            return -ENOMEM;
        state->starved++;
        state->cause = state->cause ? state->cause : row->cause;
    }
    return 0;
}

static bool is_starved(const void *userdata, const struct history_row *row)
{
    const struct group_states *states = userdata;

    for (size_t i = 0; i < states->n; i++)
        if (str_equal(states->items[i].collector, row->collector) && str_equal(states->items[i].group, row->group) &&
            str_equal(states->items[i].pmu, row->pmu))
            return true;
    return false;
}

/* Returns the first of the unknown steps at the end of the line, or n_steps if the last step is known. */
static size_t unknown_since(const struct history_line *line, size_t n_steps)
{
    size_t begin = n_steps;

    for (size_t i = n_steps; i-- > 0 && !history_is_known(&line->cells[i]);)
        if (line->cells[i].state == HISTORY_UNKNOWN)
            begin = i;
    return begin;
}

static int begin_group(struct search *search, enum finding_rule rule, const struct group_state *state,
                       struct finding **ret)
{
    struct finding *finding = *ret = add(search, rule);
    _cleanup_(buffer_done) struct buffer evidence = {0};

    if (!finding)
        return -ENOMEM;
    buffer_appendf(&evidence, "/api/v1/history?collector=%s", state->collector);
    append_pattern(&evidence, "group", state->group);
    append_pattern(&evidence, "pmu", state->pmu);
    return take_text(&evidence, &finding->evidence) < 0 ? -ENOMEM : copy_text(state->pmu, &finding->pmu);
}

static int report_starved(struct search *search, const struct history_table *table, const struct group_state *state)
{
    _cleanup_(buffer_done) struct buffer title = {0}, text = {0};
    bool cgroups = str_equal(state->collector, "cgroup");
    struct finding *finding;
    int r = begin_group(search, FINDING_STARVED, state, &finding);

    if (r < 0)
        return r;
    set_time(search, table, state->since, table->n_steps, finding);
    buffer_appendf(&title, "The group %s of %s is starved on %zu %s%s", state->group, state->pmu, state->starved,
                   cgroups ? "cgroup" : "CPU", plural(state->starved));
    buffer_append_text(&text, "It has not been counted for ");
    append_duration(&text, table->steps[table->n_steps - 1].end_ns - finding->since_ns);
    buffer_appendf(&text, ": %s.", state->cause ? state->cause : "other groups or programs hold all counters");
    r = take_text(&title, &finding->title);
    return r < 0 ? r : take_text(&text, &finding->text);
}

static int find_starved(struct search *search)
{
    _cleanup_(group_states_done) struct group_states states = {0};
    _cleanup_(history_table_done) struct history_table table = {0};
    int r = list_starved(search->sources->snapshot, &states);

    if (r == 0 && states.n > 0)
        r = look_back(search, search->range.step_ns, is_starved, &states, &table);
    for (size_t i = 0; r == 0 && i < table.n_lines; i++) {
        const struct history_row *row = &table.lines[i].row;
        struct group_state *state = group_state_of(&states, row->collector, row->group, row->pmu);
        if (!state)
            return -ENOMEM;
        state->since = MIN(state->since, unknown_since(&table.lines[i], table.n_steps));
    }
    for (size_t i = 0; r == 0 && i < states.n; i++)
        if (states.items[i].since < table.n_steps &&
            table.n_steps - states.items[i].since > steps_in(search, LASTING_NS))
            r = report_starved(search, &table, &states.items[i]);
    return r;
}

/* A group is reported if it ran for less than this fraction of its enabled time. */
#define COUNTED_SHARE 2

static int report_multiplexed(struct search *search, const struct group_state *state)
{
    _cleanup_(buffer_done) struct buffer title = {0};
    struct finding *finding;
    int r = begin_group(search, FINDING_MULTIPLEXED, state, &finding);

    if (r < 0)
        return r;
    buffer_appendf(&title, "The group %s of %s is counted for only %.0f %% of its time", state->group, state->pmu,
                   100 * (double)state->running_ns / (double)state->enabled_ns);
    r = take_text(&title, &finding->title);
    return r < 0
               ? r
               : copy_text("The PMU has too few counters for all groups, so this group's counts in the last hour "
                           "are estimates. They would be exact with fewer events or with groups that fit the counters.",
                           &finding->text);
}

static int find_multiplexed(struct search *search)
{
    _cleanup_(group_states_done) struct group_states states = {0};
    _cleanup_(history_table_done) struct history_table table = {0};
    int r = look_back(search, LOOK_BACK_NS / 12, NULL, NULL, &table);

    for (size_t i = 0; r == 0 && i < table.n_lines; i++) {
        const struct history_line *line = &table.lines[i];
        struct group_state *state = group_state_of(&states, line->row.collector, line->row.group, line->row.pmu);
        if (!state)
            return -ENOMEM;
        for (size_t k = 0; k < table.n_steps; k++) {
            state->enabled_ns += line->cells[k].enabled_ns;
            state->running_ns += line->cells[k].running_ns;
        }
    }
    for (size_t i = 0; r == 0 && i < states.n; i++)
        if (states.items[i].enabled_ns >= LASTING_NS &&
            states.items[i].running_ns < states.items[i].enabled_ns / COUNTED_SHARE)
            r = report_multiplexed(search, &states.items[i]);
    return r;
}

/* --- missing events and failures --- */

static int report_sentence(struct search *search, enum finding_rule rule, const char *title, const char *text)
{
    struct finding *finding = add(search, rule);

    if (!finding || copy_text(title, &finding->title) < 0 || copy_text(text, &finding->text) < 0)
        return -ENOMEM;
    return copy_text("/api/v1/status", &finding->evidence);
}

static int find_failed(struct search *search)
{
    const struct failures *failures = search->sources->failures;
    int r = 0;

    for (size_t i = 0; r == 0 && i < failures->n; i++)
        if (str_equal(failures->items[i].reason, FAILURE_OF_COLLECTOR)) {
            char title[128];
            snprintf(title, sizeof(title), "The %s collector fails",
                     search->sources->snapshot->collector_names[failures->items[i].collector]);
            r = report_sentence(search, FINDING_FAILED, title, failures->items[i].message);
        }
    for (size_t i = 0; r == 0 && i < search->sources->n_troubles; i++)
        r = report_sentence(search, FINDING_FAILED, "Part of the daemon does not work", search->sources->troubles[i]);
    return r;
}

/* On a machine without a PMU, no event counts as missing. */
static bool is_missing(const struct failure *failure)
{
    return failure->event[0] && !str_equal(failure->reason, REASON_LABEL_NO_PMU);
}

/* Returns whether the failure is that the collector does not see all of its CPUs or cgroups. */
static bool is_incomplete(const struct failure *failure)
{
    return !failure->event[0] && !str_equal(failure->reason, FAILURE_OF_COLLECTOR);
}

static int report_incomplete(struct search *search, const struct failure *failure)
{
    _cleanup_(freep) char *cpus = cpuset_format(&failure->cpus);
    _cleanup_(buffer_done) struct buffer text = {0};
    char title[64];

    if (cpus && cpus[0])
        buffer_appendf(&text, "cpu %s: ", cpus);
    buffer_append_text(&text, failure->message);
    buffer_append_char(&text, '\0');
    if (!cpus || text.failed)
        return -ENOMEM;
    snprintf(title, sizeof(title), "The %s collector is incomplete",
             search->sources->snapshot->collector_names[failure->collector]);
    return report_sentence(search, FINDING_MISSING, title, text.data);
}

static int find_missing(struct search *search)
{
    const struct failures *failures = search->sources->failures;
    const struct failure *first = NULL;
    char title[64];
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < failures->n; i++)
        if (is_incomplete(&failures->items[i])) {
            r = report_incomplete(search, &failures->items[i]);
        } else if (is_missing(&failures->items[i])) {
            first = first ? first : &failures->items[i];
            n++;
        }
    if (n == 0)
        return r;
    _cleanup_(buffer_done) struct buffer text = {0};
    buffer_appendf(&text, "%s: %s", first->event, first->message);
    buffer_append_char(&text, '\0');
    if (r < 0 || text.failed)
        return -ENOMEM;
    snprintf(title, sizeof(title), "%zu event%s not counted", n, n == 1 ? " is" : "s are");
    return report_sentence(search, FINDING_MISSING, title, text.data);
}

/* --- rules --- */

static const struct rule {
    const char *name;
    int (*find)(struct search *search); /* appends the rule's findings; returns -ENOMEM on failure */
} rules[N_FINDING_RULES] = {
    [FINDING_FAILED] = {"failed", find_failed},
    [FINDING_CLOCK_LIMITED] = {"clock_limited", find_clock_limited},
    [FINDING_SERVICE_CHANGED] = {"service_changed", find_service_changed},
    [FINDING_STARVED] = {"starved", find_starved},
    [FINDING_MULTIPLEXED] = {"multiplexed", find_multiplexed},
    [FINDING_MISSING] = {"missing", find_missing},
};

const char *finding_rule_name(enum finding_rule rule)
{
    return rules[rule].name;
}

static void set_range(struct search *search)
{
    uint64_t begin, end, interval = search->sources->histories->interval_ns;

    history_span(history_of(search), &begin, &end);
    search->range = (struct history_range){
        .since_ns = MAX(begin, end - MIN(end, LOOK_BACK_NS)),
        .until_ns = end,
        .step_ns = MAX(STEP_NS, 2 * interval),
    };
}

int findings_make(const struct findings_sources *sources, struct findings *ret)
{
    struct search search = {.sources = sources, .to = ret};
    int r = 0;

    *ret = (struct findings){0};
    if (sources->histories)
        set_range(&search);
    for (size_t i = 0; r == 0 && i < N_FINDING_RULES; i++)
        r = rules[i].find(&search);
    return r;
}
