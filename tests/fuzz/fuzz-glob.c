/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses arbitrary bytes as a pattern and, after the first NUL, a path: the result must be that of a simple but slow
 * matcher.
 */
#include "base/glob.h"
#include "tests/fuzz/fuzz.h"

/* The slow matcher caches the result of each pair of suffixes. */
#define SLOW_MAX (256 * 1024)

struct slow {
    const char *pattern, *path;
    size_t path_size;
    char *known; /* cached results: 'y', 'n', or 0 if not known yet */
};

static bool slow_match(const struct slow *slow, size_t i, size_t k);

/*
 * Returns whether a set contains `c`. `*at` points after the opening bracket on entry, and after the closing one on
 * return.
 */
static bool slow_set(const char **at, unsigned char c)
{
    bool negated = **at == '!', has = false, first = true;

    for (*at += negated; first || **at != ']'; first = false) {
        *at += **at == '\\';
        unsigned char low = (unsigned char)*(*at)++, high = low;
        if (**at == '-' && (*at)[1] != ']') {
            ++*at;
            *at += **at == '\\';
            high = (unsigned char)*(*at)++;
        }
        has |= c >= low && c <= high;
    }
    ++*at;
    return has != negated;
}

static bool slow_stars(const struct slow *slow, size_t i, size_t k)
{
    size_t stars = strspn(slow->pattern + i, "*");

    if (slow_match(slow, i + stars, k))
        return true;
    if (stars > 1 && i > 0 && slow->pattern[i - 1] == '/' && slow->pattern[i + stars] == '/' &&
        slow_match(slow, i + stars + 1, k))
        return true;
    return slow->path[k] && (stars > 1 || slow->path[k] != '/') && slow_match(slow, i, k + 1);
}

static bool slow_try(const struct slow *slow, size_t i, size_t k)
{
    const char *at = slow->pattern + i;
    char c = slow->path[k];
    bool takes;

    if (*at == '\0' || *at == '*')
        return *at ? slow_stars(slow, i, k) : c == '\0';
    if (c == '\0')
        return false;
    if (*at == '[') {
        at++;
        takes = slow_set(&at, (unsigned char)c) && c != '/';
    } else if (*at == '?') {
        at++;
        takes = c != '/';
    } else {
        at += *at == '\\';
        takes = *at++ == c;
    }
    return takes && slow_match(slow, (size_t)(at - slow->pattern), k + 1);
}

static bool slow_match(const struct slow *slow, size_t i, size_t k)
{
    char *known = &slow->known[i * (slow->path_size + 1) + k];

    if (!*known)
        *known = slow_try(slow, i, k) ? 'y' : 'n';
    return *known == 'y';
}

static void compare(const char *pattern, const char *path)
{
    size_t cells = (strlen(pattern) + 1) * (strlen(path) + 1);

    if (cells > SLOW_MAX)
        return;
    _cleanup_(freep) char *known = calloc(cells, 1);
    struct slow slow = {.pattern = pattern, .path = path, .path_size = strlen(path), .known = known};
    assert(known);
    assert(glob_match(pattern, path) == slow_match(&slow, 0, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path;
    _cleanup_(freep) char *text = copy_texts(data, size, &path);
    struct error error = {0};

    int r = glob_check(text, &error);
    assert(r == 0 || (r == -EINVAL && error.message[0] && error.offset < strlen(text)));
    if (r < 0)
        assert(!glob_match(text, path));
    else
        compare(text, path);
    return 0;
}
