/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A performance monitoring unit as sysfs describes it (Documentation/ABI/testing/sysfs-bus-event_source-devices*): its
 * type number, the CPUs that it covers, the place of its terms in struct perf_event_attr, and its named events with
 * their scales and units.
 */
#ifndef PERF_PMU_H
#define PERF_PMU_H

#include "base/error.h"
#include "base/util.h"
#include "perf/cpuset.h"
#include "perf/sys.h"

/*
 * Converts the `.scale` and `.unit` of an event: one count is *ret_scale times the base unit *ret_base. "MiB" at 6.1e-5
 * is 64 "bytes". An unknown unit becomes a part of a metric name and keeps its scale; a unit without a letter becomes
 * "". The caller frees *ret_base. Returns -ENOMEM on failure. Pure.
 *
 * Bytes are rounded to a whole number if they differ from it only by digits that the driver left out: 9.536743164e-07
 * MiB is 1 byte. If powers of 1000 give no whole number of bytes but powers of 1024 do, the driver means the latter:
 * "MB" at 1.52587890625e-05 is 16 bytes, and "MB" at 0.000001 is 1 byte.
 */
int unit_resolve(const char *text, double scale, char **ret_base, double *ret_scale);

/* Whether the text is a Prometheus base unit that unit_resolve() uses: "bytes", "seconds", ... */
bool unit_is_base(const char *text);

/*
 * A term of a PMU's `format/`: where its value goes in struct perf_event_attr
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format). The value's lowest bit goes into the lowest of
 * `bits`.
 */
struct pmu_format {
    char *name;
    unsigned word; /* 0 to 3: config, config1, config2, config3 */
    uint64_t bits;
};

/*
 * Parses "config1:0-7,32-35"; does not set ret->name. Pure. Returns -EINVAL with the error at the offending character.
 */
int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error);
/* Puts `value` into the bits of `format` in *word. Pure. Returns -ERANGE if the value has more bits than the format. */
int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word);

enum pmu_scope {
    PMU_CORE,   /* has `cpus`, or is named "cpu": counts on each CPU of `cpus` */
    PMU_SYSTEM, /* has `cpumask`: counts for several CPUs, and is read on those of `cpus` */
    PMU_ANY,    /* has neither file (software, tracepoint, msr...): counts on every CPU */
};

/* sysfs files that perfcountd cannot use, and why, so that an error does not claim that they do not exist. */
struct defect {
    char *name, *reason; /* "umask"; "its file cannot be read: Permission denied" */
};

struct defects {
    struct defect *items;
    size_t n;
};

/*
 * An event of `events/`, with its `.scale` (1.0 if the file is missing) and its `.unit` ("" if missing), both converted
 * to Prometheus base units: "MiB" at 6.1e-5 is "bytes" at 64.
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
    bool extended; /* generic events accept the PMU's type in the upper half of config (machine_load()) */
    bool absent;   /* a placeholder for the missing hardware PMU of CPUs, on which nothing can be opened */
    bool watched;  /* the NMI watchdog is on and may hold a counter of each CPU; machine_load() sets it */
    struct cpuset cpus;
    struct pmu_format *formats;
    size_t n_formats;
    struct pmu_event *events;
    size_t n_events;
    struct defects defects; /* formats and events that cannot be used, and why */
    unsigned slots; /* caps/slots, of arm64 cores with top-down events: operations started per cycle; 0: unknown */
    uint64_t threshold_max; /* caps/threshold_max; UINT64_MAX if there is no such file, 0 if there are no thresholds */
};

void defects_done(struct defects *defects);
/* Adds a file and the reason why it cannot be used; copies both strings. Returns -ENOMEM on failure. */
int defects_add(struct defects *defects, const char *name, const char *reason);
/* Returns the reason, or NULL if `name` is not listed. */
const char *defects_find(const struct defects *defects, const char *name);

/*
 * Loads /sys/bus/event_source/devices/NAME. A format or event that is unreadable or garbled is left out and listed in
 * `defects`; an unreadable or garbled `type`, `cpus` or `cpumask` is an error. A PMU with neither `cpus` nor `cpumask`
 * covers `online`.
 */
int pmu_load(struct sys *sys, const char *name, const struct cpuset *online, struct pmu **ret, struct error *error);
struct pmu *pmu_free(struct pmu *pmu);

/*
 * Whether a name that a user has written, such as "uncore_imc", means the PMU `name`: it is the same name, or that name
 * without "_NUMBER" at its end. perf does the same on machines with several PMUs of a kind.
 */
bool pmu_name_matches(const char *written, const char *name);
/*
 * Whether the PMU counts what each CPU does, as core PMUs and the kernel's own (software, tracepoints, breakpoints,
 * probes, msr) do. The others count for several CPUs or for the whole machine, and are read once.
 */
bool pmu_is_per_cpu(const struct pmu *pmu);

/*
 * Whether the CPUs of the PMU implement the event with this number. Armv8 cores say which of the common events they
 * implement (PMCEID0_EL0 and PMCEID1_EL0), and sysfs lists those (drivers/perf/arm_pmuv3.c); other events can be opened
 * but count nothing. Returns true for all other numbers and PMUs.
 */
bool pmu_has_number(const struct pmu *pmu, uint64_t number);

/* Finds a format or an event by name. Returns NULL if the PMU does not have it. The PMU owns the result. */
const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name);
const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name);

#endif
