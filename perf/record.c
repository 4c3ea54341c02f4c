/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/record.h"

static inline uint64_t take_word(struct record_cursor *cursor)
{
    if (cursor->at == cursor->end) {
        cursor->bad = true;
        return 0;
    }
    return *cursor->at++;
}

/* Takes a word that consists of two 32-bit fields. */
static inline void take_pair(struct record_cursor *cursor, uint32_t *ret_first, uint32_t *ret_second)
{
    uint64_t word = take_word(cursor);
    uint32_t pair[2];

    memcpy(pair, &word, sizeof(pair));
    *ret_first = pair[0];
    *ret_second = pair[1];
}

/* Takes a word of two 32-bit fields and returns the first. */
static inline uint32_t take_half(struct record_cursor *cursor)
{
    uint32_t first, second;

    take_pair(cursor, &first, &second);
    return first;
}

/* Takes `n` elements of `width` words each. If fewer are left, returns NULL and sets *ret_n to 0. */
static inline const uint64_t *take_array(struct record_cursor *cursor, uint64_t n, size_t width, size_t *ret_n)
{
    const uint64_t *words = take_words(cursor, n > UINT16_MAX ? UINT64_MAX : n * width);

    *ret_n = words ? n : 0;
    return words;
}

/* Takes `size` bytes. The kernel pads the bytes, so `size` is a multiple of the word size. */
static inline const void *take_bytes(struct record_cursor *cursor, uint64_t size)
{
    if (size % WORD != 0)
        cursor->bad = true;
    return take_words(cursor, size / WORD);
}

/* --- Samples --- */

/* Constants that Linux 5.10 headers may lack. The numbers are the kernel's ABI. */
#define SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define SAMPLE_WEIGHTS (PERF_SAMPLE_WEIGHT | UINT64_C(1) << 24) /* a weight: one number, or three in one word */
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

/* Returns the number of words in a value of PERF_SAMPLE_READ, including its id and its lost count. */
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

/* The times of a group precede its values; those of a single event follow its value. */
static void record_take_read(struct record_cursor *cursor, uint64_t format, struct record_sample *sample)
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

/*
 * The size field has 32 bits, so the bytes after it are not aligned to words. The kernel's padding aligns the next
 * field.
 */
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

/*
 * Takes the fields in the order of the kernel's perf_output_sample() (kernel/events/core.c). `indexed`: the sample has
 * the branch index, if the layout has it.
 */
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

/* Decodes the fields of a sample. Sets cursor->bad if a field is missing. */
static void record_take_sample(struct record_cursor *cursor, const struct record_layout *layout, struct record_id *id,
                               struct record_sample *sample)
{
    const struct record_cursor start = *cursor;
    bool may_miss_index =
        (layout->sample_type & PERF_SAMPLE_BRANCH_STACK) && (layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX);

