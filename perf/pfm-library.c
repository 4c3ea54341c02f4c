/* SPDX-License-Identifier: Apache-2.0 */
/* libpfm4 and its tables: see pfm-library.h. */
#include "perf/pfm-library.h"

#include <stdio.h>
#include <strings.h>

#include "base/library.h"
#include "perf/pfm-pmu.h"

static const struct library_function functions[] = {
    {"pfm_initialize", offsetof(struct pfm_library, initialize)},
    {"pfm_strerror", offsetof(struct pfm_library, strerror)},
    {"pfm_get_pmu_info", offsetof(struct pfm_library, get_pmu_info)},
    {"pfm_get_event_next", offsetof(struct pfm_library, get_event_next)},
    {"pfm_get_event_info", offsetof(struct pfm_library, get_event_info)},
    {"pfm_get_event_attr_info", offsetof(struct pfm_library, get_event_attr_info)},
    {"pfm_get_os_event_encoding", offsetof(struct pfm_library, get_os_event_encoding)},
};

static const struct library libpfm4 = {
    .name = "libpfm4, which knows such names,",
    .package = "libpfm4",
    .files = {"libpfm.so.4"},
    .functions = functions,
    .n_functions = ARRAY_SIZE(functions),
};

int pfm_library_load(struct pfm_library *ret, struct error *error)
{
    struct pfm_library library;

    setenv("LIBPFM_ENCODE_INACTIVE", "1", 0);
    if (library_load(&libpfm4, &library, error) < 0)
        return -ENODEV;
    int r = library.initialize();
    if (r != PFM_SUCCESS)
        return error_set(error, -ENODEV, "libpfm4 cannot be used: %s", library.strerror(r));
    *ret = library;
    return 0;
}

struct pfm_name pfm_name_parse(const char *name)
{
    struct pfm_name parsed = {.event = name};
    const char *colons = strstr(name, "::");

    if (colons) {
        parsed.prefix = name;
        parsed.prefix_size = (size_t)(colons - name);
        parsed.event = colons + 2;
    }
    parsed.event_size = strcspn(parsed.event, ":");
    parsed.rest = parsed.event + parsed.event_size;
    return parsed;
}

bool pfm_name_has_level(const struct pfm_name *parsed)
{
    static const char *const levels[] = {"u", "k", "h", "hv", "mg", "mh", "excl", "precise", "period", "freq", "cpu"};

    for (const char *at = parsed->rest; *at; at += strcspn(at, ":")) {
        size_t size = strcspn(++at, ":=");
        for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
            if (strlen(levels[i]) == size && strncasecmp(levels[i], at, size) == 0)
                return true;
    }
    return false;
}

static bool find_info(const struct pfm_library *library, const char *name, size_t size, pfm_pmu_info_t *ret)
{
    for (int i = 0; i < PFM_PMUS_MAX; i++) {
        pfm_pmu_info_t info = {.size = sizeof(info)};
        int r = library->get_pmu_info((pfm_pmu_t)i, &info);
        if (r == PFM_ERR_INVAL)
            return false;
        if (r != PFM_SUCCESS || strlen(info.name) != size || strncasecmp(info.name, name, size) != 0)
            continue;
        *ret = info;
        return true;
    }
    return false;
}

bool pfm_table_find(const struct pfm_library *library, const char *name, size_t size, struct pfm_table *ret)
{
    const struct pfm_pmu *row = pfm_pmu_find(name, size);
    struct pfm_table table = {.name = row ? row->name : NULL};

    if (row ? find_info(library, row->name, strlen(row->name), &table.info)
            : find_info(library, name, size, &table.info)) {
        table.name = table.info.name;
    } else if (row && row->stand_in && find_info(library, row->stand_in, strlen(row->stand_in), &table.info)) {
        table.stand_in = true;
        table.info.is_present = 0;
    } else {
        return false;
    }
    *ret = table;
    return true;
}

/* The next table that pfm-pmu.h has for sysfs's PMU. */
static bool next_of_kind(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret)
{
    while (*at < n_pfm_pmus) {
        const struct pfm_pmu *row = &pfm_pmus[(*at)++];
        if (str_equal(row->sysfs, sysfs) && pfm_table_find(library, row->name, strlen(row->name), ret) &&
            pfm_pmu_counts_on(ret->name, sysfs, ret->info.is_present, false))
            return true;
    }
    return false;
}

static bool is_of_kind(const char *name, const char *sysfs)
{
    const struct pfm_pmu *row = pfm_pmu_find(name, strlen(name));
    return row && str_equal(row->sysfs, sysfs);
}

bool pfm_table_next(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret)
{
    if (next_of_kind(library, sysfs, at, ret))
        return true;
    while (*at - n_pfm_pmus < PFM_PMUS_MAX) {
        pfm_pmu_info_t info = {.size = sizeof(info)};
        int r = library->get_pmu_info((pfm_pmu_t)(*at - n_pfm_pmus), &info);
        if (r == PFM_ERR_INVAL)
            return false;
        (*at)++;
        if (r != PFM_SUCCESS || info.type != PFM_PMU_TYPE_CORE || is_of_kind(info.name, sysfs) ||
            !pfm_pmu_counts_on(info.name, sysfs, info.is_present, false))
            continue;
        *ret = (struct pfm_table){.name = info.name, .info = info};
        return true;
    }
    return false;
}

int pfm_table_encode(const struct pfm_library *library, const struct pfm_table *table, const struct pfm_name *parsed,
                     struct perf_event_attr *ret)
{
    /* libpfm4's perf_event_attr may be larger than the kernel headers' one. */
    union {
        struct perf_event_attr attr;
        char room[512];
    } out = {.attr = {.size = sizeof(out.attr)}};
    pfm_perf_encode_arg_t arg = {.attr = &out.attr, .size = sizeof(arg)};
    char text[PFM_NAME_SIZE];

    if (snprintf(text, sizeof(text), "%s::%s", table->info.name, parsed->event) >= (int)sizeof(text))
        return PFM_ERR_NOTFOUND;
    if (pfm_name_has_level(parsed))
        return PFM_ERR_ATTR;
    int r = library->get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT, &arg);
    if (r == PFM_SUCCESS && table->stand_in && !pfm_pmu_is_common(out.attr.config))
        r = PFM_ERR_NOTFOUND;
    if (r == PFM_SUCCESS)
        *ret = out.attr;
    return r;
}

bool pfm_table_each_event(const struct pfm_library *library, const struct pfm_table *table, pfm_event_visit visit,
                          void *userdata)
{
    for (int i = table->info.first_event; i >= 0; i = library->get_event_next(i)) {
        pfm_event_info_t event = {.size = sizeof(event)};
        if (library->get_event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS && visit(userdata, &event))
            return true;
    }
    return false;
}

bool pfm_suggest_event(void *userdata, const pfm_event_info_t *event)
{
    suggest_consider(userdata, event->name);
    return false;
}
