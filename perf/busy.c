/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/busy.h"

#include <unistd.h>

#include "base/cleanup.h"

/*
 * If idle time falls by more than the rounding error, the kernel has restarted it at 0: the CPU was offline for a
 * moment.
 */
#define FALL_MAX_SECONDS 0.1

void busy_times_done(struct busy_times *times, struct sys *sys)
{
    busy_times_suspend(times, sys);
    free(times->items);
    *times = (struct busy_times){0};
}

static struct busy_time *find(const struct busy_times *times, unsigned cpu)
{
    if (cpu < times->n && times->items[cpu].cpu == cpu) /* true as long as no CPU is missing */
        return &times->items[cpu];
    for (size_t i = 0; i < times->n; i++)
        if (times->items[i].cpu == cpu)
            return &times->items[i];
    return NULL;
}

const struct busy_time *busy_times_find(const struct busy_times *times, unsigned cpu)
{
    const struct busy_time *time = find(times, cpu);

    return time && time->known ? time : NULL;
}

/* Adds the time since the last reading. If rounding would make the total decrease, the total stays unchanged. */
static void busy_time_add(struct busy_time *time, double rest, uint64_t monotonic_ns)
{
    double passed = (double)(monotonic_ns - time->monotonic_ns) / (double)NSEC_PER_SEC;

    if (time->compared && rest - time->rest >= -FALL_MAX_SECONDS)
        time->exact += passed - (rest - time->rest);
    if (time->exact > 0)
        time->total_ns = MAX(time->total_ns, (uint64_t)(time->exact * (double)NSEC_PER_SEC));
    time->rest = rest;
    time->monotonic_ns = monotonic_ns;
    time->compared = time->known = true;
}

static void forget_known(struct busy_times *times)
{
    for (size_t i = 0; i < times->n; i++)
        times->items[i].known = false;
}

int busy_times_add(struct busy_times *times, const struct idle_times *idle, uint64_t monotonic_ns)
{
    forget_known(times);
    for (size_t i = 0; i < idle->n; i++) {
        struct busy_time *time = find(times, idle->items[i].cpu);
        if (!time) {
            if (array_grow(&times->items, times->n) < 0)
                return -ENOMEM;
            time = &times->items[times->n++];
            *time = (struct busy_time){.cpu = idle->items[i].cpu};
        }
        busy_time_add(time, idle->items[i].seconds + idle->items[i].stolen, monotonic_ns);
    }
    for (size_t i = 0; i < times->n; i++)
        times->items[i].compared = times->items[i].known;
    return 0;
}

static int read_idle_times(struct busy_times *times, struct sys *sys, struct idle_times *ret)
{
    int r = kept_file_read(sys, &times->stat, "/proc/stat", STAT_MAX, &times->text);

    if (r == 0)
        r = idle_times_parse(times->text.data, sysconf(_SC_CLK_TCK), ret);
    if (r < 0)
        kept_file_close(sys, &times->stat);
    return r;
}

void busy_times_suspend(struct busy_times *times, struct sys *sys)
{
    kept_file_close(sys, &times->stat);
    buffer_done(&times->text);
    forget_known(times);
}

int busy_times_load(struct busy_times *times, struct sys *sys)
{
    _cleanup_(idle_times_done) struct idle_times idle = {0};

    int r = read_idle_times(times, sys, &idle);
    if (r < 0) {
        forget_known(times);
        return r;
    }
    return busy_times_add(times, &idle, sys_now(sys, CLOCK_MONOTONIC));
}
