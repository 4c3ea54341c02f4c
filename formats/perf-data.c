/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/perf-data.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "perf/record.h"
#include "symbols/kernel.h"

/* Record types above the kernel's own (tools/lib/perf/include/perf/event.h). */
enum {
    PERF_DATA_HEADER_ATTR = 64,
    PERF_DATA_HEADER_BUILD_ID = 67,
    PERF_DATA_FINISHED_ROUND = 68,
    PERF_DATA_HEADER_FEATURE = 80,
};

static inline void perf_data_bytes_write_u32(struct buffer *out, uint32_t value)
{
    buffer_append(out, &value, sizeof(value));
}

static inline void perf_data_bytes_write_u64(struct buffer *out, uint64_t value)
{
    buffer_append(out, &value, sizeof(value));
}

/* --- primitives --- */

size_t perf_data_bytes_begin(struct buffer *out, uint32_t type, uint16_t misc)
{
    const struct perf_event_header header = {.type = type, .misc = misc};
    size_t start = out->size;

    buffer_append(out, &header, sizeof(header));
    return start;
}

/* Appends zeros until the number of bytes since `start` is a multiple of 8. */
static void perf_data_bytes_pad(struct buffer *out, size_t start)
{
    static const char zeros[8];

    buffer_append(out, zeros, -(out->size - start) % 8);
}

void perf_data_bytes_write_text(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text) + 1);
}

void perf_data_bytes_end(struct buffer *out, size_t start)
{
    perf_data_bytes_pad(out, start);
    if (out->failed)
        return;
    size_t size = out->size - start;
    if (size > UINT16_MAX) {
        out->size = start;
        return;
    }
    uint16_t size16 = (uint16_t)size;
    memcpy(out->data + start + offsetof(struct perf_event_header, size), &size16, sizeof(size16));
}

/* --- header --- */

/*
 * The format is described in tools/perf/Documentation/perf.data-file-format.txt and implemented in
 * tools/perf/util/header.c of Linux. util/header.c differs from the description in one place, and this file follows
 * util/header.c: the number of configured CPUs precedes the number of online CPUs.
 */

/*
 * perf before 6.5 assumes that an attr has the size of its own struct perf_event_attr, whatever attr.size is, and
 * expects the ids after that many bytes. In perf 5.13 to 6.2 the size of an attr is PERF_ATTR_SIZE_VER7. perf 6.5 and
 * later use attr.size.
 */
#define ATTR_SIZE 128
#define IDS_MAX ((size_t)4096) /* a record has at most 64 KiB */

/* The header of a stream consists of this magic number and the size of the header. */
#define PIPE_MAGIC "PERFILE2"
#define PIPE_HEADER_SIZE 16

/* The numbers of the features in perf's format (tools/perf/util/header.h). */
enum feature {
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_TOTAL_MEM = 10,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_GROUP_DESC = 17,
    FEATURE_CLOCKID = 23,
    FEATURE_CLOCK_DATA = 29,
};

/*
 * perf finds the event of a record by its id, which must be at the same offset in all records. All events therefore get
 * the leader's sample layout. Siblings do not sample; their values are only read.
 */
static void write_attr(const struct writer_source *source, size_t n, struct buffer *out)
{
    struct perf_event_attr attr = *source->events[n].attr;
    char bytes[ATTR_SIZE] = {0};

    attr.size = ATTR_SIZE;
    /*
     * Clears config1 and config2 if they contain the address of a probe that must be hidden, which perf does not need.
     */
    attr.config1 = kernel_view_hides(source->kernel, false, attr.config1) ? 0 : attr.config1;
    attr.config2 = kernel_view_hides(source->kernel, false, attr.config2) ? 0 : attr.config2;
    attr.sample_type = source->layout.sample_type;
    attr.read_format = source->layout.read_format;
    attr.sample_id_all = source->layout.sample_id_all;
    memcpy(bytes, &attr, MIN(sizeof(attr), sizeof(bytes)));
    buffer_append(out, bytes, sizeof(bytes));
}

static size_t count_ids(const struct writer_source *source)
{
    return MIN(source->n_ids, IDS_MAX);
}

static void write_ids(const struct writer_source *source, size_t n, struct buffer *out)
{
    buffer_append(out, source->events[n].ids, count_ids(source) * sizeof(source->events[n].ids[0]));
}

static void write_attrs(const struct writer_source *source, struct buffer *out)
{
    for (size_t i = 0; i < source->n_events; i++) {
        size_t start = perf_data_bytes_begin(out, PERF_DATA_HEADER_ATTR, 0);
        write_attr(source, i, out);
        write_ids(source, i, out);
        perf_data_bytes_end(out, start);
    }
}

