/* SPDX-License-Identifier: Apache-2.0 */
/* libpfm4 and its tables of events. Serves pfm.h where perfcountd is built with libpfm4. */
#ifndef PERF_PFM_LIBRARY_H
#define PERF_PFM_LIBRARY_H

#include <linux/perf_event.h>

/* libpfm4's own copy of perf_event_attr would come on top of the kernel's. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/error.h"
#include "base/suggest.h"

#define PFM_NAME_SIZE 256
/* Above the number of every PMU. libpfm4 says at run time where they end, as its header may be of another version. */
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

/* A PMU of libpfm4, by its name in pfm-pmu.h if it has one. */
struct pfm_table {
    const char *name; /* "arm_ac76" */
    pfm_pmu_info_t info;
    bool stand_in; /* `info` is that of another PMU */
};

/* The pieces of a name: "skl", "INST_RETIRED", ":ANY_P". */
struct pfm_name {
    const char *prefix, *event, *rest;
    size_t prefix_size, event_size;
};

/*
 * Loads and initializes the library, which is then never unloaded; further calls find it so. -ENODEV with a sentence
 * where it cannot be used. Sets LIBPFM_ENCODE_INACTIVE in the environment, since by default libpfm4 encodes only for
 * the one model that it detects, which on a big.LITTLE machine is that of CPU 0.
 */
int pfm_library_load(struct pfm_library *ret, struct error *error);

/* Borrows from `name`. */
struct pfm_name pfm_name_parse(const char *name);
/* Whether it has privilege levels and the like, "u=1", for which perfcountd has modifiers. */
bool pfm_name_has_level(const struct pfm_name *parsed);

/* The table for a PMU as a person or pfm-pmu.h names it; false where libpfm4 has none. */
bool pfm_table_find(const struct pfm_library *library, const char *name, size_t size, struct pfm_table *ret);
/* The next table that serves sysfs's PMU for a name without prefix; `at` starts at 0. False past the last. */
bool pfm_table_next(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret);

/* The attributes by which the kernel counts "PMU::EVENT:UMASK", as libpfm4 has it. PFM_SUCCESS or PFM_ERR_... */
int pfm_table_encode(const struct pfm_library *library, const struct pfm_table *table, const struct pfm_name *parsed,
                     struct perf_event_attr *ret);

/* Calls `visit` for the events of the table, until it returns true. Returns whether it did. */
typedef bool (*pfm_event_visit)(void *userdata, const pfm_event_info_t *event);
bool pfm_table_each_event(const struct pfm_library *library, const struct pfm_table *table, pfm_event_visit visit,
                          void *userdata);
/* A visit that gives each name to the struct suggest in `userdata`. */
bool pfm_suggest_event(void *userdata, const pfm_event_info_t *event);

#endif
