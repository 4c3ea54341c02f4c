/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/pmu.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/event-term.h"
#include "perf/event.h"

/* --- Units --- */

/*
 * One `name` is `scale` times `base`: one "MB" is 1e6 "bytes". Some drivers mean 2^20 bytes by "MB", so `binary` gives
 * the power of 1024 for each byte unit that is a power of 1000; it is 0 for all other units.
 */
struct known_unit {
    const char *name, *base;
    double scale, binary;
};

/* tests/unit/test-pmu.c lists the Linux drivers that export a unit. i915 exports the unit "M", for cycles. */
static const struct known_unit units[] = {
    {"Joules", "joules", 1, 0},    {"J", "joules", 1, 0},
    {"Bytes", "bytes", 1, 0},      {"B", "bytes", 1, 0},
    {"KiB", "bytes", 0x1p10, 0},   {"MiB", "bytes", 0x1p20, 0},
    {"GiB", "bytes", 0x1p30, 0},   {"KB", "bytes", 1e3, 0x1p10},
    {"MB", "bytes", 1e6, 0x1p20},  {"GB", "bytes", 1e9, 0x1p30},
    {"ns", "seconds", 1e-9, 0},    {"us", "seconds", 1e-6, 0},
    {"ms", "seconds", 1e-3, 0},    {"s", "seconds", 1, 0},
    {"seconds", "seconds", 1, 0},  {"Hz", "hertz", 1, 0},
    {"KHz", "hertz", 1e3, 0},      {"MHz", "hertz", 1e6, 0},
    {"GHz", "hertz", 1e9, 0},      {"W", "watts", 1, 0},
    {"Watts", "watts", 1, 0},      {"mW", "watts", 1e-3, 0},
    {"mWatts", "watts", 1e-3, 0},  {"V", "volts", 1, 0},
    {"C", "celsius", 1, 0},        {"%", "ratio", 1e-2, 0},
    {"percent", "ratio", 1e-2, 0}, {"M", "", 1e6, 0},
};

static const struct known_unit *unit_find(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_equal(units[i].name, text))
            return &units[i];
    return NULL;
}

bool unit_is_base(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (text[0] && str_equal(units[i].base, text))
            return true;
    return false;
}

/* Maximum relative error of a scale. Drivers write scales with ten digits or more. */
#define ROUNDING 1e-9
/* A double represents every whole number up to this one exactly. */
#define WHOLE_MAX 0x1p53

/* Returns the whole number that equals `amount` within the rounding error, or 0 if there is none. */
static double whole_number(double amount)
{
    if (!(amount >= 0.5 && amount < WHOLE_MAX))
        return 0;
    double whole = (double)(uint64_t)(amount + 0.5), off = amount > whole ? amount - whole : whole - amount;
    return off <= whole * ROUNDING ? whole : 0;
}

static double count_bytes(const struct known_unit *unit, double scale)
{
    double as_written = whole_number(scale * unit->scale), binary = whole_number(scale * unit->binary);

    return as_written > 0 ? as_written : binary > 0 ? binary : scale * unit->scale;
}

int unit_resolve(const char *text, double scale, char **ret_base, double *ret_scale)
{
    const struct known_unit *unit = unit_find(text);
    bool has_letter = strpbrk(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    char *base = unit ? strdup(unit->base) : has_letter ? event_metric_name(text) : strdup("");
    if (!base)
        return -ENOMEM;
    *ret_base = base;
    if (!unit)
        *ret_scale = scale;
    else
        *ret_scale = str_equal(base, "bytes") ? count_bytes(unit, scale) : scale * unit->scale;
    return 0;
}

/* --- Formats --- */

#define BIT_MAX 63

static const struct {
    const char *name;
    unsigned word;
} words[] = {{"config3:", 3}, {"config2:", 2}, {"config1:", 1}, {"config:", 0}};

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
        return error_set_at(error, -EINVAL, 0, "a format must begin with \"config:\", \"config1:\" or the like");
    for (;;) {
        struct range range;
        if (range_parse(text, &at, BIT_MAX, "the number of a bit", &range, error) < 0)
            return -EINVAL;
        format.bits |= (UINT64_MAX >> (BIT_MAX - (range.last - range.first))) << range.first;
        if (!text[at])
            break;
        if (text[at] != ',')
            return error_set_at(error, -EINVAL, at, "expected the bits of a format, such as \"0-7,32\"");
        at++;
    }
    *ret = format;
    return 0;
}

int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word)
{
    uint64_t deposited = 0, rest = value;

    for (uint64_t bits = format->bits; bits; bits &= bits - 1, rest >>= 1)
        if (rest & 1)
            deposited |= bits & -bits;
    if (rest)
        return -ERANGE;
    *word = (*word & ~format->bits) | deposited;
    return 0;
}

/* --- PMU --- */

#define DEVICE "/sys/bus/event_source/devices/%s"

