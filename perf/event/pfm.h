/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that libpfm4 has for the events of each model of CPU: "SKL::UNHALTED_CORE_CYCLES", "INST_RETIRED:ANY_P".
 *
 * The library is loaded when a name is first asked for, and stays: merely having it costs 2 MB. pfm-fallback.c stands
 * in where perfcountd was built without it.
 */
#ifndef PERF_EVENT_PFM_H
#define PERF_EVENT_PFM_H

#include "base/suggest.h"
#include "perf/machine.h"

#define PFM_WORDS 3

/* config, config1 and config2 of perf_event_attr; its type is the PMU's. */
struct pfm_words {
    uint64_t words[PFM_WORDS];
};

/* "yes" or "no": what it was built with. */
const char *pfm_built(void);

/*
 * What `pmu` has to be asked for to count `name` ("EVENT", "EVENT:UMASK", "PMU::EVENT", without modifiers). -ENOENT
 * where libpfm4 has no such event of that PMU, and where there is no libpfm4: pfm_explain() tells.
 * An event of something else than cores (uncore) needs its prefix.
 */
int pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret);

/*
 * Why `name`, which neither sysfs nor pfm_encode() knows, is nowhere on this machine. -ENODEV: libpfm4 or the machine
 * has no such PMU, or there is no libpfm4 to tell; -ENOENT: the PMU has no such event or unit mask. 0, and no sentence,
 * for a name that has nothing to do with libpfm4.
 */
int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error);

/* Considers the names of the events of this machine's PMUs, without prefix; they last as long as the process. */
void pfm_suggest(const struct machine *machine, struct suggest *suggest);

/* Loads the library, so that pfm_list() can be called in another thread. */
void pfm_load(void);
/*
 * Calls `visit` for each event of `pmu` that libpfm4 can encode: "skl::INST_RETIRED:ANY_P". In any thread, once the
 * library is loaded: pfm_initialize() settles pfm_cfg and the tables' flags (lib/pfmlib_common.c), and afterwards both
 * listing and encoding only read them, and write to what the caller and the stack have.
 */
typedef void (*pfm_visit)(void *userdata, const char *name, const char *description);
void pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata);

#endif