static size_t begin_feature(struct buffer *out, enum feature feature)
{
    size_t start = perf_data_bytes_begin(out, PERF_DATA_HEADER_FEATURE, 0);

    perf_data_bytes_write_u64(out, feature);
    return start;
}

/* Writes the padded length of the text, and then the text with its padding. */
static void write_string(struct buffer *out, const char *text)
{
    size_t size = (strlen(text) / 8 + 1) * 8;

    perf_data_bytes_write_u32(out, (uint32_t)size);
    size_t start = out->size;
    perf_data_bytes_write_text(out, text);
    perf_data_bytes_pad(out, start);
}

static void write_text_feature(struct buffer *out, enum feature feature, const char *text)
{
    size_t start = begin_feature(out, feature);

    write_string(out, text);
    perf_data_bytes_end(out, start);
}

static void write_machine_features(struct buffer *out)
{
    struct utsname name;
    struct sysinfo info;

    if (uname(&name) == 0) {
        write_text_feature(out, FEATURE_HOSTNAME, name.nodename);
        write_text_feature(out, FEATURE_OSRELEASE, name.release);
        write_text_feature(out, FEATURE_ARCH, name.machine);
    }
    write_text_feature(out, FEATURE_VERSION, "perfcountd " PACKAGE_VERSION);
    size_t start = begin_feature(out, FEATURE_NRCPUS);
    perf_data_bytes_write_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    perf_data_bytes_write_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    perf_data_bytes_end(out, start);
    if (sysinfo(&info) == 0) {
        start = begin_feature(out, FEATURE_TOTAL_MEM);
        perf_data_bytes_write_u64(out, (uint64_t)info.totalram * info.mem_unit / 1024);
        perf_data_bytes_end(out, start);
    }
    start = begin_feature(out, FEATURE_CMDLINE);
    perf_data_bytes_write_u32(out, 1);
    write_string(out, "perfcountd");
    perf_data_bytes_end(out, start);
}

/* Writes the feature from which perf takes event names. */
static void write_event_desc(const struct writer_source *source, struct buffer *out)
{
    size_t start = begin_feature(out, FEATURE_EVENT_DESC);

    perf_data_bytes_write_u32(out, (uint32_t)source->n_events);
    perf_data_bytes_write_u32(out, ATTR_SIZE);
    for (size_t i = 0; i < source->n_events; i++) {
        write_attr(source, i, out);
        perf_data_bytes_write_u32(out, (uint32_t)count_ids(source));
        write_string(out, source->off_cpu_threshold_ns ? "offcpu-time" : source->events[i].name);
        write_ids(source, i, out);
    }
    perf_data_bytes_end(out, start);
}

static void write_group_desc(const struct writer_source *source, struct buffer *out)
{
    if (source->n_events < 2)
        return;
    size_t start = begin_feature(out, FEATURE_GROUP_DESC);
    perf_data_bytes_write_u32(out, 1);
    write_string(out, "{anon_group}"); /* perf's name for an unnamed group */
    perf_data_bytes_write_u32(out, 0); /* index of the group's leader */
    perf_data_bytes_write_u32(out, (uint32_t)source->n_events);
    perf_data_bytes_end(out, start);
}

/* Writes the clock of the records, and the time of day when the stream began. */
static void write_clock_features(const struct writer_source *source, struct buffer *out)
{
    struct timespec resolution = {0};

    clock_getres(CLOCK_MONOTONIC, &resolution);
    size_t start = begin_feature(out, FEATURE_CLOCKID);
    perf_data_bytes_write_u64(out, (uint64_t)resolution.tv_nsec);
    perf_data_bytes_end(out, start);
    start = begin_feature(out, FEATURE_CLOCK_DATA);
    perf_data_bytes_write_u32(out, 1); /* version */
    perf_data_bytes_write_u32(out, CLOCK_MONOTONIC);
    perf_data_bytes_write_u64(out, source->start_realtime_ns);
    perf_data_bytes_write_u64(out, source->start_monotonic_ns);
    perf_data_bytes_end(out, start);
}

static void perf_data_header_write(const struct writer_source *source, struct buffer *out)
{
    buffer_append_text(out, PIPE_MAGIC);
    perf_data_bytes_write_u64(out, PIPE_HEADER_SIZE);
    write_attrs(source, out);
    write_machine_features(out);
    write_event_desc(source, out);
    write_group_desc(source, out);
    write_clock_features(source, out);
}

/* --- records --- */

