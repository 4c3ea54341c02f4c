/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets and their places. A place is where perf groups are opened: a CPU, or a PMU on a CPU of its cpumask. A target
 * is one place, or all CPUs of a cgroup.
 *
 * Each place counts those events of a configured group that belong to it. The last place of a list (PLACE_NO_CPU,
 * PLACE_NO_PMU) opens nothing: it finds the reason for each event that no other place of the list counts.
 */
#ifndef COLLECTORS_TARGETS_H
#define COLLECTORS_TARGETS_H

#include "collectors/unavailable.h"
#include "perf/group.h"

enum place_kind {
    PLACE_CPU,    /* a CPU, possibly for one cgroup: core, software, tracepoint... events */
    PLACE_PMU,    /* a PMU that counts for several CPUs: only its own events */
    PLACE_NO_CPU, /* end of a list of CPUs */
    PLACE_NO_PMU, /* end of a list of PMUs */
};

struct places;

struct place {
    enum place_kind kind;
    struct group_target target; /* its cpu is -1 for PLACE_NO_..., and if none of the PMU's CPUs is online */
    const char *cgroup;         /* label of the cgroup, or NULL */
    const struct names *names;  /* names of the cgroup, for its rows; or NULL */
    const struct pmu *pmu;      /* PLACE_PMU only; borrowed from the machine */
    /* The CPU is offline, or the PMU is now read on another CPU: nothing is opened here, and totals are kept. */
    bool offline;
    const struct places *list; /* PLACE_NO_... only: the list that it ends */
};

struct places {
    struct place *items;
    size_t n;
    bool one_target; /* the places are the CPUs of one target; otherwise each place is a target of its own */
    bool summed;     /* one_target only: a row is the sum over all CPUs of a PMU, not of one CPU */
    bool bare;       /* one_target only: no rows are made, because the caller renders the counts */
};

void places_done(struct places *places);
/* Appends a copy of `place`. Returns -ENOMEM on failure. */
int places_add(struct places *places, const struct place *place);
/*
 * Appends a place for each of `cpus`, and the PLACE_NO_CPU that ends the list. `like` holds what the places have in
 * common: the target without its CPU, and the cgroup. `places` must not move afterwards, because the last place points
 * to it. Returns -ENOMEM on failure.
 */
int places_add_cpus(struct places *places, const struct machine *machine, const struct cpuset *cpus,
                    const struct place *like);

/* Returns what distinguishes places of the same CPU across a reload: the name of the PMU for PLACE_PMU, else "". */
const char *place_pmu_name(const struct place *place);

/* The events of a configured group that a place counts, with the attr of each there. */
struct place_events {
    const struct config_group *group;
    uint64_t mask;
    uint64_t refused;                     /* events that belong to the place but cannot be counted */
    struct attr attrs[GROUP_MEMBERS_MAX]; /* by event; valid for the events in `mask` */
};

/*
 * Finds the events of events->group that `place` counts, and adds to `unavailable` those that belong to it but cannot
 * be counted. On entry `events` is zeroed except for its group, or holds the result for another place, whose attrs are
 * reused if the PMU is the same. Returns -ENOMEM on failure.
 */
int place_events_find(struct place_events *events, const struct collector_env *env, const struct place *place,
                      struct unavailable_events *unavailable);

/* Copies the attrs of the events in `mask`, in order. Returns their number. */
size_t place_events_attrs(const struct place_events *events, uint64_t mask, struct attr *attrs);

#endif
