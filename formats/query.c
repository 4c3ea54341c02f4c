/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/query.h"

#include <ctype.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroups/path.h"

#define ORDER_LIMIT_MAX 10000

/* --- filter --- */

#define CPU_MAX 65535

static const char *key_text(size_t key)
{
    static const char *const keys[FILTER_NAME] = {
        [FILTER_CPU] = "cpu",     [FILTER_PMU] = "pmu",     [FILTER_CGROUP] = "cgroup",
        [FILTER_GROUP] = "group", [FILTER_EVENT] = "event",
    };

    return key < FILTER_NAME ? keys[key] : name_kind_text((enum name_kind)(key - FILTER_NAME));
}

/*
 * Returns whether the values of this filter key are patterns. Patterns are not required to match anything, because
 * cgroups and their names come and go.
 */
static bool is_pattern(enum filter_key key)
{
    return key == FILTER_CGROUP || key >= FILTER_NAME;
}

static void term_done(struct filter_term *term)
{
    for (size_t i = 0; i < ARRAY_SIZE(term->labels); i++)
        free(term->labels[i]);
}

void filter_done(struct filter *filter)
{
    for (size_t i = 0; i < filter->n; i++)
        term_done(&filter->terms[i]);
    free(filter->terms);
    *filter = (struct filter){0};
}

static int refuse_collector(const char *const *collector_names, const char *parameter, const char *value,
                            struct error *error)
{
    _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = value};

    for (size_t i = 0; collector_names[i]; i++)
        unknown_consider(&unknown, collector_names[i]);
    return unknown_error(&unknown, error, "parameter \"%s\": there is no collector \"%.64s\"", parameter, value);
}

static int add_collector(struct filter *filter, const char *const *collector_names, const char *parameter,
                         const char *value, struct error *error)
{
    int collector = collector_find(collector_names, value);

    if (collector < 0)
        return refuse_collector(collector_names, parameter, value, error);
    filter->mask |= UINT32_C(1) << collector;
    return 0;
}

/* Parses a CPU or a range: "4" or "0-3". */
static int parse_cpus(const char *value, unsigned *ret_first, unsigned *ret_last, struct error *error)
{
    size_t size = strlen(value), dash = strcspn(value, "-");
    uint64_t first, last;
    int r = number_parse_u64_n(value, dash, &first);

    last = first;
    if (r == 0 && dash < size)
        r = number_parse_u64_n(value + dash + 1, size - dash - 1, &last);
    if (r < 0 || first > last || last > CPU_MAX)
        return error_set(error, -EINVAL,
                         "parameter \"cpu\": expected a number from 0 to %d or a range such as 0-3, found \"%.64s\"",
                         CPU_MAX, value);
    *ret_first = (unsigned)first;
    *ret_last = (unsigned)last;
    return 0;
}

static int check_pattern(const struct filter_term *term, struct error *error)
{
    int r = glob_check(term->text, error);

    if (r < 0)
        error_prefix(error, "parameter \"%s\"", key_text(term->key));
    else if (term->key == FILTER_CGROUP && term->text[0] != '/' && strchr(term->text, '/'))
        r = error_set(error, -EINVAL,
                      "parameter \"cgroup\": expected a path, which starts with \"/\", or one name, found \"%.64s\"",
                      term->text);
    return r;
}

static int set_labels(struct filter_term *term)
{
    size_t size = strlen(term->text);

    if (utf8_printable_prefix(term->text, size) == size)
        return 0;
    int r = cgroup_label(term->text, CGROUP_LABEL_PLAIN, &term->labels[0]);
    return r < 0 ? r : cgroup_label(term->text, CGROUP_LABEL_DISTINCT, &term->labels[1]);
}

static int find_key(const char *name, enum filter_key *ret)
{
    for (size_t i = 0; i < N_FILTER_KEYS; i++)
        if (str_equal(key_text(i), name)) {
            *ret = (enum filter_key)i;
            return 0;
        }
    return -ENOENT;
}

int filter_add(struct filter *filter, const char *const *collector_names, const char *name, const char *value,
               struct error *error)
{
    _cleanup_(term_done) struct filter_term term = {.text = value};
    int r = 0;