/*
 * Records in perf's pipe format, for `perf report -i -`.
 *
 * The start of the stream is followed by a description of the machine, in the form in which perf would have recorded
 * it: the kernel and its modules, the name and the mappings of each process, the known build ids, and the cgroups. The
 * kernel's records follow unchanged, except for counts in samples (start_counts_at_zero()) and hidden kernel addresses
 * (symbols/kernel.h). Records that this writer makes itself have time 0, so perf processes them at once, before all
 * records that perf sorts by time.
 */

#define KERNEL_FILE "[kernel.kallsyms]"
#define BUILD_ID_ROOM 20 /* size of a build id in perf's record, which is followed by a byte with the actual size */
#define MISC_BUILD_ID_SIZE (1U << 15)
/* The highest record type that is known to all perf versions in use. perf stops reading at an unknown type. */
#define TYPE_MAX 21

#define TRAILER_FIELDS                                                                                                 \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |                   \
     PERF_SAMPLE_IDENTIFIER)

struct perf_data {
    const struct writer_source *source;
    struct counter_base {
        uint64_t id, value;
    } * bases; /* sorted by id; `value` is the count at the beginning of the stream */
    size_t n_bases;
};

/* The build id of a file. */
struct known_id {
    char *file;
    unsigned char id[BUILD_ID_ROOM];
    uint8_t size;
};

/* The state of symbols_each() while the running processes are written. */
struct description {
    const struct writer_source *source;
    struct buffer *out;
    struct known_id *ids;
    size_t n_ids;
};

/*
 * Adds the fields that sample_id_all requires. They are all 0, as in records that perf itself synthesizes, so they give
 * no time, CPU or event.
 */
static void end_own_record(const struct writer_source *source, size_t start, struct buffer *out)
{
    size_t n = (size_t)__builtin_popcountll(source->layout.sample_type & TRAILER_FIELDS);

    perf_data_bytes_pad(out, start);
    for (size_t i = 0; source->layout.sample_id_all && i < n; i++)
        perf_data_bytes_write_u64(out, 0);
    perf_data_bytes_end(out, start);
}

static void describe_kernel(void *userdata, const struct kernel_map *map)
{
    struct description *description = userdata;
    struct buffer *out = description->out;
    bool is_module = !str_starts(map->name, KERNEL_FILE);

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
    perf_data_bytes_write_u32(out, UINT32_MAX); /* all processes */
    perf_data_bytes_write_u32(out, 0);
    perf_data_bytes_write_u64(out, map->start);
    perf_data_bytes_write_u64(out, map->end - map->start);
    perf_data_bytes_write_u64(out, is_module ? 0 : map->start); /* address of the symbol in map->name */
    perf_data_bytes_write_text(out, map->name);
    end_own_record(description->source, start, out);
}

static void describe_comm(struct description *description, uint32_t pid, uint32_t tid, const char *comm)
{
    struct buffer *out = description->out;

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_COMM, 0);
    perf_data_bytes_write_u32(out, pid);
    perf_data_bytes_write_u32(out, tid);
    perf_data_bytes_write_text(out, comm);
    end_own_record(description->source, start, out);
}

static void describe_mapping(struct description *description, uint32_t pid, uint32_t tid, const struct mapping *mapping)
{
    struct buffer *out = description->out;

    size_t start = perf_data_bytes_begin(out, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    perf_data_bytes_write_u32(out, pid);
    perf_data_bytes_write_u32(out, tid);
    perf_data_bytes_write_u64(out, mapping->start);
    perf_data_bytes_write_u64(out, mapping->end - mapping->start);
    perf_data_bytes_write_u64(out, mapping->offset);
    perf_data_bytes_write_u32(out, mapping->major);
    perf_data_bytes_write_u32(out, mapping->minor);
    perf_data_bytes_write_u64(out, mapping->inode);
    perf_data_bytes_write_u64(out, mapping->inode_generation);
    perf_data_bytes_write_u32(out, mapping->protection);
    perf_data_bytes_write_u32(out, mapping->flags);
    perf_data_bytes_write_text(out, mapping->file);
    end_own_record(description->source, start, out);
}

/* On ENOMEM, the build id is left out. */
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

static void write_build_id_record(const char *file, uint16_t mode, const unsigned char *id, size_t size,
                                  struct buffer *out)
{
    unsigned char room[BUILD_ID_ROOM + 4] = {[BUILD_ID_ROOM] = (unsigned char)size};

    memcpy(room, id, size);
    size_t start = perf_data_bytes_begin(out, PERF_DATA_HEADER_BUILD_ID, (uint16_t)(mode | MISC_BUILD_ID_SIZE));
    perf_data_bytes_write_u32(out, UINT32_MAX);
    buffer_append(out, room, sizeof(room));
    perf_data_bytes_write_text(out, file);
    perf_data_bytes_end(out, start);
}

static int compare_build_ids(const void *a, const void *b)
{
    const struct known_id *first = a, *second = b;
    int order = strcmp(first->file, second->file);

    return order ? order : memcmp(first->id, second->id, sizeof(first->id));
}

/*
 * Writes the known build ids, which perf expects after the mappings of the files and the kernel, and before all
 * samples. perf identifies files by their paths. If two files in different containers have the same path, both build
 * ids are left out.
 */
static void write_build_ids(struct description *description)
{
    struct known_id *ids = description->ids;
    size_t n = description->n_ids;

    if (n)
        qsort(ids, n, sizeof(*ids), compare_build_ids);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && str_equal(ids[next].file, ids[i].file);)
            next++;
        if (compare_build_ids(&ids[i], &ids[next - 1]) == 0)
            write_build_id_record(ids[i].file, PERF_RECORD_MISC_USER, ids[i].id, ids[i].size, description->out);
    }
    for (size_t i = 0; i < n; i++)
        free(ids[i].file);
    free(ids);
}

