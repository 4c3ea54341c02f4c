/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as a pprof profile. The writer is declared in formats/writers.h; nothing else is public. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/text.h"
#include "formats/profile.h"
#include "formats/writers.h"
#include "symbols/kernel.h"

static size_t protobuf_begin_message(struct buffer *out, unsigned field);
static void protobuf_end_message(struct buffer *out, size_t start);

/* --- Protocol Buffers --- */

/*
 * Messages are written field by field (https://protobuf.dev/programming-guides/encoding/). Errors are not checked while
 * writing, because the buffer keeps the first error. As in proto3, singular fields with the value 0 are omitted.
 */

#define VARINT_SIZE_MAX 10

enum wire_type { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

/*
 * Encodes a number with seven bits in each byte, the lowest bits first. The highest bit is set in all bytes but the
 * last. Returns the number of bytes.
 */
static size_t encode_varint(char *to, uint64_t value)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (char)(value | 0x80);
    to[n++] = (char)value;
    return n;
}

static void write_varint(struct buffer *out, uint64_t value)
{
    char *room = buffer_reserve(out, VARINT_SIZE_MAX);

    if (room)
        buffer_advance(out, encode_varint(room, value));
}

static void write_tag(struct buffer *out, unsigned field, enum wire_type type)
{
    write_varint(out, (uint64_t)field << 3 | type);
}

/* Writes a field of type uint64, bool or int64, which is in two's complement. */
static void protobuf_write_u64(struct buffer *out, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    write_tag(out, field, WIRE_VARINT);
    write_varint(out, value);
}

/* Writes one element of a repeated string field, even an empty string. */
static void protobuf_write_text(struct buffer *out, unsigned field, const char *text)
{
    size_t size = strlen(text);

    write_tag(out, field, WIRE_LENGTH);
    write_varint(out, size);
    buffer_append(out, text, size);
}

/* Writes all elements of a repeated integer field, or nothing if `n` is 0. */
static void protobuf_write_packed(struct buffer *out, unsigned field, const uint64_t *values, size_t n)
{
    if (n == 0)
        return;
    size_t start = protobuf_begin_message(out, field);
    for (size_t i = 0; i < n; i++)
        write_varint(out, values[i]);
    protobuf_end_message(out, start);
}

/* Begins an embedded message. Returns the offset of its fields, which protobuf_end_message() needs. */
static size_t protobuf_begin_message(struct buffer *out, unsigned field)
{
    write_tag(out, field, WIRE_LENGTH);
    return out->size;
}

/* Ends an embedded message: moves its fields and inserts their length before them. */
static void protobuf_end_message(struct buffer *out, size_t start)
{
    char length[VARINT_SIZE_MAX];

    if (out->failed)
        return;
    size_t size = out->size - start, n = encode_varint(length, size);
    if (!buffer_reserve(out, n))
        return;
    memmove(out->data + start + n, out->data + start, size);
    memcpy(out->data + start, length, n);
    buffer_advance(out, n);
}

/* --- profile --- */

/*
 * A pprof profile of all samples, written at the end and compressed. Messages and fields are those of
 * proto/profile.proto in github.com/google/pprof.
 *
 * Parsers append repeated fields of concatenated messages. Each sample, location and string is therefore written on its
 * own, and the whole message tree is never in memory.
 *
 * pprof's string table begins with the profile's strings, in the profile's order. The id of a function is the index of
 * its name; the id of a location or mapping is its index plus one.
 */