    if (str_equal(name, "collector") || str_equal(name, "collect[]"))
        return add_collector(filter, collector_names, name, value, error);
    if (find_key(name, &term.key) < 0)
        return -ENOENT;
    if (!*value)
        return error_set(error, -EINVAL, "parameter \"%s\": the value is empty", name);
    if (term.key == FILTER_CPU)
        r = parse_cpus(value, &term.first, &term.last, error);
    else if (is_pattern(term.key))
        r = check_pattern(&term, error);
    if (r < 0)
        return r;
    if ((is_pattern(term.key) && set_labels(&term) < 0) || array_grow(&filter->terms, filter->n) < 0)
        return error_oom(error);
    filter->given[term.key]++;
    filter->terms[filter->n++] = term;
    term = (struct filter_term){0};
    return 0;
}

uint32_t filter_mask(const struct filter *filter)
{
    return filter && filter->mask ? filter->mask : UINT32_MAX;
}

bool filter_has_names(const struct filter *filter)
{
    bool any = false;

    for (size_t i = FILTER_NAME; i < N_FILTER_KEYS; i++)
        any |= filter->given[i] > 0;
    return any;
}

bool filter_is_mask(const struct filter *filter)
{
    return !filter || filter->n == 0;
}

bool filter_event_matches(const char *wanted, const char *name)
{
    for (; *wanted && (tolower((unsigned char)*wanted) == *name || (*wanted == '-' && *name == '_')); wanted++)
        name++;
    return *wanted == *name;
}

static bool matches_pattern(const struct filter_term *term, const char *text)
{
    if (!term->labels[0])
        return glob_match_last(term->text, text);
    return glob_match_last(term->labels[0], text) || glob_match_last(term->labels[1], text);
}

static bool matches_text(const struct filter_term *term, const char *text)
{
    if (is_pattern(term->key))
        return matches_pattern(term, text);
    return str_equal(term->text, text) || (term->key == FILTER_EVENT && filter_event_matches(term->text, text));
}

/*
 * Returns whether a value passes the filter's terms for this key. `text` is NULL if the row has no value for the key.
 */
static bool passes_text(const struct filter *filter, enum filter_key key, const char *text)
{
    if (!filter->given[key])
        return true;
    for (size_t i = 0; text && i < filter->n; i++) {
        const struct filter_term *term = &filter->terms[i];
        if (term->key == key && matches_text(term, text))
            return true;
    }
    return false;
}

static bool passes_cpu(const struct filter *filter, int cpu)
{
    if (!filter->given[FILTER_CPU])
        return true;
    for (size_t i = 0; cpu >= 0 && i < filter->n; i++) {
        const struct filter_term *term = &filter->terms[i];
        if (term->key == FILTER_CPU && (unsigned)cpu >= term->first && (unsigned)cpu <= term->last)
            return true;
    }
    return false;
}

static bool passes_names(const struct filter *filter, const struct names *names)
{
    bool passes = true;

    for (size_t i = 0; passes && i < N_NAME_KEYS; i++)
        passes = passes_text(filter, (enum filter_key)(FILTER_NAME + i), names ? names->texts[i] : NULL);
    return passes;
}

bool filter_passes_row(const struct filter *filter, const struct row *row)
{
    if (!(filter_mask(filter) >> row->collector & 1))
        return false;
    return filter_is_mask(filter) ||
           (passes_cpu(filter, row->cpu) && passes_text(filter, FILTER_CGROUP, row->cgroup) &&
            passes_text(filter, FILTER_GROUP, row->group) && passes_names(filter, row->names));
}

bool filter_passes_counter(const struct filter *filter, const struct counter *counter)
{
    return !filter ||
           (passes_text(filter, FILTER_EVENT, counter->event) && passes_text(filter, FILTER_PMU, counter->pmu));
}

bool filter_passes_some(const struct filter *filter, const struct row *row)
{
    bool any = false;

    for (size_t i = 0; i < row->n_counters && !any; i++)
        any = filter_passes_counter(filter, &row->counters[i]);
    return any && filter_passes_row(filter, row);
}

