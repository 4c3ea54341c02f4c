/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes arbitrary bytes as a sequence of records of any layout: the first bytes are the layout, the rest are the
 * records. Each record is decoded from memory of exactly its size.
 */
#include "perf/record.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/walk-record.h"

/* The seeds in corpus/record.txt begin with this head. */
struct head {
    uint32_t sample_type, branch_sample_type;
    uint64_t regs_user, regs_intr;
    uint8_t read_format, sample_id_all, unused[6];
};

static void check(const struct record *record, const struct perf_event_header *header)
{
    assert(record->type == header->type && record->misc == header->misc && record->size <= header->size);
    assert(record->bytes == header && record->size >= sizeof(*header));
    if (record->type == PERF_RECORD_MMAP2)
        assert(record->mmap.build_id_size <= sizeof(record->mmap.build_id));
}

/* Bytes after the record have no effect; a truncated record is an error. */
static void try_record(const void *bytes, size_t size, const struct record_layout *layout)
{
    _cleanup_(freep) struct perf_event_header *header = copy_exact(bytes, size);
    struct record record, again;

    if (record_decode(header, size, layout, &record) < 0)
        return;
    check(&record, header);
    uint64_t sum = walk_record(&record, layout);
    _cleanup_(buffer_done) struct buffer copy = {0};
    record_append(&record, &copy);
    _cleanup_(freep) void *copied = copy_exact(copy.data, copy.size);
    assert(record_decode(copied, record.size, layout, &again) == 0 && again.size == record.size);
    assert(walk_record(&again, layout) == sum);
    assert(record_decode(header, size + 8, layout, &again) == 0 && walk_record(&again, layout) == sum);
    assert(record_decode(header, size - 1, layout, &again) == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf_event_header header;
    struct head head;

    if (size < sizeof(head))
        return 0;
    memcpy(&head, data, sizeof(head));
    const struct record_layout layout = {
        .sample_type = head.sample_type,
        .read_format = head.read_format,
        .branch_sample_type = head.branch_sample_type,
        .sample_regs_user = head.regs_user,
        .sample_regs_intr = head.regs_intr,
        .sample_id_all = head.sample_id_all & 1,
    };
    for (size_t at = sizeof(head); size - at >= sizeof(header); at += header.size) {
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > size - at)
            break;
        try_record(data + at, header.size, &layout);
    }
    return 0;
}
