/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns are matched without backtracking. After each character of the path, the matcher computes all positions in
 * the pattern that the path can have reached. The running time is therefore at most proportional to the product of the
 * two lengths.
 */
#include "base/glob.h"

#define WORD_BITS 64

/* A set of offsets in the pattern, stored both as bits and as a list. */
struct positions {
    uint64_t has[GLOB_MAX / WORD_BITS];
    uint16_t list[GLOB_MAX];
    size_t n;
};

enum token_kind { TOKEN_CHARACTER, TOKEN_ANY, TOKEN_SET, TOKEN_STAR, TOKEN_STARS, TOKEN_END };

struct token {
    enum token_kind kind;
    size_t size; /* length in the pattern, in bytes */
};

/* Reads one character of a set, possibly quoted. Returns its size in the pattern, or 0 at the end of the pattern. */
static size_t set_character(const char *at, unsigned char *ret)
{
    size_t escape = at[0] == '\\';

    if (!at[escape])
        return 0;
    *ret = (unsigned char)at[escape];
    return escape + 1;
}

/* Reads one character or range of a set. Returns its size, or 0 at the end of the pattern. */
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

/*
 * Sets *ret_size to the size of a set, including its brackets. A closing bracket in first place is an ordinary
 * character. Returns -EINVAL with the offset of a reversed range, or with offset 0 if the set is not closed.
 */
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

/* Returns -EINVAL, with the offset of the error from `at`. */
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

static void positions_add(struct positions *positions, size_t position)
{
    uint64_t bit = UINT64_C(1) << position % WORD_BITS;

    if (positions->has[position / WORD_BITS] & bit)
        return;
    positions->has[position / WORD_BITS] |= bit;
    positions->list[positions->n++] = (uint16_t)position;
}

static void positions_clear(struct positions *positions)
{
    for (size_t i = 0; i < positions->n; i++)
        positions->has[positions->list[i] / WORD_BITS] = 0;
    positions->n = 0;
}

/* If a `**` at `position` is a whole component, returns its size including the slash after it; else 0. */
static size_t whole_component(const char *pattern, size_t position)
{
    size_t stars = strspn(pattern + position, "*");
    bool whole = stars > 1 && position > 0 && pattern[position - 1] == '/' && pattern[position + stars] == '/';

    return whole ? stars + 1 : 0;
}

/* Skips to the last of several adjacent `**` components, which alone matches the same paths, but much faster. */
static size_t last_of_row(const char *pattern, size_t position)
{
    size_t size;

    while ((size = whole_component(pattern, position)) && whole_component(pattern, position + size))
        position += size;
    return position;
}

/* Adds the position after each run of stars, because stars can match the empty string. */
static void positions_add_after_stars(struct positions *positions, const char *pattern)
{
    for (size_t i = 0; i < positions->n; i++) {
        size_t position = positions->list[i], stars = strspn(pattern + position, "*");
        if (stars == 0)
            continue;
        positions_add(positions, position + stars);
        positions_add(positions, position + whole_component(pattern, position));
    }
}

static bool token_matches(const char *pattern, enum token_kind kind, char c)
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

/* Computes the positions in the pattern that can be reached from `from` by the next character of the path. */
static void positions_step(const struct positions *from, const char *pattern, char c, struct positions *to)
{
    positions_clear(to);
    for (size_t i = 0; i < from->n; i++) {
        size_t position = from->list[i], wrong;
        struct token token;
        if (token_parse(pattern + position, &token, &wrong) < 0 || !token_matches(pattern + position, token.kind, c))
            continue;
        bool stays = token.kind == TOKEN_STAR || token.kind == TOKEN_STARS;
        positions_add(to, stays ? position : last_of_row(pattern, position + token.size));
    }
    positions_add_after_stars(to, pattern);
}

/* The two sets alternate between the current and the next positions. */
struct walk {
    struct positions sets[2], *now, *next;
};

static void walk_step(struct walk *walk, const char *pattern, char c)
{
    struct positions *before = walk->now;

    positions_step(walk->now, pattern, c, walk->next);
    walk->now = walk->next;
    walk->next = before;
}

/* Computes the positions that the whole path can reach; there are none if the pattern is too long. */
static void walk_run(struct walk *walk, const char *pattern, const char *path)
{
    walk->now = &walk->sets[0];
    walk->next = &walk->sets[1];
    for (size_t i = 0; i < ARRAY_SIZE(walk->sets); i++) {
        memset(walk->sets[i].has, 0, sizeof(walk->sets[i].has));
        walk->sets[i].n = 0;
    }
    if (strnlen(pattern, GLOB_MAX) == GLOB_MAX)
        return;
    positions_add(walk->now, 0);
    positions_add_after_stars(walk->now, pattern);
    for (; *path && walk->now->n; path++)
        walk_step(walk, pattern, *path);
}

bool glob_match(const char *pattern, const char *path)
{
    size_t size = strnlen(pattern, GLOB_MAX);
    struct walk walk;

    walk_run(&walk, pattern, path);
    return walk.now->n > 0 && (walk.now->has[size / WORD_BITS] >> size % WORD_BITS & 1);
}

bool glob_match_last(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    return glob_match(pattern, slash && !strchr(pattern, '/') ? slash + 1 : path);
}

/* Like walk_run(), but also consumes a slash after the path, unless the path is "/", which already ends with one. */
static void walk_run_below(struct walk *walk, const char *pattern, const char *path)
{
    walk_run(walk, pattern, path);
    if (!str_equal(path, "/"))
        walk_step(walk, pattern, '/');
}

bool glob_may_match_below(const char *pattern, const char *path)
{
    struct walk walk;

    walk_run_below(&walk, pattern, path);
    for (size_t i = 0; i < walk.now->n; i++)
        if (pattern[walk.now->list[i]])
            return true;
    return false;
}

bool glob_match_all_below(const char *pattern, const char *path)
{
    struct walk walk;

    walk_run_below(&walk, pattern, path);
    for (size_t i = 0; i < walk.now->n; i++) {
        const char *rest = pattern + walk.now->list[i];
        size_t stars = strspn(rest, "*");
        if (stars > 1 && !rest[stars])
            return true;
    }
    return false;
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
                                "the pattern ends with a backslash; write \"\\\\\" for the character itself");
        if (wrong)
            return error_set_at(error, -EINVAL, offset, "the first character of this range comes after its last");
        return error_set_at(error, -EINVAL, offset, "\"[\" has no \"]\"; write \"\\[\" for the character itself");
    }
    return 0;
}
