/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/event.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/generic-events.h"

/* --- Kinds of PMU --- */

/* Sources: kernel/events/core.c, kernel/events/hw_breakpoint.c, and the drivers with setup_aux(). */
static const struct {
    const char *name;
    bool prefix; /* the driver appends a number to the name */
    enum pmu_kind kind;
} kinds[] = {
    {"tracepoint", false, PMU_TRACEPOINT}, {"kprobe", false, PMU_PROBE},     {"uprobe", false, PMU_PROBE},
    {"breakpoint", false, PMU_BREAKPOINT}, {"intel_pt", true, PMU_TRACING},  {"intel_bts", true, PMU_TRACING},
    {"arm_spe", true, PMU_TRACING},        {"cs_etm", true, PMU_TRACING},    {"hisi_ptt", true, PMU_TRACING},
    {"arm_trbe", true, PMU_TRACING},       {"coresight", true, PMU_TRACING},
};

enum pmu_kind pmu_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].prefix ? str_starts(name, kinds[i].name) : str_equal(name, kinds[i].name))
            return kinds[i].kind;
    return PMU_COUNTING;
}

/* --- Metric names and help --- */

#define CACHE_NAME_SIZE 64

void event_term_done(struct event_term *term)
{
    free(term->name);
    free(term->text);
    *term = (struct event_term){0};
}

void event_done(struct event *event)
{
    for (size_t i = 0; i < event->n_terms; i++)
        event_term_done(&event->terms[i]);
    free(event->terms);
    free(event->text);
    free(event->pmu);
    free(event->system);
    free(event->name);
    free(event->metric);
    *event = (struct event){0};
}

void event_list_done(struct event_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        event_done(&list->events[i]);
    free(list->events);
    free(list->name);
    free(list->text);
    *list = (struct event_list){0};
}

void event_groups_done(struct event_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        event_list_done(&groups->groups[i]);
    free(groups->groups);
    *groups = (struct event_groups){0};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_metric_char(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

char *event_metric_name(const char *text)
{
    /* Room for the prefix "event_", which is added if the name is empty or begins with a digit, and for the NUL. */
    char *name = malloc(strlen(text) + sizeof("event_"));
    size_t size = 0, first = strlen("event_");

    if (!name)
        return NULL;
    for (; *text; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        c = is_metric_char(c) ? c : '_';
        if (c != '_' || (size && name[first + size - 1] != '_'))
            name[first + size++] = c;
    }
    while (size && name[first + size - 1] == '_')
        size--;
    if (size && !is_digit(name[first])) {
        memmove(name, name + first, size);
        name[size] = '\0';
        return name;
    }
    memcpy(name, "event_", first);
    name[size ? first + size : first - 1] = '\0';
    return name;
}

static const struct {
    enum event_modifier modifier;
    const char *word, *help;
} modifier_words[] = {
    {EVENT_USER, "user", "user mode"},
    {EVENT_KERNEL, "kernel", "the kernel"},
    {EVENT_HYPERVISOR, "hypervisor", "the hypervisor"},
    {EVENT_GUEST, "guest", "guests"},
    {EVENT_HOST, "host", "the host"},
};

/* On a clock, the kernel ignores the hypervisor, guest and host modifiers. */
static unsigned effective_modifiers(const struct event *event)
{
    bool clock = event->generic && event->generic->clock;

    return clock ? event->modifiers & ~EVENT_IGNORED_ON_CLOCKS : event->modifiers;
}

bool event_has_ignored_modifiers(const struct event *event)
{
    return effective_modifiers(event) != event->modifiers;
}

/* Joins the terms with commas: "event=0x3c,umask=0x1". For a single named event, the result is its name. */
static char *terms_text(const struct event *event)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < event->n_terms; i++) {
        buffer_appendf(&text, "%s%s", i ? "," : "", event->terms[i].name);
        if (event->terms[i].text)
            buffer_appendf(&text, "=%s", event->terms[i].text);
    }
    return buffer_string(&text);
}

