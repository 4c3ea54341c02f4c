/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/rules.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/cpuset.h"
#include "perf/event.h"

/* --- Files --- */

/* The wildcards of path patterns. The wildcard `mark` matches 1 to `most` of the given `characters`. */
static const struct {
    char mark;
    const char *characters;
    size_t most;
} marks[] = {
    {'*', "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", OPENER_PATH_MAX},
    {'#', "0123456789", 10},
};

/*
 * The files that may be opened: the list of tracepoints and their ids; the kernel's symbols and modules; thread lists,
 * and the names of processes and threads. Finders open the files that processes have mapped (process/finder.h).
 *
 * procfs checks the process that opens a file (fs/proc/base.c, kernel/kallsyms.c), not the process that reads it. The
 * table has no tracefs directory, because its descriptor would give access to all files below it, and bypass the mode
 * of the tracefs root, which excludes other users.
 */
static const struct shape {
    const char *pattern;
    enum opener_file_kind kind;
    bool only_sampling;
    bool for_all; /* any process may open it, but sees zeroed addresses without CAP_SYSLOG */
} shapes[] = {
    {"/sys/kernel/tracing/available_events", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/debug/tracing/available_events", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/tracing/events/*/*/id", OPENER_FILE_TRACEFS, false, false},
    {"/sys/kernel/debug/tracing/events/*/*/id", OPENER_FILE_TRACEFS, false, false},
    {"/proc/kallsyms", OPENER_FILE_PROC, true, true},
    {"/proc/modules", OPENER_FILE_PROC, true, true},
    {"/proc/#/comm", OPENER_FILE_PROC, true, false},
    {"/proc/#/task", OPENER_FILE_PROC, true, false},
    {"/proc/#/task/#/comm", OPENER_FILE_PROC, true, false},
};

/*
 * Returns how many bytes at the start of `path` the wildcard `mark` matches, 0 if it matches no bytes or too many, or
 * SIZE_MAX if `mark` is not a wildcard.
 */
static size_t length_at(char mark, const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (marks[i].mark == mark) {
            size_t n = strspn(path, marks[i].characters);
            return n <= marks[i].most ? n : 0;
        }
    return SIZE_MAX;
}

static bool shape_matches(const char *pattern, const char *path)
{
    for (; *pattern; pattern++) {
        size_t n = length_at(*pattern, path);
        if (n == 0 || (n == SIZE_MAX && *path != *pattern))
            return false;
        path += n == SIZE_MAX ? 1 : n;
    }
    return *path == '\0';
}

static const struct shape *shape_find(const char *path, bool sampling)
{
    if (strlen(path) >= OPENER_PATH_MAX)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        if ((sampling || !shapes[i].only_sampling) && shape_matches(shapes[i].pattern, path))
            return &shapes[i];
    return NULL;
}

enum opener_file_kind opener_path_kind(const char *path, bool sampling)
{
    const struct shape *shape = shape_find(path, sampling);

    return shape ? shape->kind : OPENER_FILE_UNKNOWN;
}

bool opener_path_asks_opener_first(const char *path, bool sampling)
{
    const struct shape *shape = shape_find(path, sampling);

    return shape && shape->for_all;
}

/* --- Rules --- */

#define DEVICES "/sys/bus/event_source/devices"

/* Event types that exist in every kernel, whether or not sysfs lists them (include/uapi/linux/perf_event.h). */
static const uint32_t always_counting[] = {PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW};

static void permitted_event_done(struct opener_permitted_event *event)
{
    free(event->text);
    *event = (struct opener_permitted_event){0};
}

void opener_permissions_done(struct opener_permissions *permissions)
{
    for (size_t i = 0; i < permissions->n_events; i++)
        permitted_event_done(&permissions->events[i]);
    free(permissions->events);
    strings_free(permissions->files, permissions->n_files);
    strings_free(permissions->sockets, permissions->n_sockets);
    *permissions = (struct opener_permissions){0};
}

int opener_permissions_add_event(struct opener_permissions *permissions, const struct attr *attr, bool samples)
{
    enum pmu_kind kind = pmu_kind(attr->pmu->name);
    struct opener_permitted_event event = {
        .type = attr->kernel.type,
        .bp_type = kind == PMU_BREAKPOINT ? attr->kernel.bp_type : 0,
        .config = attr->kernel.config,
        .config1 = attr->kernel.config1,
        .config2 = attr->kernel.config2,
        .text = attr->text ? strdup(attr->text) : NULL,
        .samples = samples,
    };

    /*
     * The kernel interprets config1 of a probe as a pointer. The event parser refuses numbers there
     * (perf/event-term.c), and the opener must never pass one to the kernel.
     */
    if (kind == PMU_COUNTING || kind == PMU_TRACING || (kind == PMU_PROBE && event.config1)) {
        permitted_event_done(&event);
        return 0;
    }
    if ((attr->text && !event.text) || array_grow(&permissions->events, permissions->n_events) < 0) {
        permitted_event_done(&event);
        return -ENOMEM;
    }
    permissions->events[permissions->n_events++] = event;
    permissions->uprobes |= str_equal(attr->pmu->name, "uprobe");
    return 0;
}

