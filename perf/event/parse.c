/* SPDX-License-Identifier: Apache-2.0 */
/* perf's event syntax: the kinds of event, and groups. See parse.h. */
#include "perf/event/parse.h"

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/event/breakpoint.h"
#include "perf/event/cursor.h"
#include "perf/event/generic.h"
#include "perf/event/numeric.h"
#include "perf/event/term.h"

#define TEXT_MAX 65536
#define EVENTS_MAX 64

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

static int check_term(const struct event *event, const struct event_term *term, struct error *error)
{
    return event->kind == EVENT_PMU ? event_term_check(event->pmu, term, error)
                                    : event_term_check_word(event, term, error);
}

/* Parses the terms between the slashes, and the second slash. */
static int parse_terms(struct event_cursor *cursor, struct event *event, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    int r = event_terms_parse(cursor, &terms, error);
    for (size_t i = 0; r == 0 && i < terms.n;) {
        bool name = str_equal(terms.terms[i].name, "name");
        r = name ? take_metric_name(event, &terms, i, error) : check_term(event, &terms.terms[i++], error);
    }
    if (r < 0)
        return r;
    if (!cursor_take(cursor, '/'))
        return cursor_set_error(cursor, "a comma or a slash", error);
    event->terms = steal(terms.terms);
    event->n_terms = terms.n;
    terms.n = 0;
    return 0;
}