/* Calls `take` for each name that a query may ask for, possibly more than once. */
static void each_known(const struct snapshot *snapshot, enum known_kind kind,
                       void (*take)(void *userdata, const char *name), void *userdata)
{
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (kind == KNOWN_GROUPS)
            take(userdata, row->group);
        for (size_t k = 0; kind != KNOWN_GROUPS && k < row->n_counters; k++)
            take(userdata, kind == KNOWN_EVENTS ? row->counters[k].event : row->counters[k].pmu);
    }
    for (size_t i = 0; i < snapshot->known[kind].n; i++)
        take(userdata, snapshot->known[kind].names[i]);
}

static const struct {
    enum known_kind kind;
    const char *noun;
} lists[FILTER_NAME] = {
    [FILTER_PMU] = {KNOWN_PMUS, "PMU"},
    [FILTER_GROUP] = {KNOWN_GROUPS, "group"},
    [FILTER_EVENT] = {KNOWN_EVENTS, "event"},
};

struct check {
    const struct filter_term *term;
    bool found;
};

static void check_take(void *userdata, const char *name)
{
    struct check *check = userdata;

    check->found = check->found || matches_text(check->term, name);
}

static void refusal_take(void *userdata, const char *name)
{
    unknown_consider(userdata, name);
}

static int check_name(const struct filter_term *term, const struct snapshot *snapshot, struct error *error)
{
    _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = term->text};
    struct check check = {.term = term};

    each_known(snapshot, lists[term->key].kind, check_take, &check);
    if (check.found)
        return 0;
    each_known(snapshot, lists[term->key].kind, refusal_take, &unknown);
    return unknown_error(&unknown, error, "parameter \"%s\": no counter here has the %s \"%.64s\"", key_text(term->key),
                         lists[term->key].noun, term->text);
}

static int check_cpus(const struct filter_term *term, const struct snapshot *snapshot, struct error *error)
{
    int cpu = cpuset_next(&snapshot->possible, (int)term->first - 1);

    if (cpuset_count(&snapshot->possible) == 0 || (cpu >= 0 && (unsigned)cpu <= term->last))
        return 0;
    cpuset_refuse(&snapshot->possible, term->text, error);
    error_prefix(error, "parameter \"cpu\"");
    return -EINVAL;
}

int filter_check(const struct filter *filter, const struct snapshot *snapshot, struct error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < filter->n; i++) {
        const struct filter_term *term = &filter->terms[i];
        if (term->key == FILTER_CPU)
            r = check_cpus(term, snapshot, error);
        else if (!is_pattern(term->key))
            r = check_name(term, snapshot, error);
    }
    return r;
}

/* --- order --- */

static int parse_limit(const char *value, size_t *ret, struct error *error)
{
    uint64_t limit;

    if (number_parse_u64(value, &limit) < 0 || limit < 1 || limit > ORDER_LIMIT_MAX)
        return error_set(error, -EINVAL, "parameter \"limit\": expected a number from 1 to %d, found \"%.64s\"",
                         ORDER_LIMIT_MAX, value);
    *ret = (size_t)limit;
    return 0;
}

int order_add(struct order *order, const char *name, const char *value, struct error *error)
{
    if (str_equal(name, "limit"))
        return parse_limit(value, &order->limit, error);
    if (str_equal(name, "sort")) {
        order->sort = value;
        return 0;
    }
    if (!str_equal(name, "order"))
        return -ENOENT;
    if (!str_equal(value, "asc") && !str_equal(value, "desc"))
        return error_set(error, -EINVAL, "parameter \"order\": expected \"asc\" or \"desc\", found \"%.64s\"", value);
    order->given = true;
    order->ascending = str_equal(value, "asc");
    return 0;
}

static bool row_has_metric(const struct row *row, const char *name)
{
    for (size_t i = 0; row->metric_set && i < metric_set_count(row->metric_set); i++)
        if (filter_event_matches(name, metric_set_metric(row->metric_set, i)->name))
            return true;
    return false;
}

static bool is_metric(const char *name)
{
    for (size_t i = 0; i < derived_count(); i++)
        if (filter_event_matches(name, derived_at(i)->name))
            return true;
    return false;
}

/*
 * The requested name of a sort key, and the known names for an error message: the names of the rows' derived metrics
 * and of the events.
 */
