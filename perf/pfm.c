/* SPDX-License-Identifier: Apache-2.0 */
/* libpfm4's names: see pfm.h. */
#include "perf/pfm.h"

#include <stdio.h>

#include "perf/pfm-library.h"
#include "perf/pfm-pmu.h"

const char *pfm_built(void)
{
    return "yes";
}

/* libpfm4 looks the type of an uncore PMU up in sysfs. */
static bool table_counts_on(const struct pfm_table *table, const struct pmu *pmu, const struct perf_event_attr *attr,
                            bool named)
{
    if (table->info.type == PFM_PMU_TYPE_UNCORE)
        return attr->type == pmu->type;
    return table->info.type == PFM_PMU_TYPE_CORE &&
           pfm_pmu_counts_on(table->name, pmu->name, table->info.is_present, named);
}

static int put_pfm_words(const struct perf_event_attr *attr, struct pfm_words *ret)
{
    *ret = (struct pfm_words){{attr->config, attr->config1, attr->config2}};
    return 0;
}

int pfm_encode(const struct pmu *pmu, const char *name, struct pfm_words *ret)
{
    struct pfm_name parsed = pfm_name_parse(name);
    struct perf_event_attr attr;
    struct pfm_library library;
    struct pfm_table table;
    size_t at = 0;

    if (pmu->absent || pfm_library_load(&library, NULL) < 0)
        return -ENOENT;
    if (parsed.prefix) {
        if (pfm_table_find(&library, parsed.prefix, parsed.prefix_size, &table) &&
            pfm_table_encode(&library, &table, &parsed, &attr) == PFM_SUCCESS &&
            table_counts_on(&table, pmu, &attr, true))
            return put_pfm_words(&attr, ret);
        return -ENOENT;
    }
    while (pfm_table_next(&library, pmu->name, &at, &table))
        if (pfm_table_encode(&library, &table, &parsed, &attr) == PFM_SUCCESS)
            return put_pfm_words(&attr, ret);
    return -ENOENT;
}

void pfm_suggest(const struct machine *machine, struct suggest *suggest)
{
    struct pfm_library library;
    struct pfm_table table;

    if (pfm_library_load(&library, NULL) < 0)
        return;
    for (size_t i = 0; i < machine->n_pmus; i++)
        for (size_t at = 0; !machine->pmus[i]->absent && pfm_table_next(&library, machine->pmus[i]->name, &at, &table);)
            pfm_table_each_event(&library, &table, pfm_suggest_event, suggest);
}

struct pfm_listing {
    const struct pmu *pmu;
    const struct pfm_library *library;
    const struct pfm_table *table;
    pfm_visit visit;
    void *userdata;
};

/* `mask` is "" for an event as a whole. */
static bool list_one(const struct pfm_listing *listing, const char *event, const char *mask, const char *description)
{
    char name[PFM_NAME_SIZE];
    struct perf_event_attr attr;

    snprintf(name, sizeof(name), "%s::%s%s%s", listing->table->name, event, mask[0] ? ":" : "", mask);
    struct pfm_name parsed = pfm_name_parse(name);
    if (pfm_table_encode(listing->library, listing->table, &parsed, &attr) != PFM_SUCCESS ||
        !pmu_has_number(listing->pmu, attr.config))
        return false;
    listing->visit(listing->userdata, name, description);
    return true;
}

/* An event with unit masks is one event for each of them. */
static bool list_event(void *userdata, const pfm_event_info_t *event)
{
    const struct pfm_listing *listing = userdata;
    bool masks = false;

    for (int i = 0; i < event->nattrs; i++) {
        pfm_event_attr_info_t mask = {.size = sizeof(mask)};
        char description[512];
        if (listing->library->get_event_attr_info(event->idx, i, PFM_OS_PERF_EVENT, &mask) != PFM_SUCCESS ||
            mask.type != PFM_ATTR_UMASK)
            continue;
        snprintf(description, sizeof(description), "%s: %s", event->desc, mask.desc);
        masks |= list_one(listing, event->name, mask.name, description);
    }
    if (!masks)
        list_one(listing, event->name, "", event->desc);
    return false;
}

void pfm_load(void)
{
    struct pfm_library library;

    (void)pfm_library_load(&library, NULL);
}

void pfm_list(const struct pmu *pmu, pfm_visit visit, void *userdata)
{
    struct pfm_library library;
    struct pfm_table table;
    struct pfm_listing listing = {
        .pmu = pmu, .library = &library, .table = &table, .visit = visit, .userdata = userdata};

    if (pmu->absent || pfm_library_load(&library, NULL) < 0)
        return;
    for (size_t at = 0; pfm_table_next(&library, pmu->name, &at, &table);)
        pfm_table_each_event(&library, &table, list_event, &listing);
}
