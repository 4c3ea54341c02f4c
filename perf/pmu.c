/* SPDX-License-Identifier: Apache-2.0 */
/* A PMU as sysfs describes it: see pmu.h. */
#include "perf/pmu.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/event/term.h"

#define DEVICE "/sys/bus/event_source/devices/%s"

/* The words' names in the order of their numbers; of those that begin alike the longer first. */
static const struct {
    const char *name;
    unsigned word;
} words[] = {{"config3:", 3}, {"config2:", 2}, {"config1:", 1}, {"config:", 0}};

static int parse_bit(const char *text, size_t *at, unsigned *ret, struct error *error)
{
    uint64_t value;
    size_t size = 0;

    while (isdigit((unsigned char)text[*at + size]))
        size++;
    if (size == 0)
        return error_set_at(error, -EINVAL, *at, "the number of a bit is missing here");
    if (number_parse_u64_n(text + *at, size, &value) < 0 || value > 63)
        return error_set_at(error, -EINVAL, *at, "a word has bits 0 to 63");
    *at += size;
    *ret = (unsigned)value;
    return 0;
}

/* "7" or "0-7" */
static int parse_bits(const char *text, size_t *at, uint64_t *bits, struct error *error)
{
    size_t start = *at;
    unsigned first, last;

    int r = parse_bit(text, at, &first, error);
    if (r < 0)
        return r;
    last = first;
    if (text[*at] == '-') {
        (*at)++;
        r = parse_bit(text, at, &last, error);
        if (r < 0)
            return r;
    }
    if (last < first)
        return error_set_at(error, -EINVAL, start, "the range %u-%u runs backwards", first, last);
    *bits |= (UINT64_MAX >> (63 - (last - first))) << first;
    return 0;
}

int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error)
{
    struct pmu_format format = {0};
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words) && at == 0; i++)
        if (str_starts(text, words[i].name)) {
            format.word = words[i].word;
            at = strlen(words[i].name);
        }
    if (at == 0)
        return error_set_at(error, -EINVAL, 0, "a format begins with \"config:\", \"config1:\" or the like");
    for (;;) {
        int r = parse_bits(text, &at, &format.bits, error);
        if (r < 0)
            return r;
        if (!text[at])
            break;
        if (text[at] != ',')
            return error_set_at(error, -EINVAL, at, "the bits of a format are like \"0-7,32\"");
        at++;
    }
    *ret = format;
    return 0;
}

int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word)
{
    uint64_t laid = 0, rest = value;

    for (uint64_t bits = format->bits; bits; bits &= bits - 1, rest >>= 1)
        if (rest & 1)
            laid |= bits & -bits;
    if (rest)
        return -ERANGE;
    *word = (*word & ~format->bits) | laid;
    return 0;
}

/* The units that drivers write, as Prometheus names base units; how many of the one the other is. */
static const struct {
    const char *name, *base;
    double scale;
} units[] = {
    {"Joules", "joules", 1},  {"J", "joules", 1},         {"Bytes", "bytes", 1},     {"B", "bytes", 1},
    {"KiB", "bytes", 0x1p10}, {"MiB", "bytes", 0x1p20},   {"GiB", "bytes", 0x1p30},  {"KB", "bytes", 1e3},
    {"MB", "bytes", 1e6},     {"GB", "bytes", 1e9},       {"ns", "seconds", 1e-9},   {"us", "seconds", 1e-6},
    {"ms", "seconds", 1e-3},  {"s", "seconds", 1},        {"seconds", "seconds", 1}, {"Hz", "hertz", 1},
    {"KHz", "hertz", 1e3},    {"MHz", "hertz", 1e6},      {"GHz", "hertz", 1e9},     {"W", "watts", 1},
    {"Watts", "watts", 1},    {"mW", "watts", 1e-3},      {"V", "volts", 1},         {"C", "celsius", 1},
    {"%", "ratio", 1e-2},     {"percent", "ratio", 1e-2},
};

/* Turns a driver's unit into a base unit. A unit without a letter or digit is as good as none. */
static int convert_unit(const char *text, struct pmu_event *event)
{
    const char *base = strpbrk(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ? NULL : "";

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_equal(units[i].name, text)) {
            base = units[i].base;
            event->scale *= units[i].scale;
            break;
        }
    event->unit = base ? strdup(base) : event_metric_name(text);
    return event->unit ? 0 : -ENOMEM;
}

static void event_clear(struct pmu_event *event)
{
    free(event->name);
    free(event->terms);
    free(event->unit);
    *event = (struct pmu_event){0};
}

static int unreadable(int r, const char *what, struct error *error)
{
    return error_set(error, r, "its %s cannot be read: %s", what, strerror(-r));
}

