/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as NDJSON. The writer is declared in formats/writers.h; nothing else is public. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "formats/early-ends.h"
#include "formats/writers.h"
#include "perf/record.h"
#include "sampler/writer.h"

/* Maps the ids of values in samples to events. */
struct ndjson_ids {
    struct ndjson_id {
        uint64_t id;
        size_t event;
    } * ids; /* sorted */
    size_t n;
};

static void ndjson_ids_done(struct ndjson_ids *ids);

/* --- other records --- */

/*
 * Writes the process and the thread of a record. Writes nothing if both are -1, which the kernel reports for itself and
 * for a task that has exited.
 */
static void ndjson_write_thread(uint32_t pid, uint32_t tid, struct buffer *out)
{
    if (pid == UINT32_MAX && tid == UINT32_MAX)
        return;
    json_write_member(out, "pid", i64, (int32_t)pid);
    json_write_member(out, "tid", i64, (int32_t)tid);
}

/* Writes a build id, or nothing if `size` is 0. */
static void ndjson_write_build_id(const unsigned char *id, size_t size, struct buffer *out)
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

static void ndjson_write_range(uint64_t address, uint64_t length, uint64_t offset, const char *file, struct buffer *out)
{
    json_write_member(out, "address", hex, address);
    json_write_member(out, "length", u64, length);
    json_write_member(out, "offset", hex, offset);
    json_write_member(out, "file", string, file);
}

/* Writes the device and inode of a file, or nothing if `inode` is 0. */
static void ndjson_write_inode(uint32_t major, uint32_t minor, uint64_t inode, struct buffer *out)
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

/* The functions that write each record type's fields. For all other types, only the thread is written. */
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

static void ndjson_write_fields(const struct record *record, struct buffer *out)
{
    if (record->type < ARRAY_SIZE(field_writers) && field_writers[record->type])
        field_writers[record->type](record, out);
    else
        ndjson_write_thread(record->id.pid, record->id.tid, out);
}

/* --- samples --- */

#define UNKNOWN "[unknown]"

static int compare_ids(const void *a, const void *b)
{
    const struct ndjson_id *first = a, *second = b;

    return (first->id > second->id) - (first->id < second->id);
}

/*
 * Replaces the ids of values with the ids of the source's events. On failure, returns -ENOMEM and leaves the list of
 * ids empty.
 */
static int ndjson_ids_load(struct ndjson_ids *ids, const struct writer_source *source)
{
    ndjson_ids_done(ids);
    if (!source->read || source->n_ids == 0)
        return 0;
    ids->ids = calloc(source->n_events * source->n_ids, sizeof(*ids->ids));
    if (!ids->ids)
        return -ENOMEM;
    for (size_t i = 0; i < source->n_events; i++)
        for (size_t j = 0; j < source->n_ids; j++)
            ids->ids[ids->n++] = (struct ndjson_id){.id = source->events[i].ids[j], .event = i};
    qsort(ids->ids, ids->n, sizeof(*ids->ids), compare_ids);
    return 0;
}

static void ndjson_ids_done(struct ndjson_ids *ids)
{
    free(ids->ids);
    *ids = (struct ndjson_ids){0};
}

/*
 * Returns the event with the id of a value or, if values have no ids, the `index`-th event of the group, or NULL if
 * there is no such event.
 */
static const char *event_of_value(const struct writer_source *source, const struct ndjson_ids *ids,
                                  const struct record_value *value, size_t index)
{
    const struct ndjson_id key = {.id = value->id};

    if (source->layout.read_format & PERF_FORMAT_ID) {
        const struct ndjson_id *found = ids->n ? bsearch(&key, ids->ids, ids->n, sizeof(key), compare_ids) : NULL;
        return found ? source->events[found->event].name : NULL;
    }
    return index < source->n_events ? source->events[index].name : NULL;
}

