/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/task-counts.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/group-counts.h"
#include "collectors/group-rows.h"
#include "perf/generic-events.h"
#include "perf/perf-event.h"

/*
 * A perf group of the task. If its events are bound to CPUs, there is one perf group with the same events for each CPU
 * of the PMU.
 */
struct part {
    struct group *group;
    uint64_t events;
    size_t row; /* index of the part's row */
    unsigned ordinal;
};

struct task_row {
    struct row *row;
    const struct pmu *pmu; /* core PMU, or NULL for events that every CPU counts */
    uint64_t events;
    unsigned ordinal;
    uint64_t running_ns; /* running time at the last reading */
    bool always_runs;
};

struct task_counts {
    struct collector_env env;
    pid_t pid;
    bool user_only;
    size_t n_kinds;           /* number of kinds of core */
    struct cpuset first_cpus; /* one online CPU of each kind of core and of each other PMU with CPUs of its own */
    struct part *parts;
    size_t n_parts;
    struct task_row *rows;
    size_t n_rows;
    struct failures failures;
};

/* --- permissions --- */

/* Returns whether the kernel refuses to count kernel mode, but accepts other events. */
static bool may_count_user_only(struct sys *sys, pid_t pid)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .disabled = 1};
    int whole = sys_perf_event_open(sys, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (whole >= 0)
        sys_close(sys, whole);
    if (whole != -EACCES)
        return false;
    attr.exclude_kernel = attr.exclude_hv = 1;
    int user = sys_perf_event_open(sys, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (user >= 0)
        sys_close(sys, user);
    return user >= 0;
}

/* Returns whether the event happens only in the kernel, so that it counts nothing with exclude_kernel. */
static bool is_of_kernel(const struct attr *attr)
{
    static const uint64_t switches[] = {PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
                                        11 /* PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13 */};

    for (size_t i = 0; attr->kernel.type == PERF_TYPE_SOFTWARE && i < ARRAY_SIZE(switches); i++)
        if (attr->kernel.config == switches[i])
            return true;
    return attr->kernel.type == PERF_TYPE_TRACEPOINT || str_equal(attr->pmu->name, "kprobe");
}

static bool is_clock(const struct event *event)
{
    return event->generic && event->generic->clock;
}

/* Returns whether the modifier ":u" is added to the event. An event that already has modifiers is left unchanged. */
static bool is_narrowed(const struct task_counts *counts, const struct event *event)
{
    return counts->user_only && !is_clock(event) &&
           !(event->modifiers & (EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR));
}

/* --- failures --- */

static int add_failure(struct task_counts *counts, const struct config_group *group, const struct refusal *refusal)
{
    const struct config_event *event = &group->events[refusal->event];
    struct failure failure = {
        .group = group->name,
        .event = event->event.text,
        .metric = event->event.metric,
        .pmu = refusal->pmu,
        .reason = refusal->reason,
        .message = refusal->message,
        .span = refusal->span,
    };
    struct unavailable_event unavailable = {.refusal = *refusal, .metric = event->event.metric, .cpu = -1};
    size_t before = counts->failures.n;
    int r = failures_add(&counts->failures, &failure, -1);

    if (r == 0 && counts->failures.n > before &&
        !unavailable_event_add_row(&unavailable, &counts->env, &(struct row_target){.group = group->name}))
        r = -ENOMEM;
    return r;
}

static int add_failures(struct task_counts *counts, const struct target_events *events)
{
    int r = 0;

    for (size_t i = 0; i < events->n_refusals && r == 0; i++)
        r = add_failure(counts, events->group, &events->refusals[i]);
    return r;
}

static int add_refused(struct task_counts *counts, const struct target_events *events, size_t i, int error,
                       const struct partition *strict)
{
    char message[REFUSAL_SIZE];
    struct refusal refusal;

    if (!target_events_explain(events, counts->env.machine, i, error, strict, message, &refusal))
        return 0;
    return add_failure(counts, events->group, &refusal);
}

/* Reports why no CPU counts the event for a task. */
static int explain_nowhere(const struct collector_env *env, const struct config_group *group,
                           const struct config_event *event, struct error *error)
{
    (void)group;
    for (size_t i = 0; i < env->machine->n_pmus; i++) {
        const struct pmu *pmu = env->machine->pmus[i];
        if (!pmu_is_per_cpu(pmu) && attr_names_pmu(env->machine, &event->event, pmu))
            return error_set(
                error, -EINVAL,
                "PMU \"%s\" counts for several CPUs at once, whatever runs on them, so it cannot count one "
                "command; use -a",
                pmu->name);
    }
    return targets_explain_cpus(env, event, true, error);
}

static int add_nowhere(struct task_counts *counts, const struct config_group *group, struct target_events *room)
{
    struct target target = {.pid = counts->pid, .cpus = counts->first_cpus};
    struct targets targets = {.items = &target, .n = 1, .explain_nowhere = explain_nowhere};
    int r = targets_explain_nowhere(&targets, &counts->env, group, room);

    return r < 0 ? r : add_failures(counts, room);
}

/* --- rows --- */

/* Appends a row for the parts that have this PMU and ordinal. */
static int add_row(struct task_counts *counts, const struct target_events *events, const struct pmu *pmu,
                   unsigned ordinal, uint64_t mask)
{
    const struct pmu *shown = pmu ? pmu : events->attrs[__builtin_ctzll(mask)].pmu;
    const struct group_rows rows = {.summed = true};
    const struct group_row group_row = {.pmu = shown->name, .cpu = -1, .ordinal = (uint8_t)ordinal};
    char *names[GROUP_MEMBERS_MAX] = {0};
    struct row_counter counters[GROUP_MEMBERS_MAX];
    _cleanup_(row_template_done) struct row_template template = {0};
    struct row *row = NULL;
    size_t n = 0;

    if (array_grow(&counts->rows, counts->n_rows) < 0)
        return -ENOMEM;
    int r = row_template_init(&template, counters, &counts->env, &rows, &group_row, events, mask);
    EVENTS_FOREACH (event, r == 0 ? mask : 0) {
        if (is_narrowed(counts, &events->group->events[event].event) &&
            asprintf(&names[n], "%s_user", counters[n].event) < 0)
            r = -ENOMEM;
        counters[n].event = names[n] ? names[n] : counters[n].event;
        n++;
    }
    if (r == 0)
        row = row_template_make(&template, &counts->env, &group_row, &(struct row_target){0});
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    if (!row)
        return -ENOMEM;
    counts->rows[counts->n_rows++] =
        (struct task_row){.row = row, .pmu = pmu, .events = mask, .ordinal = ordinal, .always_runs = true};
    return 0;
}

/* Creates the rows for the parts from index `first` on, which all belong to one group and PMU. */
static int add_rows(struct task_counts *counts, const struct target_events *events, const struct pmu *pmu, size_t first)
{
    size_t first_row = counts->n_rows;
    unsigned last = 0;
    int r = 0;

    for (size_t i = first; i < counts->n_parts; i++)
        last = MAX(last, counts->parts[i].ordinal);
    for (unsigned ordinal = 1; ordinal <= last && r == 0; ordinal++) {
        uint64_t mask = 0;
        for (size_t i = first; i < counts->n_parts; i++)
            mask |= counts->parts[i].ordinal == ordinal ? counts->parts[i].events : 0;
        r = add_row(counts, events, pmu, ordinal, mask);
    }
    for (size_t i = first; i < counts->n_parts && r == 0; i++) {
        struct part *part = &counts->parts[i];
        part->row = first_row + part->ordinal - 1;
        counts->rows[part->row].always_runs &= group_always_runs(part->group);
    }
    return r;
}

/* --- opening --- */

/* Opens the events in `mask` on one CPU, or on all CPUs (-1), and adds a part for each perf group that was opened. */
static int open_on(struct task_counts *counts, const struct target_events *events, uint64_t mask, int cpu)
{
    const struct group_target target = {.pid = counts->pid, .cpu = cpu, .paused = true, .inherit = true};
    _cleanup_(partition_done) struct partition partition = {0};
    bool strict = events->group->strict;
    int r = partition_open(counts->env.sys, events->attrs, mask, strict, &target, &partition);

    for (size_t i = 0; i < partition.n_groups && r == 0; i++) {
        r = array_grow(&counts->parts, counts->n_parts);
        if (r == 0)
            counts->parts[counts->n_parts++] = (struct part){.group = steal(partition.groups[i].group),
                                                             .events = partition.groups[i].events,
                                                             .ordinal = (unsigned)i + 1};
    }
    EVENTS_FOREACH (event, r == 0 ? mask : 0)
        if (r == 0 && partition.errors[event] < 0)
            r = add_refused(counts, events, event, partition.errors[event], strict ? &partition : NULL);
    return r;
}

/* Returns whether the kernel would choose another core PMU for the event if no CPU is given. */
static bool needs_cpu(const struct task_counts *counts, const struct attr *attr)
{
    const struct perf_event_attr *kernel = &attr->kernel;

    if (counts->n_kinds < 2 || kernel->type == attr->pmu->type)
        return false;
    return kernel->type == PERF_TYPE_RAW || kernel->config >> PERF_PMU_TYPE_SHIFT != attr->pmu->type;
}

/* Opens the events in `mask`, which are counted by `pmu`, or by every CPU if `pmu` is NULL. */
static int open_on_pmu(struct task_counts *counts, const struct target_events *events, uint64_t mask,
                       const struct pmu *pmu)
{
    size_t first = counts->n_parts;
    bool each_cpu = false;
    int r = 0;

    EVENTS_FOREACH (event, pmu ? mask : 0)
        each_cpu |= needs_cpu(counts, &events->attrs[event]);
    if (!each_cpu)
        r = open_on(counts, events, mask, -1);
    for (int cpu = each_cpu ? cpuset_next(&pmu->cpus, -1) : -1; cpu >= 0 && r == 0; cpu = cpuset_next(&pmu->cpus, cpu))
        if (cpuset_has(&counts->env.machine->online, (unsigned)cpu))
            r = open_on(counts, events, mask, cpu);
    return r < 0 ? r : add_rows(counts, events, pmu, first);
}

/* Excludes kernel mode from the events in `*mask`, and removes from the mask events that happen only in the kernel. */
static int narrow(struct task_counts *counts, struct target_events *events, uint64_t *mask)
{
    int r = 0;

    EVENTS_FOREACH (event, counts->user_only ? *mask : 0) {
        const struct event *of = &events->group->events[event].event;
        struct attr *attr = &events->attrs[event];
        struct refusal refusal = {.event = event,
                                  .pmu = attr->pmu->name,
                                  .message = "this happens in the kernel, but this user may count only user mode: run "
                                             "perfcountd with sudo, or lower kernel.perf_event_paranoid to 1",
                                  .reason = "EACCES",
                                  .error = -EACCES,
                                  .span = REASON_LASTS};
        if (is_of_kernel(attr)) {
            *mask &= ~event_bit(event);
            r = r < 0 ? r : add_failure(counts, events->group, &refusal);
        } else if (is_clock(of) || is_narrowed(counts, of)) {
            attr->kernel.exclude_kernel = attr->kernel.exclude_hv = 1;
        }
    }
    return r;
}

static uint64_t events_of(const struct target_events *events, uint64_t mask, const struct pmu *pmu)
{
    uint64_t found = 0;

    EVENTS_FOREACH (event, mask) {
        const struct pmu *own = events->attrs[event].pmu;
        if (pmu ? own == pmu : own->scope == PMU_ANY)
            found |= event_bit(event);
    }
    return found;
}

static int open_group(struct task_counts *counts, const struct config_group *group, struct target_events *events)
{
    const struct machine *machine = counts->env.machine;
    _cleanup_(freep) bool *done = calloc(machine->n_pmus + 1, sizeof(*done)); /* whether each PMU has been handled */
    uint64_t any = 0; /* masks of events that every CPU counts, and of events that are open */
    int r = done ? 0 : -ENOMEM;

    target_events_init(events, group, NULL);
    for (int cpu = cpuset_next(&counts->first_cpus, -1); cpu >= 0 && r == 0;
         cpu = cpuset_next(&counts->first_cpus, cpu)) {
        r = target_events_find(events, &counts->env, cpu);
        if (r == 0)
            r = add_failures(counts, events);
        uint64_t mask = events->mask & ~any;
        any |= events_of(events, mask, NULL);
        if (r == 0)
            r = narrow(counts, events, &mask);
        for (size_t i = 0; i < machine->n_pmus && r == 0; i++) {
            const struct pmu *pmu = machine->pmus[i];
            uint64_t own = pmu->scope == PMU_ANY ? 0 : events_of(events, mask, pmu);
            if (own && !done[i])
                r = open_on_pmu(counts, events, own, pmu);
            done[i] |= own != 0;
        }
        uint64_t shared = events_of(events, mask, NULL);
        if (r == 0 && shared)
            r = open_on_pmu(counts, events, shared, NULL);
    }
    return r < 0 ? r : add_nowhere(counts, group, events);
}

/* Finds the kinds of core, and sets first_cpus and n_kinds. */
static int find_kinds(struct task_counts *counts)
{
    const struct machine *machine = counts->env.machine;
    int r = 0;

    for (size_t i = 0; i < machine->n_pmus && r == 0; i++) {
        const struct pmu *pmu = machine->pmus[i];
        int cpu = pmu->scope == PMU_CORE ? cpuset_next(&pmu->cpus, -1) : -1;
        while (cpu >= 0 && !cpuset_has(&machine->online, (unsigned)cpu))
            cpu = cpuset_next(&pmu->cpus, cpu);
        if (cpu < 0)
            continue;
        counts->n_kinds += machine_core_pmu(machine, (unsigned)cpu) == pmu;
        r = cpuset_add(&counts->first_cpus, (unsigned)cpu);
    }
    return r;
}

/* Sets the totals of a row to 0 before the first reading, so that the growth up to the first reading is known. */
static void show_zero(const struct task_row *task_row)
{
    struct row_sum sum;

    row_sum_init(&sum, task_row->row->n_counters);
    row_sum_note(&sum, GROUP_IDLE, 0);
    for (size_t i = 0; i < task_row->row->n_counters; i++)
        sum.counters[i].known = true;
    row_sum_show(&sum, task_row->row);
}

DEFINE_CLEANUP(struct task_counts *, task_counts_free);

int task_counts_new(struct sys *sys, const struct machine *machine, pid_t pid, struct snapshot *snapshot,
                    struct task_counts **ret)
{
    static const struct cpuset none = {0};
    _cleanup_(task_counts_freep) struct task_counts *counts = calloc(1, sizeof(*counts));

    if (!counts)
        return -ENOMEM;
    counts->env = (struct collector_env){.sys = sys, .machine = machine, .snapshot = snapshot, .went_offline = &none};
    counts->pid = pid;
    counts->user_only = may_count_user_only(sys, pid);
    int r = find_kinds(counts);
    if (r == 0)
        *ret = steal(counts);
    return r;
}

int task_counts_open(struct task_counts *counts, const struct config_groups *groups)
{
    _cleanup_(freep) struct target_events *events = calloc(1, sizeof(*events));
    size_t first = counts->n_rows;
    int r = events ? 0 : -ENOMEM;

    for (size_t i = 0; i < groups->n && r == 0; i++)
        r = open_group(counts, &groups->items[i], events);
    for (size_t i = first; i < counts->n_rows; i++)
        show_zero(&counts->rows[i]);
    return r;
}

struct task_counts *task_counts_free(struct task_counts *counts)
{
    if (!counts)
        return NULL;
    for (size_t i = 0; i < counts->n_parts; i++)
        group_free(counts->parts[i].group);
    free(counts->parts);
    free(counts->rows);
    cpuset_done(&counts->first_cpus);
    failures_done(&counts->failures);
    free(counts);
    return NULL;
}

/* --- reading --- */

/* The unscaled sum of a row's parts. */
struct raw_row {
    uint64_t enabled, running;
    uint64_t values[GROUP_MEMBERS_MAX]; /* one unscaled value for each counter of the row */
    int error;
};

static void raw_add(struct raw_row *raw, const struct task_row *row, const struct part *part)
{
    struct group_reading reading;
    int r = group_read(part->group, &reading);
    size_t k = 0;

    raw->error = r < 0 ? r : raw->error;
    if (r < 0)
        return;
    /* For the running time of events that need no hardware counter, see open_group_read(). */
    raw->enabled = MAX(raw->enabled, reading.enabled);
    raw->running += row->always_runs ? reading.enabled : reading.running;
    EVENTS_FOREACH (event, part->events)
        raw->values[event_count(row->events & (event_bit(event) - 1))] += reading.values[k++];
}

/* How long the task ran, how long its events were counted, and on how many kinds of core. */
struct task_times {
    uint64_t enabled, running;
    size_t n_kinds;
};

/* Returns the longest running time of a row of this PMU. */
static uint64_t longest_on(const struct task_counts *counts, const struct pmu *pmu)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < counts->n_rows; i++)
        if (counts->rows[i].pmu == pmu)
            longest = MAX(longest, counts->rows[i].running_ns);
    return longest;
}

