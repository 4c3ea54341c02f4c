/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/event-term.h"

#include <linux/perf_event.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/generic-events.h"

/* --- Names and modifiers --- */

void cursor_skip_space(struct event_cursor *cursor)
{
    while (cursor_peek(cursor) && strchr(" \t\r\n", cursor_peek(cursor)))
        cursor->at++;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

size_t cursor_name(const struct event_cursor *cursor)
{
    size_t size = 0;

    while (is_name_char(cursor->text[cursor->at + size]))
        size++;
    return size;
}

int cursor_set_error(const struct event_cursor *cursor, const char *expected, struct error *error)
{
    unsigned char c = (unsigned char)cursor_peek(cursor);

    if (c == '\0')
        return error_set_at(error, -EINVAL, cursor->at, "%s is missing at the end", expected);
    if (c < ' ' || c > '~')
        return error_set_at(error, -EINVAL, cursor->at, "%s is missing before the byte 0x%02x", expected, c);
    return error_set_at(error, -EINVAL, cursor->at, "%s is missing before \"%c\"", expected, c);
}

/* perf-list(1), "EVENT MODIFIERS", except p and P, which set a number. */
static const struct {
    char letter;
    enum event_modifier modifier;
} letters[] = {
    {'u', EVENT_USER},   {'k', EVENT_KERNEL}, {'h', EVENT_HYPERVISOR}, {'G', EVENT_GUEST},   {'H', EVENT_HOST},
    {'D', EVENT_PINNED}, {'W', EVENT_WEAK},   {'e', EVENT_EXCLUSIVE},  {'I', EVENT_NO_IDLE}, {'S', EVENT_SAMPLE_READ},
};

#define PRECISE_MAX 3

static unsigned find_modifier(char c)
{
    for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
        if (letters[i].letter == c)
            return letters[i].modifier;
    return 0;
}

bool cursor_is_modifiers(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!find_modifier(text[i]) && text[i] != 'p' && text[i] != 'P')
            return false;
    return size > 0;
}

static bool at_end(const struct event_cursor *cursor)
{
    return cursor_peek(cursor) == '\0' || strchr(",{} \t\r\n", cursor_peek(cursor));
}

static int unknown_modifier(const struct event_cursor *cursor, struct error *error)
{
    unsigned char c = (unsigned char)cursor_peek(cursor);
    char name[8] = {(char)c};

    if (c < ' ' || c > '~')
        snprintf(name, sizeof(name), "0x%02x", c);
    return error_set_at(error, -EINVAL, cursor->at,
                        "unknown modifier \"%s\"; known are u, k, h, G, H, I, p, P, S, D, W and e", name);
}

int cursor_parse_modifiers(struct event_cursor *cursor, unsigned *modifiers, unsigned *precise, struct error *error)
{
    unsigned seen = 0, p = 0;

    if (at_end(cursor))
        return cursor_set_error(cursor, "a modifier", error);
    for (; !at_end(cursor); cursor->at++) {
        char c = cursor_peek(cursor);
        unsigned modifier = find_modifier(c);
        if (!modifier && c != 'p' && c != 'P')
            return unknown_modifier(cursor, error);
        if (c == 'P')
            p = PRECISE_MAX;
        else if (c == 'p' && ++p > PRECISE_MAX)
            return error_set_at(error, -EINVAL, cursor->at, "the modifier \"p\" may be repeated at most %d times",
                                PRECISE_MAX);
        if (seen & modifier)
            return error_set_at(error, -EINVAL, cursor->at, "the modifier \"%c\" is given twice", c);
        seen |= modifier;
    }
    *modifiers |= seen;
    *precise = MIN(*precise + p, (unsigned)PRECISE_MAX);
    return 0;
}

static bool is_capitals(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", text[i]))
            return false;
    return true;
}

/*
 * Whether the text consists of modifiers that may follow a libpfm4 name. I and S alone are unit masks in libpfm4, for
 * states of cache lines: "L2_LINES_IN:S".
 */
static bool ends_pfm_name(const char *text, size_t size)
{
    return cursor_is_modifiers(text, size) && strspn(text, "IS") < size;
}

/*
 * Length of ":UMASK:c=1" in libpfm4's "EVENT:UMASK:c=1", without the modifiers after it. If the name has no prefix
 * (`bare`), only a word in capitals is accepted as a unit mask, since any other word may be a mistake.
 */
static size_t attributes_size(const char *text, bool bare)
{
    struct event_cursor cursor = {.text = text};

    while (cursor_peek(&cursor) == ':') {
        struct event_cursor ahead = {.text = text, .at = cursor.at + 1};
        const char *attribute = text + ahead.at;
        size_t size = cursor_name(&ahead);
        ahead.at += size;
        bool value = cursor_take(&ahead, '=');
        if (size == 0 || (!value && (ends_pfm_name(attribute, size) || (bare && !is_capitals(attribute, size)))))
            break;
        if (value)
            ahead.at += cursor_name(&ahead);
        cursor.at = ahead.at;
    }
    return cursor.at;
}

