/* SPDX-License-Identifier: Apache-2.0 */
/* libpfm4 itself, and its tables of events: the inner part of pfm.h, where perfcountd is built with it. */
#ifndef PERF_EVENT_PFM_LIBRARY_H
#define PERF_EVENT_PFM_LIBRARY_H

#include <linux/perf_event.h>

/* libpfm4's own copy of perf_event_attr would come on top of the kernel's. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/error.h"
#include "base/suggest.h"

#define PFM_NAME_SIZE 256
/* Above every number of a PMU: libpfm4 tells where they end, but its header may be of another version. */
#define PFM_PMUS_MAX 8192

struct pfm_library {
    __typeof__(&pfm_initialize) initialize;
    __typeof__(&pfm_strerror) strerror;
    __typeof__(&pfm_get_pmu_info) get_pmu_info;
    __typeof__(&pfm_get_event_next) get_event_next;
    __typeof__(&pfm_get_event_info) get_event_info;
    __typeof__(&pfm_get_event_attr_info) get_event_attr_info;
    __typeof__(&pfm_get_os_event_encoding) get_os_event_encoding;
};

/* One of libpfm4's PMUs, under the name of pfm-pmu.h where it has one. */
struct pfm_table {
    const char *name; /* "arm_ac76" */
    pfm_pmu_info_t info;
    bool stand_in; /* `info` is that of another PMU */
};

/* A name taken apart: "skl", "INST_RETIRED", ":ANY_P". */
struct pfm_parts {
    const char *prefix, *event, *rest;
    size_t prefix_size, event_size;
};

/*
 * Finds the library as the first call left it: it is never unloaded. -ENODEV with a sentence where it cannot be used.
 * Sets LIBPFM_ENCODE_INACTIVE in the environment, since by itself libpfm4 encodes only for the one model that it
 * detects, which on a big.LITTLE machine is that of CPU 0.
 */
int pfm_library_load(struct pfm_library *ret, struct error *error);

/* Borrows from `name`. */
struct pfm_parts pfm_take_apart(const char *name);
/* Whether it speaks of privilege levels and the like, which our own modifiers do: "u=1". */
bool pfm_has_level(const struct pfm_parts *parts);

/* The table for a PMU as a person or pfm-pmu.h names it; false where libpfm4 has none. */
bool pfm_find_table(const struct pfm_library *library, const char *name, size_t size, struct pfm_table *ret);
/* The next of the tables that serve sysfs's PMU without being named; `at` starts at 0. False past the last. */
bool pfm_next_table(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret);

/* What the kernel has to be asked for, by what libpfm4 answers to "PMU::EVENT:UMASK". PFM_SUCCESS or PFM_ERR_... */
int pfm_ask(const struct pfm_library *library, const struct pfm_table *table, const struct pfm_parts *parts,
            struct perf_event_attr *ret);

/* Calls `visit` for the events of the table, until it returns true; whether it did. */
typedef bool (*pfm_event_visit)(void *userdata, const pfm_event_info_t *event);
bool pfm_each_event(const struct pfm_library *library, const struct pfm_table *table, pfm_event_visit visit,
                    void *userdata);
/* A visit that considers each name for the struct suggest in `userdata`. */
bool pfm_consider_event(void *userdata, const pfm_event_info_t *event);

#endif
