/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `self` collector measures how much CPU time and memory and how many descriptors the daemon uses.
 *
 * The series perfcountd_process_*{process="NAME"} show the cost of each of the daemon's other processes. While such a
 * process is not running, only its CPU time is served. The CPU time includes all earlier instances of the process, so
 * it never decreases.
 *
 * Series such as perfcountd_self_cycles_total count hardware events of the daemon's main thread. An event that cannot
 * be opened has no series, and a starved counter is left out of the scrape.
 *
 * The collector also serves properties of the whole machine: its name, and the limits of its CPUs' clock rates.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "collectors/collector.h"
#include "collectors/cpu-limits.h"
#include "collectors/findings.h"
#include "metrics/own-metrics.h"
#include "perf/board.h"
#include "perf/open-group.h"
#include "perf/pfm.h"
#include "perf/reason.h"
#include "perf/user-read.h"

/* The number of series of one process. */
#define SELF_CHILD_VALUES (OWN_CHILD_START_TIME - OWN_CHILD_CPU_SECONDS + 1)

/* The series of one process, in the order of enum own_metric. A zeroed struct has no series. */
struct self_child {
    struct series *series[SELF_CHILD_VALUES];
};

/* The unit of the start times, whose number of decimals is OWN_START_DECIMALS. */
#define START_UNIT_NS (NSEC_PER_SEC / 100)

/* --- other processes --- */

static struct series *self_child_series(const struct self_child *child, enum own_metric which)
{
    return child->series[which - OWN_CHILD_CPU_SECONDS];
}

/* Returns -ENOMEM on failure. self_child_done() must be called in either case. */
static int self_child_init(struct self_child *child, const struct collector_env *env, const char *process)
{
    const struct label label = {"process", process};

    for (size_t i = 0; i < SELF_CHILD_VALUES; i++) {
        child->series[i] =
            own_metrics_add(&env->snapshot->metrics, OWN_CHILD_CPU_SECONDS + i, env->collector, &label, 1);
        if (!child->series[i])
            return -ENOMEM;
    }
    return 0;
}

static void self_child_done(struct self_child *child, struct metrics *metrics)
{
    for (size_t i = 0; i < SELF_CHILD_VALUES; i++)
        metrics_remove(metrics, child->series[i]);
    *child = (struct self_child){0};
}

static void self_child_hide(struct self_child *child)
{
    for (enum own_metric i = OWN_CHILD_CPU_SECONDS + 1; i <= OWN_CHILD_START_TIME; i++)
        self_child_series(child, i)->visible = false;
}

/*
 * `cpu_ns` lacks the CPU time of a process that hung and was abandoned by child_forget(). The process's total must
 * nevertheless not decrease.
 */
static void self_child_add_cpu(struct self_child *child, uint64_t cpu_ns)
{
    struct series *series = self_child_series(child, OWN_CHILD_CPU_SECONDS);

    series_set(series, MAX(series->value, cpu_ns));
}

/* `from` may be NULL. `boot_ns` is in nanoseconds since the epoch, or 0 if unknown. */
static void self_child_collect(struct self_child *child, const struct child *from, uint64_t boot_ns)
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
    series_set(self_child_series(child, OWN_CHILD_RESIDENT_BYTES), stat.resident_bytes);
    series_set(self_child_series(child, OWN_CHILD_VIRTUAL_BYTES), stat.virtual_bytes);
    series_set(self_child_series(child, OWN_CHILD_THREADS), stat.threads);
    if (boot_ns)
        series_set(self_child_series(child, OWN_CHILD_START_TIME), (boot_ns + stat.start_ns) / START_UNIT_NS);
}

/* --- hardware events --- */

/*
 * A hardware event of the main thread. An open event has a `thread_counter`; an event that could not be opened has
 * `error`, `pmu` and `message`. The strings are interned in the snapshot.
 */
struct cost_counter {
    struct thread_counter *thread_counter;
    struct scale *scale;
    struct series *series;
    int error;
    const char *pmu, *reason, *message;
};