/* The size of the name of a tracepoint or its system that starts here: [a-z0-9_]+, not only digits ("9p"). */
static size_t tracepoint_name_size(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return strspn(text, "0123456789") < size ? size : 0;
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
    return name_size && !cursor_is_modifiers(name, name_size);
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

/* Whether the name before a slash is a PMU's: the kernel's names of events come first, as perf has it. */
static bool is_pmu(const char *word, size_t size)
{
    uint64_t config;

    return !generic_find(word, size) && !generic_parse_cache(word, size, &config) &&
           generic_parse_raw(word, size, &config) == -EINVAL;
}

static int parse_pmu(struct event_cursor *cursor, size_t size, struct event *event, struct error *error)
{
    int r = copy_name(&event->pmu, cursor->text + cursor->at, size, error);

    event->kind = EVENT_PMU;
    cursor->at += size + 1;
    return r < 0 ? r : parse_terms(cursor, event, error);
}

/* Parses an event without a PMU, which begins with a word of `size` characters. */
static int parse_word(struct event_cursor *cursor, size_t size, struct event *event, struct error *error)
{
    const char *word = cursor->text + cursor->at;
    int raw = generic_parse_raw(word, size, &event->config);

    if (raw == -ERANGE)
        return error_set_at(error, -EINVAL, cursor->at, "a raw event has at most 16 digits");
    if (find_generic(word, size, event)) {
        event->kind = EVENT_GENERIC;
    } else if (raw == 0) {
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
        size = cursor_pfm_name_size(word, size);
    }
    cursor->at += size;
    return copy_name(&event->name, word, size, error);
}

/* A clock counts time whatever the CPU does: the kernel takes these modifiers and ignores them. */
static int check_clock(const struct event *event, unsigned modifiers, bool samples, size_t offset, struct error *error)
{
    const unsigned never = EVENT_HYPERVISOR | EVENT_GUEST | EVENT_HOST;
    const unsigned ignored = samples ? never : never | EVENT_USER | EVENT_KERNEL | EVENT_NO_IDLE;

    if (!(modifiers & ignored))
        return 0;
    if (samples)
        return error_set_at(error, -EINVAL, offset, "the modifiers h, G and H do nothing on %s", event->generic->name);
    return error_set_at(error, -EINVAL, offset,
                        "%s counts time whatever the CPU does: the modifiers u, k, h, G, H and I do nothing on it",
                        event->generic->name);
}

/* Events of the kernel itself happen in the idle task as well: exclude_idle is for hardware, and for clocks that sample
 * (kernel/events/core.c of 6.12, perf_swevent_hrtimer()). */
static int check_modifiers(const struct event *event, unsigned modifiers, bool samples, size_t offset,
                           struct error *error)
{
    bool software = event->kind == EVENT_GENERIC && event->type == PERF_TYPE_SOFTWARE;

    if (event->generic && event->generic->clock)
        return check_clock(event, modifiers, samples, offset, error);
    if ((modifiers & EVENT_NO_IDLE) && (software || event->kind == EVENT_TRACEPOINT || event->kind == EVENT_BREAKPOINT))
        return error_set_at(error, -EINVAL, offset, "the modifier I does nothing on \"%s\": it is for hardware events",
                            event->name);
    return 0;
}

static int parse_modifiers(struct event_cursor *cursor, struct event *event, struct error *error)
{
    bool slash = cursor->at > event->offset && cursor->text[cursor->at - 1] == '/';
    char c = cursor_peek(cursor);

    if (!cursor_take(cursor, ':') && !(slash && c && !strchr(",{} \t\r\n", c)))
        return 0;
    size_t offset = cursor->at;
    int r = cursor_parse_modifiers(cursor, &event->modifiers, &event->precise, error);
    return r < 0 ? r : check_modifiers(event, event->modifiers, cursor->samples, offset, error);
}

static int parse_kind(struct event_cursor *cursor, struct event *event, struct error *error)
{
    const char *start = cursor->text + cursor->at;
    size_t size = cursor_name(cursor);

    if (breakpoint_starts_here(cursor))
        return breakpoint_parse(cursor, event, error);
    if (numeric_starts_here(cursor))
        return numeric_parse(cursor, event, error);
    if (size == 0 || start[0] == '-' || start[0] == '.')
        return cursor_set_error(cursor, "an event", error);
    if (start[size] == '/' && is_pmu(start, size))
        return parse_pmu(cursor, size, event, error);
    return parse_word(cursor, size, event, error);
}

/* Parses "/name=x/" behind an event without a PMU; there may be no terms, "cycles//". */
static int parse_own_terms(struct event_cursor *cursor, struct event *event, struct error *error)
{
    if (event->kind == EVENT_PMU || event->kind == EVENT_NAME || !cursor_take(cursor, '/'))
        return 0;
    return cursor_take(cursor, '/') ? 0 : parse_terms(cursor, event, error);
}

static int parse_event_here(struct event_cursor *cursor, struct event *ret, struct error *error)
{
    _cleanup_(event_done) struct event event = {.offset = cursor->at};
    const char *start = cursor->text + cursor->at;

    int r = parse_kind(cursor, &event, error);
    if (r == 0)
        r = parse_own_terms(cursor, &event, error);
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

static int only_one_group(const struct event_cursor *cursor, struct error *error)
{
    return error_set_at(error, -EINVAL, cursor->at,
                        "only one group can stand here: write all events inside one pair of braces, or %s",
                        cursor->is_stream ? "sample the others in a stream of their own"
                                          : "write one more entry in the list \"groups\"");
}

/* Up to a closing brace or the end. */
static int parse_events_here(struct event_cursor *cursor, struct event_list *list, bool braces, struct error *error)
{
    do {
        cursor_skip_space(cursor);
        if (cursor_peek(cursor) == '{')
            return braces ? error_set_at(error, -EINVAL, cursor->at, "groups do not nest")
                          : only_one_group(cursor, error);
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

static int parse_group_modifiers(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    unsigned precise = 0;

    if (!cursor_take(cursor, ':'))
        return 0;
    size_t offset = cursor->at;
    int r = cursor_parse_modifiers(cursor, &list->modifiers, &precise, error);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct event *event = &list->events[i];
        r = check_modifiers(event, list->modifiers, cursor->is_stream && i == 0, offset, error);
        event->modifiers |= list->modifiers;
        event->precise = MIN(event->precise + precise, 3u);
    }
    return r;
}

static int parse_braces(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    int r = parse_events_here(cursor, list, true, error);
    if (r < 0)
        return r;
    if (!cursor_take(cursor, '}'))
        return cursor_set_error(cursor, "a comma or \"}\"", error);
    return parse_group_modifiers(cursor, list, error);
}

static int check_text_size(const char *text, struct error *error)
{
    if (strnlen(text, TEXT_MAX + 1) > TEXT_MAX)
        return error_set_at(error, -EINVAL, TEXT_MAX, "the text of a group has at most %d characters", TEXT_MAX);
    return 0;
}

/* Nothing may follow a group: neither another one, nor an event behind a comma. */
static int check_end(struct event_cursor *cursor, struct error *error)
{
    cursor_skip_space(cursor);
    struct event_cursor ahead = *cursor;
    bool comma = cursor_take(&ahead, ',');
    cursor_skip_space(&ahead);
    if (cursor_peek(&ahead) == '{' || (comma && cursor_name(&ahead) > 0))
        return only_one_group(&ahead, error);
    return cursor_peek(cursor) ? cursor_set_error(cursor, "the end", error) : 0;
}

/* perf's "name{cycles,instructions}". */
static int check_group_name(const struct event_cursor *cursor, struct error *error)
{
    if (cursor->text[cursor->at + cursor_name(cursor)] != '{' || cursor_peek(cursor) == '{')
        return 0;
    return error_set_at(error, -EINVAL, cursor->at, "a group has no name here: leave out \"%.*s\" before the brace",
                        (int)MIN(cursor_name(cursor), (size_t)64), cursor->text + cursor->at);
}

static int parse_group(struct event_cursor *cursor, struct event_list *list, struct error *error)
{
    cursor_skip_space(cursor);
    int r = check_group_name(cursor, error);
    if (r < 0)
        return r;
    r = cursor_take(cursor, '{') ? parse_braces(cursor, list, error) : parse_events_here(cursor, list, false, error);
    return r < 0 ? r : check_end(cursor, error);
}

static int parse_list(const char *text, bool samples, struct event_list *ret, struct error *error)
{
    _cleanup_(event_list_done) struct event_list list = {0};
    struct event_cursor cursor = {.text = text, .samples = samples, .is_stream = samples};

    int r = check_text_size(text, error);
    if (r == 0)
        r = parse_group(&cursor, &list, error);
    for (size_t i = 0; r == 0 && i < list.n; i++)
        if (event_build_metric(&list.events[i]) < 0)
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
    if (cursor_peek(&cursor) == '{')
        return error_set_at(error, -EINVAL, cursor.at, "one event stands here: leave out the braces");
    r = parse_event_here(&cursor, &event, error);
    if (r < 0)
        return r;
    cursor_skip_space(&cursor);
    if (cursor_peek(&cursor) == ',')
        return error_set_at(error, -EINVAL, cursor.at,
                            "only one event can stand here: write one more entry in the list");
    if (cursor_peek(&cursor))
        return cursor_set_error(&cursor, "the end", error);
    if (event_build_metric(&event) < 0)
        return error_oom(error);
    *ret = event;
    event = (struct event){0};
    return 0;
}