size_t cursor_pfm_name_size(const char *word, size_t size)
{
    struct event_cursor cursor = {.text = word, .at = size};

    if (!str_starts(word + size, "::"))
        return size + (is_capitals(word, size) ? attributes_size(word + size, true) : 0);
    cursor.at += 2;
    cursor.at += cursor_name(&cursor);
    return cursor.at + attributes_size(word + cursor.at, false);
}

/* --- Terms --- */

#define TERMS_MAX 64

void event_terms_done(struct event_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        event_term_done(&terms->terms[i]);
    free(terms->terms);
    *terms = (struct event_terms){0};
}

static bool is_value(char c)
{
    return c > ' ' && c <= '~' && !strchr(",/{}=", c);
}

/* Parses a file path. A path contains slashes, so only a comma ends it, and another term must follow. */
static int parse_path(struct event_cursor *cursor, struct event_term *term, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    size_t size = 0;

    while (text[size] > ' ' && text[size] <= '~' && text[size] != ',')
        size++;
    if (text[size] != ',' || text[size - 1] == '/')
        return error_set_at(error, -EINVAL, cursor->at,
                            "a file name ends at a comma: add another term after it, as in "
                            "uprobe/path=/bin/bash,offset=0x1234/");
    term->text = strndup(text, size);
    cursor->at += size;
    return term->text ? 0 : error_oom(error);
}

static bool is_path(const struct event_cursor *cursor)
{
    const char *text = cursor->text + cursor->at;

    return text[0] == '/' && text[1] && !strchr(", }\t\r\n", text[1]);
}

/* Parses a name in single quotes, which may contain any printable character except the quote. */
static int parse_quoted(struct event_cursor *cursor, struct event_term *term, struct error *error)
{
    const char *text = cursor->text + cursor->at + 1;
    size_t size = 0;

    while (text[size] >= ' ' && text[size] <= '~' && text[size] != '\'')
        size++;
    if (size == 0 || text[size] != '\'')
        return error_set_at(error, -EINVAL, cursor->at, "expected printable ASCII characters and a closing quote");
    term->text = strndup(text, size);
    cursor->at += size + 2;
    return term->text ? 0 : error_oom(error);
}

static int parse_value(struct event_cursor *cursor, struct event_term *term, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    size_t size = 0;

    if (text[0] == '\'' && str_equal(term->name, "name"))
        return parse_quoted(cursor, term, error);
    while (is_value(text[size]))
        size++;
    if (size == 0)
        return cursor_set_error(cursor, "a value", error);
    int r = number_parse_u64_n(text, size, &term->value);
    if (r == -ERANGE)
        return error_set_at(error, -EINVAL, cursor->at, "the value of \"%s\" has more than 64 bits", term->name);
    term->numeric = r == 0;
    term->text = strndup(text, size);
    cursor->at += size;
    return term->text ? 0 : error_oom(error);
}

static int parse_term(struct event_cursor *cursor, struct event_term *term, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (size == 0)
        return cursor_set_error(cursor, "a term like \"event=0x11\"", error);
    *term = (struct event_term){.value = 1, .offset = cursor->at};
    term->name = strndup(cursor->text + cursor->at, size);
    if (!term->name)
        return error_oom(error);
    cursor->at += size;
    if (!cursor_take(cursor, '='))
        return 0;
    return is_path(cursor) ? parse_path(cursor, term, error) : parse_value(cursor, term, error);
}

int event_terms_parse(struct event_cursor *cursor, struct event_terms *ret, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    do {
        _cleanup_(event_term_done) struct event_term term = {0};
        cursor_skip_space(cursor);
        int r = parse_term(cursor, &term, error);
        if (r < 0)
            return r;
        if (terms.n == TERMS_MAX)
            return error_set_at(error, -EINVAL, term.offset, "an event has at most %d terms", TERMS_MAX);
        if (array_grow(&terms.terms, terms.n) < 0)
            return error_oom(error);
        terms.terms[terms.n++] = term;
        term = (struct event_term){0};
        cursor_skip_space(cursor);
    } while (cursor_take(cursor, ','));
    *ret = terms;
    terms = (struct event_terms){0};
    return 0;
}

int event_terms_parse_text(const char *text, struct event_terms *ret, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};
    struct event_cursor cursor = {.text = text};

    int r = event_terms_parse(&cursor, &terms, error);
    if (r < 0)
        return r;
    if (cursor_peek(&cursor))
        return cursor_set_error(&cursor, "a comma", error);
    *ret = terms;
    terms = (struct event_terms){0};
    return 0;
}

