/* SPDX-License-Identifier: Apache-2.0 */
/* Why libpfm4 does not help: see pfm_explain() in pfm.h. */
#include <stdio.h>
#include <strings.h>

#include "perf/event/pfm-library.h"
#include "perf/event/pfm-pmu.h"
#include "perf/event/pfm.h"

struct sought {
    const struct pfm_parts *parts;
    pfm_event_info_t event;
};

static bool is_sought(void *userdata, const pfm_event_info_t *event)
{
    struct sought *sought = userdata;
    const struct pfm_parts *parts = sought->parts;

    if (strlen(event->name) != parts->event_size || strncasecmp(event->name, parts->event, parts->event_size) != 0)
        return false;
    sought->event = *event;
    return true;
}

static int no_pmu(const struct pfm_library *library, const struct pfm_parts *parts, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = NULL};
    char prefix[PFM_NAME_SIZE], nearest[256];

    snprintf(prefix, sizeof(prefix), "%.*s", (int)parts->prefix_size, parts->prefix);
    if (pfm_pmu_find(prefix, strlen(prefix)))
        return error_set_at(error, -ENODEV, offset, "libpfm4 has no PMU \"%s\" in its version for this machine",
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

/* The event is there: its unit mask is not, or is missing. */
static int bad_mask(const struct pfm_library *library, const struct pfm_table *table, const struct sought *sought,
                    int reason, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = sought->parts->rest + !!sought->parts->rest[0]};
    char nearest[256];

    if (pfm_has_level(sought->parts))
        return error_set_at(error, -ENOENT, offset,
                            "\"%s\" of an event is not said to libpfm4: whose work is counted is said by the "
                            "modifiers u, k, h, G and H at the end",
                            sought->parts->rest);
    for (int i = 0; i < sought->event.nattrs; i++) {
        pfm_event_attr_info_t attr = {.size = sizeof(attr)};
        if (library->get_event_attr_info(sought->event.idx, i, PFM_OS_PERF_EVENT, &attr) == PFM_SUCCESS &&
            attr.type == PFM_ATTR_UMASK)
            suggest_consider(&suggest, attr.name);
    }
    return error_set_at(error, -ENOENT, offset, "libpfm4 says of the event \"%s\" of its PMU \"%s\", with \"%s\": %s%s",
                        sought->event.name, table->name, sought->parts->rest, library->strerror(reason),
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

static int no_event(const struct pfm_library *library, const struct pfm_table *table, const struct pfm_parts *parts,
                    int reason, size_t offset, struct error *error)
{
    struct sought sought = {.parts = parts};
    char event[PFM_NAME_SIZE], nearest[256];
    struct suggest suggest = {.wrong = event};

    if (pfm_each_event(library, table, is_sought, &sought) && reason != PFM_ERR_NOTFOUND)
        return bad_mask(library, table, &sought, reason, offset, error);
    snprintf(event, sizeof(event), "%.*s", (int)parts->event_size, parts->event);
    pfm_each_event(library, table, pfm_consider_event, &suggest);
    return error_set_at(error, -ENOENT, offset, "libpfm4's PMU \"%s\" has no event \"%s\"%s", table->name, event,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

static bool is_here(const struct machine *machine, const struct pfm_table *table)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (!machine->pmus[i]->absent && table->info.type == PFM_PMU_TYPE_CORE &&
            pfm_pmu_counts_on(table->name, machine->pmus[i]->name, table->info.is_present, true))
            return true;
    return table->info.type == PFM_PMU_TYPE_UNCORE && table->info.is_present;
}

/* A unit mask that an event without a prefix lacks on a PMU of this machine. 0 where it is none of libpfm4's events. */
static int explain_bare(const struct pfm_library *library, const struct machine *machine, const struct pfm_parts *parts,
                        size_t offset, struct error *error)
{
    struct perf_event_attr attr;
    struct pfm_table table;

    for (size_t i = 0; i < machine->n_pmus; i++)
        for (size_t at = 0;
             !machine->pmus[i]->absent && pfm_next_table(library, machine->pmus[i]->name, &at, &table);) {
            struct sought sought = {.parts = parts};
            int reason = pfm_ask(library, &table, parts, &attr);
            if (reason != PFM_SUCCESS && pfm_each_event(library, &table, is_sought, &sought))
                return bad_mask(library, &table, &sought, reason, offset, error);
        }
    return 0;
}

int pfm_explain(const struct machine *machine, const char *name, size_t offset, struct error *error)
{
    struct pfm_parts parts = pfm_take_apart(name);
    struct perf_event_attr attr;
    struct pfm_library library;
    struct pfm_table table;
    struct error reason;

    int r = pfm_library_load(&library, &reason);
    if (r < 0)
        return pfm_pmu_spelled(name)
                   ? error_set_at(error, r, offset, "there is no event \"%s\" in sysfs, and %s", name, reason.message)
                   : 0;
    if (!parts.prefix)
        return explain_bare(&library, machine, &parts, offset, error);
    if (!pfm_find_table(&library, parts.prefix, parts.prefix_size, &table))
        return no_pmu(&library, &parts, offset, error);
    if (table.info.type == PFM_PMU_TYPE_OS_GENERIC)
        return error_set_at(error, -ENOENT, offset,
                            "libpfm4's PMU \"%s\" is the kernel's own: write its events as perf "
                            "does, without a prefix",
                            table.name);
    if (!is_here(machine, &table))
        return error_set_at(error, -ENODEV, offset, "this machine has no PMU of the kind that libpfm4 calls \"%s\"",
                            table.name);
    r = pfm_ask(&library, &table, &parts, &attr);
    if (r == PFM_SUCCESS || r == PFM_ERR_NOTSUPP)
        return error_set_at(error, -ENODEV, offset, "the kernel has no PMU for libpfm4's \"%s\"", table.name);
    return no_event(&library, &table, &parts, r, offset, error);
}
