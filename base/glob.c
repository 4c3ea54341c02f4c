/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns: see glob.h. All places in the pattern that the path can have reached are kept at once, as a set, so
 * that nothing is ever tried twice.
 */
#include "base/glob.h"

#define WORD_BITS 64

struct places {
    uint64_t has[GLOB_MAX / WORD_BITS];
    uint16_t list[GLOB_MAX];
    size_t n;
};

enum token_kind { TOKEN_CHARACTER, TOKEN_ANY, TOKEN_SET, TOKEN_STAR, TOKEN_STARS, TOKEN_END };

struct token {
    enum token_kind kind;
    size_t size; /* in the pattern */
};

/* One character of a set, maybe behind a backslash; 0 at the end of the pattern. */
static size_t set_character(const char *at, unsigned char *ret)
{
    size_t escape = at[0] == '\\';

    if (!at[escape])
        return 0;
    *ret = (unsigned char)at[escape];
    return escape + 1;
}

/* One character or range of a set; 0 at the end of the pattern. */
static size_t set_range(const char *at, unsigned char *ret_low, unsigned char *ret_high)
{
    size_t size = set_character(at, ret_low);

    *ret_high = *ret_low;
    if (size == 0 || at[size] != '-' || at[size + 1] == ']')
        return size;
    size_t high_size = set_character(at + size + 1, ret_high);
    return high_size ? size + 1 + high_size : 0;
}

static size_t set_start(const char *set)
{
    return set[1] == '!' ? 2 : 1;
}

/* The size of a set from bracket to bracket, of which one that comes first closes nothing. -EINVAL, with its place. */
static int set_size(const char *set, size_t *ret_size, size_t *ret_wrong)
{
    size_t start = set_start(set), at = start;
    unsigned char low = 0, high = 0;

    while (at == start || set[at] != ']') {
        size_t size = set_range(set + at, &low, &high);
        *ret_wrong = size ? at : 0;
        if (size == 0 || low > high)
            return -EINVAL;
        at += size;
    }
    *ret_size = at + 1;
    return 0;
}

static bool set_has(const char *set, unsigned char c)
{
    size_t start = set_start(set), at = start;
    unsigned char low = 0, high = 0;
    bool listed = false;

    while (at == start || set[at] != ']') {
        at += set_range(set + at, &low, &high);
        listed |= low <= c && c <= high;
    }
    return listed == (start == 1);
}

/* `ret_wrong` is where it is wrong, from `at`. */
static int token_parse(const char *at, struct token *ret, size_t *ret_wrong)
{
    struct token token = {.kind = TOKEN_CHARACTER, .size = 1};

    switch (*at) {
    case '\0':
        token = (struct token){.kind = TOKEN_END};
        break;
    case '?':
        token.kind = TOKEN_ANY;
        break;
    case '*':
        token.size = strspn(at, "*");
        token.kind = token.size == 1 ? TOKEN_STAR : TOKEN_STARS;
        break;
    case '[':
        token.kind = TOKEN_SET;
        if (set_size(at, &token.size, ret_wrong) < 0)
            return -EINVAL;
        break;
    case '\\':
        *ret_wrong = 0;
        token.size = 2;
        if (!at[1])
            return -EINVAL;
        break;
    default:
        break;
    }
    *ret = token;
    return 0;
}

static void add(struct places *places, size_t place)
{
    uint64_t bit = UINT64_C(1) << place % WORD_BITS;

    if (places->has[place / WORD_BITS] & bit)
        return;
    places->has[place / WORD_BITS] |= bit;
    places->list[places->n++] = (uint16_t)place;
}

static void clear(struct places *places)
{
    for (size_t i = 0; i < places->n; i++)
        places->has[places->list[i] / WORD_BITS] = 0;
    places->n = 0;
}

/* The size of the stars at `place` with the slash behind them, where they are all between two slashes; else 0. */
static size_t whole_component(const char *pattern, size_t place)
{
    size_t stars = strspn(pattern + place, "*");
    bool whole = stars > 1 && place > 0 && pattern[place - 1] == '/' && pattern[place + stars] == '/';

    return whole ? stars + 1 : 0;
}

/* Many of them in a row are as good as the last one, and many times slower. */
static size_t last_of_row(const char *pattern, size_t place)
{
    size_t size;

    while ((size = whole_component(pattern, place)) && whole_component(pattern, place + size))
        place += size;
    return place;
}

/* Adds the places behind stars, which may match nothing. */
static void add_behind_stars(struct places *places, const char *pattern)
{
    for (size_t i = 0; i < places->n; i++) {
        size_t place = places->list[i], stars = strspn(pattern + place, "*");
        if (stars == 0)
            continue;
        add(places, place + stars);
        add(places, place + whole_component(pattern, place));
    }
}

static bool takes(const char *pattern, enum token_kind kind, char c)
{
    switch (kind) {
    case TOKEN_CHARACTER:
        return *pattern == '\\' ? pattern[1] == c : *pattern == c;
    case TOKEN_SET:
        return c != '/' && set_has(pattern, (unsigned char)c);
    case TOKEN_ANY:
    case TOKEN_STAR:
        return c != '/';
    case TOKEN_STARS:
        return true;
    case TOKEN_END:
        break;
    }
    return false;
}

/* The places after one more character of the path. */
static void step(const struct places *from, const char *pattern, char c, struct places *to)
{
    clear(to);
    for (size_t i = 0; i < from->n; i++) {
        size_t place = from->list[i], wrong;
        struct token token;
        if (token_parse(pattern + place, &token, &wrong) < 0 || !takes(pattern + place, token.kind, c))
            continue;
        bool stays = token.kind == TOKEN_STAR || token.kind == TOKEN_STARS;
        add(to, stays ? place : last_of_row(pattern, place + token.size));
    }
    add_behind_stars(to, pattern);
}

bool glob_match(const char *pattern, const char *path)
{
    struct places sets[2], *now = &sets[0], *next = &sets[1];
    size_t size = strnlen(pattern, GLOB_MAX);

    if (size == GLOB_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        memset(sets[i].has, 0, sizeof(sets[i].has));
        sets[i].n = 0;
    }
    add(now, 0);
    add_behind_stars(now, pattern);
    for (; *path && now->n; path++) {
        struct places *before = now;
        step(now, pattern, *path, next);
        now = next;
        next = before;
    }
    return now->has[size / WORD_BITS] >> size % WORD_BITS & 1;
}

int glob_check(const char *pattern, struct error *error)
{
    struct token token = {0};
    size_t wrong = 0;

    if (strnlen(pattern, GLOB_MAX) == GLOB_MAX)
        return error_set_at(error, -EINVAL, GLOB_MAX - 1, "a pattern has at most %d bytes", GLOB_MAX - 1);
    for (const char *at = pattern; *at; at += token.size) {
        if (token_parse(at, &token, &wrong) == 0)
            continue;
        size_t offset = (size_t)(at - pattern) + wrong;
        if (*at == '\\')
            return error_set_at(error, -EINVAL, offset,
                                "a backslash at the end of a pattern; write \"\\\\\" for one that is meant itself");
        if (wrong)
            return error_set_at(error, -EINVAL, offset, "a range whose first character comes after its last");
        return error_set_at(error, -EINVAL, offset,
                            "\"[\" without its \"]\"; write \"\\[\" for a bracket that is meant itself");
    }
    return 0;
}
