/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that libpfm4 has for the events of each model of CPU: "SKL::UNHALTED_CORE_CYCLES", "INST_RETIRED:ANY_P".
 *
 * The library, which takes 2 MB of memory, is loaded when a name is first looked up, and stays. Where perfcountd is
 * built without it, pfm-fallback.c takes the place of pfm.c.
 */
#ifndef PERF_PFM_H
#define PERF_PFM_H

#include "base/suggest.h"
#include "perf/machine.h"

#define PFM_WORDS 3

/* config, config1 and config2 of perf_event_attr; its type is the PMU's. */
struct pfm_words {
    uint64_t words[PFM_WORDS];
};

/* "yes" or "no": whether perfcountd was built with libpfm4. */
const char *pfm_built(void);

/*
 * The words by which `pmu` counts `name` ("EVENT", "EVENT:UMASK", "PMU::EVENT", without modifiers). -ENOENT where
 * libpfm4 has no event of that name for the PMU, and where there is no libpfm4: pfm_explain() has the reason.
 * An event of a PMU other than a core's (uncore) needs its prefix.
 */
int pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret);

/*
 * Why this machine does not have `name`, which neither sysfs nor pfm_encode() knows. -ENODEV: libpfm4 or the machine
 * does not have the PMU, or there is no libpfm4; -ENOENT: the PMU does not have the event or unit mask. 0, and no
 * sentence, for a name that is not like libpfm4's.
 */
int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error);

/* Suggests the names of the events of this machine's PMUs, without prefix; they last as long as the process. */
void pfm_suggest(const struct machine *machine, struct suggest *suggest);

/* Loads the library, if it is there, so that pfm_list() can be called in another thread. */
void pfm_load(void);
/*
 * Calls `visit` for each event of `pmu` that libpfm4 can encode: "skl::INST_RETIRED:ANY_P". In any thread, once the
 * library is loaded: pfm_initialize() sets pfm_cfg and the tables' flags (lib/pfmlib_common.c). Afterwards listing and
 * encoding only read them, and write to memory of the caller.
 */
typedef void (*pfm_visit)(void *userdata, const char *name, const char *description);
void pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata);

#endif
