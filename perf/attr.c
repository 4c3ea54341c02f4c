/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/attr.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "perf/event-parse.h"
#include "perf/event-term.h"
#include "perf/generic-events.h"
#include "perf/perf-event.h"
#include "perf/pfm.h"
#include "perf/reason.h"

#define ATTR_WORDS 4

struct attr_words {
    uint64_t words[ATTR_WORDS]; /* config, config1, config2, config3 */
    const char *text;           /* the function or file of a probe, borrowed from the event; NULL: none */
    double scale;               /* scale of a sysfs event; 1 for other events */
    const char *unit;           /* unit of a sysfs event, borrowed from the PMU; "" for other events */
};

/* --- Terms --- */

/* Every PMU has these terms. Each sets a whole word of the config. */
static const char *const word_names[ATTR_WORDS] = {"config", "config1", "config2", "config3"};

/*
 * The probe PMUs do not list these terms in sysfs's `format/`. The values of "func" and "path" are strings
 * (perf_event_open(2)), which do not fit into a config word.
 */
#define TEXT (-1)
static const struct {
    const char *pmu, *term;
    int word;
} probe_terms[] = {
    {"kprobe", "func", TEXT}, {"kprobe", "addr", 2},   {"kprobe", "offset", 2},
    {"uprobe", "path", TEXT}, {"uprobe", "offset", 2},
};

static bool lay_probe(const struct pmu *pmu, const struct event_term *term, struct attr_words *words)
{
    for (size_t i = 0; i < ARRAY_SIZE(probe_terms); i++) {
        if (!str_equal(probe_terms[i].pmu, pmu->name) || !str_equal(probe_terms[i].term, term->name))
            continue;
        if (probe_terms[i].word == TEXT)
            words->text = term->text;
        else
            words->words[probe_terms[i].word] = term->value;
        return true;
    }
    return false;
}

/* Returns the index of the word that a term sets as a whole, or -1. A format with the same name takes precedence. */
static int whole_word(const struct pmu *pmu, const char *name)
{
    for (int i = 0; i < ATTR_WORDS; i++)
        if (str_equal(word_names[i], name) && !pmu_find_format(pmu, name))
            return i;
    return -1;
}

