/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of perf's format for pipes: see perf-data-header.h. Facts are from tools/perf/Documentation/
 * perf.data-file-format.txt and tools/perf/util/header.c of Linux. Where they differ, the code is right: the number of
 * all CPUs stands in front of the number of those that are online.
 */
#include "formats/perf-data-header.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "formats/perf-data-bytes.h"

/*
 * perf before 6.5 takes each attr to be as large as its own, whatever its size says, and looks for the ids behind that.
 * From 5.13 to 6.2 that was PERF_ATTR_SIZE_VER7; later versions read the size.
 */
#define ATTR_SIZE 128
#define IDS_MAX ((size_t)4096) /* a record has 64 KiB */

/* Features (tools/perf/util/header.h). */
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
 * perf finds the event of a record by an id, at the same place in all records. So all events get the leader's layout;
 * the others do not sample, their values are read.
 */
static void write_attr(const struct writer_source *source, size_t n, struct buffer *out)
{
    struct perf_event_attr attr = *source->events[n].attr;
    char bytes[ATTR_SIZE] = {0};

    attr.size = ATTR_SIZE;
    /* The address of a probe, which perf does not need. */
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

/* The length including the padding, then the text. */
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

/* perf takes the names of the events from here. */
static void write_event_desc(const struct writer_source *source, struct buffer *out)
{
    size_t start = begin_feature(out, FEATURE_EVENT_DESC);

    perf_data_bytes_write_u32(out, (uint32_t)source->n_events);
    perf_data_bytes_write_u32(out, ATTR_SIZE);
    for (size_t i = 0; i < source->n_events; i++) {
        write_attr(source, i, out);
        perf_data_bytes_write_u32(out, (uint32_t)count_ids(source));
        write_string(out, source->events[i].name);
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
    write_string(out, "{anon_group}"); /* as perf calls a group without a name */
    perf_data_bytes_write_u32(out, 0); /* the leader */
    perf_data_bytes_write_u32(out, (uint32_t)source->n_events);
    perf_data_bytes_end(out, start);
}

/* The clock of the records, and the time of day at the start. */
static void write_clock_features(const struct writer_source *source, struct buffer *out)
{
    struct timespec resolution = {0};

    clock_getres(CLOCK_MONOTONIC, &resolution);
    size_t start = begin_feature(out, FEATURE_CLOCKID);
    perf_data_bytes_write_u64(out, (uint64_t)resolution.tv_nsec);
    perf_data_bytes_end(out, start);
    start = begin_feature(out, FEATURE_CLOCK_DATA);
    perf_data_bytes_write_u32(out, 1); /* the version */
    perf_data_bytes_write_u32(out, CLOCK_MONOTONIC);
    perf_data_bytes_write_u64(out, source->start_realtime_ns);
    perf_data_bytes_write_u64(out, source->start_monotonic_ns);
    perf_data_bytes_end(out, start);
}

void perf_data_header_write(const struct writer_source *source, struct buffer *out)
{
    buffer_append(out, "PERFILE2", 8);
    perf_data_bytes_write_u64(out, 16); /* of this header */
    write_attrs(source, out);
    write_machine_features(out);
    write_event_desc(source, out);
    write_group_desc(source, out);
    write_clock_features(source, out);
}
