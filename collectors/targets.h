/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of a collector, and the events of a configured group that a target counts on a CPU.
 *
 * A target is a CPU (`cpu` collector), a PMU on a CPU of its cpumask (`pmu` collector), or a cgroup on all CPUs
 * (`cgroup` collector). Each target has its own rows. An event that a target cannot count on a CPU is refused for that
 * CPU, with a reason. If no target counts an event, the collector reports the reason once.
 */
#ifndef COLLECTORS_TARGETS_H
#define COLLECTORS_TARGETS_H

#include "collectors/collector.h"
#include "perf/group.h"

struct target {
    struct cpuset cpus;    /* CPUs on which perf groups are opened; empty if no CPU of the PMU is online */
    const struct pmu *pmu; /* counts only events of this PMU; NULL for events that are counted on each CPU. Borrowed */
    const char *cgroup;    /* label of the cgroup, "" for all cgroups together, or NULL for whole CPUs */
    const struct names *names; /* names of the cgroup for its rows, or NULL */
    unsigned long flags;       /* flags for perf_event_open(2), as in struct group_target */
    pid_t pid;                 /* pid for perf_event_open(2), or -errno if the cgroup's directory cannot be opened */
    bool moved;                /* the PMU is now read on another CPU; nothing is opened here, and totals are kept */
    bool summed;               /* a row is the sum over all CPUs of a PMU */
    bool bare;                 /* no rows are created, because the caller renders the counts itself */
};

struct targets {
    struct target *items;
    size_t n;
    /*
     * Returns -errno with a message for an event that no target counts, and 0 if the event need not be reported, such
     * as an event of a preset that is meant for other PMUs.
     */
    int (*explain_nowhere)(const struct collector_env *env, const struct config_group *group,
                           const struct config_event *event, struct error *error);
};

void targets_done(struct targets *targets);
/* Appends a copy of the target `like` on one CPU, or on none (-1). Returns -ENOMEM on failure. */
int targets_add_cpu(struct targets *targets, const struct target *like, int cpu);
/* Creates a list with a single target: one cgroup, or all cgroups together, on all CPUs. Returns -ENOMEM on failure. */
int targets_add_cgroup(struct targets *targets, const struct collector_env *env, const struct target *like);

/* Returns whether nothing can be opened on this CPU now. Totals are kept until the CPU is back. */
bool target_is_offline(const struct target *target, const struct machine *machine, int cpu);
/*
 * Returns whether nothing new can be opened now, because the cgroup's directory cannot be opened. Groups that are open
 * continue to count.
 */
bool target_is_unreachable(const struct target *target);

/* An event that cannot be counted, and why. */
struct refusal {
    size_t event;        /* index of the event in the configured group */
    const char *pmu;     /* name of the PMU that counts the event or is named in it, or "" if unknown */
    const char *message; /* sentence with cause and remedy */
    const char *reason;  /* result of reason_label(), a static string */
    int error;           /* -errno */
    enum reason_span span;
};

/* The events of a configured group that are counted on a CPU, with their attrs there, and those that are not. */
struct target_events {
    const struct config_group *group;
    const struct pmu *pmu; /* PMU of the target */
    uint64_t mask;
    size_t n_refusals;
    struct refusal refusals[GROUP_MEMBERS_MAX]; /* strings belong to the snapshot, machine or configuration */
    struct attr attrs[GROUP_MEMBERS_MAX];       /* one attr for each event; only valid for the events in `mask` */
};

/* Must be called before the first target_events_find(). `pmu` is the PMU of the target. */
void target_events_init(struct target_events *events, const struct config_group *group, const struct pmu *pmu);
/*
 * Finds the events that a target counts on `cpu` (-1 if no CPU of the PMU is online). Attrs that were found for another
 * CPU are reused if the event's PMU is the same. Returns -ENOMEM on failure.
 */
int target_events_find(struct target_events *events, const struct collector_env *env, int cpu);

#define REFUSAL_SIZE 1024
/*
 * Explains why the kernel refused the i-th event with `error` (-errno). `strict` is the partition of a strict group
 * that could not be opened, or NULL. `message` is the buffer for ret->message. Returns false if the event is silently
 * left out.
 */
bool target_events_explain(const struct target_events *events, const struct machine *machine, size_t i, int error,
                           const struct partition *strict, char message[REFUSAL_SIZE], struct refusal *ret);

/*
 * Finds the events of a group that no target counts, and adds a refusal for each of these events. Returns -ENOMEM on
 * failure.
 */
int targets_explain_nowhere(const struct targets *targets, const struct collector_env *env,
                            const struct config_group *group, struct target_events *ret);
/*
 * Implements explain_nowhere() for targets that are CPUs: all CPUs if `for_cgroups` is set, else the CPUs in
 * collectors.cpu.cpus.
 */
int targets_explain_cpus(const struct collector_env *env, const struct config_event *event, bool for_cgroups,
                         struct error *error);

#endif
