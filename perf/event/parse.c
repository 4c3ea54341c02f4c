/* SPDX-License-Identifier: Apache-2.0 */
/* perf's event syntax: the kinds of event, and groups. See parse.h. */
#include "perf/event/parse.h"

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/event/breakpoint.h"
#include "perf/event/cursor.h"
#include "perf/event/generic.h"
#include "perf/event/term.h"

#define TEXT_MAX 65536
#define EVENTS_MAX 64
#define RAW_DIGITS_MAX 16

/* Removes `name=` from the terms, since it is the metric's name, which is made valid if it is not. */
static int take_metric_name(struct event *event, struct event_terms *terms, size_t i, struct error *error)
{
    struct event_term *term = &terms->terms[i];

    if (!term->text)
        return error_set_at(error, -EINVAL, term->offset, "the term \"name\" needs a value");
    if (event_set_metric(event, term->text, NULL) < 0) {
        _cleanup_(freep) char *metric = event_metric_name(term->text);
        if (!metric || event_set_metric(event, metric, NULL) < 0)
            return error_oom(error);
    }
    event_term_done(term);
    memmove(term, term + 1, (terms->n - i - 1) * sizeof(*term));
    terms->n--;
    return 0;
}

/* Parses the terms between the slashes, and the second slash. */
static int parse_terms(struct event_cursor *cursor, struct event *event, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    int r = event_terms_parse(cursor, &terms, error);
    for (size_t i = 0; r == 0 && i < terms.n;) {
        bool name = str_equal(terms.terms[i].name, "name");
        r = name ? take_metric_name(event, &terms, i, error) : event_term_check(event->pmu, &terms.terms[i++], error);
    }
    if (r < 0)
        return r;
    if (!cursor_take(cursor, '/'))
        return cursor_unexpected(cursor, "a comma or a slash", error);
    event->kind = EVENT_PMU;
    event->terms = steal(terms.terms);
    event->n_terms = terms.n;
    terms.n = 0;
    return 0;
}

static bool is_hex(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr("0123456789abcdefABCDEF", text[i]))
            return false;
    return size > 0;
}

/* The size of the name of a tracepoint or its system that starts here: [a-z_][a-z0-9_]*. */
static size_t tracepoint_name_size(const char *text)
{
    size_t size = 0;

    while ((text[size] >= 'a' && text[size] <= 'z') || text[size] == '_' ||
           (size && text[size] >= '0' && text[size] <= '9'))
        size++;
    return size;
}

static int copy_name(char **name, const char *text, size_t size, struct error *error)
{
    *name = strndup(text, size);
    return *name ? 0 : error_oom(error);
}

/* Whether ":" and another word follow the word of `size` characters, unless the other word is modifiers. */
static bool is_tracepoint(const char *text, size_t size)
{
    const char *name = text + size + 1;

    if (text[size] != ':' || tracepoint_name_size(text) != size)
        return false;
    size_t name_size = tracepoint_name_size(name);
    return name_size && !modifiers_only(name, name_size);
}

static bool find_generic(const char *word, size_t size, struct event *event)
{
    event->generic = generic_find(word, size);
    if (event->generic) {
        event->type = event->generic->type;
        event->config = event->generic->config;
        return true;
    }
    if (!generic_parse_cache(word, size, &event->config))
        return false;
    event->type = PERF_TYPE_HW_CACHE;
    return true;
}

/* Parses an event without slashes, which begins with a word of `size` characters. */
static int parse_word(struct event_cursor *cursor, size_t size, struct event *event, struct error *error)
{
    const char *word = cursor->text + cursor->at;

    if (find_generic(word, size, event)) {
        event->kind = EVENT_GENERIC;
    } else if (word[0] == 'r' && is_hex(word + 1, size - 1)) {
        if (number_parse_hex_n(word + 1, size - 1, &event->config) < 0 || size - 1 > RAW_DIGITS_MAX)
            return error_set_at(error, -EINVAL, cursor->at, "a raw event has at most %d digits", RAW_DIGITS_MAX);
        event->kind = EVENT_RAW;
        event->type = PERF_TYPE_RAW;
    } else if (is_tracepoint(word, size)) {
        event->kind = EVENT_TRACEPOINT;
        event->type = PERF_TYPE_TRACEPOINT;
        int r = copy_name(&event->system, word, size, error);
        if (r < 0)
            return r;
        cursor->at += size + 1;
        word += size + 1;
        size = tracepoint_name_size(word);
    } else {
        event->kind = EVENT_NAME;
        size = colon_name_size(word, size);
    }
    cursor->at += size;
    return copy_name(&event->name, word, size, error);
}

/* A clock counts time whatever the CPU does: the kernel takes these modifiers and ignores them. */
static int check_clock(const struct event *event, unsigned modifiers, bool samples, size_t offset, struct error *error)
{
    const unsigned never = EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST;
    const unsigned ignored = samples ? never : never | EVENT_USER | EVENT_KERNEL;

    if (!event->generic || !event->generic->clock || !(modifiers & ignored))
        return 0;
    if (samples)
        return error_set_at(error, -EINVAL, offset, "the modifiers h, G and H do nothing on %s", event->generic->name);
    return error_set_at(error, -EINVAL, offset,
                        "%s counts time whatever the CPU does: the modifiers u, k, h, G and H do nothing on it",
                        event->generic->name);
}