static bool is_first_of_pmu(const struct task_counts *counts, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (counts->rows[i].pmu == counts->rows[row].pmu)
            return false;
    return true;
}

static void add_up_kinds(const struct task_counts *counts, struct task_times *times)
{
    for (size_t i = 0; i < counts->n_rows; i++) {
        const struct pmu *pmu = counts->rows[i].pmu;
        if (!pmu || !is_first_of_pmu(counts, i))
            continue;
        times->running += longest_on(counts, pmu);
        times->n_kinds++;
    }
}

/*
 * Returns an estimate of how long the task ran on the CPUs of a PMU. If nothing is counted on other kinds of core, the
 * estimate is the longest running time of the PMU's groups, which is a lower bound.
 */
static uint64_t time_on(const struct task_counts *counts, const struct pmu *pmu, const struct task_times *times)
{
    uint64_t longest = longest_on(counts, pmu);

    if (times->n_kinds < counts->n_kinds || times->running >= times->enabled)
        return longest;
    return times->running ? muldiv(longest, times->enabled, times->running).whole : 0;
}

static void show(const struct task_counts *counts, const struct task_row *task_row, const struct raw_row *raw,
                 const struct task_times *times)
{
    uint64_t running = task_row->running_ns, enabled = raw->enabled;
    struct row_sum sum;

    if (task_row->pmu)
        enabled = running ? time_on(counts, task_row->pmu, times) : times->enabled;
    enabled = MAX(enabled, running);
    row_sum_init(&sum, task_row->row->n_counters);
    row_sum_note(&sum,
                 raw->error || !running ? GROUP_STARVED
                 : running < enabled    ? GROUP_MULTIPLEXED
                                        : GROUP_COUNTED,
                 raw->error);
    sum.times = (struct scale_times){enabled, running};
    for (size_t i = 0; i < task_row->row->n_counters; i++) {
        struct counter_sum *counter = &sum.counters[i];
        counter->raw = raw->values[i];
        counter->known = !raw->error && running > 0;
        counter->total = running < enabled && running ? muldiv(raw->values[i], enabled, running)
                                                      : (struct fixed){.whole = raw->values[i]};
    }
    row_sum_show(&sum, task_row->row);
}

int task_counts_read(struct task_counts *counts)
{
    _cleanup_(freep) struct raw_row *raw = calloc(counts->n_rows + 1, sizeof(*raw));
    struct task_times times = {0};

    if (!raw)
        return -ENOMEM;
    for (size_t i = 0; i < counts->n_parts; i++) {
        size_t row = counts->parts[i].row;
        raw_add(&raw[row], &counts->rows[row], &counts->parts[i]);
    }
    for (size_t i = 0; i < counts->n_rows; i++) {
        counts->rows[i].running_ns = raw[i].running;
        if (counts->rows[i].pmu)
            times.enabled = MAX(times.enabled, raw[i].enabled);
    }
    add_up_kinds(counts, &times);
    for (size_t i = 0; i < counts->n_rows; i++)
        show(counts, &counts->rows[i], &raw[i], &times);
    return 0;
}

const struct failures *task_counts_failures(const struct task_counts *counts)
{
    return &counts->failures;
}

bool task_counts_user_only(const struct task_counts *counts)
{
    return counts->user_only;
}
