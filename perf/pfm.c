/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/pfm.h"

#include <strings.h>

#ifdef HAVE_LIBPFM4
#include <stdio.h>

/* The include guard of libpfm4's own copy of struct perf_event_attr: defined here, it keeps the copy out. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#endif

#include "base/library.h"

/* --- PMUs --- */

/* Maps a PMU of libpfm4 to the PMU in sysfs that counts its events. */
struct pfm_pmu {
    const char *name;     /* libpfm4's name */
    const char *alias;    /* name in libpfm4's constants and documents, "arm_cortex_a76"; or NULL */
    const char *sysfs;    /* name in sysfs */
    bool any_model;       /* several models share the sysfs name; libpfm4 detects which of them this machine has */
    const char *stand_in; /* the PMU whose common events are used if libpfm4 lacks this one; or NULL */
};

/*
 * The kernel's names are from drivers/perf/arm_pmuv3.c (before Linux 6.4 arch/arm64/kernel/perf_event.c) and
 * arch/x86/events/intel/core.c. libpfm4 of Debian 12 has no Cortex-A55, A72 or A76, so they have stand-ins: Neoverse N1
 * is the A76's sibling, the A53 preceded the A55, and libpfm4 itself later gave the A72 the table of the A57.
 */
static const struct pfm_pmu pfm_pmus[] = {
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
#define N_PFM_PMUS ARRAY_SIZE(pfm_pmus)

static bool is_pfm_name(const char *name, const char *text, size_t size)
{
    return name && strlen(name) == size && strncasecmp(name, text, size) == 0;
}

bool pfm_pmu_counts_on(const char *name, const char *sysfs, bool detected, bool named)
{
    bool has_row = false;

    for (size_t i = 0; i < N_PFM_PMUS; i++) {
        if (!is_pfm_name(pfm_pmus[i].name, name, strlen(name)))
            continue;
        if (str_equal(pfm_pmus[i].sysfs, sysfs))
            return detected || !pfm_pmus[i].any_model;
        has_row = true;
    }
    /* Older kernels and ACPI have one name for all kinds of core: "armv8_pmuv3", "armv8_pmuv3_0". */
    if (str_starts(name, "arm_"))
        return (detected || named) && str_starts(sysfs, "armv8_pmuv3");
    return !has_row && detected && str_equal(sysfs, "cpu");
}

/* Whether a name looks like a libpfm4 name: it contains "::" or is in capitals. */
static bool pfm_pmu_is_name(const char *name)
{
    return strstr(name, "::") ||
           (strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strpbrk(name, "abcdefghijklmnopqrstuvwxyz-."));
}

#ifdef HAVE_LIBPFM4

#define PFM_NAME_SIZE 256
/*
 * Above the number of any libpfm4 PMU. The actual limit is only known at run time, because the installed library may be
 * a different version from the header.
 */
#define PFM_PMUS_MAX 8192

struct pfm_library {
    __typeof__(&pfm_initialize) initialize;
    __typeof__(&pfm_strerror) strerror;
    __typeof__(&pfm_get_pmu_info) get_pmu_info;
    __typeof__(&pfm_get_event_next) get_event_next;
    __typeof__(&pfm_get_event_info) get_event_info;
    __typeof__(&pfm_get_event_attr_info) get_event_attr_info;
    __typeof__(&pfm_get_os_event_encoding) get_os_event_encoding;
};

/* A PMU of libpfm4 and its events. */
struct pfm_table {
    const char *name; /* "arm_ac76": the name in pfm_pmus[] if that has a row for the PMU */
    pfm_pmu_info_t info;
    bool stand_in; /* `info` describes another PMU, whose common events are used */
};

/* The parts of a name: "skl", "INST_RETIRED", ":ANY_P". The parts point into the name and are not NUL-terminated. */
struct pfm_name {
    const char *prefix, *event, *rest;
    size_t prefix_size, event_size;
};

/* A callback for each event of a table; true ends the visit. */
typedef bool (*pfm_event_visit)(void *userdata, const pfm_event_info_t *event);

/* Finds a row of pfm_pmus[] by libpfm4's name or the alias, ignoring case; NULL if there is none. */
static const struct pfm_pmu *pfm_pmu_find(const char *name, size_t size)
{
    for (size_t i = 0; i < N_PFM_PMUS; i++)
        if (is_pfm_name(pfm_pmus[i].name, name, size) || is_pfm_name(pfm_pmus[i].alias, name, size))
            return &pfm_pmus[i];
    return NULL;
}

/*
 * Whether an event of a stand-in means the same on the other core. Event numbers 0xc0 to 0x3fff are specific to each
 * kind of core; all others are common (Arm Architecture Reference Manual, "The PMU event number space and common
 * events").
 */
static bool pfm_pmu_is_common(uint64_t config)
{
    return config < 0xc0 || config >= 0x4000;
}

/* --- Library and tables --- */

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

/*
 * Loads and initializes the library, which is never unloaded; further calls do nothing. Returns -ENODEV with a message
 * if it cannot be used. Sets LIBPFM_ENCODE_INACTIVE in the environment: by default libpfm4 encodes only for the one
 * model that it detects, which on a big.LITTLE machine is that of CPU 0.
 */
static int pfm_library_load(struct pfm_library *ret, struct error *error)
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

/* The parts point into `name`. */
static struct pfm_name pfm_name_parse(const char *name)
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

/* Whether the name sets attributes such as privilege levels ("u=1"). perfcountd uses modifiers for those. */
static bool pfm_name_has_level(const struct pfm_name *parsed)
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

/* Finds the table of a PMU by the name that a user or pfm_pmus[] gives the PMU; false if libpfm4 has none. */
static bool pfm_table_find(const struct pfm_library *library, const char *name, size_t size, struct pfm_table *ret)
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

/* Finds the next row of pfm_pmus[] that is for the PMU `sysfs` and whose table libpfm4 has. */
static bool next_of_kind(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret)
{
    while (*at < N_PFM_PMUS) {
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

/*
 * Finds the next table in which to look up a name without prefix for the PMU `sysfs`: first those in pfm_pmus[], then
 * all others. `at` starts at 0. Returns false after the last one.
 */
static bool pfm_table_next(const struct pfm_library *library, const char *sysfs, size_t *at, struct pfm_table *ret)
{
    if (next_of_kind(library, sysfs, at, ret))
        return true;
    while (*at - N_PFM_PMUS < PFM_PMUS_MAX) {
        pfm_pmu_info_t info = {.size = sizeof(info)};
        int r = library->get_pmu_info((pfm_pmu_t)(*at - N_PFM_PMUS), &info);
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

/* Encodes "PMU::EVENT:UMASK" into the attributes with which the kernel counts it. Returns PFM_SUCCESS or PFM_ERR_*. */
static int pfm_table_encode(const struct pfm_library *library, const struct pfm_table *table,
                            const struct pfm_name *parsed, struct perf_event_attr *ret)
{
    /* libpfm4's struct perf_event_attr may be larger than that of the kernel headers. */
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

static bool pfm_table_each_event(const struct pfm_library *library, const struct pfm_table *table,
                                 pfm_event_visit visit, void *userdata)
{
    for (int i = table->info.first_event; i >= 0; i = library->get_event_next(i)) {
        pfm_event_info_t event = {.size = sizeof(event)};
        if (library->get_event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS && visit(userdata, &event))
            return true;
    }
    return false;
}

/* A pfm_event_visit that adds each name to the struct suggest in `userdata`. */
static bool pfm_suggest_event(void *userdata, const pfm_event_info_t *event)
{
    suggest_consider(userdata, event->name);
    return false;
}

/* --- Names --- */

const char *pfm_built(void)
{
    return "yes";
}

/* Whether the table is for this PMU. For an uncore PMU, libpfm4 has looked up the type in sysfs. */
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

/* `mask` is "" for an event without unit masks. Returns false if the PMU does not count the event. */
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

/* An event with unit masks is listed once for each mask, an event without masks once. */
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

/* --- Explanations --- */

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

/* Sets and returns the error for an event that exists but whose unit mask is unknown or missing. */
static int bad_mask(const struct pfm_library *library, const struct pfm_table *table, const struct sought *sought,
                    int reason, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = sought->parsed->rest + !!sought->parsed->rest[0]};
    char nearest[256];

    if (pfm_name_has_level(sought->parsed))
        return error_set_at(error, -ENOENT, offset,
                            "\"%s\" is not supported in a libpfm4 event: the modifiers u, k, h, G and H at the end "
                            "choose whose work is counted",
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
 * Sets and returns the error for a name without prefix, if a PMU of this machine has the event but the unit mask is
 * unknown or missing. Returns 0 if libpfm4 does not have the event.
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

#else

/* --- Without libpfm4 --- */

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

#endif
