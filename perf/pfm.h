/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PMU of sysfs for each PMU of libpfm4: names and a table, without the library. Serves pfm.h.
 *
 * libpfm4 names a kind of core ("arm_ac76", "skl"), and sysfs names the kernel's PMU for it ("armv8_cortex_a76",
 * "cpu"). Arm's names in sysfs identify the kind; x86's do not, and only libpfm4's detection of the CPU does.
 *
 * libpfm4 and its tables of events. Serves pfm.h where perfcountd is built with libpfm4.
 *
 * The names that libpfm4 has for the events of each model of CPU: "SKL::UNHALTED_CORE_CYCLES", "INST_RETIRED:ANY_P".
 *
 * The library, which takes 2 MB of memory, is loaded when a name is first looked up, and stays. Where perfcountd is
 * built without it, pfm-fallback.c takes the place of pfm.c.
 */
#ifndef PERF_PFM_H
#define PERF_PFM_H

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/error.h"
#include "base/text.h"
#include "base/util.h"
#include "perf/machine.h"

struct pfm_pmu {
    const char *name;     /* libpfm4's */
    const char *alias;    /* as in libpfm4's constants and documents: "arm_cortex_a76"; or NULL */
    const char *sysfs;    /* the kernel's */
    bool any_model;       /* several models share sysfs's name: only the one that libpfm4 detected counts there */
    const char *stand_in; /* the PMU whose common events serve where libpfm4 does not have this one; or NULL */
};

extern const struct pfm_pmu pfm_pmus[];
extern const size_t n_pfm_pmus;

/*
 * Whether events of libpfm4's core PMU `name` can be counted on sysfs's PMU `sysfs`. `detected`: libpfm4 found it on
 * the machine; `named`: a person gave its name, which suffices where one Arm PMU stands for all kinds of core.
 */
bool pfm_pmu_counts_on(const char *name, const char *sysfs, bool detected, bool named);

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