static int unknown_term(const struct pmu *pmu, const char *name, size_t offset, struct error *error)
{
    struct suggest suggest = {.wrong = name};
    const char *reason = defects_find(&pmu->defects, name);
    char nearest[256];

    if (reason)
        return error_set_at(error, -EINVAL, offset, "\"%s\" of PMU \"%s\" cannot be used: %s", name, pmu->name, reason);
    for (size_t i = 0; i < pmu->n_events; i++)
        suggest_consider(&suggest, pmu->events[i].name);
    for (size_t i = 0; i < pmu->n_formats; i++)
        suggest_consider(&suggest, pmu->formats[i].name);
    for (size_t i = 0; i < ATTR_WORDS; i++)
        suggest_consider(&suggest, word_names[i]);
    return error_set_at(error, -ENOENT, offset, "PMU \"%s\" has no event or term \"%s\"%s", pmu->name, name,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

/* The kernel refuses a threshold above the CPU's maximum without giving a reason. */
static int check_threshold(const struct pmu *pmu, const char *name, uint64_t value, size_t offset, struct error *error)
{
    if (!str_equal(name, "threshold") || value <= pmu->threshold_max)
        return 0;
    if (pmu->threshold_max == 0)
        return error_set_at(error, -EINVAL, offset,
                            "the CPUs of PMU \"%s\" have no thresholds (caps/threshold_max is 0)", pmu->name);
    return error_set_at(error, -EINVAL, offset,
                        "the threshold %" PRIu64 " is too large: PMU \"%s\" supports at most %" PRIu64
                        " (caps/threshold_max)",
                        value, pmu->name, pmu->threshold_max);
}

static int lay_term(const struct pmu *pmu, const char *name, uint64_t value, size_t offset, struct attr_words *words,
                    struct error *error)
{
    const struct pmu_format *format = pmu_find_format(pmu, name);
    int word = whole_word(pmu, name);

    if (word >= 0) {
        words->words[word] = value;
        return 0;
    }
    if (!format)
        return unknown_term(pmu, name, offset, error);
    int r = check_threshold(pmu, name, value, offset, error);
    if (r < 0)
        return r;
    if (pmu_format_deposit(format, value, &words->words[format->word]) < 0)
        return error_set_at(error, -EINVAL, offset,
                            "the value 0x%" PRIx64 " of \"%s\" is too large: PMU \"%s\" has %d bits for it", value,
                            name, pmu->name, __builtin_popcountll(format->bits));
    return 0;
}

/* "cpu/r1a/" sets the whole config, unless the PMU has a format of that name. */
static bool is_raw(const struct pmu *pmu, const struct event_term *term, uint64_t *ret_config)
{
    return !term->text && !pmu_find_format(pmu, term->name) &&
           generic_parse_raw(term->name, strlen(term->name), ret_config) == 0;
}

static bool has_value(const struct event *event, const char *name)
{
    for (size_t i = 0; i < event->n_terms; i++)
        if (str_equal(event->terms[i].name, name) && event->terms[i].text)
            return true;
    return false;
}

/* Sets the terms of a sysfs event. The value "?" means that the user of the event must give a value. */
static int lay_named(const struct event *event, const struct pmu *pmu, const struct pmu_event *named, size_t offset,
                     struct attr_words *words, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    int r = event_terms_parse_text(named->terms, &terms, error);
    for (size_t i = 0; r == 0 && i < terms.n; i++) {
        const struct event_term *term = &terms.terms[i];
        if (!term->text || term->numeric)
            r = lay_term(pmu, term->name, term->value, offset, words, error);
        else if (!str_equal(term->text, "?"))
            return error_set_at(error, -EINVAL, offset,
                                "event \"%s\" of PMU \"%s\" has a term that is not a number, \"%s=%s\"", named->name,
                                pmu->name, term->name, term->text);
        else if (!has_value(event, term->name))
            return error_set_at(error, -EINVAL, offset,
                                "event \"%s\" of PMU \"%s\" needs a value for \"%s\": %s/%s,%s=.../", named->name,
                                pmu->name, term->name, pmu->name, named->name, term->name);
    }
    if (r < 0)
        return r;
    words->scale = named->scale;
    words->unit = named->unit;
    return 0;
}

static const struct pmu_event *event_of_term(const struct pmu *pmu, const struct event_term *term)
{
    return term->text ? NULL : pmu_find_event(pmu, term->name);
}

/*
 * Named events are set first, then whole words, then single terms, whatever their written order: the more specific term
 * wins.
 */
static int lay_terms(const struct event *event, const struct pmu *pmu, struct attr_words *words, struct error *error)
{
    enum { NAMED, WHOLE, SINGLE, N_PASSES };

    for (int pass = NAMED; pass < N_PASSES; pass++)
        for (size_t i = 0; i < event->n_terms; i++) {
            const struct event_term *term = &event->terms[i];
            const struct pmu_event *named = event_of_term(pmu, term);
            uint64_t config;
            bool raw = is_raw(pmu, term, &config);
            int own = named ? NAMED : raw || whole_word(pmu, term->name) >= 0 ? WHOLE : SINGLE, r = 0;
            if (own != pass)
                continue;
            if (lay_probe(pmu, term, words))
                continue;
            if (named)
                r = lay_named(event, pmu, named, term->offset, words, error);
            else if (raw)
                words->words[0] = config;
            else
                r = lay_term(pmu, term->name, term->value, term->offset, words, error);
            if (r < 0)
                return r;
        }
    return 0;
}

/* Looks the name up in sysfs, then in libpfm4. */
static int lay_event_name(const struct event *event, const struct pmu *pmu, struct attr_words *words,
                          struct error *error)
{
    const struct pmu_event *named = pmu_find_event(pmu, event->name);
    struct pfm_words found;

    if (named)
        return lay_named(event, pmu, named, event->offset, words, error);
    /*
     * If sysfs lists the name but its file is garbled, libpfm4 is not consulted: it might encode another event under
     * that name.
     */
    if (defects_find(&pmu->defects, event->name) || pfm_encode(pmu, event->name, &found) < 0)
        return unknown_term(pmu, event->name, event->offset, error);
    if (!pmu_has_number(pmu, found.words[0]))
        return error_set_at(error, -ENOENT, event->offset,
                            "the CPUs of PMU \"%s\" do not implement \"%s\": sysfs lists the events that they have",
                            pmu->name, event->name);
    memcpy(words->words, found.words, sizeof(found.words));
    return 0;
}

/*
 * Builds the words of an EVENT_PMU or an EVENT_NAME. Terms written in the event override the terms of the sysfs event
 * that it names. Returns -ENOENT for a term or event that the PMU does not have, with the nearest names; -EINVAL for a
 * value that does not fit.
 */
static int attr_words_build(const struct event *event, const struct pmu *pmu, struct attr_words *ret,
                            struct error *error)
{
    struct attr_words words = {.scale = 1, .unit = ""};
    int r;

    if (event->kind == EVENT_NAME)
        r = lay_event_name(event, pmu, &words, error);
    else
        r = lay_terms(event, pmu, &words, error);
    if (r < 0)
        return r;
    *ret = words;
    return 0;
}

/* --- Events on a PMU --- */

static bool pmu_covers(const struct pmu *pmu, unsigned cpu)
{
    return pmu->scope == PMU_ANY || (pmu->scope == PMU_CORE && cpuset_has(&pmu->cpus, cpu));
}

/* A name is looked up in libpfm4, which is loaded on demand, only if sysfs does not list it for any PMU. */
static bool is_in_sysfs(const struct machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (pmu_find_event(machine->pmus[i], name) || defects_find(&machine->pmus[i]->defects, name))
            return true;
    return false;
}

bool attr_names_pmu(const struct machine *machine, const struct event *event, const struct pmu *pmu)
{
    struct pfm_words words;

    if (event->kind == EVENT_PMU)
        return !pmu->absent && pmu_name_matches(event->pmu, pmu->name);
    if (event->kind != EVENT_NAME)
        return false;
    return is_in_sysfs(machine, event->name) ? pmu_find_event(pmu, event->name) != NULL
                                             : pfm_encode(pmu, event->name, &words) == 0;
}

#define ANY_CPU UINT_MAX

/* Returns the first PMU, in name order, that the event names and that covers the CPU. */
static const struct pmu *attr_find_named(const struct machine *machine, const struct event *event, unsigned cpu)
{
    for (size_t i = 0; i < machine->n_pmus; i++)
        if ((cpu == ANY_CPU || pmu_covers(machine->pmus[i], cpu)) && attr_names_pmu(machine, event, machine->pmus[i]))
            return machine->pmus[i];
    return NULL;
}

/*
 * The core PMU takes precedence even if its file of that name is garbled, so that each kind of CPU counts its own event
 * of that name. The garbled file is reported when the attr is built.
 */
static const struct pmu *pmu_of_name(const struct machine *machine, const struct event *event, unsigned cpu)
{
    const struct pmu *core = machine_core_pmu(machine, cpu);

    if (core && (pmu_find_event(core, event->name) || defects_find(&core->defects, event->name)))
        return core;
    return attr_find_named(machine, event, cpu);
}

const struct pmu *attr_pmu(const struct machine *machine, const struct event *event, unsigned cpu)
{
    switch (event->kind) {
    case EVENT_GENERIC:
        return event->type == PERF_TYPE_SOFTWARE ? machine_find_pmu(machine, "software")
                                                 : machine_core_pmu(machine, cpu);
    case EVENT_RAW:
        return machine_core_pmu(machine, cpu);
    case EVENT_TRACEPOINT:
        return machine_find_pmu(machine, "tracepoint");
    case EVENT_BREAKPOINT:
        return machine_find_pmu(machine, "breakpoint");
    case EVENT_PMU:
        return attr_find_named(machine, event, cpu);
    case EVENT_NAME:
        return pmu_of_name(machine, event, cpu);
    }
    return NULL;
}

static int attr_no_pmu(const struct machine *machine, const struct event *event, struct error *error)
{
    struct suggest suggest = {.wrong = event->pmu};
    const struct pmu *absent = machine_find_pmu(machine, event->pmu);
    const char *reason = defects_find(&machine->defects, event->pmu);
    char nearest[256];

    if (reason)
        return error_set_at(error, -ENODEV, event->offset, "PMU \"%s\" cannot be used: %s", event->pmu, reason);
    if (absent)
        return error_set_at(error, -ENODEV, event->offset,
                            "there is no PMU \"%s\": " REASON_NO_PMU "; " REASON_NO_PMU_REMEDY, event->pmu);
    for (size_t i = 0; i < machine->n_pmus; i++)
        if (!machine->pmus[i]->absent)
            suggest_consider(&suggest, machine->pmus[i]->name);
    return error_set_at(error, -ENODEV, event->offset, "there is no PMU \"%s\" on this machine%s", event->pmu,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

#define CACHE_NAMES_MAX 64

/* Returns an error if the only sysfs file of that name is garbled, otherwise 0. */
static int attr_defect(const struct machine *machine, const struct event *event, struct error *error)
{
    for (size_t i = 0; i < machine->n_pmus; i++) {
        const struct pmu *pmu = machine->pmus[i];
        const char *reason = defects_find(&pmu->defects, event->name);
        if (reason)
            return error_set_at(error, -EINVAL, event->offset, "\"%s\" of PMU \"%s\" cannot be used: %s", event->name,
                                pmu->name, reason);
    }
    return 0;
}

static int attr_no_event(const struct machine *machine, const struct event *event, struct error *error)
{
    struct suggest suggest = {.wrong = event->name};
    char caches[CACHE_NAMES_MAX][40], nearest[256];
    uint64_t config;

    int r = attr_defect(machine, event, error);
    if (r == 0)
        r = pfm_explain(machine, event->name, event->offset, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n_generic_events; i++) {
        suggest_consider(&suggest, generic_events[i].name);
        for (size_t k = 0; k < ARRAY_SIZE(generic_events[i].aliases) && generic_events[i].aliases[k]; k++)
            suggest_consider(&suggest, generic_events[i].aliases[k]);
    }
    for (size_t i = 0; i < CACHE_NAMES_MAX && generic_find_cache(i, caches[i], sizeof(caches[i]), &config); i++)
        suggest_consider(&suggest, caches[i]);
    for (size_t i = 0; i < machine->n_pmus; i++)
        for (size_t k = 0; k < machine->pmus[i]->n_events; k++)
            suggest_consider(&suggest, machine->pmus[i]->events[k].name);
    pfm_suggest(machine, &suggest);
    return error_set_at(error, -ENOENT, event->offset, "there is no event \"%s\"%s", event->name,
                        suggest_format(&suggest, nearest, sizeof(nearest)));
}

/* Builds the event on each PMU for which sysfs or libpfm4 knows the name. */
static int attr_check_name(struct sys *sys, const struct machine *machine, const struct event *event,
                           struct error *error)
{
    struct attr attr;
    bool found = false, in_sysfs = is_in_sysfs(machine, event->name);
    struct pfm_words words;

    for (size_t i = 0; i < machine->n_pmus; i++) {
        if (in_sysfs ? !pmu_find_event(machine->pmus[i], event->name)
                     : pfm_encode(machine->pmus[i], event->name, &words) < 0)
            continue;
        int r = attr_build(sys, machine, event, machine->pmus[i], &attr, error);
        if (r < 0 && (in_sysfs || r != -ENOENT))
            return r;
        found = true; /* also after -ENOENT, since a CPU may lack events that libpfm4 lists for its model */
    }
    return found ? 0 : attr_no_event(machine, event, error);
}

int attr_check(struct sys *sys, const struct machine *machine, const struct event *event, struct error *error)
{
    const struct pmu *pmu = NULL;
    struct attr attr;

    switch (event->kind) {
    case EVENT_GENERIC:
    case EVENT_RAW:
        return 0;
    case EVENT_NAME:
        return attr_check_name(sys, machine, event, error);
    case EVENT_TRACEPOINT:
        pmu = machine_find_pmu(machine, "tracepoint");
        break;
    case EVENT_BREAKPOINT:
        pmu = machine_find_pmu(machine, "breakpoint");
        break;
    case EVENT_PMU:
        pmu = attr_find_named(machine, event, ANY_CPU);
        break;
    }
    if (!pmu)
        return attr_no_pmu(machine, event, error);
    return attr_build(sys, machine, event, pmu, &attr, error);
}

/* The error says whether the system or the event is unknown, with the nearest names. */
static int attr_no_tracepoint(struct sys *sys, const struct machine *machine, const struct event *event,
                              struct error *error)
{
    struct suggest names = {.wrong = event->name}, systems = {.wrong = event->system};
    _cleanup_(freep) char *text = NULL;
    bool has_system = false;
    char nearest[256], *line;

    if (machine_list_tracepoints(sys, machine, &text) < 0)
        text = NULL;
    for (char *next = text; (line = strsep(&next, "\n"));) {
        const char *system = strsep(&line, ":");
        if (!line)
            continue;
        suggest_consider(&systems, system);
        if (!str_equal(system, event->system))
            continue;
        suggest_consider(&names, line);
        has_system = true;
    }
    const struct suggest *suggest = has_system ? &names : &systems;
    suggest_format(suggest, nearest, sizeof(nearest));
    return error_set_at(error, -ENOENT, event->offset, "there is no tracepoint %s \"%s\"%s",
                        has_system ? "event" : "system", suggest->wrong, nearest);
}

static int read_tracepoint(struct sys *sys, const struct machine *machine, const struct event *event, uint64_t *ret_id,
                           struct error *error)
{
    _cleanup_(freep) char *text = NULL;

    if (!machine->tracefs)
        return error_set_at(error, -ENOENT, event->offset,
                            "tracepoints need tracefs, which is not mounted: sudo mount -t tracefs tracefs "
                            "/sys/kernel/tracing");
    int r = sys_read_filef(sys, &text, "%s/events/%s/%s/id", machine->tracefs, event->system, event->name);
    if (r == -ENOENT)
        return attr_no_tracepoint(sys, machine, event, error);
    if (r == -EACCES || r == -EPERM)
        return error_set_at(
            error, r, event->offset,
            "no permission to read the id of tracepoint %s:%s below %s: run perfcountd with sudo, grant "
            "CAP_DAC_READ_SEARCH, or let its group in (sudo mount -o remount,gid=GROUP,mode=750 %s)",
            event->system, event->name, machine->tracefs, machine->tracefs);
    if (r < 0)
        return error_set_at(error, r, event->offset, "the id of tracepoint %s:%s cannot be read below %s: %s",
                            event->system, event->name, machine->tracefs, strerror(-r));
    r = number_parse_u64(text, ret_id);
    return r < 0 ? error_set_at(error, -EINVAL, event->offset, "the id of tracepoint %s:%s is not a number",
                                event->system, event->name)
                 : 0;
}

static int attr_put_words(const struct event *event, const struct attr_words *words, struct attr *attr,
                          struct error *error)
{
    attr->kernel.config1 = words->words[1];
    attr->kernel.config2 = words->words[2];
    if (words->words[3] && sizeof(attr->kernel) < PERF_ATTR_SIZE_VER8)
        return error_set_at(
            error, -EINVAL, event->offset,
            "\"%s\" needs config3, which this perfcountd lacks: build it with headers from Linux 6.3 or newer",
            event->text);
    if (words->words[3])
        memcpy((char *)&attr->kernel + PERF_ATTR_SIZE_VER7, &words->words[3], sizeof(uint64_t));
    return 0;
}

/*
 * Without an extended type, the kernel chooses a PMU that covers the CPU. If the kernel supports extended types, the
 * PMU's type is put into config, so that the kernel cannot choose another PMU.
 */
static void put_generic(const struct event *event, struct attr *attr)
{
    attr->kernel.type = event->type;
    if (attr->pmu->extended && event->type != PERF_TYPE_SOFTWARE)
        attr->kernel.config |= (uint64_t)attr->pmu->type << PERF_PMU_TYPE_SHIFT;
    if (event->generic && event->generic->clock) {
        attr->scale = 1e-9;
        attr->unit = "seconds";
    }
}

/*
 * Whether the term is a generic event on a core PMU that does not list it in sysfs: "cpu_core/cycles/",
 * "cpu/LLC-loads/".
 */
static bool is_generic_of_core(const struct event *event, const struct pmu *pmu, struct event *ret)
{
    const struct event_term *term = event->terms;

    if (event->n_terms != 1 || term->text || pmu->scope != PMU_CORE || pmu_find_event(pmu, term->name) ||
        pmu_find_format(pmu, term->name) || defects_find(&pmu->defects, term->name))
        return false;
    *ret = (struct event){.generic = generic_find(term->name, strlen(term->name)), .type = PERF_TYPE_HW_CACHE};
    if (!ret->generic)
        return generic_parse_cache(term->name, strlen(term->name), &ret->config);
    ret->type = ret->generic->type;
    ret->config = ret->generic->config;
    return ret->type == PERF_TYPE_HARDWARE;
}

static int put_pmu_event(const struct event *event, struct attr *attr, struct error *error)
{
    struct attr_words words;
    struct event generic;

    if (event->kind == EVENT_PMU && is_generic_of_core(event, attr->pmu, &generic)) {
        attr->kernel.config = generic.config;
        put_generic(&generic, attr);
        return 0;
    }
    int r = attr_words_build(event, attr->pmu, &words, error);
    if (r < 0)
        return r;
    attr->kernel.config = words.words[0];
    attr->text = words.text;
    attr->scale = words.scale;
    attr->unit = words.unit;
    return attr_put_words(event, &words, attr, error);
}

/* Sets config1 to config3 of "cycles/config1=1/". The parser has refused any other term. */
static int put_own_terms(const struct event *event, struct attr *attr, struct error *error)
{
    struct attr_words words = {0};

    for (size_t i = 0; i < event->n_terms; i++)
        words.words[event->terms[i].name[strlen("config")] - '0'] = event->terms[i].value;
    return event->n_terms > 0 ? attr_put_words(event, &words, attr, error) : 0;
}

/*
 * An event with none of the modifiers u, k and h counts in user mode, kernel and hypervisor; one with neither G nor H
 * counts guest and host. Support for exclude_idle in Linux 6.12: drivers/perf/arm_pmuv3.c refuses it, arch/x86/events
 * ignores it, perf_swevent_hrtimer() honours it.
 */
static void put_modifiers(const struct event *event, struct perf_event_attr *attr)
{
    unsigned m = event->modifiers;

    if (m & (EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR)) {
        attr->exclude_user = !(m & EVENT_USER);
        attr->exclude_kernel = !(m & EVENT_KERNEL);
        attr->exclude_hv = !(m & EVENT_HYPERVISOR);
    }
    if (m & (EVENT_GUEST | EVENT_HOST)) {
        attr->exclude_guest = !(m & EVENT_GUEST);
        attr->exclude_host = !(m & EVENT_HOST);
    }
    attr->exclude_idle = !!(m & EVENT_NO_IDLE);
    attr->pinned = !!(m & EVENT_PINNED);
    attr->exclusive = !!(m & EVENT_EXCLUSIVE);
    attr->precise_ip = event->precise & 3;
}

static void put_breakpoint(const struct event_breakpoint *breakpoint, struct perf_event_attr *attr)
{
    attr->bp_type = breakpoint->access;
    attr->bp_addr = breakpoint->address;
    attr->bp_len = breakpoint->length;
}

static int check_breakpoint(const struct event *event, const struct attr *attr, struct error *error)
{
    if (pmu_kind(attr->pmu->name) != PMU_BREAKPOINT || breakpoint_is_in_user_memory(&attr->kernel))
        return 0;
    return error_set_at(error, -EINVAL, event->offset,
                        "\"%s\" would watch kernel memory, which is not supported; give an address in a program%s",
                        event->text, sizeof(void *) == 8 ? "" : ", and the modifier u");
}

int attr_build(struct sys *sys, const struct machine *machine, const struct event *event, const struct pmu *pmu,
               struct attr *ret, struct error *error)
{
    struct attr attr = {.pmu = pmu, .scale = 1, .unit = ""};
    uint64_t id = 0;
    int r = 0;

    attr.kernel.size = sizeof(attr.kernel);
    attr.kernel.type = pmu->type;
    attr.kernel.config = event->config;
    switch (event->kind) {
    case EVENT_GENERIC:
        put_generic(event, &attr);
        r = put_own_terms(event, &attr, error);
        break;
    case EVENT_RAW:
        r = put_own_terms(event, &attr, error);
        break;
    case EVENT_BREAKPOINT:
        put_breakpoint(&event->breakpoint, &attr.kernel);
        break;
    case EVENT_TRACEPOINT:
        r = read_tracepoint(sys, machine, event, &id, error);
        attr.kernel.config = id;
        break;
    case EVENT_PMU:
    case EVENT_NAME:
        r = put_pmu_event(event, &attr, error);
        break;
    }
    if (r < 0)
        return r;
    put_modifiers(event, &attr.kernel);
    r = check_breakpoint(event, &attr, error);
    if (r == 0)
        *ret = attr;
    return r;
}
