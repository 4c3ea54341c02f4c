/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the struct perf_event_attr with which the kernel counts an event on one PMU (perf_event_open(2)).
 *
 * An event (perf/event.h) is parsed text that does not depend on the machine. This module binds an event to a PMU: the
 * event's name or terms become bits of config, config1, config2 and config3, as the PMU's formats in sysfs say. libpfm4
 * supplies names that sysfs lacks, and tracefs supplies tracepoint ids.
 */
#ifndef PERF_ATTR_H
#define PERF_ATTR_H

#include "perf/event.h"
#include "perf/machine.h"
#include "perf/pmu.h"

/*
 * An event bound to a PMU. The kernel's count, multiplied by `scale`, is the value in `unit`. `pmu` and `unit` are
 * borrowed from the machine, `text` from the event.
 */
struct attr {
    /*
     * read_format, `disabled` and `enable_on_exec` are left to perf/group.h. `pinned` and `exclusive` follow the
     * event's modifiers; the kernel honours them only in a leader. precise_ip is for sampling: x86 refuses it for an
     * event that is only counted.
     */
    struct perf_event_attr kernel;
    const char *text; /* function or file of a probe, for struct sys_group, or NULL for other events */
    const struct pmu *pmu;
    double scale;     /* 1e-9 for clocks, which count nanoseconds; else the event's scale in sysfs, or 1.0 */
    const char *unit; /* a Prometheus base unit, lower case and plural: "seconds", "joules"; "" for plain counts */
};

/*
 * Returns the PMU that counts `event` on `cpu`: the core PMU for hardware, raw and cache events; "software",
 * "tracepoint" or "breakpoint" for events of these kinds; otherwise the PMU that the event names, if it covers the CPU.
 * Returns NULL if the event is not counted per CPU there, which is not an error: the events of a PMU with a cpumask
 * cover several CPUs, so NULL is returned for each CPU. NULL is also returned for every CPU if the PMU does not exist;
 * attr_check() reports that.
 */
const struct pmu *attr_pmu(const struct machine *machine, const struct event *event, unsigned cpu);

/*
 * Whether `event` names `pmu` ("uncore_imc/.../" also names uncore_imc_0) or is the bare name of one of its events.
 * Returns false for events of any other kind.
 */
bool attr_names_pmu(const struct machine *machine, const struct event *event, const struct pmu *pmu);

/*
 * Checks that the machine has the event. Returns -ENODEV if the machine does not have the PMU, -ENOENT if the name is
 * unknown (the error suggests the nearest names), -EINVAL for a term or value that the PMU's format refuses, or an
 * error of reading a tracepoint's id. Generic and raw events always pass, since only the kernel knows whether a PMU has
 * them.
 */
int attr_check(struct sys *sys, const struct machine *machine, const struct event *event, struct error *error);

/*
 * Builds the attr for `pmu`, which attr_pmu() returned or attr_names_pmu() accepted. Returns the errors of
 * attr_check().
 */
int attr_build(struct sys *sys, const struct machine *machine, const struct event *event, const struct pmu *pmu,
               struct attr *ret, struct error *error);

#endif
