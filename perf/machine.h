/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that is measured: its CPUs and the list of its PMUs. Immutable once loaded.
 *
 * Each possible CPU has a core PMU. Where sysfs names none (virtual machines, boards without the device tree node), an
 * `absent` one called "cpu" covers the rest, so that what follows never has to ask.
 */
#ifndef PERF_MACHINE_H
#define PERF_MACHINE_H

#include "perf/pmu.h"

struct machine {
    unsigned references; /* of the event loop's thread, as its owners are */
    struct cpuset possible, online;
    struct pmu **pmus; /* in order of name, the absent one last */
    size_t n_pmus;
    struct defects defects; /* PMUs that are in sysfs and make no sense */
    int paranoid;           /* kernel.perf_event_paranoid; INT_MIN where it cannot be read */
    char *release;          /* kernel release, "6.1.0-35-arm64" */
    const char *tracefs;    /* "/sys/kernel/tracing" or the older place; NULL where there is none */
};

/*
 * Reads /sys and /proc; asks the kernel of a machine with several core PMUs whether generic events can name them;
 * mounts tracefs where it is not mounted and that is allowed (it is left mounted, as perf does). Fails only when out of
 * memory or when /sys/devices/system/cpu/online cannot be understood.
 */
int machine_load(struct sys *sys, struct machine **ret, struct error *error);
/* Another owner, so that it lasts as long as a thread that reads it. */
struct machine *machine_ref(struct machine *machine);
/* The last owner frees it. */
struct machine *machine_free(struct machine *machine);

/* Where tracefs is, mounted at need and where that is allowed; NULL where it is not. */
const char *machine_find_tracefs(struct sys *sys);

/* Whether other CPUs are online than were when it was loaded; false where that cannot be told. */
bool machine_is_outdated(struct sys *sys, const struct machine *machine);

/* NULL where there is none of that name. */
const struct pmu *machine_find_pmu(const struct machine *machine, const char *name);
/* The PMU that counts hardware events on `cpu`; never NULL for a possible CPU. */
const struct pmu *machine_core_pmu(const struct machine *machine, unsigned cpu);

#endif