/* Returns the text from which the metric name is made, without modifiers, or NULL when out of memory. */
static char *metric_source(const struct event *event)
{
    char cache[CACHE_NAME_SIZE], *text;
    const char *colons;

    switch (event->kind) {
    case EVENT_GENERIC:
        if (event->generic)
            return strdup(event->generic->metric);
        generic_format_cache(event->config, cache, sizeof(cache));
        return strdup(cache);
    case EVENT_PMU:
        return terms_text(event);
    case EVENT_TRACEPOINT:
        return asprintf(&text, "%s_%s", event->system, event->name) < 0 ? NULL : text;
    case EVENT_RAW:
    case EVENT_BREAKPOINT:
    case EVENT_NAME: /* only EVENT of "PMU::EVENT" is used */
        break;
    }
    colons = strstr(event->name, "::");
    return strdup(colons ? colons + 2 : event->name);
}

/* "cycles" with the term config1=1 becomes "cycles_config1_1". The name of an EVENT_PMU already contains its terms. */
static int append_own_terms(struct buffer *name, const struct event *event)
{
    if (event->kind == EVENT_PMU || event->n_terms == 0)
        return 0;
    _cleanup_(freep) char *text = terms_text(event);
    _cleanup_(freep) char *terms = text ? event_metric_name(text) : NULL;
    if (!terms)
        return -ENOMEM;
    buffer_appendf(name, "_%s", terms);
    return 0;
}

int event_build_metric(struct event *event)
{
    _cleanup_(buffer_done) struct buffer name = {0};

    if (event->metric)
        return 0;
    _cleanup_(freep) char *source = metric_source(event);
    _cleanup_(freep) char *metric = source ? event_metric_name(source) : NULL;
    if (!metric)
        return -ENOMEM;
    buffer_append_text(&name, metric);
    if (append_own_terms(&name, event) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(modifier_words); i++)
        if (effective_modifiers(event) & modifier_words[i].modifier)
            buffer_appendf(&name, "_%s", modifier_words[i].word);
    event->metric = buffer_string(&name);
    return event->metric ? 0 : -ENOMEM;
}

const char *event_unit_suffix(const struct event *event, const char *unit)
{
    size_t size = strlen(event->metric), unit_size = strlen(unit);
    bool has = unit_size <= size && str_equal(event->metric + size - unit_size, unit) &&
               (unit_size == size || event->metric[size - unit_size - 1] == '_');

    return has ? "" : unit;
}

int event_set_metric(struct event *event, const char *name, struct error *error)
{
    bool valid = name[0] && !is_digit(name[0]);

    for (const char *c = name; *c && valid; c++)
        valid = is_metric_char(*c) || (*c >= 'A' && *c <= 'Z');
    if (!valid)
        return error_set(
            error, -EINVAL,
            "\"%s\" is not a valid metric name: use letters, digits and \"_\", and do not start with a digit", name);
    char *copy = strdup(name);
    if (!copy)
        return error_oom(error);
    free(event->metric);
    event->metric = copy;
    return 0;
}

/*
 * Does not end with a full stop. A metric has one HELP text, so the same event must get the same text whatever PMU
 * counts it; a cache event therefore appears under its canonical name.
 */
static void append_description(struct buffer *help, const struct event *event)
{
    char cache[CACHE_NAME_SIZE];

    switch (event->kind) {
    case EVENT_GENERIC:
        if (event->generic) {
            buffer_append(help, event->generic->help, strlen(event->generic->help) - 1);
            return;
        }
        generic_format_cache(event->config, cache, sizeof(cache));
        buffer_appendf(help, "Cache event %s", cache);
        return;
    case EVENT_RAW:
        buffer_appendf(help, "Raw event %s", event->name);
        return;
    case EVENT_TRACEPOINT:
        buffer_appendf(help, "Hits of the tracepoint %s:%s", event->system, event->name);
        return;
    case EVENT_BREAKPOINT:
        buffer_appendf(help, "Accesses to memory at %s", event->name);
        return;
    case EVENT_NAME:
        buffer_appendf(help, "Event %s, as its PMU defines it", event->name);
        return;
    case EVENT_PMU:
        break;
    }
    _cleanup_(freep) char *terms = terms_text(event);
    if (terms)
        buffer_appendf(help, "Event %s, as its PMU defines it", terms);
    else
        help->failed = true;
}

char *event_help(const struct event *event)
{
    _cleanup_(buffer_done) struct buffer help = {0};
    unsigned named = 0;

    append_description(&help, event);
    for (size_t i = 0; i < ARRAY_SIZE(modifier_words); i++)
        if (effective_modifiers(event) & modifier_words[i].modifier)
            buffer_appendf(&help, "%s%s", named++ ? " and " : ", in ", modifier_words[i].help);
    buffer_append_char(&help, '.');
    return buffer_string(&help);
}
