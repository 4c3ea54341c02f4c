/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a sample, in the order of the kernel's perf_output_sample() (kernel/events/core.c). */
#include "perf/record-sample.h"

#include "perf/record-cursor.h"

/* Constants that headers of Linux 5.10 may not have; the numbers are the kernel's ABI. */
#define SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define SAMPLE_WEIGHTS (PERF_SAMPLE_WEIGHT | UINT64_C(1) << 24) /* a number, or the same word as three */
#define FORMAT_LOST (UINT64_C(1) << 4)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)

static void take_identity(struct record_cursor *cursor, uint64_t type, struct record_id *id,
                          struct record_sample *sample)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        id->id = take_word(cursor);
    if (type & PERF_SAMPLE_IP)
        sample->ip = take_word(cursor);
    if (type & PERF_SAMPLE_TID)
        take_pair(cursor, &id->pid, &id->tid);
    if (type & PERF_SAMPLE_TIME)
        id->time = take_word(cursor);
    if (type & PERF_SAMPLE_ADDR)
        sample->address = take_word(cursor);
    if (type & PERF_SAMPLE_ID)
        id->id = take_word(cursor);
    if (type & PERF_SAMPLE_STREAM_ID)
        id->stream_id = take_word(cursor);
    if (type & PERF_SAMPLE_CPU)
        id->cpu = take_half(cursor);
    if (type & PERF_SAMPLE_PERIOD)
        sample->period = take_word(cursor);
}

/* How many words a value of PERF_SAMPLE_READ takes, with its id and its lost count. */
static size_t value_width(uint64_t format)
{
    return 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);
}

static void take_times(struct record_cursor *cursor, uint64_t format, struct record_sample *sample)
{
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        sample->time_enabled = take_word(cursor);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        sample->time_running = take_word(cursor);
}

/* A group has its times before its values, a single event has them behind its value. */
void record_take_read(struct record_cursor *cursor, uint64_t format, struct record_sample *sample)
{
    if (format & PERF_FORMAT_GROUP) {
        uint64_t n = take_word(cursor);
        take_times(cursor, format, sample);
        sample->read = take_array(cursor, n, value_width(format), &sample->n_read);
        return;
    }
    sample->read = take_words(cursor, 1);
    take_times(cursor, format, sample);
    take_words(cursor, value_width(format) - 1);
    sample->n_read = 1;
}

/* Its size has 32 bits, so the bytes behind it are not aligned to words; the kernel's padding aligns the next field. */
static void take_raw(struct record_cursor *cursor, struct record_sample *sample)
{
    const char *start = (const char *)cursor->at;
    uint64_t size = take_half(cursor);

    if ((size + sizeof(uint32_t)) % WORD != 0)
        cursor->bad = true;
    take_words(cursor, (size + sizeof(uint32_t)) / WORD - 1);
    if (cursor->bad)
        return;
    sample->raw = start + sizeof(uint32_t);
    sample->raw_size = size;
}

static void take_branches(struct record_cursor *cursor, uint64_t type, bool indexed, struct record_sample *sample)
{
    uint64_t n = take_word(cursor);

    if ((type & PERF_SAMPLE_BRANCH_HW_INDEX) && indexed)
        sample->branch_index = take_word(cursor);
    sample->branches =
        (const struct perf_branch_entry *)take_array(cursor, n, sizeof(*sample->branches) / WORD, &sample->n_branches);
    if (type & BRANCH_COUNTERS)
        sample->branch_counters = take_words(cursor, sample->n_branches);
}

static void take_registers(struct record_cursor *cursor, uint64_t mask, struct record_registers *registers)
{
    registers->abi = take_word(cursor);
    if (registers->abi != PERF_SAMPLE_REGS_ABI_NONE)
        registers->values = take_words(cursor, (uint64_t)__builtin_popcountll(mask));
}

static void take_stack(struct record_cursor *cursor, struct record_sample *sample)
{
    uint64_t size = take_word(cursor);

    if (size == 0)
        return;
    sample->stack = take_bytes(cursor, size);
    uint64_t copied = take_word(cursor);
    if (copied > size)
        cursor->bad = true;
    sample->stack_size = copied;
}

