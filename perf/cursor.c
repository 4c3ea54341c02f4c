/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest pieces of the event syntax, names and modifiers: see cursor.h. */
#include "perf/cursor.h"

#include <stdio.h>

#include "perf/event.h"

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

/* perf-list(1), "EVENT MODIFIERS", without p and P, which are a number. */
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
                        "unknown modifier \"%s\"; there are u, k, h, G, H, I, p, P, S, D, W and e", name);
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
            return error_set_at(error, -EINVAL, cursor->at, "the modifier \"p\" may stand at most %d times",
                                PRECISE_MAX);
        if (seen & modifier)
            return error_set_at(error, -EINVAL, cursor->at, "the modifier \"%c\" stands here twice", c);
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

/* Whether modifiers end a name of libpfm4. I and S are unit masks there, of lines of a cache: "L2_LINES_IN:S". */
static bool ends_pfm_name(const char *text, size_t size)
{
    return cursor_is_modifiers(text, size) && strspn(text, "IS") < size;
}

/*
 * The size of ":UMASK:c=1" in libpfm4's "EVENT:UMASK:c=1", without modifiers behind it. `bare`: where the name has no
 * prefix, only a word in capitals is a unit mask, and another may be a slip.
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