/* The field numbers of each message. */
enum pprof_profile_field {
    PPROF_PROFILE_SAMPLE_TYPE = 1,
    PPROF_PROFILE_SAMPLE = 2,
    PPROF_PROFILE_MAPPING = 3,
    PPROF_PROFILE_LOCATION = 4,
    PPROF_PROFILE_FUNCTION = 5,
    PPROF_PROFILE_STRING_TABLE = 6,
    PPROF_PROFILE_TIME_NANOS = 9,
    PPROF_PROFILE_DURATION_NANOS = 10,
    PPROF_PROFILE_PERIOD_TYPE = 11,
    PPROF_PROFILE_PERIOD = 12,
    PPROF_PROFILE_COMMENT = 13,
    PPROF_PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum pprof_value_type_field { PPROF_VALUE_TYPE_TYPE = 1, PPROF_VALUE_TYPE_UNIT = 2 };
enum pprof_sample_field { PPROF_SAMPLE_LOCATION_ID = 1, PPROF_SAMPLE_VALUE = 2, PPROF_SAMPLE_LABEL = 3 };
enum pprof_label_field { PPROF_LABEL_KEY = 1, PPROF_LABEL_STR = 2, PPROF_LABEL_NUM = 3 };
enum pprof_mapping_field {
    PPROF_MAPPING_ID = 1,
    PPROF_MAPPING_MEMORY_START = 2,
    PPROF_MAPPING_MEMORY_LIMIT = 3,
    PPROF_MAPPING_FILE_OFFSET = 4,
    PPROF_MAPPING_FILENAME = 5,
    PPROF_MAPPING_BUILD_ID = 6,
    PPROF_MAPPING_HAS_FUNCTIONS = 7,
};
enum pprof_location_field {
    PPROF_LOCATION_ID = 1,
    PPROF_LOCATION_MAPPING_ID = 2,
    PPROF_LOCATION_ADDRESS = 3,
    PPROF_LOCATION_LINE = 4
};
enum pprof_line_field { PPROF_LINE_FUNCTION_ID = 1 };
enum pprof_function_field { PPROF_FUNCTION_ID = 1, PPROF_FUNCTION_NAME = 2, PPROF_FUNCTION_SYSTEM_NAME = 3 };

/* Labels that depend on the cgroup of a sample. */
enum pprof_label {
    LABEL_CGROUP,
    LABEL_UNIT,
    LABEL_CONTAINER,
    LABEL_POD,
    LABEL_NAMESPACE,
    N_PPROF_LABELS,
};
static const enum name_kind label_kinds[N_PPROF_LABELS] = {
    [LABEL_UNIT] = NAME_UNIT,
    [LABEL_CONTAINER] = NAME_CONTAINER,
    [LABEL_POD] = NAME_POD,
    [LABEL_NAMESPACE] = NAME_NAMESPACE,
};

struct pprof {
    struct buffer *out;
    const struct locations *locations;
    struct kernel_view *kernel;
    uint64_t n_strings; /* number of strings written so far */
    uint64_t key_pid, key_tid, key_comm, key_state;
    uint64_t states[N_OFF_CPU_STATES];
    uint64_t label_keys[N_PPROF_LABELS];
    struct pprof_cgroup {
        uint64_t labels[N_PPROF_LABELS]; /* string indices of the labels' values; 0 if unknown */
    } * cgroups;                         /* indexed by the number of the cgroup */
    uint64_t *ids;                       /* scratch space for the location ids of a stack */
    /*
     * The functions that stand for addresses without a symbol: one for each mapping, and a last one for unmapped
     * addresses. 0 until the function is written.
     */
    uint64_t *unnamed;
    bool *has_functions; /* for each mapping, whether it has functions */
    bool *is_function;   /* for each string of the profile, whether a function with this name was written */
};

static void pprof_done(struct pprof *pprof)
{
    free(pprof->ids);
    free(pprof->unnamed);
    free(pprof->has_functions);
    free(pprof->is_function);
    free(pprof->cgroups);
}

/* Writes a string to the string table, and returns its index. */
static uint64_t write_string(struct pprof *pprof, const char *text)
{
    protobuf_write_text(pprof->out, PPROF_PROFILE_STRING_TABLE, text);
    return pprof->n_strings++;
}

/* Like write_string(), for arbitrary bytes, which are converted to UTF-8. Returns 0 for "". */
static uint64_t write_any_string(struct pprof *pprof, const char *text)
{
    _cleanup_(buffer_done) struct buffer valid = {0};

    escape_append(&valid, text, ESCAPE_NOTHING);
    buffer_append_char(&valid, '\0');
    if (valid.failed) {
        pprof->out->failed = true;
        return 0;
    }
    return valid.size > 1 ? write_string(pprof, valid.data) : 0;
}

static void write_profile_strings(struct pprof *pprof)
{
    const struct string_table *strings = &pprof->locations->strings;

    for (size_t i = 0; i < strings->n; i++)
        write_string(pprof, string_table_text(strings, (uint32_t)i));
}

/* Writes a function, whose id is the index of its name. */
static void write_function(struct pprof *pprof, uint64_t name)
{
    size_t start = protobuf_begin_message(pprof->out, PPROF_PROFILE_FUNCTION);

    protobuf_write_u64(pprof->out, PPROF_FUNCTION_ID, name);
    protobuf_write_u64(pprof->out, PPROF_FUNCTION_NAME, name);
    protobuf_write_u64(pprof->out, PPROF_FUNCTION_SYSTEM_NAME, name);
    protobuf_end_message(pprof->out, start);
}

/* Returns the id of the location's function, and writes the function on first use. */
static uint64_t function_of(struct pprof *pprof, const struct location *location)
{
    const struct locations *locations = pprof->locations;
    _cleanup_(buffer_done) struct buffer name = {0};

    if (location->symbol) {
        if (!pprof->is_function[location->symbol])
            write_function(pprof, location->symbol);
        pprof->is_function[location->symbol] = true;
        return location->symbol;
    }
    uint64_t *number = &pprof->unnamed[MIN((size_t)location->mapping, locations->n_mappings)];
    if (*number)
        return *number;
    location_append_name(locations, location, &name);
    buffer_append_char(&name, '\0');
    if (name.failed)
        pprof->out->failed = true;
    else
        write_function(pprof, *number = write_any_string(pprof, name.data));
    return *number;
}

static void write_location(struct pprof *pprof, uint64_t id, const struct location *location, uint64_t function)
{
    struct buffer *out = pprof->out;
    bool is_kernel = location_is_kernel(pprof->locations, location);

    size_t start = protobuf_begin_message(out, PPROF_PROFILE_LOCATION);
    protobuf_write_u64(out, PPROF_LOCATION_ID, id);
    protobuf_write_u64(out, PPROF_LOCATION_MAPPING_ID,
                       location->mapping == LOCATION_UNMAPPED ? 0 : location->mapping + UINT64_C(1));
    protobuf_write_u64(out, PPROF_LOCATION_ADDRESS, kernel_view_address(pprof->kernel, is_kernel, location->address));
    size_t line = protobuf_begin_message(out, PPROF_LOCATION_LINE);
    protobuf_write_u64(out, PPROF_LINE_FUNCTION_ID, function);
    protobuf_end_message(out, line);
    protobuf_end_message(out, start);
}

static void write_locations(struct pprof *pprof)
{
    const struct locations *locations = pprof->locations;

    for (size_t i = 0; i < locations->n; i++) {
        const struct location *location = &locations->locations[i];
        if (location->symbol && location->mapping != LOCATION_UNMAPPED)
            pprof->has_functions[location->mapping] = true;
        write_location(pprof, i + 1, location, function_of(pprof, location));
    }
}

static uint64_t write_build_id_string(struct pprof *pprof, const struct mapping *mapping)
{
    char text[2 * BUILD_ID_MAX + 1] = "";

    for (size_t i = 0; i < MIN(mapping->build_id_size, (size_t)BUILD_ID_MAX); i++)
        sprintf(text + 2 * i, "%02x", mapping->build_id[i]);
    return write_any_string(pprof, text);
}

static void write_mapping(struct pprof *pprof, size_t number)
{
    const struct mapping *mapping = &pprof->locations->mappings[number].mapping;
    uint64_t file = write_any_string(pprof, mapping->file), build_id = write_build_id_string(pprof, mapping);
    struct buffer *out = pprof->out;

    size_t start = protobuf_begin_message(out, PPROF_PROFILE_MAPPING);
    protobuf_write_u64(out, PPROF_MAPPING_ID, number + 1);
    protobuf_write_u64(out, PPROF_MAPPING_MEMORY_START, mapping->start);
    protobuf_write_u64(out, PPROF_MAPPING_MEMORY_LIMIT, mapping->end);
    protobuf_write_u64(out, PPROF_MAPPING_FILE_OFFSET, mapping->offset);
    protobuf_write_u64(out, PPROF_MAPPING_FILENAME, file);
    protobuf_write_u64(out, PPROF_MAPPING_BUILD_ID, build_id);
    protobuf_write_u64(out, PPROF_MAPPING_HAS_FUNCTIONS, pprof->has_functions[number]);
    protobuf_end_message(out, start);
}

/* Begins a sample with the first `n_ids` of pprof->ids. The sample's labels may be written next. */
static size_t begin_sample(struct pprof *pprof, size_t n_ids, const struct profile_weight *weight)
{
    const uint64_t values[] = {weight->samples, weight->period};

    size_t start = protobuf_begin_message(pprof->out, PPROF_PROFILE_SAMPLE);
    protobuf_write_packed(pprof->out, PPROF_SAMPLE_LOCATION_ID, pprof->ids, n_ids);
    protobuf_write_packed(pprof->out, PPROF_SAMPLE_VALUE, values, ARRAY_SIZE(values));
    return start;
}

/* Writes a label whose value is a string or a number, depending on `field`. */
static void write_label(struct pprof *pprof, uint64_t key, enum pprof_label_field field, uint64_t value)
{
    size_t start = protobuf_begin_message(pprof->out, PPROF_SAMPLE_LABEL);

    protobuf_write_u64(pprof->out, PPROF_LABEL_KEY, key);
    protobuf_write_u64(pprof->out, field, value);
    protobuf_end_message(pprof->out, start);
}

/* Writes the strings of a cgroup's labels. */
static int write_cgroup(struct pprof *pprof, struct cgroup_lookup *lookup, const struct found_cgroup *cgroup,
                        struct pprof_cgroup *ret)
{
    _cleanup_(names_done) struct names names = {0};

