/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place where groups are opened: a CPU, or a PMU of the system on a CPU of its cpumask.
 *
 * Each place counts those events of a configured group that are its own. The last place of a list opens nothing: it
 * finds the reason for each event that no other place of the list counts.
 */
#ifndef COLLECTORS_PLACE_H
#define COLLECTORS_PLACE_H

#include "collectors/collector.h"
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
    const struct pmu *pmu;      /* of PLACE_PMU; borrowed from the machine */
    bool away;                  /* its CPU is offline: nothing is opened, and its totals are kept */
    const struct places *list;  /* of PLACE_NO_...: the list that it ends */
};

struct places {
    struct place *items;
    size_t n;
    bool one_target; /* they are the CPUs of one cgroup; else each place is a target of its own */
    bool summed;     /* of one target: a row is of all CPUs of a PMU, not of one CPU */
};

void places_done(struct places *places);
/* -ENOMEM. */
int places_add(struct places *places, const struct place *place);

/*
 * The PMU that counts `event` at this place; NULL where the event is not of this place, which is no failure. Errors,
 * with their sentence, where the event should be counted here and cannot be.
 */
int place_find_pmu(const struct place *place, const struct collector_context *context, const struct event *event,
                   const struct pmu **ret, struct error *error);

/* This distinguishes places of the same CPU across a reload: the PMU's name of PLACE_PMU, else "". */
const char *place_pmu_name(const struct place *place);

#endif
