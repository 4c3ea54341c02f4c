/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON, a line each (writer_ndjson of writer.h).
 *
 * {"type":"header"} first, {"type":"end"} last; between them what already ran when the stream began, as lines without a
 * time, and the records, under the kernel's names for them in lower case. {"type":"pause"} and {"type":"resume"} stand
 * around a time without records; what runs is told anew behind the second, and behind {"type":"lost"};
 * {"type":"dropped"} is in the place of what the client was too slow to take. "time" is in seconds since 1970 with nine
 * decimals, addresses are hexadecimal in texts, and what is not known is left out, or "[unknown]" where a symbol or a
 * module has its place. Of the kernel's addresses, where they are hidden (kernel-view.h), "offset" in the symbol is in
 * the place of "ip", and a "ksymbol" has no "address".
 */
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "formats/ndjson-fields.h"
#include "formats/writers.h"

#define UNKNOWN "[unknown]"
/* From here on, an entry of a callchain is a PERF_CONTEXT_* marker. */
#define CONTEXT_MIN ((uint64_t)PERF_CONTEXT_MAX)

/* Which event a value in a sample's read is of. */
struct event_id {
    uint64_t id;
    size_t event;
};

struct ndjson {
    const struct writer_source *source;
    struct event_id *ids; /* sorted */
    size_t n_ids;
    uint64_t unknown; /* records of a type that has no name */
};

/* The start of a line: `{"type":"mmap2"`. */
static void begin_line(struct buffer *out, uint32_t type)
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

static void end_line(struct buffer *out)
{
    json_write_raw(out, "}\n");
}

static void write_time(const struct ndjson *ndjson, uint64_t ns, struct buffer *out)
{
    const struct writer_source *source = ndjson->source;

    if (ns == 0)
        return;
    json_write_key(out, "time");
    json_write_seconds(out, ns + source->start_realtime_ns - source->start_monotonic_ns);
}

static void write_cpu(const struct record_id *id, struct buffer *out)
{
    if (id->cpu == UINT32_MAX)
        return;
    json_write_key(out, "cpu");
    json_write_u64(out, id->cpu);
}

/* Whose addresses are meant. Of a guest's and a hypervisor's, nothing is known here. */
enum space { SPACE_USER, SPACE_KERNEL, SPACE_OTHER };

static enum space space_of_misc(uint16_t misc)
{
    switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL:
        return SPACE_KERNEL;
    case PERF_RECORD_MISC_USER:
        return SPACE_USER;
    default:
        return SPACE_OTHER;
    }
}

static enum space space_of_marker(uint64_t marker)
{
    if (marker == (uint64_t)PERF_CONTEXT_KERNEL)
        return SPACE_KERNEL;
    return marker == (uint64_t)PERF_CONTEXT_USER ? SPACE_USER : SPACE_OTHER;
}

/* A caller's address is behind its call, which may be where another function begins: it called from a byte before. */
static void write_frame(struct ndjson *ndjson, const struct record *record, enum space space, uint64_t ip, bool called,
                        struct buffer *out)
{
    bool hidden = kernel_view_hides(ndjson->source->kernel, space != SPACE_USER, ip);
    struct frame frame = {0};

    if (space != SPACE_OTHER)
        symbols_resolve(ndjson->source->symbols, record->id.pid, space == SPACE_KERNEL, ip - called, &frame);
    if (hidden) {
        json_write_raw(out, "\"symbol\":");
    } else {
        json_write_raw(out, "\"ip\":");
        json_write_hex(out, ip);
        json_write_key(out, "symbol");
    }
    json_write_string(out, frame.symbol ? frame.symbol : UNKNOWN);
    json_write_key(out, "module");
    json_write_string(out, frame.mapping ? frame.mapping->file : UNKNOWN);
    if (hidden && frame.symbol) {
        json_write_key(out, "offset");
        json_write_hex(out, frame.offset + called);
    }
}

/* Markers say of whom the addresses behind them are. */
static void write_callchain(struct ndjson *ndjson, const struct record *record, struct buffer *out)
{
    const struct record_sample *sample = &record->sample;
    enum space space = space_of_misc(record->misc);
    bool first = true, called = false;

    json_write_raw(out, ",\"callchain\":[");
    for (size_t i = 0; i < sample->n_callchain; i++) {
        uint64_t ip = sample->callchain[i];
        if (ip >= CONTEXT_MIN) {
            space = space_of_marker(ip);
            called = false;
            continue;
        }
        if (!first)
            buffer_append_char(out, ',');
        first = false;
        buffer_append_char(out, '{');
        write_frame(ndjson, record, space, ip, called, out);
        called = true;
        buffer_append_char(out, '}');
    }
    buffer_append_char(out, ']');
}

