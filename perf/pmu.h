/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A performance monitoring unit as sysfs describes it (Documentation/ABI/testing/sysfs-bus-event_source-devices*):
 * its type number, the CPUs it covers, how its terms are laid into perf_event_attr, and the events it names.
 */
#ifndef PERF_PMU_H
#define PERF_PMU_H

#include "perf/cpuset.h"
#include "perf/defects.h"
#include "perf/sys.h"

enum pmu_scope {
    PMU_CORE,   /* has `cpus`, or is named "cpu": counts on each CPU of `cpus` */
    PMU_SYSTEM, /* has `cpumask`: counts for several CPUs, read on those of `cpus` */
    PMU_ANY,    /* has neither: software, tracepoint, msr...: counts on every CPU */
};

/* A term of `format/`: which bits of which word take its value, the lowest bit of the value in the lowest bit. */
struct pmu_format {
    char *name;
    unsigned word; /* 0 to 3: config, config1, config2, config3 */
    uint64_t bits;
};

/*
 * An event of `events/`, with its `.scale` (1.0 where there is none) and `.unit` ("" where there is none), both turned
 * into Prometheus base units: "MiB" at 6.1e-5 are "bytes" at 64.
 */
struct pmu_event {
    char *name;
    char *terms; /* "event=0x3c,umask=0x1" */
    double scale;
    char *unit;
};

struct pmu {
    char *name; /* sysfs name: "cpu", "armv8_cortex_a76", "software" */
    uint32_t type;
    enum pmu_scope scope;
    bool extended; /* the kernel takes its type in the upper half of a generic event's config; machine_load() asks it */
    bool absent;   /* stands for the hardware PMU of CPUs that have none; nothing can be opened on it */
    struct cpuset cpus;
    struct pmu_format *formats;
    size_t n_formats;
    struct pmu_event *events;
    size_t n_events;
    struct defects defects; /* formats and events that are in sysfs and make no sense */
    uint64_t threshold_max; /* caps/threshold_max; UINT64_MAX where there is no such file, 0 where the CPU has none */
};

/* Pure: parses "config1:0-7,32-35"; `ret` gets no name. -EINVAL, with the error at the offending character. */
int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error);
/* Pure: lays `value` into the bits of `format`. -ERANGE where it has more bits than there is room for. */
int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word);

/*
 * Loads /sys/bus/event_source/devices/NAME. A single format or event that is unreadable or garbled is left out and
 * listed in `broken`; a `type`, `cpus` or `cpumask` that is so is an error. `online` is what a PMU without `cpus` and
 * `cpumask` covers.
 */
int pmu_load(struct sys *sys, const char *name, const struct cpuset *online, struct pmu **ret, struct error *error);
struct pmu *pmu_free(struct pmu *pmu);

/*
 * Whether "uncore_imc" as a person writes it means the PMU `name`: the same, or with a "_NUMBER" behind it, as perf has
 * it where a machine has several of a kind.
 */
bool pmu_name_matches(const char *written, const char *name);
/*
 * Whether it counts what each CPU does: a core PMU, and those of the kernel's own (software, tracepoints, breakpoints,
 * probes, msr). The others count for several CPUs, or for the machine, and are read once.
 */
bool pmu_is_per_cpu(const struct pmu *pmu);

/* By name; NULL where the PMU has none such. Borrowed. */
const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name);
const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name);

#endif
