/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics for Prometheus: see exposition.h. */
#include "metrics/exposition.h"

#include "base/number.h"
#include "base/put.h"

#define OPENMETRICS_END "# EOF\n"

static char *write_series(char *to, const struct family *family, const struct series *series)
{
    to = put_bytes(to, family->name, family->name_size);
    to = put_bytes(to, series->text, series->size);
    if (series->decimals == 0)
        to += number_write_u64(to, series->value);
    else if (series->decimals == SERIES_REAL)
        to += number_write_real(to, series_real(series));
    else
        to += number_write_fixed(to, series->value, series->decimals);
    *to++ = '\n';
    return to;
}

/* It stands directly behind its sample: OpenMetrics wants the samples of one label set together. */
static char *write_created(char *to, const struct family *family, const struct series *series)
{
    to = put_bytes(to, family->name, family->counter_size);
    to = put_text(to, CREATED_SUFFIX);
    return put_bytes(to, series->text, (size_t)series->size + series->created_size);
}

/* The header is written in front of the first series, so that there is none without series. */
static char *write_family(char *to, const struct metrics *metrics, const struct family *family, uint32_t mask,
                          enum exposition format)
{
    const char *header = format == EXPOSITION_TEXT ? family->text_header : family->openmetrics_header;

    for (size_t i = 0; i < family->n; i++) {
        const struct series *series = family->series[i];
        if (!(mask >> series->collector & 1) || !series_is_shown(metrics, series))
            continue;
        if (header)
            to = put_text(to, header);
        header = NULL;
        to = write_series(to, family, series);
        if (series->created_size && format == EXPOSITION_OPENMETRICS)
            to = write_created(to, family, series);
    }
    return to;
}

int exposition_write(struct buffer *buffer, const struct metrics *metrics, uint32_t mask, enum exposition format)
{
    bool openmetrics = format == EXPOSITION_OPENMETRICS;
    size_t size = metrics_text_size(metrics, mask, openmetrics) + (openmetrics ? strlen(OPENMETRICS_END) : 0);
    char *start = buffer_reserve(buffer, size), *to = start;

    if (!start)
        return -ENOMEM;
    for (size_t i = 0; i < metrics->n; i++)
        to = write_family(to, metrics, metrics->families[i], mask, format);
    if (format == EXPOSITION_OPENMETRICS)
        to = put_text(to, OPENMETRICS_END);
    buffer_advance(buffer, (size_t)(to - start));
    return 0;
}
