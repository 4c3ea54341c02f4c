/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's own cost in hardware events: see self-cost.h. */
#include "collectors/self-cost.h"

#include "base/cleanup.h"
#include "perf/reason.h"
#include "perf/scale.h"
#include "perf/user-read.h"

/* Either `thread_counter`, or `error` with its `pmu` and `message`. The texts belong to the snapshot. */
struct cost_counter {
    struct thread_counter *thread_counter;
    struct scale *scale;
    struct series *series;
    int error;
    const char *pmu, *message;
};

struct self_cost {
    struct cost_counter counters[N_THREAD_COUNTER_EVENTS];
    struct series *user_reads, *kernel_counted; /* NULL while nothing is open */
};

static const struct metric totals[N_THREAD_COUNTER_EVENTS] = {
    [THREAD_COUNTER_CYCLES] = {"perfcountd_self_cycles_total", "CPU cycles that the daemon's main thread took.", "",
                               METRIC_COUNTER},
    [THREAD_COUNTER_INSTRUCTIONS] = {"perfcountd_self_instructions_total",
                                     "Instructions that the daemon's main thread executed.", "", METRIC_COUNTER},
};
static const struct metric user_reads = {"perfcountd_self_user_reads",
                                         "Whether the daemon's own counters were last read without a system call.", "",
                                         METRIC_GAUGE};
static const struct metric kernel_counted = {"perfcountd_self_kernel_counted",
                                             "Whether the daemon's own counters include what the kernel does for it.",
                                             "", METRIC_GAUGE};

static void cost_counter_done(struct cost_counter *counter, struct metrics *metrics)
{
    thread_counter_free(counter->thread_counter);
    free(counter->scale);
    metrics_remove(metrics, counter->series);
    *counter = (struct cost_counter){0};
}

struct self_cost *self_cost_free(struct self_cost *cost, struct metrics *metrics)
{
    if (!cost)
        return NULL;
    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        cost_counter_done(&cost->counters[i], metrics);
    metrics_remove(metrics, cost->user_reads);
    metrics_remove(metrics, cost->kernel_counted);
    free(cost);
    return NULL;
}

static int cost_counter_refuse(const struct collector_context *context, struct cost_counter *counter, int error,
                               const struct pmu *pmu)
{
    char message[512];

    reason_format(context->machine, pmu, error, message, sizeof(message));
    counter->error = error;
    counter->pmu = intern_text(&context->snapshot->texts, pmu->name);
    counter->message = intern_text(&context->snapshot->texts, message);
    return counter->pmu && counter->message ? 0 : -ENOMEM;
}

static int cost_counter_open(const struct collector_context *context, struct cost_counter *counter,
                             enum thread_counter_event event)
{
    struct metrics *metrics = &context->snapshot->metrics;
    const struct pmu *pmu = NULL;

    cost_counter_done(counter, metrics);
    int r =
        thread_counter_open(context->sys, context->machine, &userpage_reader, event, &counter->thread_counter, &pmu);
    if (r < 0)
        return pmu ? cost_counter_refuse(context, counter, r, pmu) : r;
    if (context->paused)
        thread_counter_pause(counter->thread_counter, true);
    counter->scale = scale_new(1);
    counter->series = metrics_add(metrics, &totals[event], context->collector, 0, NULL, 0);
    return counter->scale && counter->series ? 0 : -ENOMEM;
}

/* How it is counted says something only while anything is. */
static int self_cost_update_gauges(const struct collector_context *context, struct self_cost *cost)
{
    struct metrics *metrics = &context->snapshot->metrics;
    bool any = false, has_kernel = true;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter) {
            any = true;
            has_kernel = has_kernel && thread_counter_has_kernel(cost->counters[i].thread_counter);
        }
    if (!any)
        return 0;
    if (!cost->user_reads)
        cost->user_reads = metrics_add(metrics, &user_reads, context->collector, 0, NULL, 0);
    if (!cost->kernel_counted)
        cost->kernel_counted = metrics_add(metrics, &kernel_counted, context->collector, 0, NULL, 0);
    if (!cost->user_reads || !cost->kernel_counted)
        return -ENOMEM;
    series_set(cost->kernel_counted, has_kernel);
    return 0;
}

int self_cost_open(const struct collector_context *context, struct self_cost *previous, struct self_cost **ret)
{
    struct self_cost *cost = previous ? previous : calloc(1, sizeof(*cost));
    int r = cost ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < N_THREAD_COUNTER_EVENTS; i++)
        if (!cost->counters[i].thread_counter)
            r = cost_counter_open(context, &cost->counters[i], (enum thread_counter_event)i);
    if (r == 0)
        r = self_cost_update_gauges(context, cost);
    if (r < 0) {
        self_cost_free(cost, &context->snapshot->metrics);
        return r;
    }
    *ret = cost;
    return 0;
}

/*
 * The two ways of reading have clocks that agree to a few nanoseconds. A reading that seems older than the one before
 * is ignored, and the next one covers it.
 */
static void cost_counter_collect(struct cost_counter *counter, bool *user)
{
    struct thread_counter_reading reading;

    int r = thread_counter_read(counter->thread_counter, &reading);
    if (r == 0)
        r = scale_add(counter->scale, reading.enabled, reading.running, &reading.value);
    if (r == -ESTALE)
        return;
    *user = *user && r == 0 && reading.user;
    counter->series->value = counter->scale->counters[0].total.whole;
    counter->series->visible = r == 0 && counter->scale->state != SCALE_STARVED && counter->scale->ran;
}

void self_cost_collect(struct self_cost *cost)
{
    bool user = true;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter)
            cost_counter_collect(&cost->counters[i], &user);
    if (cost->user_reads)
        series_set(cost->user_reads, user);
}

int self_cost_pause(const struct collector_context *context, struct self_cost *cost)
{
    int r = 0;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter) {
            int error = thread_counter_pause(cost->counters[i].thread_counter, context->paused);
            r = r < 0 ? r : error;
        }
    return r;
}

int self_cost_report(const struct self_cost *cost, const struct collector_context *context, struct failures *failures)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_THREAD_COUNTER_EVENTS; i++) {
        const struct cost_counter *counter = &cost->counters[i];
        const char *name = thread_counter_event_name((enum thread_counter_event)i);
        struct failure failure = {
            .collector = context->collector,
            .group = "self",
            .event = name,
            .metric = name,
            .pmu = counter->pmu,
            .reason = reason_name(counter->error),
            .message = counter->message,
            .span = reason_span(counter->error),
            .where = "perfcountd's own thread (own cost)",
        };
        if (counter->error)
            r = failures_add(failures, &failure, -1);
    }
    return r;
}