    take_fields(cursor, layout, true, id, sample);
    if (!may_miss_index || (!cursor->bad && cursor->at == cursor->end) || sample->n_branches > 0)
        return;
    /* If the CPU has no branches for a sample, the kernel writes their number, 0, but not the index. */
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

/* --- Records --- */

/* Constants that Linux 5.10 headers may lack. The numbers are the kernel's ABI. */
enum {
    RECORD_AUX_OUTPUT_HW_ID = 21,
    RECORD_CALLCHAIN_DEFERRED = 22,
};
#define MISC_MMAP_BUILD_ID (1U << 14)

static const struct record_id unknown_id = {.pid = UINT32_MAX, .tid = UINT32_MAX, .cpu = UINT32_MAX};

static void take_mapping(struct record_cursor *cursor, struct record_mmap *mapping)
{
    take_pair(cursor, &mapping->pid, &mapping->tid);
    mapping->address = take_word(cursor);
    mapping->length = take_word(cursor);
    mapping->offset = take_word(cursor);
}

static void decode_mmap(struct record_cursor *cursor, struct record *record)
{
    take_mapping(cursor, &record->mmap);
    record->mmap.file = take_text(cursor);
}

/* Takes a build id: one byte with its size, three unused bytes, the id itself. */
static void take_build_id(struct record_cursor *cursor, struct record_mmap *mapping)
{
    const unsigned char *bytes = take_words(cursor, 3);

    if (!bytes)
        return;
    if (bytes[0] > sizeof(mapping->build_id)) {
        cursor->bad = true;
        return;
    }
    mapping->build_id_size = bytes[0];
    memcpy(mapping->build_id, bytes + 4, bytes[0]);
}

static void take_device(struct record_cursor *cursor, struct record_mmap *mapping)
{
    take_pair(cursor, &mapping->major, &mapping->minor);
    mapping->inode = take_word(cursor);
    mapping->inode_generation = take_word(cursor);
}

static void decode_mmap2(struct record_cursor *cursor, struct record *record)
{
    struct record_mmap *mapping = &record->mmap;

    take_mapping(cursor, mapping);
    if (record->misc & MISC_MMAP_BUILD_ID)
        take_build_id(cursor, mapping);
    else
        take_device(cursor, mapping);
    take_pair(cursor, &mapping->protection, &mapping->flags);
    mapping->file = take_text(cursor);
}

static void decode_comm(struct record_cursor *cursor, struct record *record)
{
    take_pair(cursor, &record->comm.pid, &record->comm.tid);
    record->comm.comm = take_text(cursor);
}

static void decode_task(struct record_cursor *cursor, struct record *record)
{
    take_pair(cursor, &record->task.pid, &record->task.parent_pid);
    take_pair(cursor, &record->task.tid, &record->task.parent_tid);
    record->task.time = take_word(cursor);
}

static void decode_lost(struct record_cursor *cursor, struct record *record)
{
    if (record->type == PERF_RECORD_LOST)
        record->lost.id = take_word(cursor);
    record->lost.lost = take_word(cursor);
}

static void decode_throttle(struct record_cursor *cursor, struct record *record)
{
    record->throttle.time = take_word(cursor);
    record->throttle.id = take_word(cursor);
    record->throttle.stream_id = take_word(cursor);
}

static void decode_switch(struct record_cursor *cursor, struct record *record)
{
    take_pair(cursor, &record->context_switch.next_pid, &record->context_switch.next_tid);
}

static void decode_ksymbol(struct record_cursor *cursor, struct record *record)
{
    record->ksymbol.address = take_word(cursor);
    uint64_t word = take_word(cursor);
    struct {
        uint32_t length;
        uint16_t type, flags;
    } rest;
    memcpy(&rest, &word, sizeof(rest));
    record->ksymbol.length = rest.length;
    record->ksymbol.ksym_type = rest.type;
    record->ksymbol.flags = rest.flags;
    record->ksymbol.name = take_text(cursor);
}

static void decode_cgroup(struct record_cursor *cursor, struct record *record)
{
    record->cgroup.id = take_word(cursor);
    record->cgroup.path = take_text(cursor);
}

/* The fields of this and the next two record types are not used: only the size of the record is checked. */
static void decode_namespaces(struct record_cursor *cursor, struct record *record)
{
    size_t n;

    (void)record;
    take_words(cursor, 1);
    take_array(cursor, take_word(cursor), 2, &n);
}

static void decode_text_poke(struct record_cursor *cursor, struct record *record)
{
    (void)record;
    take_words(cursor, 1);
    uint64_t word = take_word(cursor);
    struct {
        uint16_t old_size, new_size;
        unsigned char bytes[4];
    } start;
    memcpy(&start, &word, sizeof(start));
    size_t size = (size_t)start.old_size + start.new_size;
    if (size > sizeof(start.bytes))
        take_words(cursor, (size - sizeof(start.bytes) + WORD - 1) / WORD);
}

static void decode_deferred(struct record_cursor *cursor, struct record *record)
{
    size_t n;

    (void)record;
    take_words(cursor, 1);
    take_array(cursor, take_word(cursor), 1, &n);
}

/* Indexed by PERF_RECORD_*. take_body() decodes SAMPLE and READ, which need the layout. */
static const struct {
    const char *name;
    size_t words; /* size of the body if there is no decoder, except for SAMPLE and READ */
    void (*decode)(struct record_cursor *cursor, struct record *record);
} kinds[] = {
    [PERF_RECORD_MMAP] = {"MMAP", 0, decode_mmap},
    [PERF_RECORD_LOST] = {"LOST", 0, decode_lost},
    [PERF_RECORD_COMM] = {"COMM", 0, decode_comm},
    [PERF_RECORD_EXIT] = {"EXIT", 0, decode_task},
    [PERF_RECORD_THROTTLE] = {"THROTTLE", 0, decode_throttle},
    [PERF_RECORD_UNTHROTTLE] = {"UNTHROTTLE", 0, decode_throttle},
    [PERF_RECORD_FORK] = {"FORK", 0, decode_task},
    [PERF_RECORD_READ] = {"READ", 0, NULL},
    [PERF_RECORD_SAMPLE] = {"SAMPLE", 0, NULL},
    [PERF_RECORD_MMAP2] = {"MMAP2", 0, decode_mmap2},
    [PERF_RECORD_AUX] = {"AUX", 3, NULL},
    [PERF_RECORD_ITRACE_START] = {"ITRACE_START", 1, NULL},
    [PERF_RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", 0, decode_lost},
    [PERF_RECORD_SWITCH] = {"SWITCH", 0, NULL},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", 0, decode_switch},
    [PERF_RECORD_NAMESPACES] = {"NAMESPACES", 0, decode_namespaces},
    [PERF_RECORD_KSYMBOL] = {"KSYMBOL", 0, decode_ksymbol},
    [PERF_RECORD_BPF_EVENT] = {"BPF_EVENT", 2, NULL},
    [PERF_RECORD_CGROUP] = {"CGROUP", 0, decode_cgroup},
    [PERF_RECORD_TEXT_POKE] = {"TEXT_POKE", 0, decode_text_poke},
    [RECORD_AUX_OUTPUT_HW_ID] = {"AUX_OUTPUT_HW_ID", 1, NULL},
    [RECORD_CALLCHAIN_DEFERRED] = {"CALLCHAIN_DEFERRED", 0, decode_deferred},
};

const char *record_type_name(uint32_t type)
{
    return type < ARRAY_SIZE(kinds) ? kinds[type].name : NULL;
}

#define TRAILER_FIELDS                                                                                                 \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |                   \
     PERF_SAMPLE_IDENTIFIER)

static void take_body(struct record_cursor *cursor, const struct record_layout *layout, struct record *record)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        record_take_sample(cursor, layout, &record->id, &record->sample);
        break;
    case PERF_RECORD_READ:
        take_words(cursor, 1);
        record_take_read(cursor, layout->read_format, &record->sample);
        break;
    default:
        if (kinds[record->type].decode)
            kinds[record->type].decode(cursor, record);
        else
            take_words(cursor, kinds[record->type].words);
    }
}

