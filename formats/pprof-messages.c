/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the messages of pprof: see pprof-messages.h.
 *
 * Messages that are written one after the other are one to the reader, their repeated fields appended. So each sample,
 * location, text... is packed by itself, and the tree of all of them is never in memory.
 *
 * The texts of the profile come first in the string table, in their order. A function has the number of its name; a
 * location and a mapping have their index and one more.
 */
#include "formats/pprof-messages.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "symbols/symboliser/symbol-table.h"

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;

#define PROFILE PERFTOOLS__PROFILES__PROFILE__INIT
#define VALUE_TYPE PERFTOOLS__PROFILES__VALUE_TYPE__INIT
#define SAMPLE PERFTOOLS__PROFILES__SAMPLE__INIT
#define LABEL PERFTOOLS__PROFILES__LABEL__INIT
#define MAPPING PERFTOOLS__PROFILES__MAPPING__INIT
#define LOCATION PERFTOOLS__PROFILES__LOCATION__INIT
#define LINE PERFTOOLS__PROFILES__LINE__INIT
#define FUNCTION PERFTOOLS__PROFILES__FUNCTION__INIT

struct pieces {
    ProtobufCBuffer base; /* first: the library knows no more of it */
    pprof_pack pack;
    struct buffer *out;
    const struct locations *locations;
    struct kernel_view *kernel;
    int64_t n_texts; /* written so far */
    int64_t key_pid, key_comm;
    uint64_t *ids;       /* of a stack's locations */
    uint64_t *unnamed;   /* the function of what has no symbol, in each mapping, and at last in none; 0: not written */
    bool *has_functions; /* each mapping */
    bool *is_function;   /* each text of the profile, as far as it was written */
};

static void pieces_done(struct pieces *pieces)
{
    free(pieces->ids);
    free(pieces->unnamed);
    free(pieces->has_functions);
    free(pieces->is_function);
}

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    struct pieces *pieces = (struct pieces *)buffer;
    buffer_append(pieces->out, bytes, size);
}

static void put(struct pieces *pieces, const Profile *piece)
{
    pieces->pack(&piece->base, &pieces->base);
}

static int64_t put_text(struct pieces *pieces, const char *text)
{
    Profile piece = PROFILE;
    char *texts[] = {(char *)text};

    piece.n_string_table = 1;
    piece.string_table = texts;
    put(pieces, &piece);
    return pieces->n_texts++;
}

/* Whatever it is, as UTF-8; 0 for "". */
static int64_t put_any_text(struct pieces *pieces, const char *text)
{
    _cleanup_(buffer_done) struct buffer good = {0};

    escape_append(&good, text, ESCAPE_NOTHING);
    buffer_append_char(&good, '\0');
    if (good.failed) {
        pieces->out->failed = true;
        return 0;
    }
    return good.size > 1 ? put_text(pieces, good.data) : 0;
}

static void put_profile_texts(struct pieces *pieces)
{
    const struct string_table *strings = &pieces->locations->strings;

    for (size_t i = 0; i < strings->n; i++)
        put_text(pieces, string_table_text(strings, (uint32_t)i));
}

/* Its number is that of its name. */
static void put_function(struct pieces *pieces, uint64_t name)
{
    Function function = FUNCTION, *functions[] = {&function};
    Profile piece = PROFILE;

    function.id = name;
    function.name = function.system_name = (int64_t)name;
    piece.n_function = 1;
    piece.function = functions;
    put(pieces, &piece);
}

/* That of a location, written where it is the first with this name. */
static uint64_t function_of(struct pieces *pieces, const struct location *location)
{
    const struct locations *locations = pieces->locations;
    _cleanup_(buffer_done) struct buffer name = {0};

    if (location->symbol) {
        if (!pieces->is_function[location->symbol])
            put_function(pieces, location->symbol);
        pieces->is_function[location->symbol] = true;
        return location->symbol;
    }
    uint64_t *number = &pieces->unnamed[MIN((size_t)location->mapping, locations->n_mappings)];
    if (*number)
        return *number;
    location_name(locations, location, &name);
    buffer_append_char(&name, '\0');
    if (name.failed)
        pieces->out->failed = true;
    else
        put_function(pieces, *number = (uint64_t)put_any_text(pieces, name.data));
    return *number;
}