    if (cgroup_lookup_names(lookup, cgroup->path, &names) < 0)
        return -ENOMEM;
    ret->labels[LABEL_CGROUP] = write_any_string(pprof, cgroup->label);
    for (size_t i = LABEL_UNIT; i < N_PPROF_LABELS; i++)
        if (names.texts[label_kinds[i]])
            ret->labels[i] = write_any_string(pprof, names.texts[label_kinds[i]]);
    return 0;
}

static int write_cgroups(struct pprof *pprof, struct cgroup_lookup *lookup, const struct profile *profile)
{
    size_t n = profile_n_cgroups(profile);
    int r = 0;

    for (size_t i = 0; i < N_PPROF_LABELS; i++)
        pprof->label_keys[i] = write_string(pprof, i == LABEL_CGROUP ? "cgroup" : name_kind_text(label_kinds[i]));
    for (size_t i = 1; i <= n && r == 0; i++)
        r = write_cgroup(pprof, lookup, profile_cgroup(profile, (uint32_t)i), &pprof->cgroups[i]);
    return r;
}

static int write_stack(void *userdata, const struct profile_stack *stack)
{
    struct pprof *pprof = userdata;
    const struct pprof_cgroup *cgroup = &pprof->cgroups[stack->cgroup];

    for (size_t i = 0; i < stack->n; i++)
        pprof->ids[i] = stack->locations[i] + UINT64_C(1);
    size_t start = begin_sample(pprof, stack->n, &stack->weight);
    if (stack->pid != UINT32_MAX)
        write_label(pprof, pprof->key_pid, PPROF_LABEL_NUM, stack->pid);
    if (stack->tid)
        write_label(pprof, pprof->key_tid, PPROF_LABEL_NUM, stack->tid);
    if (stack->state)
        write_label(pprof, pprof->key_state, PPROF_LABEL_STR, pprof->states[stack->state - 1]);
    if (stack->comm)
        write_label(pprof, pprof->key_comm, PPROF_LABEL_STR, stack->comm);
    for (size_t i = 0; i < N_PPROF_LABELS; i++)
        if (cgroup->labels[i])
            write_label(pprof, pprof->label_keys[i], PPROF_LABEL_STR, cgroup->labels[i]);
    protobuf_end_message(pprof->out, start);
    return pprof->out->failed ? -ENOMEM : 0;
}

/* Writes the skipped samples as one sample, so that percentages of the total are right. */
static void write_skipped(struct pprof *pprof, const struct profile_weight *skipped)
{
    const struct location nowhere = {.mapping = LOCATION_UNMAPPED};

    if (!skipped->samples)
        return;
    uint64_t function = write_string(pprof, "[truncated]");
    write_function(pprof, function);
    pprof->ids[0] = pprof->locations->n + UINT64_C(1);
    write_location(pprof, pprof->ids[0], &nowhere, function);
    protobuf_end_message(pprof->out, begin_sample(pprof, 1, skipped));
}

static bool is_clock(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE &&
           (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * Returns the sampling period. With a sampling frequency, the kernel adjusts the period all the time, so the mean
 * period is returned.
 */
static uint64_t mean_period(const struct perf_event_attr *attr, struct profile_weight total)
{
    if (!attr->freq)
        return attr->sample_period;
    return total.samples ? total.period / total.samples : 0;
}

static void write_value_type(struct pprof *pprof, enum pprof_profile_field field, uint64_t type, uint64_t unit)
{
    size_t start = protobuf_begin_message(pprof->out, field);

    protobuf_write_u64(pprof->out, PPROF_VALUE_TYPE_TYPE, type);
    protobuf_write_u64(pprof->out, PPROF_VALUE_TYPE_UNIT, unit);
    protobuf_end_message(pprof->out, start);
}

static void write_profile_head(struct pprof *pprof, const struct writer_source *source, const struct writer_end *end,
                               struct profile_weight total)
{
    const struct writer_event *event = &source->events[0];
    bool off_cpu = source->off_cpu_threshold_ns;
    uint64_t samples = write_string(pprof, off_cpu ? "waits" : "samples"), count = write_string(pprof, "count");
    uint64_t name = off_cpu ? write_string(pprof, "off_cpu") : write_any_string(pprof, event->name);
    uint64_t unit = off_cpu || is_clock(event->attr) ? write_string(pprof, "nanoseconds") : count;

    write_value_type(pprof, PPROF_PROFILE_SAMPLE_TYPE, samples, count);
    write_value_type(pprof, PPROF_PROFILE_SAMPLE_TYPE, name, unit);
    protobuf_write_u64(pprof->out, PPROF_PROFILE_TIME_NANOS, source->start_realtime_ns);
    protobuf_write_u64(pprof->out, PPROF_PROFILE_DURATION_NANOS, end->duration_ns);
    write_value_type(pprof, PPROF_PROFILE_PERIOD_TYPE, name, unit);
    protobuf_write_u64(pprof->out, PPROF_PROFILE_PERIOD, mean_period(event->attr, total));
    protobuf_write_u64(pprof->out, PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, name);
}

/* Writes a comment of the profile. `format` is expanded with the arguments `value` and `text`. */
static void write_comment(struct pprof *pprof, const char *format, uint64_t value, const char *text)
{
    char comment[256];

    snprintf(comment, sizeof(comment), format, value, text);
    const uint64_t number = write_any_string(pprof, comment);
    protobuf_write_packed(pprof->out, PPROF_PROFILE_COMMENT, &number, 1);
}

static void write_brief(struct pprof *pprof, const struct off_cpu_totals *totals)
{
    char comment[256];

    snprintf(comment, sizeof(comment), WRITER_BRIEF, (uint64_t)totals->brief, plural(totals->brief),
             (double)totals->brief_ns / NSEC_PER_SEC);
    const uint64_t number = write_any_string(pprof, comment);
    protobuf_write_packed(pprof->out, PPROF_PROFILE_COMMENT, &number, 1);
}

static void write_comments(struct pprof *pprof, const struct writer_end *end, struct profile_weight total,
                           struct profile_weight skipped)
{
    write_comment(pprof, "perfcountd: %" PRIu64 " sample%s", total.samples, plural(total.samples));
    if (end->lost)
        write_comment(pprof, "%" PRIu64 " record%s lost by the kernel", end->lost, plural(end->lost));
    if (end->throttled)
        write_comment(pprof, WRITER_THROTTLED, end->throttled, plural(end->throttled));
    if (end->dropped)
        write_comment(pprof, "%" PRIu64 " record%s dropped", end->dropped, plural(end->dropped));
    if (end->off_cpu.brief)
        write_brief(pprof, &end->off_cpu);
    if (end->off_cpu.missed)
        write_comment(pprof, WRITER_MISSED, end->off_cpu.missed, plural(end->off_cpu.missed));
    if (skipped.samples)
        write_comment(pprof, "%" PRIu64 " sample%s whose stacks did not fit and are shown as [truncated]",
                      skipped.samples, plural(skipped.samples));
    if (end->early) {
        const uint64_t number = write_any_string(pprof, end->early);
        protobuf_write_packed(pprof->out, PPROF_PROFILE_COMMENT, &number, 1);
    }
    if (!str_equal(end->reason, "seconds"))
        write_comment(pprof, "it ended after %" PRIu64 " ms: %s", end->duration_ns / NSEC_PER_MSEC, end->reason);
}

static void write_states(struct pprof *pprof)
{
    pprof->key_state = write_string(pprof, "state");
    for (unsigned i = 0; i < N_OFF_CPU_STATES; i++)
        pprof->states[i] = write_string(pprof, off_cpu_state_name(i));
}

/* Appends the uncompressed profile. Returns -ENOMEM on failure. */
static int write_profile(struct profile *profile, const struct writer_source *source, const struct writer_end *end,
                         struct buffer *out)
{
    const struct locations *locations = profile_locations(profile);
    struct profile_weight total = profile_total(profile), skipped = profile_skipped(profile);
    _cleanup_(pprof_done) struct pprof pprof = {
        .out = out,
        .locations = locations,
        .kernel = source->kernel,
        .ids = calloc(PROFILE_DEPTH_MAX, sizeof(*pprof.ids)),
        .unnamed = calloc(locations->n_mappings + 1, sizeof(*pprof.unnamed)),
        .has_functions = calloc(locations->n_mappings + 1, sizeof(*pprof.has_functions)),
        .is_function = calloc(locations->strings.n, sizeof(*pprof.is_function)),
        .cgroups = calloc(profile_n_cgroups(profile) + 1, sizeof(*pprof.cgroups)),
    };

    if (!pprof.cgroups || !pprof.ids || !pprof.unnamed || !pprof.has_functions || !pprof.is_function)
        return -ENOMEM;
    write_profile_strings(&pprof);
    write_profile_head(&pprof, source, end, total);
    write_comments(&pprof, end, total, skipped);
    pprof.key_pid = write_string(&pprof, "pid");
    pprof.key_tid = write_string(&pprof, "tid");
    pprof.key_comm = write_string(&pprof, "comm");
    if (source->off_cpu_threshold_ns)
        write_states(&pprof);
    write_locations(&pprof);
    for (size_t i = 0; i < locations->n_mappings; i++)
        write_mapping(&pprof, i);
    int r = write_cgroups(&pprof, source->cgroups, profile);
    if (r == 0)
        r = profile_each(profile, write_stack, &pprof);
    write_skipped(&pprof, &skipped);
    return out->failed ? -ENOMEM : r;
}

static void *pprof_begin(const struct writer_source *source, struct buffer *out)
{
    (void)out;
    return profile_writer_begin(source, (struct profile_keys){.cgroups = source->cgroups, .threads = true});
}

static void pprof_end(void *state, const struct writer_end *end, struct buffer *out)
{
    struct profile_writer *writer = state;
    _cleanup_(buffer_done) struct buffer messages = {0};

    profile_finish(writer->profile);
    int r = write_profile(writer->profile, writer->source, end, &messages);
    if (r == 0)
        r = gzip_compress(&messages);
    if (r < 0)
        out->failed = true;
    else
        buffer_append(out, messages.data, messages.size);
}

/* --- reading --- */

#define FULL_SIZE_MAX ((size_t)256 << 20) /* maximum uncompressed size of a profile to read */

struct message {
    const unsigned char *at, *end;
};

static int read_varint(struct message *message, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        unsigned char byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return 0;
        }
    }
    return -EBADMSG;
}

/*
 * Reads the number and the content of the next field. The content of a numeric field is empty. Profiles only contain
 * numbers and byte strings.
 */
static int read_field(struct message *message, uint64_t *ret_field, struct message *ret_content)
{
    uint64_t tag, value;
    int r = read_varint(message, &tag);

    if (r == 0)
        r = read_varint(message, &value);
    if (r < 0)
        return r;
    bool is_content = (tag & 7) == WIRE_LENGTH;
    if ((!is_content && (tag & 7) != WIRE_VARINT) || (is_content && value > (uint64_t)(message->end - message->at)))
        return -EBADMSG;
    *ret_field = tag >> 3;
    *ret_content = (struct message){message->at, message->at + (is_content ? value : 0)};
    message->at = ret_content->end;
    return 0;
}

/* Reads the first value of a sample message, which is the number of samples. */
static int read_sample(struct message sample, uint64_t *ret)
{
    struct message content;
    uint64_t field;

    while (sample.at < sample.end) {
        int r = read_field(&sample, &field, &content);
        if (r < 0)
            return r;
        if (field == PPROF_SAMPLE_VALUE)
            return read_varint(&content, ret);
    }
    return -EBADMSG;
}

static int count_samples(struct message profile, uint64_t *ret)
{
    struct message content;
    uint64_t field, n, sum = 0;

    while (profile.at < profile.end) {
        int r = read_field(&profile, &field, &content);
        if (r == 0 && field == PPROF_PROFILE_SAMPLE && (r = read_sample(content, &n)) == 0)
            sum += n;
        if (r < 0)
            return r;
    }
    *ret = sum;
    return 0;
}

int pprof_count(const void *bytes, size_t size, uint64_t *ret)
{
    _cleanup_(buffer_done) struct buffer profile = {0};
    const unsigned char *end = (const unsigned char *)bytes + size;

    if (size < 18) /* minimum size of a gzip header and trailer */
        return -EBADMSG;
    /* The last four bytes of a gzip file are the uncompressed size (RFC 1952, section 2.3.1). */
    size_t full = end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
    if (full > FULL_SIZE_MAX)
        return -EBADMSG;
    int r = gzip_decode(&profile, bytes, size, full);
    const unsigned char *at = (const unsigned char *)profile.data;
    return r < 0 ? r : count_samples((struct message){at, at + profile.size}, ret);
}

const struct writer writer_pprof = {
    .seconds = 30,
    .begin = pprof_begin,
    .record = profile_writer_record,
    .mark = profile_writer_mark,
    .settle = profile_writer_settle,
    .bytes = profile_writer_bytes,
    .unnamed = profile_writer_unnamed,
    .early = profile_writer_early_ends,
    .end = pprof_end,
    .free = profile_writer_free,
};
