/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON, a line each (writer_ndjson).
 *
 * {"type":"header"} is the first line and {"type":"end"} the last. After the header come lines without a time about the
 * processes that run already; then the records, under the kernel's names for them in lower case. {"type":"pause"} and
 * {"type":"resume"} stand around a time without records. Behind the latter, and behind {"type":"lost"}, there are lines
 * about all processes again. {"type":"dropped"} stands in the place of records that the client was too slow for.
 *
 * "time" is in seconds since 1970 with nine decimals. Addresses are texts with hexadecimal numbers. Fields that are not
 * known are left out; an unknown symbol or module is "[unknown]". If addresses of the kernel are hidden
 * (kernel-view.h), "offset" in the symbol takes the place of "ip", and a "ksymbol" has no "address".
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "formats/ndjson-fields.h"
#include "formats/ndjson-sample.h"
#include "formats/writers.h"

struct ndjson {
    const struct writer_source *source;
    struct ndjson_ids ids;
    uint64_t unknown; /* records of a type that has no name */
    uint64_t awaited; /* addresses that had no symbol yet */
};

/* The start of a line: `{"type":"mmap2"`. */
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
        ndjson->awaited += ndjson_write_sample(ndjson->source, &ndjson->ids, record, out);
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
    if (attr->freq)
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

/* `realtime_offset_ns` is added to the time of a record to get "time". */
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

/* The reasons why many symbols will be missing, or were missing at the beginning. */
static void write_notes(const struct writer_source *source, uint64_t awaited, uint64_t throttled, struct buffer *out)
{
    char early[160], late[sizeof(WRITER_THROTTLED) + 32];
    bool filled = false;

    snprintf(early, sizeof(early),
             "%" PRIu64 " addresses have no symbol, since the tables of their files were still being made; a stream "
             "that begins now has them",
             awaited);
    snprintf(late, sizeof(late), WRITER_THROTTLED, throttled);
    json_write_raw(out, ",\"notes\":[");
    write_note(out, symbols_reason_user(source->symbols), &filled);
    write_note(out, symbols_reason_kernel(source->symbols), &filled);
    write_note(out, awaited ? early : NULL, &filled);
    write_note(out, throttled ? late : NULL, &filled);
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
    write_notes(source, 0, 0, out);
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

static void ndjson_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    struct ndjson *ndjson = state;

    switch (notice->kind) {
    case WRITER_ROUND:
        break;
    case WRITER_DROPPED:
        write_dropped_line(notice->n, out);
        break;
    case WRITER_PAUSED:
        write_pause_line(ndjson, "pause", notice->time_ns, out);
        break;
    case WRITER_RESUMED:
        write_pause_line(ndjson, "resume", notice->time_ns, out);
        break;
    case WRITER_RESCANNED:
        symbols_each(ndjson->source->symbols, write_known, out);
        break;
    case WRITER_EVENTS:
        /* Without memory, values that were read are left out. */
        (void)ndjson_ids_load(&ndjson->ids, ndjson->source);
        break;
    }
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
    write_notes(ndjson->source, ndjson->awaited, end->throttled, out);
    ndjson_end_line(out);
}

const struct writer writer_ndjson = {
    .begin = ndjson_begin,
    .record = ndjson_record,
    .notice = ndjson_notice,
    .end = ndjson_end,
    .free = ndjson_free,
};
