/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of a PMU's terms: see pmu-format.h. */
#include "perf/pmu-format.h"

#include "perf/range.h"

#define BIT_MAX 63

static const struct {
    const char *name;
    unsigned word;
} words[] = {{"config3:", 3}, {"config2:", 2}, {"config1:", 1}, {"config:", 0}};

int pmu_format_parse(const char *text, struct pmu_format *ret, struct error *error)
{
    struct pmu_format format = {0};
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words) && at == 0; i++)
        if (str_starts(text, words[i].name)) {
            format.word = words[i].word;
            at = strlen(words[i].name);
        }
    if (at == 0)
        return error_set_at(error, -EINVAL, 0, "a format begins with \"config:\", \"config1:\" or the like");
    for (;;) {
        struct range range;
        if (range_parse(text, &at, BIT_MAX, "the number of a bit", &range, error) < 0)
            return -EINVAL;
        format.bits |= (UINT64_MAX >> (BIT_MAX - (range.last - range.first))) << range.first;
        if (!text[at])
            break;
        if (text[at] != ',')
            return error_set_at(error, -EINVAL, at, "the bits of a format are like \"0-7,32\"");
        at++;
    }
    *ret = format;
    return 0;
}

int pmu_format_deposit(const struct pmu_format *format, uint64_t value, uint64_t *word)
{
    uint64_t deposited = 0, rest = value;

    for (uint64_t bits = format->bits; bits; bits &= bits - 1, rest >>= 1)
        if (rest & 1)
            deposited |= bits & -bits;
    if (rest)
        return -ERANGE;
    *word = (*word & ~format->bits) | deposited;
    return 0;
}
