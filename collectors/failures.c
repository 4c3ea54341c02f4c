/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/failures.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "metrics/own-metrics.h"
#include "perf/sys.h"

static void failure_done(struct failure *failure)
{
    free((char *)failure->group);
    free((char *)failure->event);
    free((char *)failure->metric);
    free((char *)failure->pmu);
    free((char *)failure->reason);
    free((char *)failure->message);
    free((char *)failure->where);
    cpuset_done(&failure->cpus);
}

void failures_done(struct failures *failures)
{
    for (size_t i = 0; i < failures->n; i++)
        failure_done(&failures->items[i]);
    free(failures->items);
    *failures = (struct failures){0};
}

static struct failure *failures_find(const struct failures *failures, const struct failure *failure)
{
    for (size_t i = 0; i < failures->n; i++) {
        struct failure *other = &failures->items[i];
        if (other->collector == failure->collector && str_equal(other->group, failure->group) &&
            str_equal(other->metric, failure->metric) && str_equal(other->pmu, failure->pmu) &&
            str_equal(other->reason, failure->reason))
            return other;
    }
    return NULL;
}

static struct failure *failures_append(struct failures *failures, const struct failure *failure)
{
    if (array_grow(&failures->items, failures->n) < 0)
        return NULL;
    struct failure copy = {
        .collector = failure->collector,
        .group = strdup(failure->group),
        .event = strdup(failure->event),
        .metric = strdup(failure->metric),
        .pmu = strdup(failure->pmu),
        .reason = strdup(failure->reason),
        .message = strdup(failure->message),
        .where = failure->where ? strdup(failure->where) : NULL,
    };
    if (!copy.group || !copy.event || !copy.metric || !copy.pmu || !copy.reason || !copy.message ||
        (failure->where && !copy.where)) {
        failure_done(&copy);
        return NULL;
    }
    failures->items[failures->n] = copy;
    return &failures->items[failures->n++];
}

static int failures_find_or_append(struct failures *failures, const struct failure *failure, struct failure **ret)
{
    struct failure *listed = failures_find(failures, failure);

    if (!listed)
        listed = failures_append(failures, failure);
    if (!listed)
        return -ENOMEM;
    *ret = listed;
    return 0;
}

int failures_add(struct failures *failures, const struct failure *failure, int cpu)
{
    struct failure *listed;
    int r = failures_find_or_append(failures, failure, &listed);

    if (r == 0 && cpu >= 0)
        r = cpuset_add(&listed->cpus, (unsigned)cpu);
    if (r == 0)
        listed->n_targets++;
    failures_note(failures, failure->span);
    return r;
}