struct self_cost {
    struct cost_counter counters[N_THREAD_COUNTER_EVENTS];
    struct series *user_reads, *kernel_counted; /* gauges, or NULL while no counter is open */
};

static const enum own_metric totals[N_THREAD_COUNTER_EVENTS] = {
    [THREAD_COUNTER_CYCLES] = OWN_CYCLES,
    [THREAD_COUNTER_INSTRUCTIONS] = OWN_INSTRUCTIONS,
};

static void cost_counter_done(struct cost_counter *counter, struct metrics *metrics)
{
    thread_counter_free(counter->thread_counter);
    free(counter->scale);
    metrics_remove(metrics, counter->series);
    *counter = (struct cost_counter){0};
}

static struct self_cost *self_cost_free(struct self_cost *cost, struct metrics *metrics)
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

static int cost_counter_refuse(const struct collector_env *env, struct cost_counter *counter, int error,
                               const struct pmu *pmu)
{
    char message[512];

    reason_format(env->machine, pmu, error, message, sizeof(message));
    counter->error = error;
    counter->reason = reason_label(pmu, error);
    counter->pmu = intern_text(&env->snapshot->texts, pmu->name);
    counter->message = intern_text(&env->snapshot->texts, message);
    return counter->pmu && counter->message ? 0 : -ENOMEM;
}

static int cost_counter_open(const struct collector_env *env, struct cost_counter *counter,
                             enum thread_counter_event event)
{
    struct metrics *metrics = &env->snapshot->metrics;
    const struct pmu *pmu = NULL;

    cost_counter_done(counter, metrics);
    int r = thread_counter_open(env->sys, env->machine, &userpage_reader, event, &counter->thread_counter, &pmu);
    if (r < 0)
        return pmu ? cost_counter_refuse(env, counter, r, pmu) : r;
    if (env->paused)
        thread_counter_pause(counter->thread_counter, true);
    counter->scale = scale_new(1);
    counter->series = own_metrics_add(metrics, totals[event], env->collector, NULL, 0);
    return counter->scale && counter->series ? 0 : -ENOMEM;
}

/*
 * Adds or removes the gauges that describe how the events are counted. The gauges exist only while a counter is open.
 */
static int self_cost_update_gauges(const struct collector_env *env, struct self_cost *cost)
{
    struct metrics *metrics = &env->snapshot->metrics;
    bool any = false, has_kernel = true;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter) {
            any = true;
            has_kernel = has_kernel && thread_counter_has_kernel(cost->counters[i].thread_counter);
        }
    if (!any)
        return 0;
    if (!cost->user_reads)
        cost->user_reads = own_metrics_add(metrics, OWN_USER_READS, env->collector, NULL, 0);
    if (!cost->kernel_counted)
        cost->kernel_counted = own_metrics_add(metrics, OWN_KERNEL_COUNTED, env->collector, NULL, 0);
    if (!cost->user_reads || !cost->kernel_counted)
        return -ENOMEM;
    series_set(cost->kernel_counted, has_kernel);
    return 0;
}

/*
 * Takes over `previous`, which may be NULL, with its open counters, and opens the others. Events that cannot be opened
 * are not an error. Fails only with -ENOMEM.
 */
static int self_cost_open(const struct collector_env *env, struct self_cost *previous, struct self_cost **ret)
{
    struct self_cost *cost = previous ? previous : calloc(1, sizeof(*cost));
    int r = cost ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < N_THREAD_COUNTER_EVENTS; i++)
        if (!cost->counters[i].thread_counter)
            r = cost_counter_open(env, &cost->counters[i], (enum thread_counter_event)i);
    if (r == 0)
        r = self_cost_update_gauges(env, cost);
    if (r < 0) {
        self_cost_free(cost, &env->snapshot->metrics);
        return r;
    }
    *ret = cost;
    return 0;
}