struct choice {
    struct unknown unknown;
    bool found;
};

static void choice_done(struct choice *choice)
{
    unknown_done(&choice->unknown);
}

static void choice_take(void *userdata, const char *name)
{
    struct choice *choice = userdata;

    choice->found = choice->found || filter_event_matches(choice->unknown.suggest.wrong, name);
    unknown_consider(&choice->unknown, name);
}

/* Returns -EINVAL if no event or metric of this machine can have the name. */
static int check_sort(const char *name, const struct snapshot *snapshot, struct error *error)
{
    _cleanup_(choice_done) struct choice choice = {.unknown.suggest.wrong = name};

    if (is_metric(name))
        return 0;
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct metric_set *metric_set = snapshot->rows[i]->metric_set;
        for (size_t k = 0; metric_set && k < metric_set_count(metric_set); k++)
            choice_take(&choice, metric_set_metric(metric_set, k)->name);
    }
    each_known(snapshot, KNOWN_EVENTS, choice_take, &choice);
    if (choice.found)
        return 0;
    return unknown_error(&choice.unknown, error,
                         "parameter \"sort\": there is no event or derived metric \"%.64s\" here", name);
}

static bool row_has_event(const struct row *row, const char *name)
{
    for (size_t i = 0; i < row->n_counters; i++)
        if (filter_event_matches(name, row->counters[i].event))
            return true;
    return false;
}

static bool is_cpu_time(const struct snapshot *snapshot, const struct row *row, const char *name)
{
    return filter_event_matches(name, CPU_UTILIZATION) && rates_has_cpu_time(snapshot, row);
}

bool order_has_name(const struct order *order, const struct snapshot *snapshot, const struct row *row)
{
    return row_has_event(row, order->sort) || row_has_metric(row, order->sort) ||
           is_cpu_time(snapshot, row, order->sort);
}

/* Returns whether a formula of the metric uses one of the row's events. */
static bool metric_uses_row(const struct derived_metric *metric, const struct row *row)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    for (const struct derived_formula *formula = metric->formulas; formula->text; formula++)
        for (const char *at = formula->text; *at;) {
            char word[FORMULA_NAME_SIZE];
            size_t size = strspn(at, letters);
            snprintf(word, sizeof(word), "%.*s", (int)size, at);
            for (size_t i = 0; size > 0 && i < row->n_counters; i++)
                if (derived_names_event(word, row->counters[i].event))
                    return true;
            at += MAX(size, (size_t)1);
        }
    return false;
}

/* Returns whether the row would have this event or metric if its events could be opened. */
static bool row_should_have(const struct row *row, const char *name)
{
    for (size_t i = 0; i < derived_count(); i++)
        if (filter_event_matches(name, derived_at(i)->name))
            return metric_uses_row(derived_at(i), row);
    return row_has_event(row, name);
}

int order_refuse(const struct order *order, const struct snapshot *snapshot,
                 bool (*passes)(const void *userdata, const struct row *row), const void *userdata, struct error *error)
{
    static const struct order by_time = {.sort = CPU_UTILIZATION};
    const char *failure = NULL;
    bool has_time = false;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (!passes(userdata, row))
            continue;
        if (row->state != ROW_UNAVAILABLE)
            has_time = has_time || order_has_name(&by_time, snapshot, row);
        else if (!failure && row_should_have(row, order->sort))
            failure = row->error;
    }
    return error_set(
        error, -EINVAL, "parameter \"sort\": no row has \"%.64s\"%s%.384s%s", order->sort,
        failure ? ": "
                : "; /api/v1/metrics and \"perfcountd plan\" list the available names, and say why others are missing",
        failure ? failure : "", has_time ? "; sort by \"" CPU_UTILIZATION "\" instead" : "");
}

static bool passes_filter(const void *userdata, const struct row *row)
{
    return !row->absent && filter_passes_some(userdata, row);
}

/* Returns -EINVAL if rows pass the filter, but none of them has an event or metric with this name. */
static int check_rows(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                      struct error *error)
{
    bool any = false;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->state == ROW_UNAVAILABLE || !passes_filter(filter, row))
            continue;
        if (order_has_name(order, snapshot, row))
            return 0;
        any = true;
    }
    return any ? order_refuse(order, snapshot, passes_filter, filter, error) : 0;
}

