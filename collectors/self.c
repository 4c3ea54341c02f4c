/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector `self`: the metrics that all Prometheus clients have (process_*), the build, the configuration, and
 * the cost of the daemon in hardware events.
 *
 * It is read at every scrape: its files stay open, and no directory is listed where the kernel knows how many entries
 * it has.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "collectors/self-child.h"
#include "collectors/self-cost.h"
#include "perf/pfm.h"

enum value {
    CPU_SECONDS,
    OPEN_FDS,
    MAX_FDS,
    VIRTUAL_BYTES,
    VIRTUAL_MAX_BYTES,
    RESIDENT_BYTES,
    THREADS,
    START_TIME,
    RELOAD_SUCCESSFUL,
    RELOAD_TIME,
    PAUSED,
    N_VALUES,
};

static const struct {
    struct metric metric;
    unsigned decimals;
} values[N_VALUES] = {
    [CPU_SECONDS] = {{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", "seconds",
                      METRIC_COUNTER},
                     9},
    [OPEN_FDS] = {{"process_open_fds", "Number of open file descriptors.", "", METRIC_GAUGE}, 0},
    [MAX_FDS] = {{"process_max_fds", "Maximum number of open file descriptors.", "", METRIC_GAUGE}, 0},
    [VIRTUAL_BYTES] = {{"process_virtual_memory_bytes", "Virtual memory size in bytes.", "bytes", METRIC_GAUGE}, 0},
    [VIRTUAL_MAX_BYTES] = {{"process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
                            "bytes", METRIC_GAUGE},
                           0},
    [RESIDENT_BYTES] = {{"process_resident_memory_bytes", "Resident memory size in bytes.", "bytes", METRIC_GAUGE}, 0},
    [THREADS] = {{"process_threads", "Number of OS threads in the process.", "", METRIC_GAUGE}, 0},
    [START_TIME] = {{"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "seconds",
                     METRIC_GAUGE},
                    START_DECIMALS},
    [RELOAD_SUCCESSFUL] = {{"perfcountd_config_last_reload_successful",
                            "Whether the last attempt to load the configuration succeeded.", "", METRIC_GAUGE},
                           0},
    [RELOAD_TIME] = {{"perfcountd_config_last_reload_success_timestamp_seconds",
                      "When the configuration was last loaded, since unix epoch in seconds.", "seconds", METRIC_GAUGE},
                     9},
    [PAUSED] = {{"perfcountd_paused", "Whether all groups are disabled, so that others can use the PMUs.", "",
                 METRIC_GAUGE},
                0},
};

static const struct metric build_info = {
    .name = "perfcountd_build_info",
    .help = "The version that runs and what it was built with.",
    .unit = "",
    .type = METRIC_INFO,
};

static const struct metric pmu_slots = {
    .name = "perfcountd_pmu_slots",
    .help = "Operations that a CPU of this PMU can begin in a cycle, where the kernel knows them.",
    .unit = "",
    .type = METRIC_GAUGE,
};

struct self {
    int stat_fd, fd_directory;
    uint64_t boot_ns; /* since the epoch; 0: not known */
    struct series *series[N_VALUES];
    struct series *build;
    struct series **slots; /* of PMUs */
    size_t n_slots;
    struct self_child opener, symboliser, reader;
    struct self_cost *cost;
};

static void self_close(const struct collector_context *context, void *state)
{
    struct self *self = state;

    if (!self)
        return;
    for (size_t i = 0; i < N_VALUES; i++)
        metrics_remove(&context->snapshot->metrics, self->series[i]);
    metrics_remove(&context->snapshot->metrics, self->build);
    for (size_t i = 0; i < self->n_slots; i++)
        metrics_remove(&context->snapshot->metrics, self->slots[i]);
    free(self->slots);
    self_child_done(&self->opener, &context->snapshot->metrics);
    self_child_done(&self->symboliser, &context->snapshot->metrics);
    self_child_done(&self->reader, &context->snapshot->metrics);
    self_cost_free(self->cost, &context->snapshot->metrics);
    closep(&self->stat_fd);
    closep(&self->fd_directory);
    free(self);
}

