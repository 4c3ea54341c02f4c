/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a series by what a scrape writes of it before its value: `name{labels}`. */
#ifndef TESTS_UNIT_FIND_SERIES_H
#define TESTS_UNIT_FIND_SERIES_H

#include "collectors/metric.h"

static inline bool series_is(const struct family *family, const struct series *series, const char *text)
{
    size_t size = strlen(text);

    /* A space ends the series' text. */
    return size + 1 == family->name_size + series->size && str_starts(text, family->name) &&
           memcmp(text + family->name_size, series->text, series->size - 1) == 0;
}

#endif
