/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/find-series.h"

#include <stdio.h>

#include "tests/unit/test.h"

static bool series_is(const struct family *family, const struct series *series, const char *name)
{
    size_t size = strlen(name);

    /* A space ends the name and labels of the series. */
    return size + 1 == family->name_size + series->size && str_starts(name, family->name) &&
           memcmp(name + family->name_size, series->text, series->size - 1) == 0;
}

static const struct series *find_name(const struct metrics *metrics, const char *name)
{
    const struct series *found = NULL;

    for (size_t i = 0; i < metrics->n; i++)
        for (size_t k = 0; k < metrics->families[i]->n; k++) {
            if (!series_is(metrics->families[i], metrics->families[i]->series[k], name))
                continue;
            assert_null(found);
            found = metrics->families[i]->series[k];
        }
    return found;
}

static const struct series *find_formatted(const struct snapshot *snapshot, const char *format, va_list arguments)
{
    char name[512];

    vsnprintf(name, sizeof(name), format, arguments);
    return find_name(&snapshot->metrics, name);
}

const struct series *find_series(const struct snapshot *snapshot, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const struct series *series = find_formatted(snapshot, format, arguments);
    va_end(arguments);
    return series;
}

uint64_t series_value(const struct snapshot *snapshot, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const struct series *series = find_formatted(snapshot, format, arguments);
    va_end(arguments);
    return series && series_is_shown(series, UINT32_MAX, snapshot->metrics.failed) ? series->value : NOT_SHOWN;
}

const struct row *find_row(const struct snapshot *snapshot, const char *pmu, const char *group)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (str_equal(snapshot->rows[i]->pmu, pmu) && str_equal(snapshot->rows[i]->group, group))
            return snapshot->rows[i];
    fail_msg("no row of %s %s", pmu, group);
    return NULL;
}