int failures_add_cgroups(struct failures *failures, const struct failures *cgroup, size_t n)
{
    failures_note(failures, cgroup->span);
    for (size_t i = 0; i < cgroup->n; i++) {
        const struct cpuset *cpus = &cgroup->items[i].cpus;
        struct failure *listed;
        int r = failures_find_or_append(failures, &cgroup->items[i], &listed);
        for (int cpu = cpuset_next(cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(cpus, cpu))
            r = cpuset_add(&listed->cpus, (unsigned)cpu);
        if (r < 0)
            return r;
        listed->in_cgroups = true;
        listed->n_targets += n;
    }
    return 0;
}

size_t failures_count_events(const struct failures *failures)
{
    size_t n = 0;

    for (size_t i = 0; i < failures->n; i++)
        n += failures->items[i].event[0] != '\0';
    return n;
}

/* --- sentences --- */

static bool failed_at_same_targets(const struct failure *a, const struct failure *b)
{
    if (!a->where || !b->where)
        return !a->where && !b->where && a->in_cgroups == b->in_cgroups && cpuset_equal(&a->cpus, &b->cpus);
    return str_equal(a->where, b->where);
}

static bool is_of_no_pmu(const struct failure *failure)
{
    return str_equal(failure->reason, REASON_LABEL_NO_PMU);
}

static bool share_sentence(const struct failure *a, const struct failure *b)
{
    return (is_of_no_pmu(a) && is_of_no_pmu(b)) || (str_equal(a->message, b->message) && failed_at_same_targets(a, b));
}

/*
 * Returns the index of the first failure with the same message as the i-th failure. Only this failure reports the
 * message.
 */
static size_t find_reporter(const struct failures *failures, size_t i)
{
    size_t k = 0;

    while (k < i && !share_sentence(&failures->items[k], &failures->items[i]))
        k++;
    return k;
}

/* Returns whether the message of `reporter` already names the event of the i-th failure. */
static bool is_named(const struct failures *failures, const size_t *reporters, size_t reporter, size_t i)
{
    const char *event = failures->items[i].event;

    for (size_t k = 0; k < i; k++)
        if (reporters[k] == reporter && str_equal(failures->items[k].event, event))
            return true;
    return str_equal(failures->items[reporter].event, event);
}

/*
 * Begins a message with the place and the events that the failure concerns. `cpus` is empty for a failure that concerns
 * no particular CPU.
 */
static void append_where(struct buffer *sentence, const struct failure *failure, const char *cpus)
{
    if (is_of_no_pmu(failure) && cpus[0])
        buffer_appendf(sentence, "cpu %s ", cpus);
    else if (failure->where)
        buffer_appendf(sentence, "%s%s", failure->where, failure->event[0] ? ": " : "");
    else if (failure->in_cgroups)
        buffer_appendf(sentence, cpus[0] ? "cgroups, on cpu %s: " : "cgroups: ", cpus);
    else if (cpus[0])
        buffer_appendf(sentence, "cpu %s%s", cpus, failure->event[0] ? " " : "");
}

static char *write_sentence(const struct failures *failures, const size_t *reporters, size_t reporter)
{
    _cleanup_(buffer_done) struct buffer sentence = {0};
    _cleanup_(cpuset_done) struct cpuset all = {0};
    const struct failure *failure = &failures->items[reporter];

    for (size_t i = 0; i < failures->n; i++)
        if (reporters[i] == reporter)
            CPUSET_FOREACH (cpu, &failures->items[i].cpus)
                if (cpuset_add(&all, (unsigned)cpu) < 0)
                    return NULL;
    _cleanup_(freep) char *cpus = cpuset_format(&all);
    if (!cpus)
        return NULL;
    append_where(&sentence, failure, cpus);
    buffer_append_text(&sentence, failure->event);
    for (size_t i = 0; i < failures->n; i++)
        if (reporters[i] == reporter && !is_named(failures, reporters, reporter, i))
            buffer_appendf(&sentence, ", %s", failures->items[i].event);
    buffer_appendf(&sentence, ": %s",
                   is_of_no_pmu(failure) ? REASON_NO_PMU ": " REASON_NO_PMU_REMEDY : failure->message);
    return buffer_string(&sentence);
}

int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata)
{
    _cleanup_(freep) size_t *reporters = calloc(failures->n + 1, sizeof(reporters[0]));
    int r = reporters ? 0 : -ENOMEM;

    for (size_t i = 0; i < failures->n && r == 0; i++)
        reporters[i] = find_reporter(failures, i);
    for (size_t i = 0; i < failures->n && r == 0; i++) {
        if (reporters[i] != i)
            continue;
        _cleanup_(freep) char *sentence = write_sentence(failures, reporters, i);
        r = sentence ? visit(userdata, &failures->items[i], sentence) : -ENOMEM;
    }
    return r;
}

struct sentences {
    char **items;
    size_t n;
};

static int add_sentence(void *userdata, const struct failure *first, const char *sentence)
{
    struct sentences *sentences = userdata;
    char *copy = strdup(sentence);

    (void)first;
    if (!copy || array_grow(&sentences->items, sentences->n) < 0) {
        free(copy);
        return -ENOMEM;
    }
    sentences->items[sentences->n++] = copy;
    return 0;
}

int failures_sentences(const struct failures *failures, char ***ret, size_t *ret_n)
{
    struct sentences sentences = {0};
    int r = failures_visit(failures, add_sentence, &sentences);

    if (r < 0) {
        strings_free(sentences.items, sentences.n);
        return r;
    }
    *ret = sentences.items;
    *ret_n = sentences.n;
    return 0;
}

struct series *failure_add_series(const struct failure *failure, const char *collector, struct metrics *metrics)
{
    const struct label of_event[] = {{"collector", collector},
                                     {"group", failure->group},
                                     {"event", failure->metric},
                                     {"pmu", failure->pmu},
                                     {"reason", failure->reason}};
    const struct label of_collector[] = {{"collector", collector}, {"reason", failure->reason}};
    bool is_event = failure->event[0];

    struct series *series =
        is_event ? own_metrics_add(metrics, OWN_EVENTS_UNAVAILABLE, failure->collector, of_event, ARRAY_SIZE(of_event))
                 : own_metrics_add(metrics, OWN_COLLECTOR_INCOMPLETE, failure->collector, of_collector,
                                   ARRAY_SIZE(of_collector));
    if (series)
        series_set(series, is_event ? failure->n_targets : 1);
    return series;
}