/* Writes the values that the group's counters had on the sample's CPU. */
static void write_counts(const struct writer_source *source, const struct ndjson_ids *ids,
                         const struct record_sample *sample, struct buffer *out)
{
    const struct record_layout *layout = &source->layout;
    bool filled = false;

    json_write_raw(out, ",\"counts\":{");
    for (size_t i = 0; i < sample->n_read; i++) {
        struct record_value value = record_read_value(sample, layout, i);
        const char *name = event_of_value(source, ids, &value, i);
        if (!name)
            continue;
        json_write_comma(out, &filled);
        json_write_string(out, name);
        buffer_append_char(out, ':');
        json_write_u64(out, value.value);
    }
    buffer_append_char(out, '}');
    if (layout->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        json_write_member(out, "enabled_ns", u64, sample->time_enabled);
    if (layout->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        json_write_member(out, "running_ns", u64, sample->time_running);
}

/*
 * Writes an address with its symbol. Returns whether the file's symbol table is still being built. *ret_file is set to
 * the mapped file, or NULL if the file is unknown.
 */
static bool write_frame(const struct writer_source *source, const struct record *record, enum address_space space,
                        uint64_t ip, bool called, struct buffer *out, const char **ret_file)
{
    bool hidden = kernel_view_hides(source->kernel, space != SPACE_USER, ip);
    struct frame frame = {0};

    if (space != SPACE_OTHER)
        symbols_resolve(source->symbols, record->id.pid, space == SPACE_KERNEL, ip - called, &frame);
    if (hidden) {
        json_write_raw(out, "\"symbol\":");
    } else {
        json_write_raw(out, "\"ip\":");
        json_write_hex(out, ip);
        json_write_key(out, "symbol");
    }
    json_write_string(out, frame.symbol ? frame.symbol : UNKNOWN);
    json_write_member(out, "module", string, frame.mapping ? frame.mapping->file : UNKNOWN);
    if (hidden && frame.symbol)
        json_write_member(out, "offset", hex, frame.offset + called);
    *ret_file = frame.mapping ? frame.mapping->file : NULL;
    return frame.awaited;
}

static size_t write_callchain(const struct writer_source *source, const struct record *record, struct early_ends *ends,
                              struct buffer *out)
{
    struct callchain chain = callchain_begin(record);
    const char *file, *innermost = NULL; /* file that contains the innermost user-space frame */
    size_t awaited = 0, n_user = 0;
    bool filled = false;
    uint64_t ip;

    json_write_raw(out, ",\"callchain\":[");
    while (callchain_next(&chain, &ip)) {
        json_write_comma(out, &filled);
        buffer_append_char(out, '{');
        awaited += write_frame(source, record, chain.space, ip, callchain_is_caller(&chain), out, &file);
        buffer_append_char(out, '}');
        if (chain.space == SPACE_USER && n_user++ == 0)
            innermost = file;
    }
    buffer_append_char(out, ']');
    if (innermost)
        early_ends_add(ends, innermost, n_user == 1, 1);
    return awaited;
}

static void write_weight(const struct record_sample *sample, struct buffer *out)
{
    const struct off_cpu_wait *wait = sample->wait;

    if (!wait) {
        json_write_member(out, "period", u64, sample->period);
        return;
    }
    json_write_member(out, "off_cpu_ns", u64, wait->ns);
    json_write_member(out, "state", string, off_cpu_state_name(wait->state));
    json_write_member(out, "runnable_ns", u64, wait->runnable_ns);
}

/*
 * Returns the number of addresses whose symbols are unknown because their files' symbol tables are still being built.
 */
static size_t ndjson_write_sample(const struct writer_source *source, const struct ndjson_ids *ids,
                                  struct early_ends *ends, const struct record *record, struct buffer *out)
{
    const struct found_cgroup *cgroup = cgroup_lookup_sample(source->cgroups, record);
    const char *file;

    ndjson_write_thread(record->id.pid, record->id.tid, out);
    json_write_member(out, "comm", string, symbols_comm(source->symbols, record));
    if (cgroup)
        json_write_member(out, "cgroup", string, cgroup->label);
    buffer_append_char(out, ',');
    size_t awaited = write_frame(source, record, address_space_of(record), record->sample.ip, false, out, &file);
    write_weight(&record->sample, out);
    if (source->layout.sample_type & PERF_SAMPLE_CALLCHAIN)
        awaited += write_callchain(source, record, ends, out);
    if (source->layout.sample_type & PERF_SAMPLE_READ)
        write_counts(source, ids, &record->sample, out);
    return awaited;
}

/* --- lines --- */

/*
 * The output has one JSON object per line.
 *
 * The first line is {"type":"header"}, the last is {"type":"end"}. After the header come lines that describe the
 * running processes and have no time, and then the records, whose types are the kernel's names in lower case.
 * {"type":"pause"} and {"type":"resume"} enclose a period without records. After {"type":"resume"} and after
 * {"type":"lost"}, the processes are described again. {"type":"dropped"} takes the place of records that were dropped
 * because the client was too slow.
 *
 * "time" is in seconds since 1970, with nine decimals. Addresses are written as hexadecimal strings. Unknown fields are
 * omitted; an unknown symbol or module is "[unknown]". If kernel addresses are hidden (symbols/kernel.h), "ip" is
 * replaced by "offset", the offset in the symbol, and "ksymbol" has no "address".
 */

struct ndjson {
    const struct writer_source *source;
    struct ndjson_ids ids;
    struct early_ends ends;
    uint64_t unknown; /* number of records of unknown types */
    uint64_t awaited; /* number of addresses whose symbol table was still being built */
};

/* Begins a line such as `{"type":"mmap2"`. */
static void ndjson_begin_line(struct buffer *out, uint32_t type)
{
    const char *name = record_type_name(type);
    size_t size = strlen(name);

    json_write_raw(out, "{\"type\":\"");
    char *room = buffer_reserve(out, size + 1);
    if (!room)
        return;
    for (size_t i = 0; i < size; i++)
        room[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    room[size] = '"';
    buffer_advance(out, size + 1);
}

static void ndjson_end_line(struct buffer *out)
{
    json_write_raw(out, "}\n");
}

static void write_time(const struct ndjson *ndjson, uint64_t ns, struct buffer *out)
{
    const struct writer_source *source = ndjson->source;

    if (ns == 0)
        return;
    json_write_member(out, "time", seconds, ns + source->start_realtime_ns - source->start_monotonic_ns);
}

static void write_cpu(const struct record_id *id, struct buffer *out)
{
    if (id->cpu == UINT32_MAX)
        return;
    json_write_member(out, "cpu", u64, id->cpu);
}

static void write_other(const struct ndjson *ndjson, const struct record *record, struct buffer *out)
{
    struct record shown = *record;

    if (record->type == PERF_RECORD_KSYMBOL && kernel_view_hides(ndjson->source->kernel, true, record->ksymbol.address))
        shown.ksymbol.address = 0;
    ndjson_write_fields(&shown, out);
}

static bool ndjson_record(void *state, const struct record *record, struct buffer *out)
{
    struct ndjson *ndjson = state;

    if (!record_type_name(record->type)) {
        ndjson->unknown++;
        return false;
    }
    ndjson_begin_line(out, record->type);
    write_time(ndjson, record->id.time, out);
    write_cpu(&record->id, out);
    if (record->type == PERF_RECORD_SAMPLE)
        ndjson->awaited += ndjson_write_sample(ndjson->source, &ndjson->ids, &ndjson->ends, record, out);
    else
        write_other(ndjson, record, out);
    ndjson_end_line(out);
    return true;
}

static void write_machine_fields(struct buffer *out)
{
    struct utsname name;

    if (uname(&name) < 0)
        return;
    json_write_member(out, "hostname", string, name.nodename);
    json_write_member(out, "kernel", string, name.release);
    json_write_member(out, "machine", string, name.machine);
}

static void write_event_fields(const struct writer_source *source, struct buffer *out)
{
    const struct perf_event_attr *attr = source->events[0].attr;
    bool filled = false;

    json_write_member(out, "event", string, source->events[0].name);
    if (source->off_cpu_threshold_ns)
        json_write_member(out, "threshold_ns", u64, source->off_cpu_threshold_ns);
    else if (attr->freq)
        json_write_member(out, "frequency", u64, attr->sample_freq);
    else
        json_write_member(out, "period", u64, attr->sample_period);
    json_write_raw(out, ",\"read\":[");
    for (size_t i = 0; source->read && i < source->n_events; i++) {
        json_write_comma(out, &filled);
        json_write_string(out, source->events[i].name);
    }
    buffer_append_char(out, ']');
}

/* A line's "time" is the record's time plus `realtime_offset_ns`. */
static void write_clock_fields(const struct writer_source *source, struct buffer *out)
{
    json_write_raw(out, ",\"clock\":\"monotonic\",\"realtime_offset_ns\":");
    json_write_i64(out, (int64_t)(source->start_realtime_ns - source->start_monotonic_ns));
}

static void write_note(struct buffer *out, const char *note, bool *filled)
{
    if (!note)
        return;
    json_write_comma(out, filled);
    json_write_string(out, note);
}

/* Writes why many symbols are missing, or were missing at the beginning. */
static void write_notes(const struct writer_source *source, uint64_t awaited, const struct writer_end *end,
                        struct buffer *out)
{
    uint64_t throttled = end ? end->throttled : 0;
    char early[160], late[sizeof(WRITER_THROTTLED) + 32];
    bool filled = false;

    snprintf(early, sizeof(early),
             "addresses without a symbol: %" PRIu64
             ", because the symbol tables of their files were still being built; a new stream will have them",
             awaited);
    snprintf(late, sizeof(late), WRITER_THROTTLED, throttled, plural(throttled));
    json_write_raw(out, ",\"notes\":[");
    write_note(out, symbols_reason_user(source->symbols), &filled);
    write_note(out, symbols_reason_kernel(source->symbols), &filled);
    write_note(out, awaited ? early : NULL, &filled);
    write_note(out, throttled ? late : NULL, &filled);
    write_note(out, end ? end->early : NULL, &filled);
    buffer_append_char(out, ']');
}

static void write_header(const struct writer_source *source, struct buffer *out)
{
    json_write_raw(out, "{\"type\":\"header\",\"version\":\"" PACKAGE_VERSION "\"");
    write_machine_fields(out);
    json_write_member(out, "time", seconds, source->start_realtime_ns);
    write_clock_fields(source, out);
    json_write_member(out, "seconds", seconds, (uint64_t)(source->seconds * 1e9));
    write_event_fields(source, out);
    json_write_member(out, "cpus", u64, source->n_cpus);
    write_notes(source, 0, NULL, out);
    ndjson_end_line(out);
}

static void write_known(void *userdata, uint32_t pid, uint32_t tid, const char *comm, const struct mapping *mapping)
{
    struct buffer *out = userdata;

    ndjson_begin_line(out, mapping ? PERF_RECORD_MMAP2 : PERF_RECORD_COMM);
    ndjson_write_thread(pid, tid, out);
    if (mapping) {
        ndjson_write_range(mapping->start, mapping->end - mapping->start, mapping->offset, mapping->file, out);
        ndjson_write_inode(mapping->major, mapping->minor, mapping->inode, out);
        ndjson_write_build_id(mapping->build_id, mapping->build_id_size, out);
    } else {
        json_write_member(out, "comm", string, comm);
    }
    ndjson_end_line(out);
}

static void ndjson_free(void *state)
{
    struct ndjson *ndjson = state;

    if (!ndjson)
        return;
    ndjson_ids_done(&ndjson->ids);
    early_ends_done(&ndjson->ends);
    free(ndjson);
}

static void *ndjson_begin(const struct writer_source *source, struct buffer *out)
{
    struct ndjson *ndjson = calloc(1, sizeof(*ndjson));

    if (!ndjson)
        return NULL;
    ndjson->source = source;
    if (ndjson_ids_load(&ndjson->ids, source) < 0) {
        ndjson_free(ndjson);
        return NULL;
    }
    write_header(source, out);
    symbols_each(source->symbols, write_known, out);
    return ndjson;
}

static void write_dropped_line(uint64_t n, struct buffer *out)
{
    json_write_raw(out, "{\"type\":\"dropped\",\"dropped\":");
    json_write_u64(out, n);
    ndjson_end_line(out);
}

static void write_pause_line(const struct ndjson *ndjson, const char *type, uint64_t time_ns, struct buffer *out)
{
    json_write_raw(out, "{\"type\":");
    json_write_string(out, type);
    write_time(ndjson, time_ns, out);
    ndjson_end_line(out);
}

static void ndjson_mark(void *state, const struct writer_mark *mark, struct buffer *out)
{
    struct ndjson *ndjson = state;

    switch (mark->kind) {
    case WRITER_ROUND:
        break;
    case WRITER_DROPPED:
        write_dropped_line(mark->n, out);
        break;
    case WRITER_PAUSED:
        write_pause_line(ndjson, "pause", mark->time_ns, out);
        break;
    case WRITER_RESUMED:
        write_pause_line(ndjson, "resume", mark->time_ns, out);
        break;
    case WRITER_RESCANNED:
        symbols_each(ndjson->source->symbols, write_known, out);
        break;
    case WRITER_EVENTS:
        /* if memory runs out, the values of counters are omitted from here on */
        (void)ndjson_ids_load(&ndjson->ids, ndjson->source);
        break;
    }
}

static void ndjson_early(const void *state, struct buffer *sentence)
{
    early_ends_describe(&((const struct ndjson *)state)->ends, sentence);
}

static void ndjson_end(void *state, const struct writer_end *end, struct buffer *out)
{
    const struct ndjson *ndjson = state;

    json_write_raw(out, "{\"type\":\"end\",\"reason\":");
    json_write_string(out, end->reason);
    json_write_member(out, "records", u64, end->records);
    json_write_member(out, "lost", u64, end->lost);
    json_write_member(out, "dropped", u64, end->dropped);
    json_write_member(out, "unknown", u64, ndjson->unknown);
    json_write_member(out, "malformed", u64, end->malformed);
    json_write_member(out, "seconds", seconds, end->duration_ns);
    json_write_member(out, "awaiting_symbols", u64, ndjson->awaited);
    if (ndjson->source->off_cpu_threshold_ns) {
        json_write_member(out, "brief", u64, end->off_cpu.brief);
        json_write_member(out, "brief_ns", u64, end->off_cpu.brief_ns);
        json_write_member(out, "missed", u64, end->off_cpu.missed);
    }
    write_notes(ndjson->source, ndjson->awaited, end, out);
    ndjson_end_line(out);
}

const struct writer writer_ndjson = {
    .names_at_once = true,
    .begin = ndjson_begin,
    .record = ndjson_record,
    .mark = ndjson_mark,
    .early = ndjson_early,
    .end = ndjson_end,
    .free = ndjson_free,
};