static int compare_ids(const void *a, const void *b)
{
    const struct event_id *first = a, *second = b;

    return (first->id > second->id) - (first->id < second->id);
}

/* By its id where values have one, else by its place in the group. */
static const char *event_of_value(const struct ndjson *ndjson, const struct record_value *value, size_t place)
{
    const struct writer_source *source = ndjson->source;
    const struct event_id key = {.id = value->id};

    if (source->layout.read_format & PERF_FORMAT_ID) {
        const struct event_id *found =
            ndjson->n_ids ? bsearch(&key, ndjson->ids, ndjson->n_ids, sizeof(key), compare_ids) : NULL;
        return found ? source->events[found->event].name : NULL;
    }
    return place < source->n_events ? source->events[place].name : NULL;
}

/* What the group's counters stood at, on this CPU. */
static void write_counts(const struct ndjson *ndjson, const struct record_sample *sample, struct buffer *out)
{
    const struct record_layout *layout = &ndjson->source->layout;
    bool first = true;

    json_write_raw(out, ",\"counts\":{");
    for (size_t i = 0; i < sample->n_read; i++) {
        struct record_value value = record_read_value(sample, layout, i);
        const char *name = event_of_value(ndjson, &value, i);
        if (!name)
            continue;
        if (!first)
            buffer_append_char(out, ',');
        first = false;
        json_write_string(out, name);
        buffer_append_char(out, ':');
        json_write_u64(out, value.value);
    }
    buffer_append_char(out, '}');
    if (layout->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
        json_write_key(out, "enabled_ns");
        json_write_u64(out, sample->time_enabled);
    }
    if (layout->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) {
        json_write_key(out, "running_ns");
        json_write_u64(out, sample->time_running);
    }
}

static void write_sample(struct ndjson *ndjson, const struct record *record, struct buffer *out)
{
    const struct writer_source *source = ndjson->source;

    ndjson_write_thread(record->id.pid, record->id.tid, out);
    json_write_key(out, "comm");
    json_write_string(out, symbols_comm(source->symbols, record->id.pid, record->id.tid));
    buffer_append_char(out, ',');
    write_frame(ndjson, record, space_of_misc(record->misc), record->sample.ip, false, out);
    json_write_key(out, "period");
    json_write_u64(out, record->sample.period);
    if (source->layout.sample_type & PERF_SAMPLE_CALLCHAIN)
        write_callchain(ndjson, record, out);
    if (source->layout.sample_type & PERF_SAMPLE_READ)
        write_counts(ndjson, &record->sample, out);
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
    begin_line(out, record->type);
    write_time(ndjson, record->id.time, out);
    write_cpu(&record->id, out);
    if (record->type == PERF_RECORD_SAMPLE)
        write_sample(ndjson, record, out);
    else
        write_other(ndjson, record, out);
    end_line(out);
    return true;
}

static void write_machine(struct buffer *out)
{
    struct utsname name;

    if (uname(&name) < 0)
        return;
    json_write_key(out, "hostname");
    json_write_string(out, name.nodename);
    json_write_key(out, "kernel");
    json_write_string(out, name.release);
    json_write_key(out, "machine");
    json_write_string(out, name.machine);
}

static void write_events(const struct writer_source *source, struct buffer *out)
{
    json_write_key(out, "event");
    json_write_string(out, source->events[0].name);
    if (source->events[0].attr->freq)
        json_write_key(out, "frequency");
    else
        json_write_key(out, "period");
    json_write_u64(out, source->events[0].attr->sample_period);
    json_write_raw(out, ",\"read\":[");
    for (size_t i = 0; source->read && i < source->n_events; i++) {
        if (i > 0)
            buffer_append_char(out, ',');
        json_write_string(out, source->events[i].name);
    }
    buffer_append_char(out, ']');
}

/* To the record's clock, this is added to get "time". */
static void write_clock(const struct writer_source *source, struct buffer *out)
{
    json_write_raw(out, ",\"clock\":\"monotonic\",\"realtime_offset_ns\":");
    json_write_i64(out, (int64_t)(source->start_realtime_ns - source->start_monotonic_ns));
}

/* Why many symbols will be missing. */
static void write_notes(const struct writer_source *source, struct buffer *out)
{
    const char *notes[] = {symbols_reason_user(source->symbols), symbols_reason_kernel(source->symbols)};
    bool first = true;

    json_write_raw(out, ",\"notes\":[");
    for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
        if (!notes[i])
            continue;
        if (!first)
            buffer_append_char(out, ',');
        first = false;
        json_write_string(out, notes[i]);
    }
    buffer_append_char(out, ']');
}

