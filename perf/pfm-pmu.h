/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PMU of sysfs for each PMU of libpfm4: names and a table, without the library. Serves pfm.h.
 *
 * libpfm4 names a kind of core ("arm_ac76", "skl"), and sysfs names the kernel's PMU for it ("armv8_cortex_a76",
 * "cpu"). Arm's names in sysfs identify the kind; x86's do not, and only libpfm4's detection of the CPU does.
 */
#ifndef PERF_PFM_PMU_H
#define PERF_PFM_PMU_H

#include "base/util.h"

struct pfm_pmu {
    const char *name;     /* libpfm4's */
    const char *alias;    /* as in libpfm4's constants and documents: "arm_cortex_a76"; or NULL */
    const char *sysfs;    /* the kernel's */
    bool any_model;       /* several models share sysfs's name: only the one that libpfm4 detected counts there */
    const char *stand_in; /* the PMU whose common events serve where libpfm4 does not have this one; or NULL */
};

extern const struct pfm_pmu pfm_pmus[];
extern const size_t n_pfm_pmus;

/* By libpfm4's name or the alias, in any case; NULL for one without a row. */
const struct pfm_pmu *pfm_pmu_find(const char *name, size_t size);

/*
 * Whether events of libpfm4's core PMU `name` can be counted on sysfs's PMU `sysfs`. `detected`: libpfm4 found it on
 * the machine; `named`: a person gave its name, which suffices where one Arm PMU stands for all kinds of core.
 */
bool pfm_pmu_counts_on(const char *name, const char *sysfs, bool detected, bool named);

/*
 * Whether a stand-in's event has the same meaning: numbers 0xc0 to 0x3fff are each core's own, those below and above
 * are common to all (Arm Architecture Reference Manual, "The PMU event number space and common events").
 */
bool pfm_pmu_is_common(uint64_t config);

/* Whether an event's name is spelled like libpfm4's: with "::", or in capitals. */
bool pfm_pmu_is_name(const char *name);

#endif