static int parse_modifiers(struct event_cursor *cursor, struct event *event, struct error *error)
{
    bool slash = event->kind == EVENT_PMU;
    char c = cursor_peek(cursor);

    if (!cursor_take(cursor, ':') && !(slash && c && !strchr(",{} \t\r\n", c)))
        return 0;
    size_t offset = cursor->at;
    int r = modifiers_parse(cursor, &event->modifiers, &event->precise, error);
    return r < 0 ? r : check_clock(event, event->modifiers, cursor->samples, offset, error);
}

static int parse_event_here(struct event_cursor *cursor, struct event *ret, struct error *error)
{
    _cleanup_(event_done) struct event event = {.offset = cursor->at};
    const char *start = cursor->text + cursor->at;
    size_t size = cursor_name(cursor);
    int r;

    if (breakpoint_starts_here(cursor)) {
        r = breakpoint_parse(cursor, &event, error);
    } else if (size == 0 || start[0] == '-' || start[0] == '.') {
        return cursor_unexpected(cursor, "an event", error);
    } else if (start[size] == '/') {
        r = copy_name(&event.pmu, start, size, error);
        cursor->at += size + 1;
        if (r == 0)
            r = parse_terms(cursor, &event, error);
    } else {
        r = parse_word(cursor, size, &event, error);
    }
    if (r == 0)
        r = parse_modifiers(cursor, &event, error);
    if (r == 0)
        r = copy_name(&event.text, start, (size_t)(cursor->text + cursor->at - start), error);
    if (r < 0)
        return r;
    *ret = event;
    event = (struct event){0};
    return 0;
}

/* Up to a closing brace or the end. */
static int parse_events_here(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    do {
        cursor_skip_space(cursor);
        if (list->n == EVENTS_MAX)
            return error_set_at(error, -EINVAL, cursor->at, "a group has at most %d events", EVENTS_MAX);
        if (array_grow(&list->events, list->n) < 0)
            return error_oom(error);
        int r = parse_event_here(cursor, &list->events[list->n], error);
        if (r < 0)
            return r;
        list->n++;
        cursor->samples = false;
        cursor_skip_space(cursor);
    } while (cursor_take(cursor, ','));
    return 0;
}

/* `samples`: the first event is sampled. */
static int parse_group_modifiers(struct event_cursor *cursor, struct event_list *list, bool samples,
                                 struct error *error)
{
    unsigned precise = 0;

    if (!cursor_take(cursor, ':'))
        return 0;
    size_t offset = cursor->at;
    int r = modifiers_parse(cursor, &list->modifiers, &precise, error);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct event *event = &list->events[i];
        r = check_clock(event, list->modifiers, samples && i == 0, offset, error);
        event->modifiers |= list->modifiers;
        event->precise = MIN(event->precise + precise, 3u);
    }
    return r;
}

static int parse_braces(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    bool samples = cursor->samples;

    int r = parse_events_here(cursor, list, error);
    if (r < 0)
        return r;
    if (cursor_peek(cursor) == '{')
        return error_set_at(error, -EINVAL, cursor->at, "groups do not nest");
    if (!cursor_take(cursor, '}'))
        return cursor_unexpected(cursor, "a comma or \"}\"", error);
    return parse_group_modifiers(cursor, list, samples, error);
}

static int check_text_size(const char *text, struct error *error)
{
    if (strnlen(text, TEXT_MAX + 1) > TEXT_MAX)
        return error_set_at(error, -EINVAL, TEXT_MAX, "the text of a group has at most %d characters", TEXT_MAX);
    return 0;
}

/* Nothing may follow a group. */
static int check_end(struct event_cursor *cursor, struct error *error)
{
    struct event_cursor ahead = *cursor;

    cursor_skip_space(cursor);
    cursor_skip_space(&ahead);
    if (cursor_take(&ahead, ','))
        cursor_skip_space(&ahead);
    if (cursor_peek(&ahead) == '{')
        return error_set_at(error, -EINVAL, ahead.at, "only one group can stand here");
    if (cursor_peek(cursor))
        return cursor_unexpected(cursor, "the end", error);
    return 0;
}

static int parse_list(const char *text, bool samples, struct event_list *ret, struct error *error)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    struct event_cursor cursor = {.text = text, .samples = samples};

    int r = check_text_size(text, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    r = cursor_take(&cursor, '{') ? parse_braces(&cursor, &list, error) : parse_events_here(&cursor, &list, error);
    if (r == 0)
        r = check_end(&cursor, error);
    for (size_t i = 0; r == 0 && i < list.n; i++)
        if (event_make_metric(&list.events[i]) < 0)
            r = error_oom(error);
    if (r < 0)
        return r;
    *ret = list;
    list = (struct event_list){0};
    return 0;
}

int event_list_parse(const char *text, struct event_list *ret, struct error *error)
{
    return parse_list(text, false, ret, error);
}

int event_list_parse_sampled(const char *text, struct event_list *ret, struct error *error)
{
    return parse_list(text, true, ret, error);
}

int event_parse(const char *text, struct event *ret, struct error *error)
{
    _cleanup_(event_done) struct event event = {0};
    struct event_cursor cursor = {.text = text};

    int r = check_text_size(text, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    r = parse_event_here(&cursor, &event, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    if (cursor_peek(&cursor) == ',')
        return error_set_at(error, -EINVAL, cursor.at, "only one event can stand here");
    if (cursor_peek(&cursor))
        return cursor_unexpected(&cursor, "the end", error);
    if (event_make_metric(&event) < 0)
        return error_oom(error);
    *ret = event;
    event = (struct event){0};
    return 0;
}