/*
 * Reads a counter in user space or with read(2). Times read in user space and times from read(2) come from clocks that
 * differ by a few nanoseconds. A reading that seems older than the previous one is ignored; its counts are included in
 * the next one.
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

/*
 * Must be called on the thread that opened the counters. Makes no system call if the CPU and the kernel allow reads in
 * user space.
 */
static void self_cost_collect(struct self_cost *cost)
{
    bool user = true;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter)
            cost_counter_collect(&cost->counters[i], &user);
    if (cost->user_reads)
        series_set(cost->user_reads, user);
}

/* Disables the open counters if env->paused is set, and enables them otherwise. Returns the first error of ioctl(2). */
static int self_cost_pause(const struct collector_env *env, struct self_cost *cost)
{
    int r = 0;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        if (cost->counters[i].thread_counter) {
            int error = thread_counter_pause(cost->counters[i].thread_counter, env->paused);
            r = r < 0 ? r : error;
        }
    return r;
}

/* Adds the events that could not be opened. Returns -ENOMEM on failure. */
static int self_cost_report(const struct self_cost *cost, const struct collector_env *env, struct failures *failures)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_THREAD_COUNTER_EVENTS; i++) {
        const struct cost_counter *counter = &cost->counters[i];
        const char *name = thread_counter_event_name((enum thread_counter_event)i);
        struct failure failure = {
            .collector = env->collector,
            .group = "self",
            .event = name,
            .metric = name,
            .pmu = counter->pmu,
            .reason = counter->reason,
            .message = counter->message,
            .span = reason_span(counter->error),
            .where = "perfcountd's own thread (own cost)",
        };
        if (counter->error)
            r = failures_add(failures, &failure, -1);
    }
    return r;
}

/*
 * --- collector ---
 *
 * Serves the metrics that all Prometheus client libraries have (process_*), the build, the configuration, the daemon's
 * other processes and the hardware events. Because the collector is read at every scrape, its files stay open, and
 * /proc/self/fd is not listed if the kernel reports the number of entries.
 */

/* The series without labels, in the order of enum own_metric. */
#define N_VALUES (OWN_PAUSED - OWN_CPU_SECONDS + 1)

struct self {
    const struct reload_outcome *reload;
    const struct children *children;
    int stat_fd, fd_directory;
    uint64_t boot_ns; /* time when the machine booted, since the epoch; 0 if unknown */
    struct series *series[N_VALUES];
    struct series *build, *board;
    const uint64_t *n_findings; /* NULL if the daemon does not look for findings */
    struct series *findings[N_FINDING_RULES];
    struct series **slots; /* perfcountd_pmu_slots, one for each core PMU */
    size_t n_slots;
    struct cpu_limits limits;
    struct self_child opener, symboliser, reader;
    struct self_cost *cost;
};

static void self_close(const struct collector_env *env, void *state)
{
    struct self *self = state;

    if (!self)
        return;
    for (size_t i = 0; i < N_VALUES; i++)
        metrics_remove(&env->snapshot->metrics, self->series[i]);
    metrics_remove(&env->snapshot->metrics, self->build);
    metrics_remove(&env->snapshot->metrics, self->board);
    for (size_t i = 0; i < self->n_slots; i++)
        metrics_remove(&env->snapshot->metrics, self->slots[i]);
    for (size_t i = 0; i < N_FINDING_RULES; i++)
        metrics_remove(&env->snapshot->metrics, self->findings[i]);
    free(self->slots);
    cpu_limits_done(env, &self->limits);
    self_child_done(&self->opener, &env->snapshot->metrics);
    self_child_done(&self->symboliser, &env->snapshot->metrics);
    self_child_done(&self->reader, &env->snapshot->metrics);
    self_cost_free(self->cost, &env->snapshot->metrics);
    closep(&self->stat_fd);
    closep(&self->fd_directory);
    free(self);
}