static int add_path(char ***paths, size_t *n, const char *path)
{
    char *copy = strdup(path);

    if (!copy || array_grow(paths, *n) < 0) {
        free(copy);
        return -ENOMEM;
    }
    (*paths)[(*n)++] = copy;
    return 0;
}

int opener_permissions_add_file(struct opener_permissions *permissions, const char *path)
{
    return path && *path ? add_path(&permissions->files, &permissions->n_files, path) : 0;
}

int opener_permissions_add_socket(struct opener_permissions *permissions, const char *path)
{
    return add_path(&permissions->sockets, &permissions->n_sockets, path);
}

static int opener_types_add(struct opener_types *types, uint32_t type)
{
    if (array_grow(&types->items, types->n) < 0)
        return -ENOMEM;
    types->items[types->n++] = type;
    return 0;
}

bool opener_types_have(const struct opener_types *types, uint32_t type)
{
    for (size_t i = 0; i < types->n; i++)
        if (types->items[i] == type)
            return true;
    return false;
}

bool opener_rules_type_takes_filter(const struct opener_rules *rules, uint32_t type)
{
    return type == PERF_TYPE_TRACEPOINT || opener_types_have(&rules->probing, type);
}

static int rules_add_pmu_of_kind(struct opener_rules *rules, enum pmu_kind kind, uint32_t type)
{
    switch (kind) {
    case PMU_COUNTING:
        return opener_types_add(&rules->counting, type);
    case PMU_TRACING:
        return opener_types_add(&rules->tracing, type);
    case PMU_PROBE:
        return opener_types_add(&rules->probing, type);
    case PMU_TRACEPOINT:
    case PMU_BREAKPOINT:
        break;
    }
    return 0;
}

static int rules_add_pmu(struct opener_rules *rules, struct sys *sys, const char *name)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t type;

    if (sys_read_filef(sys, &text, DEVICES "/%s/type", name) < 0 || number_parse_u64(text, &type) < 0 ||
        type > UINT32_MAX)
        return 0;
    return rules_add_pmu_of_kind(rules, pmu_kind(name), (uint32_t)type);
}

static int rules_find_pmus(struct opener_rules *rules, struct sys *sys)
{
    char **names;
    size_t n;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(always_counting) && r == 0; i++)
        r = opener_types_add(&rules->counting, always_counting[i]);
    if (r < 0)
        return r;
    r = sys_list_directory(sys, DEVICES, &names, &n);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = rules_add_pmu(rules, sys, names[i]);
    strings_free(names, n);
    return r;
}

/* Returns the number of possible CPUs, or 0 if sysfs does not list them. */
static unsigned count_cpus(struct sys *sys)
{
    _cleanup_(cpuset_done) struct cpuset cpus = {0};
    _cleanup_(freep) char *text = NULL;
    unsigned n = 0;

    if (sys_read_file(sys, "/sys/devices/system/cpu/possible", &text) < 0 || cpuset_parse(text, &cpus, NULL) < 0)
        return 0;
    CPUSET_FOREACH (cpu, &cpus)
        n = (unsigned)cpu + 1;
    return n;
}

static bool is_paranoid(struct sys *sys)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t level;

    return sys_read_file(sys, "/proc/sys/kernel/perf_event_paranoid", &text) == 0 &&
           number_parse_u64(text, &level) == 0 && level >= 3;
}

int opener_rules_init(struct opener_rules *rules, struct sys *sys, struct opener_permissions *permissions)
{
    *rules = (struct opener_rules){.daemon = getpid(),
                                   .permissions = *permissions,
                                   .n_cpus = count_cpus(sys),
                                   .needs_admin = permissions->uprobes || is_paranoid(sys)};
    *permissions = (struct opener_permissions){0};
    int r = rules_find_pmus(rules, sys);
    if (r < 0)
        opener_rules_done(rules);
    return r;
}

void opener_rules_done(struct opener_rules *rules)
{
    opener_permissions_done(&rules->permissions);
    free(rules->counting.items);
    free(rules->tracing.items);
    free(rules->probing.items);
    *rules = (struct opener_rules){0};
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? str_equal(a, b) : a == b;
}

bool opener_rules_permit_event(const struct opener_rules *rules, const struct perf_event_attr *attr, const char *text,
                               bool samples)
{
    bool is_breakpoint = attr->type == PERF_TYPE_BREAKPOINT;

    for (size_t i = 0; i < rules->permissions.n_events; i++) {
        const struct opener_permitted_event *event = &rules->permissions.events[i];
        if (event->type == attr->type && event->config == attr->config && event->config1 == attr->config1 &&
            event->config2 == attr->config2 && (!is_breakpoint || event->bp_type == attr->bp_type) &&
            texts_equal(event->text, text) && (!samples || event->samples))
            return true;
    }
    return false;
}

bool opener_rules_permit_file(const struct opener_rules *rules, const char *path)
{
    for (size_t i = 0; i < rules->permissions.n_files; i++)
        if (str_equal(rules->permissions.files[i], path))
            return true;
    return false;
}
