/* SPDX-License-Identifier: Apache-2.0 */
/* Records decoded: a table of the types, with a decoder for each type that has fields of interest. See record.h. */
#include "perf/record.h"

#include "perf/record-cursor.h"

/* Constants that headers of Linux 5.10 may not have; the numbers are the kernel's ABI. */
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

/* One byte of size, three unused, the build id. */
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

/* Nothing needs these fields: only the record's size is checked. */
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

/* By PERF_RECORD_*; take_body() decodes SAMPLE and READ, which need the layout. */
static const struct {
    const char *name;
    size_t words; /* the size of a type without decoder, except SAMPLE and READ */
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

/* Unlike in a sample, the identifier is at the end, where it can be found without the layout. */
static void take_trailer(struct record_cursor *cursor, uint64_t type, struct record_id *id)
{
    size_t n = (size_t)__builtin_popcountll(type & TRAILER_FIELDS);

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
        take_trailer(&cursor, layout->sample_type, &record.id);
    if (record_type_name(record.type)) {
        take_body(&cursor, layout, &record);
        if (cursor.bad)
            return -EBADMSG;
    }
    *ret = record;
    return 0;
}
