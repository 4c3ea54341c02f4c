/* SPDX-License-Identifier: Apache-2.0 */
/* A number or a range of numbers in a list as the kernel writes it: "6" or "0-3" in "0-3,6". */
#ifndef PERF_RANGE_H
#define PERF_RANGE_H

#include "base/error.h"

struct range {
    unsigned first, last; /* first <= last */
};

/*
 * Parses the range at *at and moves *at behind it. `noun` names a number in sentences: "a CPU number". With an error at
 * the offending character: -EINVAL where none stands there or the range runs backwards; -ERANGE for one above `max`.
 */
int range_parse(const char *text, size_t *at, unsigned max, const char *noun, struct range *ret, struct error *error);

#endif