static void take_memory(struct record_cursor *cursor, uint64_t type, struct record_sample *sample)
{
    if (type & SAMPLE_WEIGHTS)
        sample->weight = take_word(cursor);
    if (type & PERF_SAMPLE_DATA_SRC)
        sample->data_source = take_word(cursor);
    if (type & PERF_SAMPLE_TRANSACTION)
        sample->transaction = take_word(cursor);
}

static void take_locations(struct record_cursor *cursor, uint64_t type, struct record_sample *sample)
{
    if (type & PERF_SAMPLE_PHYS_ADDR)
        sample->physical_address = take_word(cursor);
    if (type & PERF_SAMPLE_CGROUP)
        sample->cgroup = take_word(cursor);
    if (type & SAMPLE_DATA_PAGE_SIZE)
        sample->data_page_size = take_word(cursor);
    if (type & SAMPLE_CODE_PAGE_SIZE)
        sample->code_page_size = take_word(cursor);
    if (type & PERF_SAMPLE_AUX) {
        uint64_t size = take_word(cursor);
        sample->aux = take_bytes(cursor, size);
        sample->aux_size = size;
    }
}

/* `indexed`: with the branch index, if the layout has it. */
static void take_fields(struct record_cursor *cursor, const struct record_layout *layout, bool indexed,
                        struct record_id *id, struct record_sample *sample)
{
    uint64_t type = layout->sample_type;

    take_identity(cursor, type, id, sample);
    if (type & PERF_SAMPLE_READ)
        record_take_read(cursor, layout->read_format, sample);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        uint64_t n = take_word(cursor);
        sample->callchain = take_array(cursor, n, 1, &sample->n_callchain);
    }
    if (type & PERF_SAMPLE_RAW)
        take_raw(cursor, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        take_branches(cursor, layout->branch_sample_type, indexed, sample);
    if (type & PERF_SAMPLE_REGS_USER)
        take_registers(cursor, layout->sample_regs_user, &sample->user_registers);
    if (type & PERF_SAMPLE_STACK_USER)
        take_stack(cursor, sample);
    take_memory(cursor, type, sample);
    if (type & PERF_SAMPLE_REGS_INTR)
        take_registers(cursor, layout->sample_regs_intr, &sample->interrupt_registers);
    take_locations(cursor, type, sample);
}

void record_take_sample(struct record_cursor *cursor, const struct record_layout *layout, struct record_id *id,
                        struct record_sample *sample)
{
    const struct record_cursor start = *cursor;
    bool may_miss_index =
        (layout->sample_type & PERF_SAMPLE_BRANCH_STACK) && (layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX);

    take_fields(cursor, layout, true, id, sample);
    if (!may_miss_index || (!cursor->bad && cursor->at == cursor->end) || sample->n_branches > 0)
        return;
    /* A sample for which the CPU has no branches has their number, 0, but not the index. */
    *cursor = start;
    *sample = (struct record_sample){0};
    take_fields(cursor, layout, false, id, sample);
}

const uint64_t *record_read_words(const struct record_sample *sample, const struct record_layout *layout, size_t n)
{
    return sample->read + n * value_width(layout->read_format);
}

struct record_value record_read_value(const struct record_sample *sample, const struct record_layout *layout, size_t n)
{
    uint64_t format = layout->read_format;

    if (n >= sample->n_read)
        return (struct record_value){0};
    const uint64_t *value = record_read_words(sample, layout, n), *next = value + 1;
    if (!(format & PERF_FORMAT_GROUP))
        next += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    struct record_value ret = {.value = *value};
    if (format & PERF_FORMAT_ID)
        ret.id = *next++;
    if (format & FORMAT_LOST)
        ret.lost = *next;
    return ret;
}

struct record_layout record_layout_of(const struct perf_event_attr *attr)
{
    return (struct record_layout){
        .sample_type = attr->sample_type,
        .read_format = attr->read_format,
        .branch_sample_type = attr->branch_sample_type,
        .sample_regs_user = attr->sample_regs_user,
        .sample_regs_intr = attr->sample_regs_intr,
        .sample_id_all = attr->sample_id_all,
    };
}
