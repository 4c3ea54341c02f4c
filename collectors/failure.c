/* SPDX-License-Identifier: Apache-2.0 */
/* What could not be opened: see failure.h. */
#include "collectors/failure.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/sys.h"

static void failure_done(struct failure *failure)
{
    free(failure->group);
    free(failure->event);
    free(failure->metric);
    free(failure->pmu);
    free(failure->reason);
    free(failure->message);
    free(failure->place);
    cpuset_done(&failure->cpus);
}

void failures_done(struct failures *failures)
{
    for (size_t i = 0; i < failures->n; i++)
        failure_done(&failures->items[i]);
    free(failures->items);
    *failures = (struct failures){0};
}

static bool is_same(const struct failure *a, const struct failure *b)
{
    return a->collector == b->collector && str_equal(a->group, b->group) && str_equal(a->metric, b->metric) &&
           str_equal(a->pmu, b->pmu) && str_equal(a->reason, b->reason);
}

static int append(struct failures *failures, const struct failure *item)
{
    int r = array_grow(&failures->items, failures->n);

    if (r < 0)
        return r;
    struct failure copy = {
        .collector = item->collector,
        .group = strdup(item->group),
        .event = strdup(item->event),
        .metric = strdup(item->metric),
        .pmu = strdup(item->pmu),
        .reason = strdup(item->reason),
        .message = strdup(item->message),
        .place = item->place ? strdup(item->place) : NULL,
    };
    if (!copy.group || !copy.event || !copy.metric || !copy.pmu || !copy.reason || !copy.message ||
        (item->place && !copy.place)) {
        failure_done(&copy);
        return -ENOMEM;
    }
    failures->items[failures->n++] = copy;
    return 0;
}

static struct failure *find_or_append(struct failures *failures, const struct failure *item)
{
    for (size_t i = 0; i < failures->n; i++)
        if (is_same(&failures->items[i], item))
            return &failures->items[i];
    return append(failures, item) < 0 ? NULL : &failures->items[failures->n - 1];
}

int failures_add(struct failures *failures, const struct failure *item, int cpu)
{
    struct failure *failure = find_or_append(failures, item);
    int r = failure ? 0 : -ENOMEM;

    if (r == 0 && cpu >= 0)
        r = cpuset_add(&failure->cpus, (unsigned)cpu);
    if (r == 0)
        failure->n_targets++;
    failures_note(failures, item->span);
    return r;
}

int failures_add_cgroup(struct failures *failures, const struct failures *cgroup)
{
    failures_note(failures, cgroup->span);
    for (size_t i = 0; i < cgroup->n; i++) {
        const struct cpuset *cpus = &cgroup->items[i].cpus;
        struct failure *failure = find_or_append(failures, &cgroup->items[i]);
        int r = failure ? 0 : -ENOMEM;
        for (int cpu = cpuset_next(cpus, -1); cpu >= 0 && r == 0; cpu = cpuset_next(cpus, cpu))
            r = cpuset_add(&failure->cpus, (unsigned)cpu);
        if (r < 0)
            return r;
        failure->in_cgroups = true;
        failure->n_targets++;
    }
    return 0;
}

static bool is_same_place(const struct failure *a, const struct failure *b)
{
    if (!a->place || !b->place)
        return !a->place && !b->place && a->in_cgroups == b->in_cgroups && cpuset_equal(&a->cpus, &b->cpus);
    return str_equal(a->place, b->place);
}

/*
 * Whose sentence tells the i-th: the first that failed for the same reason at the same place. What says of some CPUs
 * that permission or a PMU is lacking says it of any other place as well.
 */
static size_t teller_of(const struct failures *failures, size_t i)
{
    const struct failure *told = &failures->items[i];
    size_t teller = i;

    for (size_t k = 0; k < failures->n; k++) {
        const struct failure *other = &failures->items[k];
        if (!str_equal(other->message, told->message))
            continue;
        if ((told->place || told->in_cgroups) && !other->place && !other->in_cgroups)
            return k;
        if (k < teller && is_same_place(other, told))
            teller = k;
    }
    return teller;
}

/* Whether the sentence of `teller` has named the event of the i-th already. */
static bool is_named(const struct failures *failures, const size_t *tellers, size_t teller, size_t i)
{
    const char *event = failures->items[i].event;

    for (size_t k = 0; k < i; k++)
        if (tellers[k] == teller && str_equal(failures->items[k].event, event))
            return true;
    return str_equal(failures->items[teller].event, event);
}

static char *tell(const struct failures *failures, const size_t *tellers, size_t teller)
{
    _cleanup_(buffer_done) struct buffer sentence = {0};
    const struct failure *failure = &failures->items[teller];
    _cleanup_(freep) char *cpus = cpuset_format(&failure->cpus);

    if (!cpus)
        return NULL;
    /* Some are of no CPU, and some of no event. */
    const char *place = failure->place ? failure->place : cpus, *kind = failure->place || !cpus[0] ? "" : "cpu ";
    buffer_appendf(&sentence, "%s%s", kind, place);
    buffer_appendf(&sentence, "%s%s", place[0] && failure->event[0] ? " " : "", failure->event);
    for (size_t i = 0; i < failures->n; i++)
        if (tellers[i] == teller && !is_named(failures, tellers, teller, i))
            buffer_appendf(&sentence, ", %s", failures->items[i].event);
    buffer_appendf(&sentence, "%s: %s", failure->in_cgroups ? " of cgroups" : "", failure->message);
    return buffer_string(&sentence);
}

int failures_visit(const struct failures *failures,
                   int (*visit)(void *userdata, const struct failure *first, const char *sentence), void *userdata)
{
    _cleanup_(freep) size_t *tellers = calloc(failures->n + 1, sizeof(tellers[0]));
    int r = tellers ? 0 : -ENOMEM;

    for (size_t i = 0; i < failures->n && r == 0; i++)
        tellers[i] = teller_of(failures, i);
    for (size_t i = 0; i < failures->n && r == 0; i++) {
        if (tellers[i] != i)
            continue;
        _cleanup_(freep) char *sentence = tell(failures, tellers, i);
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