static int self_add_series(const struct collector_context *context, struct self *self)
{
    const struct label build_labels[] = {
        {"version", PACKAGE_VERSION}, {"compiler", __VERSION__}, {"libpfm4", pfm_built()}};
    struct metrics *metrics = &context->snapshot->metrics;

    for (size_t i = 0; i < N_VALUES; i++) {
        self->series[i] = metrics_add(metrics, &values[i].metric, context->collector, values[i].decimals, NULL, 0);
        if (!self->series[i])
            return -ENOMEM;
    }
    self->build = metrics_add(metrics, &build_info, context->collector, 0, build_labels, ARRAY_SIZE(build_labels));
    if (!self->build)
        return -ENOMEM;
    series_set(self->build, 1);
    int r = self_child_init(&self->opener, context, "opener");
    if (r == 0)
        r = self_child_init(&self->symboliser, context, "symboliser");
    return r < 0 ? r : self_child_init(&self->reader, context, "reader");
}

/* For recording rules: the divisor of events that count slots. */
static int self_add_slots(const struct collector_context *context, struct self *self)
{
    const struct machine *machine = context->machine;

    for (size_t i = 0; i < machine->n_pmus; i++) {
        const struct label label = {"pmu", machine->pmus[i]->name};
        if (machine->pmus[i]->scope != PMU_CORE || machine->pmus[i]->slots == 0)
            continue;
        if (array_grow(&self->slots, self->n_slots) < 0)
            return -ENOMEM;
        struct series *series = metrics_add(&context->snapshot->metrics, &pmu_slots, context->collector, 0, &label, 1);
        if (!series)
            return -ENOMEM;
        series_set(series, machine->pmus[i]->slots);
        self->slots[self->n_slots++] = series;
    }
    return 0;
}

static int self_open(const struct collector_context *context, void *previous, void **ret, struct error *error)
{
    struct self *self = calloc(1, sizeof(*self)), *before = previous;

    if (self && before)
        self->cost = steal(before->cost);
    self_close(context, before);
    if (!self)
        return error_oom(error);
    self->stat_fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    self->fd_directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    process_stat_read_boot(&self->boot_ns);
    if (self_add_series(context, self) < 0 || self_add_slots(context, self) < 0 ||
        self_cost_open(context, steal(self->cost), &self->cost) < 0) {
        self_close(context, self);
        return error_oom(error);
    }
    *ret = self;
    return 0;
}

static void self_collect_stat(struct self *self)
{
    struct process_stat stat;

    if (process_stat_read(self->stat_fd, &stat) < 0)
        return;
    series_set(self->series[VIRTUAL_BYTES], stat.virtual_bytes);
    series_set(self->series[RESIDENT_BYTES], stat.resident_bytes);
    series_set(self->series[THREADS], stat.threads);
    if (self->boot_ns)
        series_set(self->series[START_TIME], (self->boot_ns + stat.start_ns) / START_UNIT_NS);
}

/* RLIM_INFINITY is 2^64 - 1, as Prometheus's client for Go has it (procfs reads "unlimited" so). */
static void self_collect_limits(struct self *self)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        series_set(self->series[MAX_FDS], limit.rlim_cur);
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        series_set(self->series[VIRTUAL_MAX_BYTES], limit.rlim_cur);
}

static int self_collect(const struct collector_context *context, void *state, struct error *error)
{
    struct self *self = state;
    uint64_t open_fds = 0;

    (void)error;
    if (!self->boot_ns) /* there was no memory, or no descriptor, when it was opened */
        process_stat_read_boot(&self->boot_ns);
    series_set(self->series[CPU_SECONDS], context->sys->now(context->sys, CLOCK_PROCESS_CPUTIME_ID));
    if (fd_count_open(self->fd_directory, &open_fds) == 0)
        series_set(self->series[OPEN_FDS], open_fds);
    self_collect_limits(self);
    self_collect_stat(self);
    self_child_collect(&self->opener, context->children->opener, self->boot_ns);
    self_child_collect(&self->symboliser, context->children->symboliser, self->boot_ns);
    self_child_collect(&self->reader, context->children->reader, self->boot_ns);
    self_cost_collect(self->cost);
    series_set(self->series[RELOAD_SUCCESSFUL], context->reload->successful);
    series_set(self->series[RELOAD_TIME], context->reload->success_realtime_ns);
    series_set(self->series[PAUSED], context->paused);
    return 0;
}

static int self_pause(const struct collector_context *context, void *state)
{
    struct self *self = state;

    return self_cost_pause(context, self->cost);
}

static int self_report(const struct collector_context *context, const void *state, struct failures *failures)
{
    const struct self *self = state;

    return self_cost_report(self->cost, context, failures);
}

const struct collector collector_self = {
    .name = "self",
    .enabled = offsetof(struct config, self_enabled),
    .min_age_ns = NSEC_PER_SEC,
    .open = self_open,
    .collect = self_collect,
    .pause = self_pause,
    .report = self_report,
    .close = self_close,
};
