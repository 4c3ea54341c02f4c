/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event on a PMU to its perf_event_attr.
 *
 * From the terms of an event to the words of perf_event_attr, by a PMU's formats. Serves attr.h.
 *
 * An event and the PMU that counts it, as the perf_event_attr that the kernel wants (perf_event_open(2)).
 */
#ifndef PERF_ATTR_H
#define PERF_ATTR_H

#include "perf/event.h"
#include "perf/machine.h"
#include "perf/pmu.h"

/*
 * An event bound to a PMU. The kernel's count times `scale` is in `unit`. Borrows `pmu` and `unit` from the machine,
 * `text` from the event.
 */
struct attr {
    /*
     * The group sets read_format, disabled and the like. `pinned` and `exclusive` are as the event says: the kernel
     * takes them from a leader only. precise_ip is for samples: x86 refuses it for an event that is only counted.
     */
    struct perf_event_attr kernel;
    const char *text; /* a probe's function or file, for struct sys_group; NULL: none */
    const struct pmu *pmu;
    double scale;     /* 1.0; 1e-9 for the clocks, which count nanoseconds; or the one of sysfs */
    const char *unit; /* a Prometheus base unit, lower case and plural: "seconds", "joules"...; "" for plain counts */
};

/*
 * The PMU that counts `event` on `cpu`: the core PMU for hardware, raw and cache events, "software" or "tracepoint" for
 * theirs, the named one where it covers the CPU. NULL where the CPU does not have the event, which is no failure: so
 * are the events of PMUs with a cpumask, which count for several CPUs. An event of a PMU that does not exist has NULL
 * for every CPU: attr_check() distinguishes it.
 */
const struct pmu *attr_pmu(const struct machine *machine, const struct event *event, unsigned cpu);

/* Whether `event` names `pmu` ("uncore_imc/.../" names uncore_imc_0 too), or is a bare name of one of its events. */
bool attr_names_pmu(const struct machine *machine, const struct event *event, const struct pmu *pmu);

/*
 * Whether the machine knows the event: -ENODEV where it does not have the PMU, -ENOENT where nothing in sysfs has the
 * name (with the nearest names), -EINVAL for a term or value that the PMU's format refuses.
 */
int attr_check(struct sys *sys, const struct machine *machine, const struct event *event, struct error *error);

/* Builds the attr for `pmu`, a result of attr_pmu(). Errors of attr_check() and of reading a tracepoint's id. */
int attr_build(struct sys *sys, const struct machine *machine, const struct event *event, const struct pmu *pmu,
               struct attr *ret, struct error *error);

#endif