static int self_add_series(const struct collector_env *env, struct self *self)
{
    const struct label build_labels[] = {
        {"version", PACKAGE_VERSION}, {"compiler", __VERSION__}, {"libpfm4", pfm_built()}};
    struct metrics *metrics = &env->snapshot->metrics;

    for (size_t i = 0; i < N_VALUES; i++) {
        self->series[i] = own_metrics_add(metrics, OWN_CPU_SECONDS + i, env->collector, NULL, 0);
        if (!self->series[i])
            return -ENOMEM;
    }
    self->build = own_metrics_add(metrics, OWN_BUILD, env->collector, build_labels, ARRAY_SIZE(build_labels));
    if (!self->build)
        return -ENOMEM;
    series_set(self->build, 1);
    int r = self_child_init(&self->opener, env, "opener");
    if (r == 0)
        r = self_child_init(&self->symboliser, env, "symboliser");
    return r < 0 ? r : self_child_init(&self->reader, env, "reader");
}

static void append_core_pmus(const struct machine *machine, bool absent, struct buffer *names)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE && machine->pmus[i]->absent == absent)
            buffer_appendf(names, "%s%s", names->size ? "," : "", machine->pmus[i]->name);
}

static bool self_cost_counts(const struct self_cost *cost)
{
    bool counts = false;

    for (size_t i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        counts |= cost->counters[i].thread_counter != NULL;
    return counts;
}

/*
 * Returns the names of the core PMUs, such as "armv8_cortex_a55,armv8_cortex_a76"; "" if there is no PMU, or NULL on
 * ENOMEM. The caller frees the string. If sysfs hides the PMUs, as in some containers, hardware events can still be
 * opened, and are labelled with the name of the absent PMU.
 */
static char *core_pmus(const struct machine *machine, const struct self_cost *cost)
{
    struct buffer names = {0};

    append_core_pmus(machine, false, &names);
    if (names.size == 0 && self_cost_counts(cost))
        append_core_pmus(machine, true, &names);
    return buffer_string(&names);
}

/* Adds the series with the machine's name, unless a file cannot be read at the moment. Returns -ENOMEM on failure. */
static int self_add_board(const struct collector_env *env, struct self *self)
{
    _cleanup_(freep) char *pmus = core_pmus(env->machine, self->cost);
    struct board board;

    int r = pmus ? board_load(env->sys, &board) : -ENOMEM;
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    const struct label labels[] = {
        {"model", board.model}, {"soc", board.soc}, {"kernel", board.kernel}, {"pmus", pmus}};
    self->board = own_metrics_add(&env->snapshot->metrics, OWN_BOARD, env->collector, labels, ARRAY_SIZE(labels));
    if (!self->board)
        return -ENOMEM;
    series_set(self->board, 1);
    return 0;
}

/* Recording rules divide events that count slots by the series perfcountd_pmu_slots. */
static int self_add_slots(const struct collector_env *env, struct self *self)
{
    const struct machine *machine = env->machine;

    for (size_t i = 0; i < machine->n_pmus; i++) {
        const struct label label = {"pmu", machine->pmus[i]->name};
        if (machine->pmus[i]->scope != PMU_CORE || machine->pmus[i]->slots == 0)
            continue;
        if (array_grow(&self->slots, self->n_slots) < 0)
            return -ENOMEM;
        struct series *series = own_metrics_add(&env->snapshot->metrics, OWN_PMU_SLOTS, env->collector, &label, 1);
        if (!series)
            return -ENOMEM;
        series_set(series, machine->pmus[i]->slots);
        self->slots[self->n_slots++] = series;
    }
    return 0;
}

/* The finding series are hidden until the daemon has looked for findings. */
static int self_add_findings(const struct collector_env *env, struct self *self)
{
    for (enum finding_rule i = 0; i < N_FINDING_RULES; i++) {
        const struct label label = {"rule", finding_rule_name(i)};
        self->findings[i] = own_metrics_add(&env->snapshot->metrics, OWN_FINDING, env->collector, &label, 1);
        if (!self->findings[i])
            return -ENOMEM;
    }
    return 0;
}

static int self_open(const struct collector_env *env, void *previous, struct opened *ret, struct error *error)
{
    struct self *self = calloc(1, sizeof(*self)), *before = previous;

    if (self && before)
        self->cost = steal(before->cost);
    self_close(env, before);
    if (!self)
        return error_oom(error);
    self->stat_fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    self->fd_directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    process_stat_read_boot(&self->boot_ns);
    if (self_add_series(env, self) < 0 || self_cost_open(env, steal(self->cost), &self->cost) < 0 ||
        self_add_board(env, self) < 0 || self_add_slots(env, self) < 0 || self_add_findings(env, self) < 0 ||
        cpu_limits_open(env, &self->limits) < 0) {
        self_close(env, self);
        return error_oom(error);
    }
    ret->state = self;
    return 0;
}

void self_set_sources(void *state, const struct reload_outcome *reload, const struct children *children,
                      const uint64_t *findings)
{
    struct self *self = state;

    self->reload = reload;
    self->children = children;
    self->n_findings = findings;
}

static void self_set(struct self *self, enum own_metric which, uint64_t value)
{
    series_set(self->series[which - OWN_CPU_SECONDS], value);
}

static void self_collect_stat(struct self *self)
{
    struct process_stat stat;

    if (process_stat_read(self->stat_fd, &stat) < 0)
        return;
    self_set(self, OWN_VIRTUAL_BYTES, stat.virtual_bytes);
    self_set(self, OWN_RESIDENT_BYTES, stat.resident_bytes);
    self_set(self, OWN_THREADS, stat.threads);
    if (self->boot_ns)
        self_set(self, OWN_START_TIME, (self->boot_ns + stat.start_ns) / START_UNIT_NS);
}

/*
 * RLIM_INFINITY is served as 2^64 - 1, as in Prometheus's Go client, whose procfs package parses "unlimited" to that
 * number.
 */
static void self_collect_limits(struct self *self)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        self_set(self, OWN_MAX_FDS, limit.rlim_cur);
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        self_set(self, OWN_VIRTUAL_MAX_BYTES, limit.rlim_cur);
}

