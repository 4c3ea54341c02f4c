/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in samples for perf: see perf-reads.h. */
#include "formats/perf-reads.h"

void perf_reads_done(struct perf_reads *reads)
{
    free(reads->bases);
    *reads = (struct perf_reads){0};
}

/* The first whose id is not below `id`. */
static size_t base_at(const struct perf_reads *reads, uint64_t id)
{
    return array_search(reads->n, i, reads->bases[i].id < id);
}

/* Without memory, the one that is asked for. */
static uint64_t base_of(struct perf_reads *reads, uint64_t id, uint64_t first)
{
    size_t at = base_at(reads, id);

    if (at < reads->n && reads->bases[at].id == id)
        return reads->bases[at].value;
    if (array_grow(&reads->bases, reads->n) < 0)
        return first;
    memmove(&reads->bases[at + 1], &reads->bases[at], (reads->n++ - at) * sizeof(reads->bases[0]));
    reads->bases[at] = (struct perf_reads_base){.id = id, .value = first};
    return first;
}

void perf_reads_begin_anew(struct perf_reads *reads, const struct record *record, const struct record_layout *layout,
                           char *copy)
{
    const struct record_sample *sample = &record->sample;

    for (size_t i = 0; i < sample->n_read; i++) {
        struct record_value value = record_read_value(sample, layout, i);
        uint64_t period = value.id == record->id.id ? MIN(sample->period, value.value) : 0;
        value.value -= base_of(reads, value.id, value.value - period);
        size_t offset = (size_t)((const char *)record_read_words(sample, layout, i) - (const char *)record->bytes);
        memcpy(copy + offset, &value.value, sizeof(value.value));
    }
}
