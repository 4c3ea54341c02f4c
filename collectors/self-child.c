/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of another process of the daemon: see self-child.h. */
#include "collectors/self-child.h"

enum value { CPU_SECONDS, RESIDENT_BYTES, VIRTUAL_BYTES, THREADS, START_TIME };

static const struct {
    struct metric metric;
    unsigned decimals;
} values[SELF_CHILD_VALUES] = {
    [CPU_SECONDS] = {{"perfcountd_process_cpu_seconds_total",
                      "Total user and system CPU time that the daemon's other processes spent, those that have ended "
                      "included, in seconds.",
                      "seconds", METRIC_COUNTER},
                     9},
    [RESIDENT_BYTES] = {{"perfcountd_process_resident_memory_bytes",
                         "Resident memory size of the daemon's other processes in bytes.", "bytes", METRIC_GAUGE},
                        0},
    [VIRTUAL_BYTES] = {{"perfcountd_process_virtual_memory_bytes",
                        "Virtual memory size of the daemon's other processes in bytes.", "bytes", METRIC_GAUGE},
                       0},
    [THREADS] = {{"perfcountd_process_threads", "Number of OS threads in the daemon's other processes.", "",
                  METRIC_GAUGE},
                 0},
    [START_TIME] = {{"perfcountd_process_start_time_seconds",
                     "Start time of the daemon's other processes since unix epoch in seconds.", "seconds",
                     METRIC_GAUGE},
                    START_DECIMALS},
};

int self_child_init(struct self_child *child, const struct collector_context *context, const char *process)
{
    const struct label label = {"process", process};

    for (size_t i = 0; i < SELF_CHILD_VALUES; i++) {
        child->series[i] = metrics_add(&context->snapshot->metrics, &values[i].metric, context->collector,
                                       values[i].decimals, &label, 1);
        if (!child->series[i])
            return -ENOMEM;
    }
    return 0;
}

void self_child_done(struct self_child *child, struct metrics *metrics)
{
    for (size_t i = 0; i < SELF_CHILD_VALUES; i++)
        metrics_remove(metrics, child->series[i]);
    *child = (struct self_child){0};
}

static void self_child_hide(struct self_child *child)
{
    for (size_t i = 0; i < SELF_CHILD_VALUES; i++)
        if (i != CPU_SECONDS)
            child->series[i]->visible = false;
}

/* Of a process that hung when it was given up nothing was added (child_forget()), which must not show as a fall. */
static void self_child_add_cpu(struct self_child *child, uint64_t cpu_ns)
{
    struct series *series = child->series[CPU_SECONDS];

    series_set(series, MAX(series->value, cpu_ns));
}

void self_child_collect(struct self_child *child, const struct child *from, uint64_t boot_ns)
{
    struct process_stat stat;

    if (!from)
        return;
    if (child_read(from, &stat) < 0) {
        self_child_hide(child);
        if (from->ended_cpu_ns)
            self_child_add_cpu(child, from->ended_cpu_ns);
        return;
    }
    self_child_add_cpu(child, stat.cpu_ns);
    series_set(child->series[RESIDENT_BYTES], stat.resident_bytes);
    series_set(child->series[VIRTUAL_BYTES], stat.virtual_bytes);
    series_set(child->series[THREADS], stat.threads);
    if (boot_ns)
        series_set(child->series[START_TIME], (boot_ns + stat.start_ns) / START_UNIT_NS);
}