static int load_scale(struct sys *sys, const char *pmu, struct pmu_event *event, struct error *error)
{
    _cleanup_(freep) char *text = NULL;

    event->scale = 1;
    int r = sys_read_filef(sys, &text, DEVICE "/events/%s.scale", pmu, event->name);
    if (r < 0)
        return r == -ENOENT ? 0 : unreadable(r, "scale", error);
    r = number_parse_double(text, &event->scale);
    if (r < 0 || event->scale <= 0)
        return error_set(error, -EINVAL, "its scale is no number above 0: \"%.32s\"", text);
    return 0;
}

static int load_unit(struct sys *sys, const char *pmu, struct pmu_event *event, struct error *error)
{
    _cleanup_(freep) char *text = NULL;

    int r = sys_read_filef(sys, &text, DEVICE "/events/%s.unit", pmu, event->name);
    if (r < 0 && r != -ENOENT)
        return unreadable(r, "unit", error);
    return convert_unit(text ? text : "", event);
}

static int load_terms(struct sys *sys, const char *pmu, struct pmu_event *event, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    int r = sys_read_filef(sys, &event->terms, DEVICE "/events/%s", pmu, event->name);
    if (r < 0)
        return unreadable(r, "file", error);
    r = event_terms_parse_text(event->terms, &terms, error);
    if (r < 0)
        error_prefix(error, "its file cannot be understood, \"%.64s\"", event->terms);
    return r;
}

/* Its values would be wrong without its scale or unit, so that it is loaded whole or not at all. */
static int load_event(struct sys *sys, const char *pmu, const char *name, struct pmu_event *ret, struct error *error)
{
    _cleanup_(event_clear) struct pmu_event event = {.name = strdup(name)};

    if (!event.name)
        return -ENOMEM;
    int r = load_terms(sys, pmu, &event, error);
    if (r == 0)
        r = load_scale(sys, pmu, &event, error);
    if (r == 0)
        r = load_unit(sys, pmu, &event, error);
    if (r < 0)
        return r;
    *ret = event;
    event = (struct pmu_event){0};
    return 0;
}

static bool is_attribute(const char *name)
{
    static const char *const suffixes[] = {".scale", ".unit", ".snapshot", ".per-pkg"};
    size_t size = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        size_t suffix = strlen(suffixes[i]);
        if (size > suffix && str_equal(name + size - suffix, suffixes[i]))
            return true;
    }
    return false;
}

static int add_event(struct sys *sys, struct pmu *pmu, const char *name)
{
    if (is_attribute(name))
        return 0;
    struct error error;
    if (array_grow(&pmu->events, pmu->n_events) < 0)
        return -ENOMEM;
    int r = load_event(sys, pmu->name, name, &pmu->events[pmu->n_events], &error);
    if (r == 0)
        pmu->n_events++;
    return r < 0 && r != -ENOMEM ? defects_add(&pmu->defects, name, error.message) : r;
}

static int add_format(struct sys *sys, struct pmu *pmu, const char *name)
{
    _cleanup_(freep) char *text = NULL;
    struct pmu_format format;
    struct error error;

    int r = sys_read_filef(sys, &text, DEVICE "/format/%s", pmu->name, name);
    if (r < 0 && r != -ENOMEM)
        unreadable(r, "file", &error);
    if (r == 0) {
        r = pmu_format_parse(text, &format, &error);
        if (r < 0)
            error_prefix(&error, "its file cannot be understood, \"%.64s\"", text);
    }
    if (r < 0)
        return r == -ENOMEM ? r : defects_add(&pmu->defects, name, error.message);
    if (array_grow(&pmu->formats, pmu->n_formats) < 0)
        return -ENOMEM;
    format.name = strdup(name);
    if (!format.name)
        return -ENOMEM;
    pmu->formats[pmu->n_formats++] = format;
    return 0;
}

/* Adds what the directory has; a PMU without it, or one that may not be read, has none. */
static int load_directory(struct sys *sys, struct pmu *pmu, const char *directory,
                          int (*add)(struct sys *sys, struct pmu *pmu, const char *name))
{
    _cleanup_(freep) char *path = NULL;
    char **names;
    size_t n;

    if (asprintf(&path, DEVICE "/%s", pmu->name, directory) < 0)
        return -ENOMEM;
    int r = sys_list_directory(sys, path, &names, &n);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = add(sys, pmu, names[i]);
    strings_free(names, n);
    return r;
}

