/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a PMU's event: see term.h. */
#include "perf/event/term.h"

#include "base/cleanup.h"
#include "base/number.h"

#define TERMS_MAX 64

static void term_done(struct event_term *term)
{
    free(term->name);
    free(term->text);
    *term = (struct event_term){0};
}

void event_terms_done(struct event_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        term_done(&terms->terms[i]);
    free(terms->terms);
    *terms = (struct event_terms){0};
}

static bool is_value(char c)
{
    return c > ' ' && c <= '~' && !strchr(",/{}=", c);
}

/*
 * A file's name, which has slashes as the end of the terms has: it ends at a comma, so that another term must follow.
 */
static int parse_path(struct cursor *cursor, struct event_term *term, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    size_t size = 0;

    while (text[size] > ' ' && text[size] <= '~' && text[size] != ',')
        size++;
    if (text[size] != ',' || text[size - 1] == '/')
        return error_set_at(error, -EINVAL, cursor->at,
                            "a file's name ends at a comma: write another term behind it, as in "
                            "uprobe/path=/bin/bash,offset=0x1234/");
    term->text = strndup(text, size);
    cursor->at += size;
    return term->text ? 0 : error_oom(error);
}

static bool is_path(const struct cursor *cursor)
{
    const char *text = cursor->text + cursor->at;

    return text[0] == '/' && text[1] && !strchr(", }\t\r\n", text[1]);
}

static int parse_value(struct cursor *cursor, struct event_term *term, struct error *error)
{
    const char *text = cursor->text + cursor->at;
    size_t size = 0;

    while (is_value(text[size]))
        size++;
    if (size == 0)
        return cursor_unexpected(cursor, "a value", error);
    int r = number_parse_u64_n(text, size, &term->value);
    if (r == -ERANGE)
        return error_set_at(error, -EINVAL, cursor->at, "the value of \"%s\" has more than 64 bits", term->name);
    term->numeric = r == 0;
    term->text = strndup(text, size);
    cursor->at += size;
    return term->text ? 0 : error_oom(error);
}

static int parse_term(struct cursor *cursor, struct event_term *term, struct error *error)
{
    size_t size = cursor_name(cursor);

    if (size == 0)
        return cursor_unexpected(cursor, "a term like \"event=0x11\"", error);
    *term = (struct event_term){.value = 1, .offset = cursor->at};
    term->name = strndup(cursor->text + cursor->at, size);
    if (!term->name)
        return error_oom(error);
    cursor->at += size;
    if (!cursor_take(cursor, '='))
        return 0;
    return is_path(cursor) ? parse_path(cursor, term, error) : parse_value(cursor, term, error);
}

int event_terms_parse(struct cursor *cursor, struct event_terms *ret, struct error *error)
{
    _cleanup_(event_terms_done) struct event_terms terms = {0};

    do {
        _cleanup_(term_done) struct event_term term = {0};
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
    struct cursor cursor = {.text = text};

    int r = event_terms_parse(&cursor, &terms, error);
    if (r < 0)
        return r;
    if (cursor_peek(&cursor))
        return cursor_unexpected(&cursor, "a comma", error);
    *ret = terms;
    terms = (struct event_terms){0};
    return 0;
}
