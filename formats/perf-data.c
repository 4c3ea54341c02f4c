/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in perf's format for pipes (writer_perf_data of writer.h), to be read by `perf report -i -`.
 *
 * perf-data-header.c writes its start. Then comes what already runs, as perf would have recorded it: the kernel and its
 * modules, each process's name and mappings, the build ids that are known. The kernel's records follow as
 * they are, but for counts in samples (perf-reads.h), and the kernel's addresses where they are hidden (kernel-view.h).
 * What we write ourselves has the time 0, which perf takes at once, in front of all that it still sorts by time.
 */
#include "base/cleanup.h"
#include "formats/perf-data-bytes.h"
#include "formats/perf-data-header.h"
#include "formats/perf-reads.h"
#include "formats/writers.h"
#include "symbols/build-id.h"

#define KERNEL_FILE "[kernel.kallsyms]"
#define BUILD_ID_ROOM 20 /* in a record of perf's; one byte of size is behind it */
#define MISC_BUILD_ID_SIZE (1U << 15)
/* Of what came later, perf versions in use know nothing, and end where they meet it. */
#define TYPE_MAX 21

#define TRAILER_FIELDS                                                                                                 \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |                   \
     PERF_SAMPLE_IDENTIFIER)

struct perf_data {
    const struct writer_source *source;
    struct perf_reads reads;
};

/* A file's build id, while what runs is described. */
struct known_id {
    char *file;
    unsigned char id[BUILD_ID_ROOM];
    uint8_t size;
};

/* What already runs, on its way into the buffer. */
struct description {
    const struct writer_source *source;
    struct buffer *out;
    struct known_id *ids;
    size_t n_ids;
};

/* The fields that sample_id_all adds, all 0: of no certain time, CPU or event, as perf's own have it. */
static void end_record(const struct writer_source *source, size_t start, struct buffer *out)
{
    size_t n = (size_t)__builtin_popcountll(source->layout.sample_type & TRAILER_FIELDS);

    perf_data_bytes_pad(out, start);
    for (size_t i = 0; source->layout.sample_id_all && i < n; i++)
        perf_data_bytes_u64(out, 0);
    perf_data_bytes_end(out, start);
}

static void describe_kernel(void *userdata, const struct kernel_map *map)
{
    struct description *description = userdata;
    struct buffer *out = description->out;
    bool is_module = !str_starts(map->name, KERNEL_FILE);

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
    perf_data_bytes_u32(out, UINT32_MAX); /* of all processes */
    perf_data_bytes_u32(out, 0);
    perf_data_bytes_u64(out, map->start);
    perf_data_bytes_u64(out, map->end - map->start);
    perf_data_bytes_u64(out, is_module ? 0 : map->start); /* where the symbol in its name is */
    perf_data_bytes_text(out, map->name);
    end_record(description->source, start, out);
}

static void describe_comm(struct description *description, uint32_t pid, uint32_t tid, const char *comm)
{
    struct buffer *out = description->out;

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_COMM, 0);
    perf_data_bytes_u32(out, pid);
    perf_data_bytes_u32(out, tid);
    perf_data_bytes_text(out, comm);
    end_record(description->source, start, out);
}

static void describe_mapping(struct description *description, uint32_t pid, uint32_t tid, const struct mapping *mapping)
{
    struct buffer *out = description->out;

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    perf_data_bytes_u32(out, pid);
    perf_data_bytes_u32(out, tid);
    perf_data_bytes_u64(out, mapping->start);
    perf_data_bytes_u64(out, mapping->end - mapping->start);
    perf_data_bytes_u64(out, mapping->offset);
    perf_data_bytes_u32(out, mapping->major);
    perf_data_bytes_u32(out, mapping->minor);
    perf_data_bytes_u64(out, mapping->inode);
    perf_data_bytes_u64(out, mapping->inode_generation);
    perf_data_bytes_u32(out, mapping->protection);
    perf_data_bytes_u32(out, mapping->flags);
    perf_data_bytes_text(out, mapping->file);
    end_record(description->source, start, out);
}

/* Without memory, it is not told. */
static void keep_build_id(struct description *description, const struct mapping *mapping)
{
    if (mapping->build_id_size == 0 || mapping->build_id_size > BUILD_ID_ROOM ||
        array_grow(&description->ids, description->n_ids) < 0)
        return;
    struct known_id *known = &description->ids[description->n_ids];
    *known = (struct known_id){.file = strdup(mapping->file), .size = (uint8_t)mapping->build_id_size};
    if (!known->file)
        return;
    memcpy(known->id, mapping->build_id, mapping->build_id_size);
    description->n_ids++;
}

static void describe_process(void *userdata, uint32_t pid, uint32_t tid, const char *comm,
                             const struct mapping *mapping)
{
    struct description *description = userdata;

    if (!mapping) {
        describe_comm(description, pid, tid, comm);
        return;
    }
    describe_mapping(description, pid, tid, mapping);
    keep_build_id(description, mapping);
}

static void write_build_id(const char *file, uint16_t mode, const unsigned char *id, size_t size, struct buffer *out)
{
    unsigned char room[BUILD_ID_ROOM + 4] = {[BUILD_ID_ROOM] = (unsigned char)size};

    memcpy(room, id, size);
    size_t start = perf_data_bytes_begin(out, PERF_BYTES_HEADER_BUILD_ID, (uint16_t)(mode | MISC_BUILD_ID_SIZE));
    perf_data_bytes_u32(out, UINT32_MAX);
    buffer_append(out, room, sizeof(room));
    perf_data_bytes_text(out, file);
    perf_data_bytes_end(out, start);
}