/*
 * perf terms that perfcountd does not support, and why. Terms for sampling get a different error if the event is only
 * counted.
 */
static const struct {
    const char *name;
    bool for_sampling;
    const char *reason;
} refused_terms[] = {
    {"period", true, NULL},
    {"freq", true, NULL},
    {"call-graph", true, "is not supported: the key sampler.callchain turns call chains on and off"},
    {"stack-size", true, "is not supported: the kernel walks the call chains"},
    {"max-stack", true, "is not supported: kernel.perf_event_max_stack is the limit"},
    {"branch_type", true, "is not supported"},
    {"time", true, "is not supported: every sample has a timestamp"},
    {"nr", true, "is not supported"},
    {"overwrite", true, "is not supported"},
    {"no-overwrite", true, "is not supported"},
    {"aux-output", true, "is not supported"},
    {"aux-sample-size", true, "is not supported"},
    {"inherit", false, "is not supported for per-CPU and cgroup counters"},
    {"no-inherit", false, "is not supported for per-CPU and cgroup counters"},
    {"percore", false, "is not supported: add up the CPUs in a query"},
    {"metric-id", false, "is not supported: name the metric with \"name=\""},
};

/* Terms whose value is text: the function or file on which a probe is set. */
static const struct {
    const char *pmu, *name;
} text_terms[] = {{"kprobe", "func"}, {"uprobe", "path"}};

static bool takes_text(const char *pmu, const struct event_term *term)
{
    for (size_t i = 0; i < ARRAY_SIZE(text_terms); i++)
        if (str_equal(text_terms[i].pmu, pmu) && str_equal(text_terms[i].name, term->name))
            return true;
    return false;
}

/*
 * The kernel interprets config words of a probe as pointers (perf_event_open(2)), so a number there is a mistake or an
 * attack.
 */
static int check_probe_word(const char *pmu, const struct event_term *term, struct error *error)
{
    uint64_t raw;
    bool word = str_starts(term->name, "config") || generic_parse_raw(term->name, strlen(term->name), &raw) != -EINVAL;

    if (pmu_kind(pmu) != PMU_PROBE || !word)
        return 0;
    return error_set_at(error, -EINVAL, term->offset,
                        "a probe takes no \"%s\": write the function or file that it is set on, as in "
                        "kprobe/func=vfs_read/ or uprobe/path=/bin/bash,offset=0x1234/",
                        term->name);
}

static int check_refused(const struct event_term *term, bool samples, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused_terms); i++) {
        if (!str_equal(term->name, refused_terms[i].name))
            continue;
        if (refused_terms[i].for_sampling && !samples)
            return error_set_at(error, -EINVAL, term->offset,
                                "the term \"%s\" applies to sampling, and this event is only counted", term->name);
        return error_set_at(error, -EINVAL, term->offset, "the term \"%s\" %s", term->name, refused_terms[i].reason);
    }
    return 0;
}

static int check_number(const struct event_term *term, struct error *error)
{
    if (term->text && !term->numeric)
        return error_set_at(error, -EINVAL, term->offset + strlen(term->name) + 1,
                            "the value of \"%s\" must be a number like 17 or 0x11, not \"%s\"", term->name, term->text);
    return 0;
}

static int check_of_pmu(const char *pmu, const struct event_term *term, struct error *error)
{
    int r = check_probe_word(pmu, term, error);

    if (r < 0)
        return r;
    if (takes_text(pmu, term))
        return term->text ? 0 : error_set_at(error, -EINVAL, term->offset, "the term \"%s\" needs a value", term->name);
    return check_number(term, error);
}

/* For software events and tracepoints, config1 to config3 have no meaning; for breakpoints, they are an address. */
static bool takes_words(const struct event *event)
{
    return event->kind == EVENT_RAW || (event->kind == EVENT_GENERIC && event->type != PERF_TYPE_SOFTWARE);
}

/* Checks a term after an event that names no PMU: "cycles/config1=1/". */
static int check_of_word(const struct event *event, const struct event_term *term, struct error *error)
{
    const char *name = term->name;

    if (!takes_words(event))
        return error_set_at(error, -EINVAL, term->offset, "this event accepts no term except \"name=\", not \"%s\"",
                            name);
    if (!str_equal(name, "config1") && !str_equal(name, "config2") && !str_equal(name, "config3"))
        return error_set_at(
            error, -EINVAL, term->offset,
            "this event accepts only the terms name, config1, config2 and config3, not \"%s\": write the "
            "terms of a PMU after its name, as in cpu/event=0x3c/",
            name);
    return check_number(term, error);
}

int event_term_check(const struct event *event, const struct event_term *term, bool samples, struct error *error)
{
    int r = check_refused(term, samples, error);

    if (r < 0)
        return r;
    return event->kind == EVENT_PMU ? check_of_pmu(event->pmu, term, error) : check_of_word(event, term, error);
}
