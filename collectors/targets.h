/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place where groups are opened: a CPU, or a PMU of the system on a CPU of its cpumask.
 *
 * Each place counts those events of a configured group that are its own. The last place of a list opens nothing: it
 * finds the reason for each event that no other place of the list counts.
 */
#ifndef COLLECTORS_TARGETS_H
#define COLLECTORS_TARGETS_H

#include "collectors/unavailable.h"
#include "perf/group.h"

enum place_kind {
    PLACE_CPU,    /* a CPU: core, software, tracepoint... events; also for one cgroup */
    PLACE_PMU,    /* one PMU of the system: only its events */
    PLACE_NO_CPU, /* the last of a list of CPUs */
    PLACE_NO_PMU, /* the last of a list of PMUs */
};

struct places;

struct place {
    enum place_kind kind;
    struct group_target target; /* cpu -1: none of the PMU's CPUs is online, or PLACE_NO_... */
    const char *cgroup;         /* its label, or NULL */
    const struct names *names;  /* of the cgroup, for its rows; or NULL */
    const struct pmu *pmu;      /* of PLACE_PMU; borrowed from the machine */
    bool away;                  /* its CPU is offline: nothing is opened, and its totals are kept */
    const struct places *list;  /* of PLACE_NO_...: the list that it ends */
};

struct places {
    struct place *items;
    size_t n;
    bool one_target; /* they are the CPUs of one cgroup; else each place is a target of its own */
    bool summed;     /* of one target: a row is of all CPUs of a PMU, not of one CPU */
    bool bare;       /* of one target: without rows, since others show what is counted */
};

void places_done(struct places *places);
/* -ENOMEM. */
int places_add(struct places *places, const struct place *place);
/*
 * Adds each of the `cpus`, and the last place of a list of CPUs; `like` is what they have in common: the target without
 * its CPU, and the cgroup. The list must stay where it is. -ENOMEM.
 */
int places_add_cpus(struct places *places, const struct machine *machine, const struct cpuset *cpus,
                    const struct place *like);

/* This distinguishes places of the same CPU across a reload: the PMU's name of PLACE_PMU, else "". */
const char *place_pmu_name(const struct place *place);

/* The events of a configured group that a place counts, each with the PMU that counts it there. */
struct place_events {
    const struct config_group *group;
    uint64_t mask;
    uint64_t refused;                     /* events that the place should count and cannot */
    struct attr attrs[GROUP_MEMBERS_MAX]; /* by event; those in the mask are set */
};

/*
 * Finds the events of events->group that `place` counts; lists in `unavailable` those that it should count and cannot.
 * `events` is that of another place, whose attrs are taken where the PMU is the same, or all zero but for the group.
 * -ENOMEM.
 */
int place_events_find(struct place_events *events, const struct collector_context *context, const struct place *place,
                      struct unavailable_events *unavailable);

/* The attrs of the events in `mask`, in order; returns how many there are. */
size_t place_events_attrs(const struct place_events *events, uint64_t mask, struct attr *attrs);

#endif