/*
 * Up to Linux 6.18, each further event that gets the same record of these types makes its header claim one more trailer
 * (perf_event_ksymbol_output() and perf_event_bpf_output(), kernel/events/core.c, do not restore the size). The bytes
 * after the first trailer were not written: they are old content of the ring.
 */
static bool claims_too_much(uint32_t type)
{
    return type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT;
}

/* Truncates such a record to its body and one trailer of `n_trailer` words. */
static void cut_to_trailer(struct record_cursor *cursor, size_t n_trailer, struct record *record)
{
    struct record_cursor body = *cursor;
    struct record unused = {.type = record->type};

    take_body(&body, NULL, &unused);
    if (body.bad || n_trailer > (size_t)(body.end - body.at))
        return;
    cursor->end = body.at + n_trailer;
    record->size = (uint16_t)((const char *)cursor->end - (const char *)record->bytes);
}

/* Unlike in a sample, the identifier comes last, where it can be found without the layout. */
static void take_trailer(struct record_cursor *cursor, uint64_t type, struct record *record)
{
    size_t n = (size_t)__builtin_popcountll(type & TRAILER_FIELDS);
    struct record_id *id = &record->id;

    if (claims_too_much(record->type))
        cut_to_trailer(cursor, n, record);
    if (n > (size_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return;
    }
    cursor->end -= n;
    struct record_cursor trailer = {.at = cursor->end, .end = cursor->end + n};
    if (type & PERF_SAMPLE_TID)
        take_pair(&trailer, &id->pid, &id->tid);
    if (type & PERF_SAMPLE_TIME)
        id->time = take_word(&trailer);
    if (type & PERF_SAMPLE_ID)
        id->id = take_word(&trailer);
    if (type & PERF_SAMPLE_STREAM_ID)
        id->stream_id = take_word(&trailer);
    if (type & PERF_SAMPLE_CPU)
        id->cpu = take_half(&trailer);
    if (type & PERF_SAMPLE_IDENTIFIER)
        id->id = take_word(&trailer);
}

int record_decode(const void *bytes, size_t size, const struct record_layout *layout, struct record *ret)
{
    const struct perf_event_header *header = bytes;

    if (size < sizeof(*header) || header->size < sizeof(*header) || header->size > size || header->size % WORD != 0)
        return -EBADMSG;
    struct record record = {
        .type = header->type,
        .misc = header->misc,
        .size = header->size,
        .bytes = header,
        .id = unknown_id,
    };
    const uint64_t *words = bytes;
    struct record_cursor cursor = {.at = words + sizeof(*header) / WORD, .end = words + header->size / WORD};
    if (layout->sample_id_all && record.type != PERF_RECORD_SAMPLE)
        take_trailer(&cursor, layout->sample_type, &record);
    if (record_type_name(record.type)) {
        take_body(&cursor, layout, &record);
        if (cursor.bad)
            return -EBADMSG;
    }
    *ret = record;
    return 0;
}

void record_append(const struct record *record, struct buffer *out)
{
    buffer_append(out, record->bytes, record->size);
    if (!out->failed)
        memcpy(out->data + out->size - record->size + offsetof(struct perf_event_header, size), &record->size,
               sizeof(record->size));
}
