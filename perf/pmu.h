/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PMU of sysfs: its formats, named events, units and scales.
 *
 * The unit that a driver writes beside the scale of an event, turned into a base unit of Prometheus. Pure.
 *
 * A term of a PMU's `format/` in sysfs: where its value goes in perf_event_attr
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format). Pure.
 *
 * A performance monitoring unit as sysfs describes it (Documentation/ABI/testing/sysfs-bus-event_source-devices*):
 * its type number, the CPUs it covers, the place of its terms in perf_event_attr, and the events it names.
 */
#ifndef PERF_PMU_H
#define PERF_PMU_H

#include "base/error.h"
#include "base/util.h"
#include "perf/cpuset.h"
#include "perf/sys.h"

/*
 * One count of an event with the files `.scale` and `.unit` is *ret_scale of *ret_base: "MiB" at 6.1e-5 is 64 "bytes".
 * A unit that nobody knows becomes a part of a metric's name with its scale as it is; one without a letter is none,
 * "". -ENOMEM; the caller frees *ret_base.
 *
 * A number of bytes that is whole but for the digits that the driver left out is whole: 9.536743164e-07 MiB is 1 byte.
 * Where powers of 1000 make no whole number of bytes, and powers of 1024 do, the driver means those: "MB" at
 * 1.52587890625e-05 is 16 bytes, and "MB" at 0.000001 is 1 byte.
 */
int unit_resolve(const char *text, double scale, char **ret_base, double *ret_scale);

/* Whether it is a base unit: "bytes", "seconds", ... */
bool unit_is_base(const char *text);

/* The bits of a word that take the value; the value's lowest bit goes into the lowest of them. */
struct pmu_format {
    char *name;
    unsigned word; /* 0 to 3: config, config1, config2, config3 */
    uint64_t bits;
};

/* Parses "config1:0-7,32-35"; `ret` gets no name. -EINVAL, with the error at the offending character. */
int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error);
/* Puts `value` into the bits of `format` in `word`. -ERANGE where the value has more bits than the format. */
int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word);

enum pmu_scope {
    PMU_CORE,   /* has `cpus`, or is named "cpu": counts on each CPU of `cpus` */
    PMU_SYSTEM, /* has `cpumask`: counts for several CPUs, read on those of `cpus` */
    PMU_ANY,    /* has neither: software, tracepoint, msr...: counts on every CPU */
};

/* Files of sysfs that perfcountd cannot use, and why: so that an error says that, and not that they do not exist. */
struct defect {
    char *name, *reason; /* "umask"; "its file cannot be read: Permission denied" */
};

struct defects {
    struct defect *items;
    size_t n;
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
    bool
        extended; /* the kernel takes its type in the upper half of a generic event's config: machine_load() tries it */
    bool absent;  /* stands for the hardware PMU of CPUs that have none; nothing can be opened on it */
    bool watched; /* the NMI watchdog is on, and may hold a counter of each CPU: machine_load() asks */
    struct cpuset cpus;
    struct pmu_format *formats;
    size_t n_formats;
    struct pmu_event *events;
    size_t n_events;
    struct defects defects; /* formats and events */
    unsigned
        slots; /* caps/slots: operations that arm64 cores with top-down events can begin in a cycle; 0: not known */
    uint64_t threshold_max; /* caps/threshold_max; UINT64_MAX where there is no such file, 0 where the CPU has none */
};

void defects_done(struct defects *defects);
/* -ENOMEM. */
int defects_add(struct defects *defects, const char *name, const char *reason);
/* The reason; NULL where `name` is not among them. */
const char *defects_find(const struct defects *defects, const char *name);

/*
 * Loads /sys/bus/event_source/devices/NAME. A format or event that is unreadable or garbled is left out and listed in
 * `defects`; an unreadable or garbled `type`, `cpus` or `cpumask` is an error. A PMU without `cpus` and `cpumask`
 * covers `online`.
 */
int pmu_load(struct sys *sys, const char *name, const struct cpuset *online, struct pmu **ret, struct error *error);
struct pmu *pmu_free(struct pmu *pmu);

/*
 * Whether "uncore_imc" as a person writes it means the PMU `name`: the same name, or with a "_NUMBER" behind it, as
 * perf does where a machine has several PMUs of a kind.
 */
bool pmu_name_matches(const char *written, const char *name);
/*
 * Whether it counts what each CPU does: core PMUs do, and those of the kernel itself (software, tracepoints,
 * breakpoints, probes, msr). The others count for several CPUs, or for the machine, and are read once.
 */
bool pmu_is_per_cpu(const struct pmu *pmu);

/*
 * Whether the PMU counts the event of this number. Cores of Armv8 say which of the common events they implement, and
 * sysfs lists those (drivers/perf/arm_pmuv3.c, PMCEID0_EL0 and PMCEID1_EL0): the others open as well, and count
 * nothing. Yes for any other number or PMU.
 */
bool pmu_has_number(const struct pmu *pmu, uint64_t number);

/* By name; NULL where the PMU has none of that name. Borrowed. */
const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name);
const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name);

#endif