static void write_header(const struct writer_source *source, struct buffer *out)
{
    json_write_raw(out, "{\"type\":\"header\",\"version\":\"" PACKAGE_VERSION "\"");
    write_machine(out);
    json_write_key(out, "time");
    json_write_seconds(out, source->start_realtime_ns);
    write_clock(source, out);
    json_write_key(out, "seconds");
    json_write_seconds(out, (uint64_t)(source->seconds * 1e9));
    write_events(source, out);
    json_write_key(out, "cpus");
    json_write_u64(out, source->n_cpus);
    write_notes(source, out);
    end_line(out);
}

static void write_known(void *userdata, uint32_t pid, uint32_t tid, const char *comm, const struct mapping *mapping)
{
    struct buffer *out = userdata;

    begin_line(out, mapping ? PERF_RECORD_MMAP2 : PERF_RECORD_COMM);
    ndjson_write_thread(pid, tid, out);
    if (mapping) {
        ndjson_write_range(mapping->start, mapping->end - mapping->start, mapping->offset, mapping->file, out);
        ndjson_write_inode(mapping->major, mapping->minor, mapping->inode, out);
        ndjson_write_build_id(mapping->build_id, mapping->build_id_size, out);
    } else {
        json_write_key(out, "comm");
        json_write_string(out, comm);
    }
    end_line(out);
}

static int sort_ids(struct ndjson *ndjson)
{
    const struct writer_source *source = ndjson->source;

    if (!source->read || source->n_ids == 0)
        return 0;
    ndjson->ids = calloc(source->n_events * source->n_ids, sizeof(*ndjson->ids));
    if (!ndjson->ids)
        return -ENOMEM;
    for (size_t i = 0; i < source->n_events; i++)
        for (size_t j = 0; j < source->n_ids; j++)
            ndjson->ids[ndjson->n_ids++] = (struct event_id){.id = source->events[i].ids[j], .event = i};
    qsort(ndjson->ids, ndjson->n_ids, sizeof(*ndjson->ids), compare_ids);
    return 0;
}

/* Without memory, the values that were read are left out. */
static void sort_ids_again(struct ndjson *ndjson)
{
    free(ndjson->ids);
    ndjson->ids = NULL;
    ndjson->n_ids = 0;
    (void)sort_ids(ndjson);
}

static void ndjson_free(void *state)
{
    struct ndjson *ndjson = state;

    if (!ndjson)
        return;
    free(ndjson->ids);
    free(ndjson);
}

static void *ndjson_begin(const struct writer_source *source, struct buffer *out)
{
    struct ndjson *ndjson = calloc(1, sizeof(*ndjson));

    if (!ndjson)
        return NULL;
    ndjson->source = source;
    if (sort_ids(ndjson) < 0) {
        ndjson_free(ndjson);
        return NULL;
    }
    write_header(source, out);
    symbols_each(source->symbols, write_known, out);
    return ndjson;
}

static void write_dropped(uint64_t n, struct buffer *out)
{
    json_write_raw(out, "{\"type\":\"dropped\",\"dropped\":");
    json_write_u64(out, n);
    end_line(out);
}

static void write_pause(const struct ndjson *ndjson, const char *type, uint64_t time_ns, struct buffer *out)
{
    json_write_raw(out, "{\"type\":");
    json_write_string(out, type);
    write_time(ndjson, time_ns, out);
    end_line(out);
}

static void ndjson_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    struct ndjson *ndjson = state;

    switch (notice->kind) {
    case WRITER_ROUND:
        break;
    case WRITER_DROPPED:
        write_dropped(notice->n, out);
        break;
    case WRITER_PAUSED:
        write_pause(ndjson, "pause", notice->time_ns, out);
        break;
    case WRITER_RESUMED:
        write_pause(ndjson, "resume", notice->time_ns, out);
        break;
    case WRITER_RESCANNED:
        symbols_each(ndjson->source->symbols, write_known, out);
        break;
    case WRITER_EVENTS:
        sort_ids_again(ndjson);
        break;
    }
}

static void ndjson_end(void *state, const struct writer_end *end, struct buffer *out)
{
    const struct ndjson *ndjson = state;

    json_write_raw(out, "{\"type\":\"end\",\"reason\":");
    json_write_string(out, end->reason);
    json_write_key(out, "records");
    json_write_u64(out, end->records);
    json_write_key(out, "lost");
    json_write_u64(out, end->lost);
    json_write_key(out, "dropped");
    json_write_u64(out, end->dropped);
    json_write_key(out, "unknown");
    json_write_u64(out, ndjson->unknown);
    json_write_key(out, "malformed");
    json_write_u64(out, end->malformed);
    json_write_key(out, "seconds");
    json_write_seconds(out, end->duration_ns);
    write_notes(ndjson->source, out);
    end_line(out);
}

const struct writer writer_ndjson = {
    .begin = ndjson_begin,
    .record = ndjson_record,
    .notice = ndjson_notice,
    .end = ndjson_end,
    .free = ndjson_free,
};