static int compare_ids(const void *a, const void *b)
{
    const struct known_id *first = a, *second = b;
    int order = strcmp(first->file, second->file);

    return order ? order : memcmp(first->id, second->id, sizeof(first->id));
}

/* perf knows files by their path here: where two, in two containers, have the same one, neither's id is told. */
static void write_build_ids(struct description *description)
{
    struct known_id *ids = description->ids;
    size_t n = description->n_ids;

    if (n)
        qsort(ids, n, sizeof(*ids), compare_ids);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && str_equal(ids[next].file, ids[i].file);)
            next++;
        if (compare_ids(&ids[i], &ids[next - 1]) == 0)
            write_build_id(ids[i].file, PERF_RECORD_MISC_USER, ids[i].id, ids[i].size, description->out);
    }
    for (size_t i = 0; i < n; i++)
        free(ids[i].file);
    free(ids);
}

/* Nothing where nobody may know where the kernel is. */
static void describe_kernel_view(struct description *description)
{
    if (description->source->kernel)
        kernel_view_each(description->source->kernel, describe_kernel, description);
}

/* perf wants a kernel's or a file's build id after it was told of it, and before it looks for its symbols. */
static void describe(const struct writer_source *source, struct buffer *out)
{
    struct description description = {.source = source, .out = out};
    unsigned char kernel_id[BUILD_ID_MAX];

    describe_kernel_view(&description);
    size_t size = build_id_of_kernel(source->sys, kernel_id);
    if (size)
        write_build_id(KERNEL_FILE, PERF_RECORD_MISC_KERNEL, kernel_id, size, out);
    symbols_each(source->symbols, describe_process, &description);
    write_build_ids(&description);
}

static void *perf_data_begin(const struct writer_source *source, struct buffer *out)
{
    struct perf_data *data = calloc(1, sizeof(*data));

    if (!data)
        return NULL;
    data->source = source;
    perf_data_header_write(source, out);
    describe(source, out);
    return data;
}

/* Writes the addresses of a sample's copy as they may be shown. */
static void show_addresses(const struct writer_source *source, const struct record *record, char *copy)
{
    const struct record_sample *sample = &record->sample;
    size_t at = sizeof(struct perf_event_header) + (source->layout.sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
    bool kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
    uint64_t shown = kernel_view_address(source->kernel, kernel, sample->ip);

    if (source->layout.sample_type & PERF_SAMPLE_IP)
        memcpy(copy + at, &shown, sizeof(shown));
    for (size_t i = 0; i < sample->n_callchain; i++) {
        uint64_t ip = sample->callchain[i];
        if (ip >= PERF_CONTEXT_MAX) {
            kernel = ip != PERF_CONTEXT_USER;
            continue;
        }
        shown = kernel_view_address(source->kernel, kernel, ip);
        memcpy(copy + ((const char *)&sample->callchain[i] - (const char *)record->bytes), &shown, sizeof(shown));
    }
}

/* Where the kernel's addresses are hidden, what it made while it ran and where it changed its code is left out. */
static bool is_passed_on(const struct writer_source *source, const struct record *record)
{
    bool open = !kernel_view_hides(source->kernel, true, 0);

    if (!record_type_name(record->type) || record->type > TYPE_MAX)
        return false;
    return open || (record->type != PERF_RECORD_KSYMBOL && record->type != PERF_RECORD_TEXT_POKE);
}

static bool perf_data_record(void *state, const struct record *record, struct buffer *out)
{
    struct perf_data *data = state;

    if (!is_passed_on(data->source, record))
        return false;
    buffer_append(out, record->bytes, record->size);
    if (record->type != PERF_RECORD_SAMPLE || out->failed)
        return true;
    char *copy = out->data + out->size - record->size;
    show_addresses(data->source, record, copy);
    if (data->source->read)
        perf_reads_begin_anew(&data->reads, record, &data->source->layout, copy);
    return true;
}

/* As if the kernel had lost them, so that perf says that something is missing. */
static void write_dropped(const struct writer_source *source, uint64_t n, struct buffer *out)
{
    size_t start = perf_data_bytes_begin(out, PERF_RECORD_LOST, 0);
    perf_data_bytes_u64(out, source->n_ids ? source->events[0].ids[0] : 0);
    perf_data_bytes_u64(out, n);
    end_record(source, start, out);
}

/* Names and mappings that began in a pause, or whose records were lost; those that are known already are the same. */
static void describe_again(const struct writer_source *source, struct buffer *out)
{
    struct description description = {.source = source, .out = out};

    symbols_each(source->symbols, describe_process, &description);
    write_build_ids(&description);
}

static void perf_data_notice(void *state, const struct writer_notice *notice, struct buffer *out)
{
    const struct perf_data *data = state;

    if (notice->kind == WRITER_ROUND)
        perf_data_bytes_end(out, perf_data_bytes_begin(out, PERF_BYTES_FINISHED_ROUND, 0));
    else if (notice->kind == WRITER_DROPPED)
        write_dropped(data->source, notice->n, out);
    else if (notice->kind == WRITER_RESCANNED)
        describe_again(data->source, out);
}

static void perf_data_free(void *state)
{
    struct perf_data *data = state;

    if (!data)
        return;
    perf_reads_done(&data->reads);
    free(data);
}

/* The stream just ends. */
static void perf_data_end(void *state, const struct writer_end *end, struct buffer *out)
{
    (void)state;
    (void)end;
    (void)out;
}

const struct writer writer_perf_data = {
    .begin = perf_data_begin,
    .record = perf_data_record,
    .notice = perf_data_notice,
    .end = perf_data_end,
    .free = perf_data_free,
};