static void put_location(struct pieces *pieces, uint64_t id, const struct location *known, uint64_t function)
{
    Line line = LINE, *lines[] = {&line};
    Location location = LOCATION, *locations[] = {&location};
    Profile piece = PROFILE;

    line.function_id = function;
    location.id = id;
    location.address =
        kernel_view_address(pieces->kernel, location_is_kernel(pieces->locations, known), known->address);
    location.mapping_id = known->mapping == LOCATION_UNMAPPED ? 0 : known->mapping + UINT64_C(1);
    location.n_line = 1;
    location.line = lines;
    piece.n_location = 1;
    piece.location = locations;
    put(pieces, &piece);
}

static void put_locations(struct pieces *pieces)
{
    const struct locations *locations = pieces->locations;

    for (size_t i = 0; i < locations->n; i++) {
        const struct location *location = &locations->locations[i];
        if (location->symbol && location->mapping != LOCATION_UNMAPPED)
            pieces->has_functions[location->mapping] = true;
        put_location(pieces, i + 1, location, function_of(pieces, location));
    }
}

static int64_t put_build_id(struct pieces *pieces, const struct mapping *mapping)
{
    char text[2 * BUILD_ID_MAX + 1] = "";

    for (size_t i = 0; i < MIN(mapping->build_id_size, (size_t)BUILD_ID_MAX); i++)
        sprintf(text + 2 * i, "%02x", mapping->build_id[i]);
    return put_any_text(pieces, text);
}

static void put_mappings(struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->locations->n_mappings; i++) {
        const struct mapping *mapped = &pieces->locations->mappings[i].mapping;
        Mapping mapping = MAPPING, *mappings[] = {&mapping};
        Profile piece = PROFILE;
        mapping.id = i + 1;
        mapping.memory_start = mapped->start;
        mapping.memory_limit = mapped->end;
        mapping.file_offset = mapped->offset;
        mapping.filename = put_any_text(pieces, mapped->file);
        mapping.build_id = put_build_id(pieces, mapped);
        mapping.has_functions = pieces->has_functions[i];
        piece.n_mapping = 1;
        piece.mapping = mappings;
        put(pieces, &piece);
    }
}

static void put_sample(struct pieces *pieces, size_t n_ids, const struct profile_weight *sum, Label **labels,
                       size_t n_labels)
{
    int64_t values[] = {(int64_t)sum->samples, (int64_t)sum->period};
    Sample sample = SAMPLE, *samples[] = {&sample};
    Profile piece = PROFILE;

    sample.n_location_id = n_ids;
    sample.location_id = pieces->ids;
    sample.n_value = ARRAY_SIZE(values);
    sample.value = values;
    sample.n_label = n_labels;
    sample.label = labels;
    piece.n_sample = 1;
    piece.sample = samples;
    put(pieces, &piece);
}

static int put_stack(void *userdata, const struct profile_stack *stack)
{
    struct pieces *pieces = userdata;
    Label pid = LABEL, comm = LABEL, *labels[2];
    size_t n_labels = 0;

    if (stack->pid != UINT32_MAX) {
        pid.key = pieces->key_pid;
        pid.num = stack->pid;
        labels[n_labels++] = &pid;
    }
    if (stack->comm) {
        comm.key = pieces->key_comm;
        comm.str = stack->comm;
        labels[n_labels++] = &comm;
    }
    for (size_t i = 0; i < stack->n; i++)
        pieces->ids[i] = stack->locations[i] + UINT64_C(1);
    put_sample(pieces, stack->n, &stack->sum, labels, n_labels);
    return pieces->out->failed ? -ENOMEM : 0;
}

/* What found no room is a sample as well, or shares would be wrong. */
static void put_skipped(struct pieces *pieces, const struct profile_weight *skipped)
{
    const struct location nowhere = {.mapping = LOCATION_UNMAPPED};

    if (!skipped->samples)
        return;
    uint64_t function = (uint64_t)put_text(pieces, "[truncated]");
    put_function(pieces, function);
    pieces->ids[0] = pieces->locations->n + UINT64_C(1);
    put_location(pieces, pieces->ids[0], &nowhere, function);
    put_sample(pieces, 1, skipped, NULL, 0);
}