/* Writes the mappings of the kernel and its modules, or nothing if all kernel addresses are hidden. */
static void describe_kernel_view(struct description *description)
{
    if (description->source->kernel)
        kernel_view_each(description->source->kernel, describe_kernel, description);
}

/* Writes PERF_RECORD_CGROUP records, from which perf takes the names of the samples' cgroups. */
static void describe_cgroup(void *userdata, const struct found_cgroup *cgroup)
{
    const struct description *description = userdata;
    struct buffer *out = description->out;
    size_t start = perf_data_bytes_begin(out, PERF_RECORD_CGROUP, 0);

    perf_data_bytes_write_u64(out, cgroup->id);
    perf_data_bytes_write_text(out, cgroup->path);
    end_own_record(description->source, start, out);
}

static void describe_machine(const struct writer_source *source, struct buffer *out)
{
    struct description description = {.source = source, .out = out};
    unsigned char kernel_id[BUILD_ID_MAX];

    describe_kernel_view(&description);
    size_t size = build_id_of_kernel(source->sys, kernel_id);
    if (size)
        write_build_id_record(KERNEL_FILE, PERF_RECORD_MISC_KERNEL, kernel_id, size, out);
    symbols_each(source->symbols, describe_process, &description);
    write_build_ids(&description);
    if (source->cgroups && source->layout.sample_type & PERF_SAMPLE_CGROUP) {
        cgroup_lookup_scan(source->cgroups);
        cgroup_lookup_each(source->cgroups, describe_cgroup, &description);
    }
}

static void *perf_data_begin(const struct writer_source *source, struct buffer *out)
{
    struct perf_data *data = calloc(1, sizeof(*data));

    if (!data)
        return NULL;
    data->source = source;
    perf_data_header_write(source, out);
    describe_machine(source, out);
    return data;
}

