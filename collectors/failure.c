/* SPDX-License-Identifier: Apache-2.0 */
/* What could not be opened: see failure.h. */
#include "collectors/failure.h"

#include <stdio.h>

#include "base/cleanup.h"

static void failure_done(struct failure *failure)
{
    free(failure->group);
    free(failure->event);
    free(failure->metric);
    free(failure->pmu);
    free(failure->reason);
    free(failure->message);
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
    };
    if (!copy.group || !copy.event || !copy.metric || !copy.pmu || !copy.reason || !copy.message) {
        failure_done(&copy);
        return -ENOMEM;
    }
    failures->items[failures->n++] = copy;
    return 0;
}

int failures_add(struct failures *failures, const struct failure *item, int cpu)
{
    size_t i = 0;

    while (i < failures->n && !is_same(&failures->items[i], item))
        i++;
    int r = i < failures->n ? 0 : append(failures, item);
    if (r == 0 && cpu >= 0)
        r = cpuset_add(&failures->items[i].cpus, (unsigned)cpu);
    if (r == 0)
        failures->items[i].n_targets++;
    return r;
}

char *failure_sentence(const struct failure *failure)
{
    _cleanup_(freep) char *cpus = cpuset_format(&failure->cpus);
    char *sentence;

    if (!cpus || asprintf(&sentence, "cpu %s %s: %s", cpus, failure->event, failure->message) < 0)
        return NULL;
    return sentence;
}
