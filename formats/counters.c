/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter as JSON: see counters.h.
 *
 * The texts of a row were escaped when it was made. Here its numbers are written between them, into memory that is
 * reserved once.
 */
#include "formats/counters.h"

#include <inttypes.h>
#include <math.h>

#include "base/json.h"
#include "base/number.h"
#include "base/put.h"

#define CACHE_LINE 64
#define AHEAD 4

static char *write_value(char *to, const struct counter *counter)
{
    double real;

    if (!counter->known)
        return put_text(to, "null");
    if (counter->decimals == 0)
        return to + number_write_u64(to, counter->value);
    if (counter->decimals != SERIES_REAL)
        return to + number_write_fixed(to, counter->value, counter->decimals);
    memcpy(&real, &counter->value, sizeof(real));
    return isfinite(real) ? to + number_write_real(to, real) : put_text(to, "null");
}

static char *write_number_member(char *to, const char *key, uint64_t value)
{
    to = put_text(to, key);
    return to + number_write_u64(to, value);
}

/* The members that follow the numbers of each counter of the row, the same for all. */
static size_t write_row_end(char *start, const struct row *row, bool failed)
{
    char *to = start;

    if (row->state != ROW_UNAVAILABLE && !failed) {
        to = write_number_member(to, ", \"enabled_ns\": ", row->enabled_ns);
        to = write_number_member(to, ", \"running_ns\": ", row->running_ns);
    }
    to = put_text(to, ", \"state\": \"");
    to = put_text(to, failed ? STATE_FAILED : row_state_name(row->state));
    return (size_t)(put_text(to, "\"}") - start);
}

static char *write_counter(char *to, const struct row *row, const struct counter *counter, bool failed)
{
    to = put_bytes(to, counter->json_head, intern_size(counter->json_head));
    to = put_bytes(to, row->json, row->json_size);
    to = put_bytes(to, counter->json_tail, intern_size(counter->json_tail));
    if (row->json_error)
        to = put_text(to, row->json_error);
    to = put_text(to, ", \"value\": ");
    if (row->state == ROW_UNAVAILABLE || failed)
        return put_text(to, "null");
    to = write_value(to, counter);
    return write_number_member(to, ", \"raw\": ", counter->raw);
}

/* Rows are larger than the processor prefetches by itself. */
static void prefetch(const struct row *row, size_t n_counters)
{
    size_t size = sizeof(*row) + n_counters * sizeof(row->counters[0]);

    for (size_t at = 0; at < size; at += CACHE_LINE)
        __builtin_prefetch((const char *)row + at);
}

static char *write_rows(char *to, const struct snapshot *snapshot, const struct filter *filter)
{
    const char *separator = "\n ";

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        char end[COUNTER_NUMBERS_MAX];

        if (i + AHEAD < snapshot->n_rows)
            prefetch(snapshot->rows[i + AHEAD], row->n_counters);
        if (row->absent || !filter_passes_row(filter, row))
            continue;
        bool failed = snapshot_row_failed(snapshot, row);
        size_t end_size = write_row_end(end, row, failed);
        for (size_t k = 0; k < row->n_counters; k++) {
            if (!filter_passes_counter(filter, &row->counters[k]))
                continue;
            to = put_text(to, separator);
            to = write_counter(to, row, &row->counters[k], failed);
            to = put_bytes(to, end, end_size);
            separator = ",\n ";
        }
    }
    return to;
}

/* A part of the counters takes memory for that part alone. */
static size_t room_for(const struct snapshot *snapshot, const struct filter *filter)
{
    size_t size = 0;

    if (!filter || (filter->mask == 0 && filter->n == 0))
        return snapshot->json_size;
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (filter_passes_row(filter, snapshot->rows[i]))
            size += row_json_size(snapshot->rows[i]);
    return size;
}

int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname)
{
    uint64_t ms = snapshot->realtime_ns / NSEC_PER_MSEC;

    buffer_appendf(buffer, "{\"timestamp\": %" PRIu64 ".%03u, \"hostname\": ", ms / 1000, (unsigned)(ms % 1000));
    json_write_string(buffer, hostname);
    buffer_append_text(buffer, ", \"counters\": [");
    char *start = buffer_reserve(buffer, room_for(snapshot, filter));
    if (!start)
        return -ENOMEM;
    buffer_advance(buffer, (size_t)(write_rows(start, snapshot, filter) - start));
    buffer_append_text(buffer, "]}\n");
    return buffer->failed ? -ENOMEM : 0;
}