/* `cpus` is a core's, `cpumask` a system's; either may be empty while its CPUs are offline. */
static int load_cpus(struct sys *sys, struct pmu *pmu, const struct cpuset *online, struct error *error)
{
    static const struct {
        const char *file;
        enum pmu_scope scope;
    } files[] = {{"cpus", PMU_CORE}, {"cpumask", PMU_SYSTEM}};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        _cleanup_(freep) char *text = NULL;
        int r = sys_read_filef(sys, &text, DEVICE "/%s", pmu->name, files[i].file);
        if (r == -ENOENT)
            continue;
        if (r < 0)
            return error_set(error, r, DEVICE "/%s cannot be read: %s", pmu->name, files[i].file, strerror(-r));
        r = cpuset_parse(text, &pmu->cpus, error);
        if (r < 0) {
            error_prefix(error, DEVICE "/%s cannot be understood, \"%.64s\"", pmu->name, files[i].file, text);
            return r;
        }
        pmu->scope = files[i].scope;
        return 0;
    }
    pmu->scope = str_equal(pmu->name, "cpu") ? PMU_CORE : PMU_ANY;
    return cpuset_copy(online, &pmu->cpus) < 0 ? error_oom(error) : 0;
}

static int load_type(struct sys *sys, struct pmu *pmu, struct error *error)
{
    _cleanup_(freep) char *text = NULL;
    uint64_t type;

    int r = sys_read_filef(sys, &text, DEVICE "/type", pmu->name);
    if (r < 0)
        return error_set(error, r, DEVICE "/type cannot be read: %s", pmu->name, strerror(-r));
    r = number_parse_u64(text, &type);
    if (r < 0 || type > UINT32_MAX)
        return error_set(error, -EINVAL, DEVICE "/type is no number of a PMU: \"%.32s\"", pmu->name, text);
    pmu->type = (uint32_t)type;
    return 0;
}

/* The one capability in use: the largest threshold of arm64's counters. */
static void load_caps(struct sys *sys, struct pmu *pmu)
{
    _cleanup_(freep) char *text = NULL;

    pmu->threshold_max = UINT64_MAX;
    if (sys_read_filef(sys, &text, DEVICE "/caps/threshold_max", pmu->name) == 0)
        number_parse_u64(text, &pmu->threshold_max);
}

DEFINE_CLEANUP(struct pmu *, pmu_free);

int pmu_load(struct sys *sys, const char *name, const struct cpuset *online, struct pmu **ret, struct error *error)
{
    _cleanup_(pmu_freep) struct pmu *pmu = calloc(1, sizeof(*pmu));

    if (!pmu)
        return error_oom(error);
    pmu->name = strdup(name);
    if (!pmu->name)
        return error_oom(error);
    int r = load_type(sys, pmu, error);
    if (r == 0)
        r = load_cpus(sys, pmu, online, error);
    if (r < 0)
        return r;
    if (load_directory(sys, pmu, "format", add_format) < 0 || load_directory(sys, pmu, "events", add_event) < 0)
        return error_oom(error);
    load_caps(sys, pmu);
    *ret = steal(pmu);
    return 0;
}

struct pmu *pmu_free(struct pmu *pmu)
{
    if (!pmu)
        return NULL;
    for (size_t i = 0; i < pmu->n_formats; i++)
        free(pmu->formats[i].name);
    for (size_t i = 0; i < pmu->n_events; i++)
        event_clear(&pmu->events[i]);
    free(pmu->formats);
    free(pmu->events);
    defects_done(&pmu->defects);
    cpuset_done(&pmu->cpus);
    free(pmu->name);
    free(pmu);
    return NULL;
}

bool pmu_name_matches(const char *written, const char *name)
{
    size_t size = strlen(written);

    if (!str_starts(name, written))
        return false;
    if (name[size] == '\0')
        return true;
    const char *number = name + size + 1;
    return name[size] == '_' && number[0] && number[strspn(number, "0123456789")] == '\0';
}

/* Of those without `cpus` and `cpumask`: what the kernel counts itself on each CPU (kernel/events, arch/x86/events). */
static const char *const per_cpu[] = {"software", "tracepoint", "breakpoint", "kprobe", "uprobe", "msr"};

bool pmu_is_per_cpu(const struct pmu *pmu)
{
    for (size_t i = 0; pmu->scope == PMU_ANY && i < ARRAY_SIZE(per_cpu); i++)
        if (str_equal(pmu->name, per_cpu[i]))
            return true;
    return pmu->scope == PMU_CORE;
}

const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name)
{
    for (size_t i = 0; i < pmu->n_formats; i++)
        if (str_equal(pmu->formats[i].name, name))
            return &pmu->formats[i];
    return NULL;
}

const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name)
{
    for (size_t i = 0; i < pmu->n_events; i++)
        if (str_equal(pmu->events[i].name, name))
            return &pmu->events[i];
    return NULL;
}