static bool is_clock(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE &&
           (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* By frequency the kernel chooses the period anew all the time: then their mean. */
static uint64_t mean_period(const struct perf_event_attr *attr, struct profile_weight total)
{
    if (!attr->freq)
        return attr->sample_period;
    return total.samples ? total.period / total.samples : 0;
}

static void put_head(struct pieces *pieces, const struct writer_source *source, const struct writer_end *end,
                     struct profile_weight total)
{
    const struct writer_event *event = &source->events[0];
    ValueType samples = VALUE_TYPE, period = VALUE_TYPE, *types[] = {&samples, &period};
    Profile piece = PROFILE;

    samples.type = put_text(pieces, "samples");
    samples.unit = put_text(pieces, "count");
    period.type = put_any_text(pieces, event->name);
    period.unit = is_clock(event->attr) ? put_text(pieces, "nanoseconds") : samples.unit;
    piece.n_sample_type = ARRAY_SIZE(types);
    piece.sample_type = types;
    piece.period_type = &period;
    piece.period = (int64_t)mean_period(event->attr, total);
    piece.default_sample_type = period.type;
    piece.time_nanos = (int64_t)source->start_realtime_ns;
    piece.duration_nanos = (int64_t)end->duration_ns;
    put(pieces, &piece);
}

/* "key: value", as one that reads the profile may want to know. */
static void put_comment(struct pieces *pieces, const char *format, uint64_t value, const char *text)
{
    char comment[256];
    int64_t number;
    Profile piece = PROFILE;

    snprintf(comment, sizeof(comment), format, value, text);
    number = put_any_text(pieces, comment);
    piece.n_comment = 1;
    piece.comment = &number;
    put(pieces, &piece);
}

static void put_comments(struct pieces *pieces, const struct writer_end *end, struct profile_weight total,
                         struct profile_weight skipped)
{
    put_comment(pieces, "perfcountd: %" PRIu64 " samples%s", total.samples, "");
    if (end->lost)
        put_comment(pieces, "%" PRIu64 " records were lost by the kernel%s", end->lost, "");
    if (end->dropped)
        put_comment(pieces, "%" PRIu64 " records were dropped%s", end->dropped, "");
    if (skipped.samples)
        put_comment(pieces, "%" PRIu64 " samples found no room: their stacks are [truncated]%s", skipped.samples, "");
    if (!str_equal(end->reason, "seconds"))
        put_comment(pieces, "it ended after %" PRIu64 " ms: %s", end->duration_ns / NSEC_PER_MSEC, end->reason);
}

int pprof_messages_write(pprof_pack pack, struct profile *profile, const struct writer_source *source,
                         const struct writer_end *end, struct buffer *out)
{
    const struct locations *locations = profile_locations(profile);
    struct profile_weight total = profile_total(profile), skipped = profile_skipped(profile);
    _cleanup_(pieces_done) struct pieces pieces = {
        .base = {.append = append},
        .pack = pack,
        .out = out,
        .locations = locations,
        .kernel = source->kernel,
        .ids = calloc(PROFILE_DEPTH_MAX, sizeof(*pieces.ids)),
        .unnamed = calloc(locations->n_mappings + 1, sizeof(*pieces.unnamed)),
        .has_functions = calloc(locations->n_mappings + 1, sizeof(*pieces.has_functions)),
        .is_function = calloc(locations->strings.n, sizeof(*pieces.is_function)),
    };

    if (!pieces.ids || !pieces.unnamed || !pieces.has_functions || !pieces.is_function)
        return -ENOMEM;
    put_profile_texts(&pieces);
    put_head(&pieces, source, end, total);
    put_comments(&pieces, end, total, skipped);
    pieces.key_pid = put_text(&pieces, "pid");
    pieces.key_comm = put_text(&pieces, "comm");
    put_locations(&pieces);
    put_mappings(&pieces);
    int r = profile_each(profile, put_stack, &pieces);
    put_skipped(&pieces, &skipped);
    return out->failed ? -ENOMEM : r;
}