static int self_collect(const struct collector_env *env, void *state, struct collected *ret, struct error *error)
{
    struct self *self = state;
    uint64_t open_fds = 0;

    (void)ret;
    if (!self->board && self_add_board(env, self) < 0)
        return error_oom(error);
    cpu_limits_collect(env, &self->limits);
    if (!self->boot_ns) /* retries if memory or descriptors ran out when the collector was opened */
        process_stat_read_boot(&self->boot_ns);
    self_set(self, OWN_CPU_SECONDS, sys_now(env->sys, CLOCK_PROCESS_CPUTIME_ID));
    if (fd_count_open(self->fd_directory, &open_fds) == 0)
        self_set(self, OWN_OPEN_FDS, open_fds);
    self_collect_limits(self);
    self_collect_stat(self);
    self_child_collect(&self->opener, self->children->opener, self->boot_ns);
    self_child_collect(&self->symboliser, self->children->symboliser, self->boot_ns);
    self_child_collect(&self->reader, self->children->reader, self->boot_ns);
    self_cost_collect(self->cost);
    self_set(self, OWN_RELOAD_SUCCESSFUL, self->reload->successful);
    self_set(self, OWN_RELOAD_TIME, self->reload->success_realtime_ns);
    self_set(self, OWN_PAUSED, env->paused);
    for (size_t i = 0; self->n_findings && i < N_FINDING_RULES; i++)
        series_set(self->findings[i], self->n_findings[i]);
    return 0;
}

static int self_pause(const struct collector_env *env, void *state)
{
    struct self *self = state;

    return self_cost_pause(env, self->cost);
}

static int self_report(const struct collector_env *env, const void *state, struct failures *failures)
{
    const struct self *self = state;

    return self_cost_report(self->cost, env, failures);
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
