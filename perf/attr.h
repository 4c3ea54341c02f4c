/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an event and the PMU that is to count it to the perf_event_attr that the kernel wants (perf_event_open(2)).
 */
#ifndef PERF_ATTR_H
#define PERF_ATTR_H

#include "perf/event/event.h"
#include "perf/machine.h"

/*
 * An event bound to a PMU. What the kernel counts, times `scale`, is in `unit`. It borrows from both: `pmu` and `unit`
 * from the machine, `text` from the event.
 */
struct attr {
    /*
     * read_format, disabled and the like are the group's business. `pinned` and `exclusive` are as the event says: the
     * kernel takes them of a leader only. precise_ip is for samples: x86 refuses it of what is only counted.
     */
    struct perf_event_attr kernel;
    const char *text; /* a probe's function or file, which stands beside the attribute (perf/sys.h); NULL: none */
    const struct pmu *pmu;
    double scale;     /* 1.0; 1e-9 for the clocks, which count nanoseconds; or sysfs's */
    const char *unit; /* a Prometheus base unit, lower case and plural: "seconds", "joules"...; "" for plain counts */
};

/*
 * Which PMU counts `event` on `cpu`: the core PMU for hardware, raw and cache events, "software" or "tracepoint" for
 * theirs, the named one where it covers the CPU. NULL where that event is not of that CPU, which is no failure: so are
 * those of PMUs with a cpumask, which count for several CPUs.
 * An event of a PMU that does not exist gives NULL for every CPU: attr_check() tells that apart.
 */
const struct pmu *attr_pmu(const struct machine *machine, const struct event *event, unsigned cpu);

/* Whether `event` names `pmu` ("uncore_imc/.../" names uncore_imc_0 too), or is a bare name of one of its events. */
bool attr_names_pmu(const struct machine *machine, const struct event *event, const struct pmu *pmu);

/*
 * Whether the machine knows the event at all: -ENODEV for a PMU it lacks, -ENOENT for a name that sysfs has nowhere
 * (with the nearest names), -EINVAL for a term or value the PMU's format refuses.
 */
int attr_check(struct sys *sys, const struct machine *machine, const struct event *event, struct error *error);

/* Builds the attr for `pmu`, which attr_pmu() gave. Errors as attr_check(), and those of reading a tracepoint's id. */
int attr_build(struct sys *sys, const struct machine *machine, const struct event *event, const struct pmu *pmu,
               struct attr *ret, struct error *error);

#endif
