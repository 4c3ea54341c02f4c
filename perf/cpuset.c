/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/cpuset.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"

/* --- Ranges --- */

static int range_parse_number(const char *text, size_t *at, unsigned max, const char *noun, unsigned *ret,
                              struct error *error)
{
    size_t size = strspn(text + *at, "0123456789");
    uint64_t value;

    if (size == 0)
        return error_set_at(error, -EINVAL, *at, "%s is missing here", noun);
    if (number_parse_u64_n(text + *at, size, &value) < 0 || value > max)
        return error_set_at(error, -ERANGE, *at, "%s is at most %u", noun, max);
    *at += size;
    *ret = (unsigned)value;
    return 0;
}

int range_parse(const char *text, size_t *at, unsigned max, const char *noun, struct range *ret, struct error *error)
{
    struct range range;
    size_t start = *at;

    int r = range_parse_number(text, at, max, noun, &range.first, error);
    if (r < 0)
        return r;
    range.last = range.first;
    if (text[*at] == '-') {
        (*at)++;
        r = range_parse_number(text, at, max, noun, &range.last, error);
        if (r < 0)
            return r;
    }
    if (range.last < range.first)
        return error_set_at(error, -EINVAL, start, "the range %u-%u runs backwards", range.first, range.last);
    *ret = range;
    return 0;
}

/* --- Sets --- */

#define BITS 64

void cpuset_done(struct cpuset *set)
{
    free(set->words);
    *set = (struct cpuset){0};
}

int cpuset_add(struct cpuset *set, unsigned cpu)
{
    size_t needed = cpu / BITS + 1;

    if (cpu >= CPUSET_MAX)
        return -ERANGE;
    if (needed > set->n_words) {
        uint64_t *words = reallocarray(set->words, needed, sizeof(words[0]));
        if (!words)
            return -ENOMEM;
        memset(words + set->n_words, 0, (needed - set->n_words) * sizeof(words[0]));
        set->words = words;
        set->n_words = needed;
    }
    set->words[cpu / BITS] |= UINT64_C(1) << (cpu % BITS);
    return 0;
}

int cpuset_parse(const char *text, struct cpuset *ret, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset set = {0};
    size_t at = 0;

    while (text[at] || at) {
        struct range range;
        int r = range_parse(text, &at, CPUSET_MAX - 1, "a CPU number", &range, error);
        if (r < 0)
            return r;
        for (unsigned cpu = range.first; cpu <= range.last; cpu++)
            if (cpuset_add(&set, cpu) < 0)
                return error_oom(error);
        if (!text[at])
            break;
        if (text[at] != ',')
            return error_set_at(error, -EINVAL, at, "expected a list of CPUs such as \"0-3,6\"");
        at++;
    }
    *ret = set;
    set = (struct cpuset){0};
    return 0;
}

int cpuset_copy(const struct cpuset *from, struct cpuset *ret)
{
    struct cpuset copy = {.n_words = from->n_words};

    if (copy.n_words) {
        copy.words = calloc(copy.n_words, sizeof(copy.words[0]));
        if (!copy.words)
            return -ENOMEM;
        memcpy(copy.words, from->words, copy.n_words * sizeof(copy.words[0]));
    }
    *ret = copy;
    return 0;
}

static uint64_t cpuset_word(const struct cpuset *set, size_t i)
{
    return i < set->n_words ? set->words[i] : 0;
}

void cpuset_intersect(struct cpuset *set, const struct cpuset *other)
{
    for (size_t i = 0; i < set->n_words; i++)
        set->words[i] &= cpuset_word(other, i);
}

void cpuset_remove(struct cpuset *set, unsigned cpu)
{
    if (cpu / BITS < set->n_words)
        set->words[cpu / BITS] &= ~(UINT64_C(1) << cpu % BITS);
}

void cpuset_subtract(struct cpuset *set, const struct cpuset *other)
{
    for (size_t i = 0; i < set->n_words; i++)
        set->words[i] &= ~cpuset_word(other, i);
}

bool cpuset_has(const struct cpuset *set, unsigned cpu)
{
    return cpuset_word(set, cpu / BITS) >> (cpu % BITS) & 1;
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
    for (size_t i = 0; i < MAX(a->n_words, b->n_words); i++)
        if (cpuset_word(a, i) != cpuset_word(b, i))
            return false;
    return true;
}

size_t cpuset_count(const struct cpuset *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_words; i++)
        n += (size_t)__builtin_popcountll(set->words[i]);
    return n;
}

unsigned cpuset_end(const struct cpuset *set)
{
    unsigned end = 0;

    CPUSET_FOREACH (cpu, set)
        end = (unsigned)cpu + 1;
    return end;
}

int cpuset_next(const struct cpuset *set, int cpu)
{
    size_t from = (size_t)(cpu + 1);
    uint64_t above = UINT64_MAX << (from % BITS);

    for (size_t i = from / BITS; i < set->n_words; i++, above = UINT64_MAX)
        if (set->words[i] & above)
            return (int)(i * BITS) + __builtin_ctzll(set->words[i] & above);
    return -1;
}

char *cpuset_format(const struct cpuset *set)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (int first = cpuset_next(set, -1), last; first >= 0; first = cpuset_next(set, last)) {
        for (last = first; cpuset_has(set, (unsigned)last + 1);)
            last++;
        buffer_appendf(&text, last > first ? "%s%d-%d" : "%s%d", text.size ? "," : "", first, last);
    }
    return buffer_string(&text);
}

int cpuset_refuse(const struct cpuset *possible, const char *cpus, struct error *error)
{
    _cleanup_(freep) char *known = cpuset_format(possible);

    return error_set(error, -EINVAL, "this machine has no CPU %.64s, only %.256s", cpus, known ? known : "");
}
