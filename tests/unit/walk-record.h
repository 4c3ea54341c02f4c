/* SPDX-License-Identifier: Apache-2.0 */
/* Reads every byte that a decoded record points to, so that a sanitizer detects pointers outside the record. */
#ifndef TESTS_UNIT_WALK_RECORD_H
#define TESTS_UNIT_WALK_RECORD_H

#include "perf/record.h"

static inline uint64_t walk_bytes(const struct record *record, const void *start, size_t size)
{
    const unsigned char *bytes = start, *first = (const unsigned char *)record->bytes;
    uint64_t sum = 0;

    if (size > 0 && (bytes < first || bytes + size > first + record->size))
        abort();
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    return sum;
}

static inline uint64_t walk_text(const struct record *record, const char *text)
{
    return walk_bytes(record, text, strlen(text) + 1);
}

static inline uint64_t walk_read(const struct record_sample *sample, const struct record_layout *layout)
{
    uint64_t sum = 0;

    for (size_t i = 0; i <= sample->n_read; i++) {
        struct record_value value = record_read_value(sample, layout, i);
        sum += value.value + value.id + value.lost;
    }
    return sum;
}

static inline uint64_t walk_registers(const struct record *record, const struct record_registers *registers,
                                      uint64_t mask)
{
    size_t n = registers->values ? (size_t)__builtin_popcountll(mask) : 0;
    return walk_bytes(record, registers->values, n * sizeof(uint64_t));
}

static inline uint64_t walk_sample(const struct record *record, const struct record_layout *layout)
{
    const struct record_sample *sample = &record->sample;

    return walk_read(sample, layout) + walk_bytes(record, sample->callchain, sample->n_callchain * sizeof(uint64_t)) +
           walk_bytes(record, sample->raw, sample->raw_size) +
           walk_bytes(record, sample->branches, sample->n_branches * sizeof(*sample->branches)) +
           walk_bytes(record, sample->branch_counters,
                      sample->branch_counters ? sample->n_branches * sizeof(uint64_t) : 0) +
           walk_registers(record, &sample->user_registers, layout->sample_regs_user) +
           walk_registers(record, &sample->interrupt_registers, layout->sample_regs_intr) +
           walk_bytes(record, sample->stack, sample->stack_size) + walk_bytes(record, sample->aux, sample->aux_size);
}

static inline uint64_t walk_record(const struct record *record, const struct record_layout *layout)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return walk_sample(record, layout);
    case PERF_RECORD_READ:
        return walk_read(&record->sample, layout);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return walk_text(record, record->mmap.file);
    case PERF_RECORD_COMM:
        return walk_text(record, record->comm.comm);
    case PERF_RECORD_CGROUP:
        return walk_text(record, record->cgroup.path);
    case PERF_RECORD_KSYMBOL:
        return walk_text(record, record->ksymbol.name);
    default:
        return 0;
    }
}

#endif
