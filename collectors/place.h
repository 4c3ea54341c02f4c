/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place where configured groups are counted: a CPU, or a PMU of the system on a CPU of its cpumask.
 *
 * Each place takes those events of a group that are its own; a list of places ends with one that takes what no other
 * takes, to say why.
 */
#ifndef COLLECTORS_PLACE_H
#define COLLECTORS_PLACE_H

#include "collectors/collector.h"
#include "perf/group.h"

enum place_kind {
    PLACE_CPU,    /* a CPU: core, software, tracepoint... events; also for one cgroup */
    PLACE_PMU,    /* one PMU of the system: only its events */
    PLACE_NO_CPU, /* counts nothing: what no CPU of its list takes is missing here */
    PLACE_NO_PMU, /* counts nothing: what no PMU of its list takes is missing here */
};

struct places;

struct place {
    enum place_kind kind;
    struct group_target target; /* cpu -1: none of the PMU's CPUs is online, or PLACE_NO_... */
    const char *cgroup;         /* its label, or NULL */
    const struct pmu *pmu;      /* of PLACE_PMU; borrowed from the machine */
    bool away;                  /* its CPU is offline: nothing is opened, what was counted is kept */
    const struct places *list;  /* of PLACE_NO_...: what it is in */
};

struct places {
    struct place *items;
    size_t n;
};

void places_done(struct places *places);
/* -ENOMEM. */
int places_add(struct places *places, const struct place *place);

/*
 * Which PMU counts `event` at this place: 0 and NULL where it is not of this place, which is no failure. Errors, with
 * their sentence, where the event should be counted here and cannot be.
 */
int place_bind(const struct place *place, const struct collector_context *context, const struct event *event,
               const struct pmu **ret, struct error *error);

/* What tells a place from others in a list across a reload: its PMU's name, "" for a place without. */
const char *place_pmu_name(const struct place *place);

#endif
