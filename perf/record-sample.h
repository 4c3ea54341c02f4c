/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a PERF_RECORD_SAMPLE, and what other records have in common with it (perf_event_open(2)). Arrays and
 * pointers point into the record's bytes.
 */
#ifndef PERF_RECORD_SAMPLE_H
#define PERF_RECORD_SAMPLE_H

#include <linux/perf_event.h>

#include "base/util.h"

/* The members of the events' attr that decide which fields a record has. */
struct record_layout {
    uint64_t sample_type, read_format, branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr;
    bool sample_id_all;
};
/* The layout of the records of an event that was opened with `attr`. */
struct record_layout record_layout_of(const struct perf_event_attr *attr);

/* The fields that every record can have: in a sample among its fields, else in the trailer that sample_id_all adds. */
struct record_id {
    uint32_t pid, tid; /* UINT32_MAX where not known */
    uint64_t time;     /* ns of the attr's clock; 0 where not known */
    uint64_t id, stream_id;
    uint32_t cpu; /* UINT32_MAX where not known */
};

struct record_value {
    uint64_t value, id, lost;
};

/* PERF_SAMPLE_REGS_USER or _INTR: one value for each bit of the attr's mask, from the lowest. */
struct record_registers {
    uint64_t abi;           /* PERF_SAMPLE_REGS_ABI_*; where it is NONE there are no values */
    const uint64_t *values; /* NULL: none */
};

/* Fields that the sample_type does not ask for are 0. */
struct record_sample {
    uint64_t ip, address, period, weight, data_source, transaction, physical_address, cgroup;
    uint64_t data_page_size, code_page_size;
    uint64_t time_enabled, time_running; /* of `read` */
    const uint64_t *read;                /* the values of PERF_SAMPLE_READ as they stand: use record_read_value() */
    size_t n_read;
    const uint64_t *callchain; /* innermost first, with the PERF_CONTEXT_* markers among the addresses */
    size_t n_callchain;
    const void *raw; /* with the kernel's padding at its end */
    size_t raw_size;
    const struct perf_branch_entry *branches; /* the latest first */
    const uint64_t *branch_counters;          /* one for each branch; NULL: none */
    size_t n_branches;
    uint64_t branch_index; /* PERF_SAMPLE_BRANCH_HW_INDEX */
    struct record_registers user_registers, interrupt_registers;
    const void *stack; /* of user space, from the stack pointer */
    size_t stack_size; /* the bytes that were copied, at most those that the attr asks for */
    const void *aux;
    size_t aux_size;
};

/* The n-th value of a sample's read; all 0 beyond `n_read`, `id` and `lost` also where the layout does not have them.
 */
struct record_value record_read_value(const struct record_sample *sample, const struct record_layout *layout, size_t n);

/* The words of the n-th value in the record; `n` is below `n_read`. */
const uint64_t *record_read_words(const struct record_sample *sample, const struct record_layout *layout, size_t n);

struct record_cursor;

/* Decodes the fields of a sample; `cursor` says afterwards whether all of them were there. */
void record_take_sample(struct record_cursor *cursor, const struct record_layout *layout, struct record_id *id,
                        struct record_sample *sample);
/* The values of PERF_SAMPLE_READ, which PERF_RECORD_READ has too. */
void record_take_read(struct record_cursor *cursor, uint64_t format, struct record_sample *sample);

#endif
