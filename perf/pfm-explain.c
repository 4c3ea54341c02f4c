/* SPDX-License-Identifier: Apache-2.0 */
/* Why libpfm4 does not know a name: see pfm_explain() in pfm.h. */
#include <stdio.h>
#include <strings.h>

#include "perf/pfm-library.h"
#include "perf/pfm-pmu.h"
#include "perf/pfm.h"

struct sought {
    const struct pfm_name *parsed;
    pfm_event_info_t event;
};

static bool is_sought(void *userdata, const pfm_event_info_t *event)
{
    struct sought *sought = userdata;
    const struct pfm_name *parsed = sought->parsed;

    if (strlen(event->name) != parsed->event_size || strncasecmp(event->name, parsed->event, parsed->event_size) != 0)
        return false;
    sought->event = *event;
    return true;
}

static int pfm_no_pmu(const struct pfm_library *library, const struct pfm_name *parsed, size_t offset,
                      struct error *error)
{
    struct suggest suggest = {.wrong = NULL};
    char prefix[PFM_NAME_SIZE], nearest[256];

    snprintf(prefix, sizeof(prefix), "%.*s", (int)parsed->prefix_size, parsed->prefix);
    if (pfm_pmu_find(prefix, strlen(prefix)))
        return error_set_at(error, -ENODEV, offset, "this version of libpfm4 has no PMU \"%s\" for this machine",
                            prefix);
    suggest.wrong = prefix;
    for (int i = 0; i < PFM_PMUS_MAX; i++) {
        pfm_pmu_info_t info = {.size = sizeof(info)};
        int r = library->get_pmu_info((pfm_pmu_t)i, &info);
        if (r == PFM_ERR_INVAL)
            break;
        if (r == PFM_SUCCESS)
            suggest_consider(&suggest, info.name);
    }
    return error_set_at(error, -ENODEV, offset, "libpfm4 has no PMU \"%s\" for this machine%s", prefix,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

/* The error of an event that exists, with a unit mask that does not exist or is missing. */
static int bad_mask(const struct pfm_library *library, const struct pfm_table *table, const struct sought *sought,
                    int reason, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = sought->parsed->rest + !!sought->parsed->rest[0]};
    char nearest[256];

    if (pfm_name_has_level(sought->parsed))
        return error_set_at(error, -ENOENT, offset,
                            "\"%s\" of an event is not for libpfm4: the modifiers u, k, h, G and H at the end choose "
                            "whose work is counted",
                            sought->parsed->rest);
    for (int i = 0; i < sought->event.nattrs; i++) {
        pfm_event_attr_info_t attr = {.size = sizeof(attr)};
        if (library->get_event_attr_info(sought->event.idx, i, PFM_OS_PERF_EVENT, &attr) == PFM_SUCCESS &&
            attr.type == PFM_ATTR_UMASK)
            suggest_consider(&suggest, attr.name);
    }
    return error_set_at(error, -ENOENT, offset, "libpfm4 refuses the event \"%s\" of its PMU \"%s\" with \"%s\": %s%s",
                        sought->event.name, table->name, sought->parsed->rest, library->strerror(reason),
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

static int pfm_no_event(const struct pfm_library *library, const struct pfm_table *table, const struct pfm_name *parsed,
                        int reason, size_t offset, struct error *error)
{
    struct sought sought = {.parsed = parsed};
    char event[PFM_NAME_SIZE], nearest[256];
    struct suggest suggest = {.wrong = event};

    if (pfm_table_each_event(library, table, is_sought, &sought) && reason != PFM_ERR_NOTFOUND)
        return bad_mask(library, table, &sought, reason, offset, error);
    snprintf(event, sizeof(event), "%.*s", (int)parsed->event_size, parsed->event);
    pfm_table_each_event(library, table, pfm_suggest_event, &suggest);
    return error_set_at(error, -ENOENT, offset, "libpfm4's PMU \"%s\" has no event \"%s\"%s", table->name, event,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

static bool table_is_here(const struct machine *machine, const struct pfm_table *table)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (!machine->pmus[i]->absent && table->info.type == PFM_PMU_TYPE_CORE &&
            pfm_pmu_counts_on(table->name, machine->pmus[i]->name, table->info.is_present, true))
            return true;
    return table->info.type == PFM_PMU_TYPE_UNCORE && table->info.is_present;
}

/*
 * The error of an event without prefix whose unit mask is missing on a PMU of this machine. 0 where libpfm4 does not
 * have the event.
 */
static int explain_bare(const struct pfm_library *library, const struct machine *machine, const struct pfm_name *parsed,
                        size_t offset, struct error *error)
{
    struct perf_event_attr attr;
    struct pfm_table table;

    for (size_t i = 0; i < machine->n_pmus; i++)
        for (size_t at = 0;
             !machine->pmus[i]->absent && pfm_table_next(library, machine->pmus[i]->name, &at, &table);) {
            struct sought sought = {.parsed = parsed};
            int reason = pfm_table_encode(library, &table, parsed, &attr);
            if (reason != PFM_SUCCESS && pfm_table_each_event(library, &table, is_sought, &sought))
                return bad_mask(library, &table, &sought, reason, offset, error);
        }
    return 0;
}

int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error)
{
    struct pfm_name parsed = pfm_name_parse(name);
    struct perf_event_attr attr;
    struct pfm_library library;
    struct pfm_table table;
    struct error reason;

    int r = pfm_library_load(&library, &reason);
    if (r < 0)
        return pfm_pmu_is_name(name)
                   ? error_set_at(error, r, offset, "there is no event \"%s\" in sysfs, and %s", name, reason.message)
                   : 0;
    if (!parsed.prefix)
        return explain_bare(&library, machine, &parsed, offset, error);
    if (!pfm_table_find(&library, parsed.prefix, parsed.prefix_size, &table))
        return pfm_no_pmu(&library, &parsed, offset, error);
    if (table.info.type == PFM_PMU_TYPE_OS_GENERIC)
        return error_set_at(error, -ENOENT, offset,
                            "libpfm4's PMU \"%s\" is the kernel's own: write its events as perf "
                            "does, without a prefix",
                            table.name);
    if (!table_is_here(machine, &table))
        return error_set_at(error, -ENODEV, offset, "this machine has no PMU of the kind that libpfm4 calls \"%s\"",
                            table.name);
    r = pfm_table_encode(&library, &table, &parsed, &attr);
    if (r == PFM_SUCCESS || r == PFM_ERR_NOTSUPP)
        return error_set_at(error, -ENODEV, offset, "the kernel has no PMU for libpfm4's \"%s\"", table.name);
    return pfm_no_event(&library, &table, &parsed, r, offset, error);
}
