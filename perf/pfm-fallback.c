/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for pfm.c where perfcountd is built without libpfm4: see pfm.h. */
#include "perf/pfm-pmu.h"
#include "perf/pfm.h"

const char *pfm_built(void)
{
    return "no";
}

int pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret)
{
    (void)pmu;
    (void)name;
    (void)ret;
    return -ENOENT;
}

int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error)
{
    (void)machine;
    if (!pfm_pmu_is_name(name))
        return 0;
    return error_set_at(
        error, -ENODEV, offset,
        "there is no event \"%s\" in sysfs, and libpfm4, which knows such names, is not built into this "
        "perfcountd (configure --with-libpfm4)",
        name);
}

void pfm_suggest(const struct machine *machine, struct suggest *suggest)
{
    (void)machine;
    (void)suggest;
}

void pfm_load(void)
{
}

void pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata)
{
    (void)pmu;
    (void)visit;
    (void)userdata;
}
