/* SPDX-License-Identifier: Apache-2.0 */
/* Metric names by the rules of doc/perfcountd.yaml.5, "METRIC NAMES", and help texts. See name.h. */
#include "perf/event/name.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "perf/event/generic.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_metric(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

char *event_metric_name(const char *text)
{
    /* Room for "event_", which stands before a digit or for nothing, and the NUL. */
    char *name = malloc(strlen(text) + sizeof("event_"));
    size_t size = 0, first = strlen("event_");

    if (!name)
        return NULL;
    for (; *text; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        c = is_metric(c) ? c : '_';
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
} words[] = {
    {EVENT_USER, "user", "user mode"},
    {EVENT_KERNEL, "kernel", "the kernel"},
    {EVENT_HYPERVISOR, "hypervisor", "the hypervisor"},
    {EVENT_GUEST, "guest", "guests"},
    {EVENT_HOST, "host", "the host"},
};

int event_name_modifiers(struct event *event)
{
    _cleanup_(buffer_done) struct buffer name = {0};

    buffer_append_text(&name, event->metric);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (event->modifiers & words[i].modifier)
            buffer_appendf(&name, "_%s", words[i].word);
    char *text = buffer_string(&name);
    if (!text)
        return -ENOMEM;
    free(event->metric);
    event->metric = text;
    return 0;
}

/* What the terms say, "event=0x3c,umask=0x1"; a single event's name alone. */
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

int event_name_base(struct event *event)
{
    _cleanup_(freep) char *text = NULL;
    const char *colons;

    switch (event->kind) {
    case EVENT_GENERIC: /* a cache event has its name from its parser */
        if (!event->metric)
            event->metric = strdup(event->generic->metric);
        return event->metric ? 0 : -ENOMEM;
    case EVENT_PMU:
        text = terms_text(event);
        break;
    case EVENT_TRACEPOINT:
        if (asprintf(&text, "%s_%s", event->system, event->name) < 0)
            return -ENOMEM;
        break;
    case EVENT_RAW:
    case EVENT_BREAKPOINT:
    case EVENT_NAME: /* "PMU::EVENT" is called as the event */
        colons = strstr(event->name, "::");
        text = strdup(colons ? colons + 2 : event->name);
        break;
    }
    if (!text)
        return -ENOMEM;
    event->metric = event_metric_name(text);
    return event->metric ? 0 : -ENOMEM;
}

int event_set_metric(struct event *event, const char *name, struct error *error)
{
    bool valid = name[0] && !is_digit(name[0]);

    for (const char *c = name; *c && valid; c++)
        valid = is_metric(*c) || (*c >= 'A' && *c <= 'Z');
    if (!valid)
        return error_set(
            error, -EINVAL,
            "\"%s\" is no name for a metric, which has letters, digits and \"_\" and does not start with a digit",
            name);
    char *copy = strdup(name);
    if (!copy)
        return error_oom(error);
    free(event->metric);
    event->metric = copy;
    return 0;
}

/* By its canonical name, since its aliases have one metric. */
static void append_cache(struct buffer *help, uint64_t config)
{
    uint64_t other;
    char name[64];

    for (size_t n = 0; generic_cache_name(n, name, sizeof(name), &other); n++)
        if (other == config)
            buffer_appendf(help, "Cache event %s", name);
}

/* Without full stop. The same event must get the same text whatever PMU counts it: one metric has one help. */
static void append_what(struct buffer *help, const struct event *event)
{
    switch (event->kind) {
    case EVENT_GENERIC:
        if (event->generic)
            buffer_append(help, event->generic->help, strlen(event->generic->help) - 1);
        else
            append_cache(help, event->config);
        return;
    case EVENT_RAW:
        buffer_appendf(help, "Raw event %s", event->name);
        return;
    case EVENT_TRACEPOINT:
        buffer_appendf(help, "Passes of the tracepoint %s:%s", event->system, event->name);
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
    buffer_appendf(help, "Event %s, as its PMU defines it", terms ? terms : "");
}

char *event_help(const struct event *event)
{
    _cleanup_(buffer_done) struct buffer help = {0};
    unsigned named = 0;

    append_what(&help, event);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (event->modifiers & words[i].modifier)
            buffer_appendf(&help, "%s%s", named++ ? " and " : ", in ", words[i].help);
    buffer_append_char(&help, '.');
    return buffer_string(&help);
}
