/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event names that libpfm4 has for each CPU model: "SKL::UNHALTED_CORE_CYCLES", "INST_RETIRED:ANY_P".
 *
 * libpfm4 names a kind of core ("arm_ac76", "skl"); sysfs names the kernel's PMU for that kind ("armv8_cortex_a76",
 * "cpu"). On Arm, the name in sysfs identifies the kind of core. On x86 that name does not identify the kind, so
 * libpfm4 has to detect the CPU.
 *
 * The library, which takes 2 MB of memory, is loaded when a name is first looked up, and is never unloaded. If
 * perfcountd is built without libpfm4, no name is found.
 */
#ifndef PERF_PFM_H
#define PERF_PFM_H

#include <linux/perf_event.h>

#include "base/error.h"
#include "base/text.h"
#include "base/util.h"
#include "perf/machine.h"

/*
 * Whether events of libpfm4's core PMU `name` can be counted on the PMU `sysfs`. `detected`: libpfm4 found the PMU on
 * this machine. `named`: the user gave the PMU's name; that is enough if a single Arm PMU in sysfs stands for all kinds
 * of core. Pure.
 */
bool pfm_pmu_counts_on(const char *name, const char *sysfs, bool detected, bool named);

#define PFM_WORDS 3

/* config, config1 and config2 of struct perf_event_attr; the type in it is that of the PMU. */
struct pfm_words {
    uint64_t words[PFM_WORDS];
};

/* "yes" or "no": whether perfcountd was built with libpfm4. */
const char *pfm_built(void);

/*
 * Finds the config words with which `pmu` counts `name` ("EVENT", "EVENT:UMASK", "PMU::EVENT", without modifiers). An
 * event of an uncore PMU needs its prefix. Returns -ENOENT if libpfm4 has no event of that name for the PMU, or if
 * libpfm4 is not available; pfm_explain() gives the reason.
 */
int pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret);

/*
 * Explains why this machine does not have `name`, which neither sysfs nor pfm_encode() knows. Returns -ENODEV if
 * libpfm4 is not available, or if libpfm4 or the machine does not have the PMU; -ENOENT if the PMU does not have the
 * event or unit mask. Returns 0 without a message if libpfm4 has nothing to say about the name.
 */
int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error);

/* Suggests the event names of this machine's PMUs, without prefix. The strings stay valid until the process exits. */
void pfm_suggest(const struct machine *machine, struct suggest *suggest);

/* Loads the library, if it is available, so that pfm_list() can be called in another thread. */
void pfm_load(void);
/*
 * Calls `visit` for each event of `pmu` that libpfm4 can encode: "skl::INST_RETIRED:ANY_P". May run in any thread once
 * the library is loaded: pfm_initialize() sets pfm_cfg and the flags of the tables (lib/pfmlib_common.c); afterwards,
 * listing and encoding only read them, and write to the caller's memory.
 */
typedef void (*pfm_visit)(void *userdata, const char *name, const char *description);
void pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata);

#endif
