/* SPDX-License-Identifier: Apache-2.0 */
/* Records other than samples in NDJSON: see ndjson-fields.h. */
#include "formats/ndjson-fields.h"

#include "base/json.h"

void ndjson_write_thread(uint32_t pid, uint32_t tid, struct buffer *out)
{
    if (pid == UINT32_MAX && tid == UINT32_MAX)
        return;
    json_write_member(out, "pid", i64, (int32_t)pid);
    json_write_member(out, "tid", i64, (int32_t)tid);
}

void ndjson_write_build_id(const unsigned char *id, size_t size, struct buffer *out)
{
    if (size == 0)
        return;
    json_write_key(out, "build_id");
    char *room = buffer_reserve(out, 2 * size + 2);
    if (!room)
        return;
    *room++ = '"';
    for (size_t i = 0; i < size; i++) {
        *room++ = "0123456789abcdef"[id[i] >> 4];
        *room++ = "0123456789abcdef"[id[i] & 15];
    }
    *room = '"';
    buffer_advance(out, 2 * size + 2);
}

void ndjson_write_range(uint64_t address, uint64_t length, uint64_t offset, const char *file, struct buffer *out)
{
    json_write_member(out, "address", hex, address);
    json_write_member(out, "length", u64, length);
    json_write_member(out, "offset", hex, offset);
    json_write_member(out, "file", string, file);
}

void ndjson_write_inode(uint32_t major, uint32_t minor, uint64_t inode, struct buffer *out)
{
    if (inode == 0)
        return;
    json_write_member(out, "major", u64, major);
    json_write_member(out, "minor", u64, minor);
    json_write_member(out, "inode", u64, inode);
}

static void write_mmap(const struct record *record, struct buffer *out)
{
    const struct record_mmap *mmap = &record->mmap;

    ndjson_write_thread(mmap->pid, mmap->tid, out);
    ndjson_write_range(mmap->address, mmap->length, mmap->offset, mmap->file, out);
    ndjson_write_inode(mmap->major, mmap->minor, mmap->inode, out);
    ndjson_write_build_id(mmap->build_id, mmap->build_id_size, out);
}

static void write_comm(const struct record *record, struct buffer *out)
{
    ndjson_write_thread(record->comm.pid, record->comm.tid, out);
    json_write_member(out, "comm", string, record->comm.comm);
    json_write_member(out, "exec", bool, (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
}

static void write_task(const struct record *record, struct buffer *out)
{
    ndjson_write_thread(record->task.pid, record->task.tid, out);
    json_write_member(out, "parent_pid", i64, (int32_t)record->task.parent_pid);
    json_write_member(out, "parent_tid", i64, (int32_t)record->task.parent_tid);
}

static void write_lost(const struct record *record, struct buffer *out)
{
    ndjson_write_thread(record->id.pid, record->id.tid, out);
    json_write_member(out, "lost", u64, record->lost.lost);
}

static void write_switch(const struct record *record, struct buffer *out)
{
    bool is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;

    ndjson_write_thread(record->id.pid, record->id.tid, out);
    json_write_member(out, "out", bool, is_out);
    if (record->type != PERF_RECORD_SWITCH_CPU_WIDE)
        return;
    buffer_append_text(out, is_out ? ",\"next_pid\":" : ",\"previous_pid\":");
    json_write_i64(out, (int32_t)record->context_switch.next_pid);
    buffer_append_text(out, is_out ? ",\"next_tid\":" : ",\"previous_tid\":");
    json_write_i64(out, (int32_t)record->context_switch.next_tid);
}

static void write_cgroup(const struct record *record, struct buffer *out)
{
    json_write_member(out, "id", u64, record->cgroup.id);
    json_write_member(out, "path", string, record->cgroup.path);
}

static void write_ksymbol(const struct record *record, struct buffer *out)
{
    if (record->ksymbol.address)
        json_write_member(out, "address", hex, record->ksymbol.address);
    json_write_member(out, "length", u64, record->ksymbol.length);
    json_write_member(out, "name", string, record->ksymbol.name);
    json_write_member(out, "unregister", bool, (record->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0);
}

/* Records of other types have the thread alone. */
static void (*const field_writers[])(const struct record *record, struct buffer *out) = {
    [PERF_RECORD_MMAP] = write_mmap,
    [PERF_RECORD_MMAP2] = write_mmap,
    [PERF_RECORD_COMM] = write_comm,
    [PERF_RECORD_FORK] = write_task,
    [PERF_RECORD_EXIT] = write_task,
    [PERF_RECORD_LOST] = write_lost,
    [PERF_RECORD_LOST_SAMPLES] = write_lost,
    [PERF_RECORD_SWITCH] = write_switch,
    [PERF_RECORD_SWITCH_CPU_WIDE] = write_switch,
    [PERF_RECORD_CGROUP] = write_cgroup,
    [PERF_RECORD_KSYMBOL] = write_ksymbol,
};

void ndjson_write_fields(const struct record *record, struct buffer *out)
{
    if (record->type < ARRAY_SIZE(field_writers) && field_writers[record->type])
        field_writers[record->type](record, out);
    else
        ndjson_write_thread(record->id.pid, record->id.tid, out);
}
