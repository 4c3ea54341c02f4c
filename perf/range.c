/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of numbers: see range.h. */
#include "perf/range.h"

#include "base/number.h"

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