void defects_done(struct defects *defects)
{
    for (size_t i = 0; i < defects->n; i++) {
        free(defects->items[i].name);
        free(defects->items[i].reason);
    }
    free(defects->items);
    *defects = (struct defects){0};
}

int defects_add(struct defects *defects, const char *name, const char *reason)
{
    if (array_grow(&defects->items, defects->n) < 0)
        return -ENOMEM;
    struct defect item = {.name = strdup(name), .reason = strdup(reason)};
    defects->items[defects->n++] = item;
    return item.name && item.reason ? 0 : -ENOMEM;
}

const char *defects_find(const struct defects *defects, const char *name)
{
    for (size_t i = 0; i < defects->n; i++)
        if (str_equal(defects->items[i].name, name))
            return defects->items[i].reason;
    return NULL;
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
        return error_set(error, -EINVAL, "its scale is not a number above 0: \"%.32s\"", text);
    return 0;
}

static int load_unit(struct sys *sys, const char *pmu, struct pmu_event *event, struct error *error)
{
    _cleanup_(freep) char *text = NULL;

    int r = sys_read_filef(sys, &text, DEVICE "/events/%s.unit", pmu, event->name);
    if (r < 0 && r != -ENOENT)
        return unreadable(r, "unit", error);
    return unit_resolve(text ? text : "", event->scale, &event->unit, &event->scale);
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

/* An event is loaded completely or not at all: without its scale or unit, its values would be wrong. */
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

static int pmu_add_event(struct sys *sys, struct pmu *pmu, const char *name)
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

static int pmu_add_format(struct sys *sys, struct pmu *pmu, const char *name)
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

/* Calls `add` for each name in the directory. A directory that does not exist or may not be read counts as empty. */
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

/* A core PMU has `cpus`, a system PMU has `cpumask`. Either file may be empty while the CPUs are offline. */
static int pmu_load_cpus(struct sys *sys, struct pmu *pmu, const struct cpuset *online, struct error *error)
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
            return error_set(error, r, "cannot read " DEVICE "/%s: %s", pmu->name, files[i].file, strerror(-r));
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
        return error_set(error, r, "cannot read " DEVICE "/type: %s", pmu->name, strerror(-r));
    r = number_parse_u64(text, &type);
    if (r < 0 || type > UINT32_MAX)
        return error_set(error, -EINVAL, DEVICE "/type is not the number of a PMU: \"%.32s\"", pmu->name, text);
    pmu->type = (uint32_t)type;
    return 0;
}

static void load_cap(struct sys *sys, const struct pmu *pmu, const char *name, uint64_t *value)
{
    _cleanup_(freep) char *text = NULL;

    if (sys_read_filef(sys, &text, DEVICE "/caps/%s", pmu->name, name) == 0)
        number_parse_u64(text, value);
}

/* Loads two capabilities that only arm64 cores have (drivers/perf/arm_pmuv3.c). */
static void load_caps(struct sys *sys, struct pmu *pmu)
{
    uint64_t slots = 0;

    pmu->threshold_max = UINT64_MAX;
    if (pmu->scope != PMU_CORE)
        return;
    load_cap(sys, pmu, "threshold_max", &pmu->threshold_max);
    load_cap(sys, pmu, "slots", &slots);
    pmu->slots = slots <= UINT8_MAX ? (unsigned)slots : 0;
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
        r = pmu_load_cpus(sys, pmu, online, error);
    if (r < 0)
        return r;
    if (load_directory(sys, pmu, "format", pmu_add_format) < 0 || load_directory(sys, pmu, "events", pmu_add_event) < 0)
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

/* PMUs that have neither `cpus` nor `cpumask`, and count on each CPU (kernel/events, arch/x86/events). */
static const char *const per_cpu_pmus[] = {"software", "tracepoint", "breakpoint", "kprobe", "uprobe", "msr"};

bool pmu_is_per_cpu(const struct pmu *pmu)
{
    for (size_t i = 0; pmu->scope == PMU_ANY && i < ARRAY_SIZE(per_cpu_pmus); i++)
        if (str_equal(pmu->name, per_cpu_pmus[i]))
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

#define EVENT_NUMBER "event=0x"

/* Whether the event has this number and no other term. */
static bool event_has_number(const struct pmu_event *event, uint64_t number)
{
    const char *digits = event->terms + strlen(EVENT_NUMBER);
    uint64_t other;

    return str_starts(event->terms, EVENT_NUMBER) && number_parse_hex_n(digits, strlen(digits), &other) == 0 &&
           other == number;
}

bool pmu_has_number(const struct pmu *pmu, uint64_t number)
{
    /* The common events that PMCEID0_EL0 and PMCEID1_EL0 cover. */
    bool is_listed = number < 0x40 || (number >= 0x4000 && number < 0x4040);

    if (!is_listed || pmu->scope != PMU_CORE || !str_starts(pmu->name, "armv8_") || pmu->n_events == 0)
        return true;
    for (size_t i = 0; i < pmu->n_events; i++)
        if (event_has_number(&pmu->events[i], number))
            return true;
    return false;
}
