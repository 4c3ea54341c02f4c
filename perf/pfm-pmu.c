/* SPDX-License-Identifier: Apache-2.0 */
/* libpfm4's PMUs among sysfs's: see pfm-pmu.h. */
#include "perf/pfm-pmu.h"

#include <strings.h>

/*
 * The kernel's names are in drivers/perf/arm_pmuv3.c (before 6.4 arch/arm64/kernel/perf_event.c) and
 * arch/x86/events/intel/core.c. In Debian 12 libpfm4 has no Cortex-A55, A72 or A76. Neoverse N1 is the A76's
 * sibling, the A53 came before the A55, and libpfm4 itself later gave the A72 the table of the A57.
 */
const struct pfm_pmu pfm_pmus[] = {
    {"arm_ac7", "arm_cortex_a7", "armv7_cortex_a7", false, NULL},
    {"arm_ac8", "arm_cortex_a8", "armv7_cortex_a8", false, NULL},
    {"arm_ac9", "arm_cortex_a9", "armv7_cortex_a9", false, NULL},
    {"arm_ac15", "arm_cortex_a15", "armv7_cortex_a15", false, NULL},
    {"arm_ac35", "arm_cortex_a35", "armv8_cortex_a35", false, NULL},
    {"arm_ac53", "arm_cortex_a53", "armv8_cortex_a53", false, NULL},
    {"arm_ac55", "arm_cortex_a55", "armv8_cortex_a55", false, "arm_ac53"},
    {"arm_ac57", "arm_cortex_a57", "armv8_cortex_a57", false, NULL},
    {"arm_ac72", "arm_cortex_a72", "armv8_cortex_a72", false, "arm_ac57"},
    {"arm_ac73", "arm_cortex_a73", "armv8_cortex_a73", false, NULL},
    {"arm_ac75", "arm_cortex_a75", "armv8_cortex_a75", false, NULL},
    {"arm_ac76", "arm_cortex_a76", "armv8_cortex_a76", false, "arm_n1"},
    {"arm_ac77", "arm_cortex_a77", "armv8_cortex_a77", false, NULL},
    {"arm_ac78", "arm_cortex_a78", "armv8_cortex_a78", false, NULL},
    {"arm_ac510", "arm_cortex_a510", "armv9_cortex_a510", false, NULL},
    {"arm_ac710", "arm_cortex_a710", "armv9_cortex_a710", false, NULL},
    {"arm_ax1", "arm_cortex_x1", "armv8_cortex_x1", false, NULL},
    {"arm_n1", "arm_neoverse_n1", "armv8_neoverse_n1", false, NULL},
    {"arm_n2", "arm_neoverse_n2", "armv9_neoverse_n2", false, NULL},
    {"arm_n2", "arm_neoverse_n2", "armv8_neoverse_n2", false, NULL},
    {"arm_v1", "arm_neoverse_v1", "armv8_neoverse_v1", false, NULL},
    {"arm_v2", "arm_neoverse_v2", "armv9_neoverse_v2", false, NULL},
    {"arm_v2", "arm_neoverse_v2", "armv8_neoverse_v2", false, NULL},
    {"arm_thunderx2", NULL, "armv8_brcm_vulcan", false, NULL},
    {"adl_glc", NULL, "cpu_core", true, NULL},
    {"adl_grt", NULL, "cpu_atom", true, NULL},
};
const size_t n_pfm_pmus = ARRAY_SIZE(pfm_pmus);

static bool is_pfm_name(const char *name, const char *text, size_t size)
{
    return name && strlen(name) == size && strncasecmp(name, text, size) == 0;
}

const struct pfm_pmu *pfm_pmu_find(const char *name, size_t size)
{
    for (size_t i = 0; i < n_pfm_pmus; i++)
        if (is_pfm_name(pfm_pmus[i].name, name, size) || is_pfm_name(pfm_pmus[i].alias, name, size))
            return &pfm_pmus[i];
    return NULL;
}

bool pfm_pmu_counts_on(const char *name, const char *sysfs, bool detected, bool named)
{
    bool has_row = false;

    for (size_t i = 0; i < n_pfm_pmus; i++) {
        if (!is_pfm_name(pfm_pmus[i].name, name, strlen(name)))
            continue;
        if (str_equal(pfm_pmus[i].sysfs, sysfs))
            return detected || !pfm_pmus[i].any_model;
        has_row = true;
    }
    /* Older kernels and ACPI have one name for all: "armv8_pmuv3", "armv8_pmuv3_0". */
    if (str_starts(name, "arm_"))
        return (detected || named) && str_starts(sysfs, "armv8_pmuv3");
    return !has_row && detected && str_equal(sysfs, "cpu");
}

bool pfm_pmu_is_common(uint64_t config)
{
    return config < 0xc0 || config >= 0x4000;
}

bool pfm_pmu_is_name(const char *name)
{
    return strstr(name, "::") ||
           (strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strpbrk(name, "abcdefghijklmnopqrstuvwxyz-."));
}