/* Replaces the addresses in the copy of a sample with addresses that may be shown. */
static void show_addresses(const struct writer_source *source, const struct record *record, char *copy)
{
    struct callchain chain = callchain_begin(record);
    size_t at = sizeof(struct perf_event_header) + (source->layout.sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
    uint64_t ip, shown = kernel_view_address(source->kernel, chain.space != SPACE_USER, record->sample.ip);

    if (source->layout.sample_type & PERF_SAMPLE_IP)
        memcpy(copy + at, &shown, sizeof(shown));
    while (callchain_next(&chain, &ip)) {
        const void *place = &record->sample.callchain[chain.next - 1];
        shown = kernel_view_address(source->kernel, chain.space != SPACE_USER, ip);
        memcpy(copy + ((const char *)place - (const char *)record->bytes), &shown, sizeof(shown));
    }
}

/*
 * Returns the value of a counter at the beginning of the stream, or `first` if the counter is seen for the first time
 * or memory runs out.
 */
static uint64_t counter_base(struct perf_data *data, uint64_t id, uint64_t first)
{
    struct counter_base *bases = data->bases;
    size_t at = array_search(data->n_bases, i, bases[i].id < id);

    if (at < data->n_bases && bases[at].id == id)
        return bases[at].value;
    if (array_grow(&data->bases, data->n_bases) < 0)
        return first;
    bases = data->bases;
    memmove(&bases[at + 1], &bases[at], (data->n_bases++ - at) * sizeof(bases[0]));
    bases[at] = (struct counter_base){.id = id, .value = first};
    return first;
}

/*
 * Makes the counts in the copy of a sample start at 0 in this stream. perf weights a sample by the difference from the
 * count in the previous sample, and the first sample by its whole count (tools/perf/util/session.c,
 * deliver_sample_value()). If the counters began before the stream, the first sample would outweigh all others.
 *
 * The sampling counter starts at 0 at the start of its first sample's period. Any other counter starts at 0 in the
 * first sample, because nothing is known about the time before.
 */
static void start_counts_at_zero(struct perf_data *data, const struct record *record, char *copy)
{
    const struct record_sample *sample = &record->sample;
    const struct record_layout *layout = &data->source->layout;

    for (size_t i = 0; i < sample->n_read; i++) {
        struct record_value value = record_read_value(sample, layout, i);
        uint64_t period = value.id == record->id.id ? MIN(sample->period, value.value) : 0;
        value.value -= counter_base(data, value.id, value.value - period);
        size_t offset = (size_t)((const char *)record_read_words(sample, layout, i) - (const char *)record->bytes);
        memcpy(copy + offset, &value.value, sizeof(value.value));
    }
}

/*
 * Returns whether a record may be shown. If kernel addresses are hidden, records about code that the kernel generated
 * or patched at run time are left out.
 */
static bool may_be_shown(const struct writer_source *source, const struct record *record)
{
    bool open = !kernel_view_hides(source->kernel, true, 0);

    if (!record_type_name(record->type) || record->type > TYPE_MAX)
        return false;
    return open || (record->type != PERF_RECORD_KSYMBOL && record->type != PERF_RECORD_TEXT_POKE);
}

static bool perf_data_record(void *state, const struct record *record, struct buffer *out)
{
    struct perf_data *data = state;

    if (!may_be_shown(data->source, record))
        return false;
    record_append(record, out);
    if (out->failed || record->type != PERF_RECORD_SAMPLE)
        return true;
    char *copy = out->data + out->size - record->size;
    show_addresses(data->source, record, copy);
    if (data->source->read)
        start_counts_at_zero(data, record, copy);
    return true;
}

/* Reports dropped records as lost by the kernel, so that perf warns about them. */
static void write_lost_record(const struct writer_source *source, uint64_t n, struct buffer *out)
{
    size_t start = perf_data_bytes_begin(out, PERF_RECORD_LOST, 0);
    perf_data_bytes_write_u64(out, source->n_ids ? source->events[0].ids[0] : 0);
    perf_data_bytes_write_u64(out, n);
    end_own_record(source, start, out);
}

/*
 * Describes the processes again, because comms and mappings may have changed during a pause, or their records may have
 * been lost. Repeating unchanged ones is harmless.
 */
static void describe_again(const struct writer_source *source, struct buffer *out)
{
    struct description description = {.source = source, .out = out};

    symbols_each(source->symbols, describe_process, &description);
    write_build_ids(&description);
}

static void perf_data_mark(void *state, const struct writer_mark *mark, struct buffer *out)
{
    const struct perf_data *data = state;

    if (mark->kind == WRITER_ROUND)
        perf_data_bytes_end(out, perf_data_bytes_begin(out, PERF_DATA_FINISHED_ROUND, 0));
    else if (mark->kind == WRITER_DROPPED)
        write_lost_record(data->source, mark->n, out);
    else if (mark->kind == WRITER_RESCANNED)
        describe_again(data->source, out);
}

static void perf_data_free(void *state)
{
    struct perf_data *data = state;

    if (!data)
        return;
    free(data->bases);
    free(data);
}

/* perf's pipe format has no trailer. */
static void perf_data_end(void *state, const struct writer_end *end, struct buffer *out)
{
    (void)state;
    (void)end;
    (void)out;
}

int perf_data_count(const void *bytes, size_t size, uint64_t *ret)
{
    struct perf_event_header header;
    const char *at = bytes;
    uint64_t n = 0;

    if (size < PIPE_HEADER_SIZE || memcmp(at, PIPE_MAGIC, strlen(PIPE_MAGIC)) != 0)
        return -EBADMSG;
    for (at += PIPE_HEADER_SIZE, size -= PIPE_HEADER_SIZE; size > 0; at += header.size, size -= header.size) {
        if (size < sizeof(header))
            return -EBADMSG;
        memcpy(&header, at, sizeof(header));
        if (header.size < sizeof(header) || header.size > size)
            return -EBADMSG;
        n += header.type == PERF_RECORD_SAMPLE;
    }
    *ret = n;
    return 0;
}

const struct writer writer_perf_data = {
    .begin = perf_data_begin,
    .record = perf_data_record,
    .mark = perf_data_mark,
    .end = perf_data_end,
    .free = perf_data_free,
};
