/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter as JSON: see counters.h.
 *
 * Not made by a library, since its numbers would go through doubles or lose their order of writing; what needs escaping
 * was escaped when the row was made.
 */
#include "http/counters.h"

#include <inttypes.h>
#include <math.h>

#include "base/escape.h"
#include "base/number.h"

/* Four numbers, their keys and the state. */
#define BEHIND_PREFIX_MAX 256

static char *write_text(char *to, const char *text)
{
    size_t size = strlen(text);

    memcpy(to, text, size);
    return to + size;
}

static char *write_value(char *to, const struct counter *counter)
{
    double real;

    if (!counter->known)
        return write_text(to, "null");
    if (counter->decimals == 0)
        return to + number_write_u64(to, counter->value);
    if (counter->decimals != SERIES_REAL)
        return to + number_write_fixed(to, counter->value, counter->decimals);
    memcpy(&real, &counter->value, sizeof(real));
    return isfinite(real) ? to + number_write_real(to, real) : write_text(to, "null");
}

static char *write_member(char *to, const char *key, uint64_t value)
{
    to = write_text(to, key);
    return to + number_write_u64(to, value);
}

static void append_counter(struct buffer *buffer, const struct row *row, const struct counter *counter)
{
    size_t size = strlen(counter->json);
    char *start = buffer_reserve(buffer, size + BEHIND_PREFIX_MAX), *to = start;

    if (!start)
        return;
    memcpy(to, counter->json, size);
    to = write_text(to + size, ", \"value\": ");
    to = row->state == ROW_UNAVAILABLE ? write_text(to, "null") : write_value(to, counter);
    if (row->state != ROW_UNAVAILABLE) {
        to = write_member(to, ", \"raw\": ", counter->raw);
        to = write_member(to, ", \"enabled_ns\": ", row->enabled_ns);
        to = write_member(to, ", \"running_ns\": ", row->running_ns);
    }
    to = write_text(to, ", \"state\": \"");
    to = write_text(to, row_state_name(row->state));
    to = write_text(to, "\"}");
    buffer_advance(buffer, (size_t)(to - start));
}

int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname)
{
    uint64_t ms = snapshot->realtime_ns / NSEC_PER_MSEC;
    const char *separator = "\n ";

    buffer_appendf(buffer, "{\"timestamp\": %" PRIu64 ".%03u, \"hostname\": \"", ms / 1000, (unsigned)(ms % 1000));
    escape_append(buffer, hostname, ESCAPE_JSON);
    buffer_append_text(buffer, "\", \"counters\": [");
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->absent || !filter_row(filter, row))
            continue;
        for (size_t k = 0; k < row->n_counters; k++) {
            if (!filter_counter(filter, &row->counters[k]))
                continue;
            buffer_append_text(buffer, separator);
            append_counter(buffer, row, &row->counters[k]);
            separator = ",\n ";
        }
    }
    buffer_append_text(buffer, "]}\n");
    return buffer->failed ? -ENOMEM : 0;
}