int order_check(const struct order *order, const struct filter *filter, const struct snapshot *snapshot,
                struct error *error)
{
    if (!order->sort)
        return order->given ? error_set(error, -EINVAL, "parameter \"order\" needs \"sort\"") : 0;
    int r = check_sort(order->sort, snapshot, error);
    return r < 0 ? r : check_rows(order, filter, snapshot, error);
}

double order_value(const struct order *order, const struct rates *rates)
{
    for (size_t i = 0; i < rates->n_ratios; i++)
        if (filter_event_matches(order->sort, rates->ratios[i].name))
            return rates->ratios[i].value;
    for (size_t i = 0; i < rates->row->n_counters; i++)
        if (filter_event_matches(order->sort, rates->row->counters[i].event))
            return rates->events[i];
    return filter_event_matches(order->sort, CPU_UTILIZATION) ? rates_cpu_utilization(rates) : NAN;
}

struct order_key order_key_of(const struct row *row, double value)
{
    return (struct order_key){
        .item = row, .target = {row->collector_name, row->cgroup, row->cpu, row->pmu}, .value = value};
}

/* Comparison for qsort(3), which puts unknown values last. */
static int compare_ascending(const void *a, const void *b)
{
    const struct order_key *one = a, *other = b;

    if (isnan(one->value) != isnan(other->value))
        return isnan(one->value) ? 1 : -1;
    if (one->value < other->value || one->value > other->value)
        return one->value < other->value ? -1 : 1;
    return (one->position > other->position) - (one->position < other->position);
}

static int compare_descending(const void *a, const void *b)
{
    const struct order_key *one = a, *other = b;
    int order = compare_ascending(a, b);

    return one->value < other->value || one->value > other->value ? -order : order;
}

/* The first order->limit targets, listed as their rows are first seen. The strings are borrowed. */
struct order_targets {
    struct order_target *items;
    size_t n;
    struct hash_index index;
};

static bool is_same_target(const struct order_target *a, const struct order_target *b)
{
    return str_equal(a->collector, b->collector) && a->cpu == b->cpu && str_equal(a->cgroup, b->cgroup) &&
           str_equal(a->pmu, b->pmu);
}

static void order_targets_done(struct order_targets *targets)
{
    free(targets->items);
    hash_index_done(&targets->index);
    *targets = (struct order_targets){0};
}

/* Returns whether the target of a row is one of the first `limit` targets. Returns 1, 0 or -ENOMEM. */
static int order_admit(const struct order *order, struct order_targets *targets, const struct order_target *row)
{
    struct order_target target = *row;
    size_t at = 0;

    if (order->limit == 0)
        return 1;
    target.cgroup = target.cgroup ? target.cgroup : "";
    if (*target.cgroup || target.cpu >= 0)
        target.pmu = "";
    uint32_t found,
        hash = hash_fold(hash_mix(hash_mix_text(hash_mix_text(0, target.cgroup), target.pmu), (uint64_t)target.cpu));
    while ((found = hash_index_next(&targets->index, hash, &at)) != HASH_INDEX_NONE)
        if (is_same_target(&targets->items[found], &target))
            return 1;
    if (targets->n >= order->limit)
        return 0;
    if (array_grow(&targets->items, targets->n) < 0 || hash_index_add(&targets->index, hash, (uint32_t)targets->n) < 0)
        return -ENOMEM;
    targets->items[targets->n++] = target;
    return 1;
}

int order_apply(const struct order *order, struct order_key *keys, size_t n, size_t *ret_n)
{
    _cleanup_(order_targets_done) struct order_targets targets = {0};
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        keys[i].position = i;
    if (order->sort && n)
        qsort(keys, n, sizeof(*keys), order->ascending ? compare_ascending : compare_descending);
    for (size_t i = 0; i < n; i++) {
        int r = order_admit(order, &targets, &keys[i].target);
        if (r < 0)
            return r;
        if (r > 0)
            keys[kept++] = keys[i];
    }
    *ret_n = kept;
    return 0;
}
