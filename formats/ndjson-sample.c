/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in NDJSON: see ndjson-sample.h. */
#include "formats/ndjson-sample.h"

#include "base/json.h"
#include "formats/ndjson-fields.h"
#include "perf/callchain.h"

#define UNKNOWN "[unknown]"

static int compare_ids(const void *a, const void *b)
{
    const struct ndjson_id *first = a, *second = b;

    return (first->id > second->id) - (first->id < second->id);
}

int ndjson_ids_load(struct ndjson_ids *ids, const struct writer_source *source)
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

void ndjson_ids_done(struct ndjson_ids *ids)
{
    free(ids->ids);
    *ids = (struct ndjson_ids){0};
}

/* The event with the value's id; if values have no ids, the `index`-th event of the group. NULL if there is none. */
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

/* The values of the group's counters, on this CPU. */
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

/* Returns whether its symbol is awaited. */
static bool write_frame(const struct writer_source *source, const struct record *record, enum address_space space,
                        uint64_t ip, bool called, struct buffer *out)
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
    return frame.awaited;
}

static size_t write_callchain(const struct writer_source *source, const struct record *record, struct buffer *out)
{
    struct callchain chain = callchain_begin(record);
    bool filled = false;
    size_t awaited = 0;
    uint64_t ip;

    json_write_raw(out, ",\"callchain\":[");
    while (callchain_next(&chain, &ip)) {
        json_write_comma(out, &filled);
        buffer_append_char(out, '{');
        awaited += write_frame(source, record, chain.space, ip, callchain_is_caller(&chain), out);
        buffer_append_char(out, '}');
    }
    buffer_append_char(out, ']');
    return awaited;
}

size_t ndjson_write_sample(const struct writer_source *source, const struct ndjson_ids *ids,
                           const struct record *record, struct buffer *out)
{
    ndjson_write_thread(record->id.pid, record->id.tid, out);
    json_write_member(out, "comm", string, symbols_comm(source->symbols, record->id.pid, record->id.tid));
    buffer_append_char(out, ',');
    size_t awaited = write_frame(source, record, address_space_of(record), record->sample.ip, false, out);
    json_write_member(out, "period", u64, record->sample.period);
    if (source->layout.sample_type & PERF_SAMPLE_CALLCHAIN)
        awaited += write_callchain(source, record, out);
    if (source->layout.sample_type & PERF_SAMPLE_READ)
        write_counts(source, ids, &record->sample, out);
    return awaited;
}
