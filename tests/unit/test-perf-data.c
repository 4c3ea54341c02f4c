/* SPDX-License-Identifier: Apache-2.0 */
/* The perf.data stream is parsed word by word. tests/e2e/sampler-perf.sh checks that perf itself reads it. */
#include "base/cleanup.h"
#include "formats/perf-data.h"
#include "formats/writers.h"
#include "sampler/writer.h"
#include "symbols/kernel.h"
#include "tests/unit/build-record.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/hidden-kernel.h"
#include "tests/unit/test.h"

#define SAMPLE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define RECORDS_MAX 64

static const uint64_t cycle_ids[] = {100, 102}, instruction_ids[] = {101, 103};

/* `records` are the records after the stream's header. */
struct stream {
    struct fake_sys *fake;
    struct perf_event_attr attr, member;
    struct writer_event events[2];
    struct writer_source source;
    struct kernel_view kernel;
    struct buffer out;
    void *state;
    struct {
        uint32_t type;
        uint16_t misc, size;
        const unsigned char *body;
    } records[RECORDS_MAX];
    size_t n;
};

static int setup(void **state)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    struct perf_event_attr *attr = &stream->attr;

    stream->fake = fake_sys_new();
    attr->size = sizeof(*attr);
    attr->config = PERF_COUNT_HW_CPU_CYCLES;
    attr->sample_type = SAMPLE;
    attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    attr->sample_period = 99;
    attr->freq = 1;
    attr->sample_id_all = 1;
    stream->member.size = 64;
    stream->member.config = PERF_COUNT_HW_INSTRUCTIONS;
    stream->events[0] = (struct writer_event){.name = "cycles", .attr = attr, .ids = cycle_ids};
    stream->events[1] = (struct writer_event){.name = "instructions", .attr = &stream->member, .ids = instruction_ids};
    stream->source = (struct writer_source){
        .events = stream->events,
        .n_events = 2,
        .n_ids = 2,
        .layout = record_layout_of(attr),
        .read = true,
        .sys = &stream->fake->sys,
        .kernel = &stream->kernel,
        .start_realtime_ns = 1700000000 * NSEC_PER_SEC,
        .start_monotonic_ns = 5,
        .seconds = 1,
    };
    stream->kernel = (struct kernel_view){.sys = &stream->fake->sys, .open = true};
    *state = stream;
    return 0;
}

static int teardown(void **state)
{
    struct stream *stream = *state;

    writer_perf_data.free(stream->state);
    buffer_done(&stream->out);
    kernel_view_done(&stream->kernel);
    fake_sys_free(stream->fake);
    free(stream);
    return 0;
}

/*
 * Splits the output into records, starting at `at`. Each record must be complete, with a size that is a multiple of 8.
 */
static void split(struct stream *stream, size_t at)
{
    stream->n = 0;
    assert_false(stream->out.failed);
    while (at < stream->out.size) {
        struct perf_event_header header;
        assert_true(stream->out.size - at >= sizeof(header));
        memcpy(&header, stream->out.data + at, sizeof(header));
        assert_true(header.size >= sizeof(header) && header.size % 8 == 0);
        assert_true(header.size <= stream->out.size - at);
        assert_true(stream->n < RECORDS_MAX);
        stream->records[stream->n].type = header.type;
        stream->records[stream->n].misc = header.misc;
        stream->records[stream->n].size = header.size;
        stream->records[stream->n++].body = (const unsigned char *)stream->out.data + at + sizeof(header);
        at += header.size;
    }
}

/* Begins the stream, checks its header and splits it into records. */
static void begin(struct stream *stream)
{
    static const unsigned char magic[] = "PERFILE2\x10\0\0\0\0\0\0";

    stream->state = writer_perf_data.begin(&stream->source, &stream->out);
    assert_non_null(stream->state);
    assert_true(stream->out.size > 16);
    assert_memory_equal(stream->out.data, magic, 16);
    split(stream, 16);
}

/* Return a 64-bit or 32-bit number at an offset. */
static uint64_t word(const unsigned char *bytes, size_t at)
{
    uint64_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

static uint32_t half(const unsigned char *bytes, size_t at)
{
    uint32_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

/* Returns the index of the n-th record of a type. */
static size_t find(const struct stream *stream, uint32_t type, size_t n)
{
    for (size_t i = 0; i < stream->n; i++)
        if (stream->records[i].type == type && n-- == 0)
            return i;
    fail_msg("no such record of type %u", type);
    return 0;
}

static size_t count(const struct stream *stream, uint32_t type)
{
    size_t n = 0;

    for (size_t i = 0; i < stream->n; i++)
        n += stream->records[i].type == type;
    return n;
}

/* Returns the content of a feature record, which follows the feature's number. */
static const unsigned char *feature(const struct stream *stream, uint64_t number)
{
    for (size_t i = 0; i < stream->n; i++)
        if (stream->records[i].type == 80 && word(stream->records[i].body, 0) == number)
            return stream->records[i].body + 8;
    fail_msg("no feature %d", (int)number);
    return NULL;
}

#define ATTR_SIZE 128

/* perf looks for ids at the same position in all records, so each attr has the leader's layout. */
static void check_attr(const unsigned char *bytes, uint64_t config, const uint64_t *ids)
{
    struct perf_event_attr attr = {0};

    memcpy(&attr, bytes, MIN(sizeof(attr), ATTR_SIZE));
    assert_int_equal(attr.size, ATTR_SIZE);
    assert_int_equal(attr.config, config);
    assert_int_equal(attr.sample_type, SAMPLE);
    assert_int_equal(attr.read_format, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    assert_true(attr.sample_id_all);
    assert_memory_equal(bytes + ATTR_SIZE, ids, 16);
}

TEST_WITH(test_events, setup, teardown)
{
    struct stream *stream = *state;

    begin(stream);
    assert_int_equal(count(stream, 64), 2);
    assert_int_equal(stream->records[0].type, 64);
    assert_int_equal(stream->records[1].type, 64);
    assert_int_equal(stream->records[0].size, 8 + ATTR_SIZE + 16);
    check_attr(stream->records[0].body, PERF_COUNT_HW_CPU_CYCLES, cycle_ids);
    check_attr(stream->records[1].body, PERF_COUNT_HW_INSTRUCTIONS, instruction_ids);

    const unsigned char *clock = feature(stream, 29);
    assert_int_equal(half(clock, 0), 1);
    assert_int_equal(half(clock, 4), CLOCK_MONOTONIC);
    assert_int_equal(word(clock, 8), 1700000000 * NSEC_PER_SEC);
    assert_int_equal(word(clock, 16), 5);
}

static void decode(const struct stream *stream, size_t n, struct record *ret)
{
    const void *bytes = stream->records[n].body - 8;

    assert_int_equal(record_decode(bytes, stream->records[n].size, &stream->source.layout, ret), 0);
    assert_int_equal(ret->id.time, 0);
    assert_int_equal(ret->id.id, 0);
}

/* Checks the n-th record of a type: "MISC PID ADDRESS+LENGTH@OFFSET MAJOR:MINOR INODE.GENERATION PROT FLAGS FILE". */
static void check_map(const struct stream *stream, uint32_t type, size_t n, const char *expected)
{
    struct record record;
    char shown[256];

    decode(stream, find(stream, type, n), &record);
    snprintf(shown, sizeof(shown), "%u %d %jx+%jx@%jx %u:%u %ju.%ju %u %u %s", record.misc, (int)record.mmap.pid,
             (uintmax_t)record.mmap.address, (uintmax_t)record.mmap.length, (uintmax_t)record.mmap.offset,
             record.mmap.major, record.mmap.minor, (uintmax_t)record.mmap.inode,
             (uintmax_t)record.mmap.inode_generation, record.mmap.protection, record.mmap.flags, record.mmap.file);
    assert_string_equal(shown, expected);
}

TEST_WITH(test_processes, setup, teardown)
{
    struct stream *stream = *state;
    struct record record;

    begin(stream);
    assert_int_equal(count(stream, PERF_RECORD_COMM), 2);
    decode(stream, find(stream, PERF_RECORD_COMM, 0), &record);
    assert_int_equal(record.comm.pid, FAKE_PID);
    assert_int_equal(record.comm.tid, FAKE_PID);
    assert_string_equal(record.comm.comm, "hot");
    assert_int_equal(count(stream, PERF_RECORD_MMAP2), 2);
    check_map(stream, PERF_RECORD_MMAP2, 0, "2 1000 401000+3000@1000 8:1 4711.3 5 2 /usr/bin/hot");

    size_t id = find(stream, 67, 0);
    assert_int_equal(count(stream, 67), 1);
    assert_int_equal(stream->records[id].misc, PERF_RECORD_MISC_USER | 1 << 15);
    assert_int_equal(half(stream->records[id].body, 0), UINT32_MAX);
    assert_memory_equal(stream->records[id].body + 4, fake_mapping.build_id, 8);
    assert_int_equal(stream->records[id].body[24], 8);
    assert_string_equal((const char *)stream->records[id].body + 28, "/usr/bin/hot");

    /* After a pause, records describe all processes again, but not the kernel. */
    size_t before = stream->out.size;
    writer_perf_data.mark(stream->state, &(struct writer_mark){.kind = WRITER_RESCANNED}, &stream->out);
    split(stream, before);
    assert_int_equal(count(stream, PERF_RECORD_COMM), 2);
    assert_int_equal(count(stream, PERF_RECORD_MMAP2), 2);
    assert_int_equal(count(stream, 67), 1);
    assert_int_equal(stream->n, 5);
}

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000100 T do_idle\n";
static const char modules[] = "ext4 1011712 1 - Live 0xffffffff82000000\n"
                              "broken line\n"
                              "jbd2 100 1 ext4, Live 0xffffffff80000000 (E)\n"
                              "hidden 4096 0 - Live 0x0000000000000000\n";
static const unsigned char notes[] = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xca, 0xfe, 0xba, 0xbe};

static void write_notes(struct fake_sys *fake)
{
    char path[256];

    fake_file(fake, "/sys/kernel/notes", "%s", "");
    snprintf(path, sizeof(path), "%s/sys/kernel/notes", fake->sys.root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(notes, 1, sizeof(notes), file), sizeof(notes));
    assert_int_equal(fclose(file), 0);
}

/* The kernel's mapping ends where the next module begins; modules at lower addresses do not matter. */
TEST_WITH(test_kernel, setup, teardown)
{
    struct stream *stream = *state;

    fake_file(stream->fake, "/proc/kallsyms", "%s", kallsyms);
    fake_file(stream->fake, "/proc/modules", "%s", modules);
    write_notes(stream->fake);
    begin(stream);
    assert_int_equal(count(stream, PERF_RECORD_MMAP), 3);
    check_map(stream, PERF_RECORD_MMAP, 0,
              "1 -1 ffffffff81000000+1000000@ffffffff81000000 0:0 0.0 0 0 [kernel.kallsyms]_text");
    check_map(stream, PERF_RECORD_MMAP, 1, "1 -1 ffffffff82000000+f7000@0 0:0 0.0 0 0 [ext4]");
    check_map(stream, PERF_RECORD_MMAP, 2, "1 -1 ffffffff80000000+64@0 0:0 0.0 0 0 [jbd2]");
    size_t id = find(stream, 67, 0);
    assert_int_equal(stream->records[id].misc, PERF_RECORD_MISC_KERNEL | 1 << 15);
    assert_memory_equal(stream->records[id].body + 4, "\xca\xfe\xba\xbe", 4);
    assert_int_equal(stream->records[id].body[24], 4);
    assert_string_equal((const char *)stream->records[id].body + 28, "[kernel.kallsyms]");
}

static bool pass(struct stream *stream, struct built *built)
{
    struct record record;

    set_record_size(built->bytes, built->size);
    assert_int_equal(record_decode(built->bytes, built->size, &stream->source.layout, &record), 0);
    return writer_perf_data.record(stream->state, &record, &stream->out);
}

/* Records are passed through unchanged, except for types at which perf 6.1 stops reading. */
TEST_WITH(test_records, setup, teardown)
{
    struct stream *stream = *state;
    const struct writer_end end = {.reason = "seconds"};
    struct record record;
    struct built built;

    begin(stream);
    buffer_clear(&stream->out);
    start_record(&built, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put4(&built, 1);
    put4(&built, 2);
    built_text(&built, "a name");
    put_trailer(&built, SAMPLE);
    assert_true(pass(stream, &built));
    assert_int_equal(stream->out.size, built.size);
    assert_memory_equal(stream->out.data, built.bytes, built.size);
    for (uint32_t type = 22; type < 64; type++) {
        start_record(&built, type, 0);
        put8(&built, 0);
        put8(&built, 0);
        put_trailer(&built, SAMPLE);
        assert_false(pass(stream, &built));
    }
    writer_perf_data.mark(stream->state, &(struct writer_mark){.kind = WRITER_DROPPED, .n = 12}, &stream->out);
    writer_perf_data.mark(stream->state, &(struct writer_mark){.kind = WRITER_ROUND}, &stream->out);
    writer_perf_data.end(stream->state, &end, &stream->out);
    split(stream, 0);
    assert_int_equal(stream->n, 3);
    decode(stream, 1, &record);
    assert_int_equal(record.type, PERF_RECORD_LOST);
    assert_int_equal(record.lost.id, 100);
    assert_int_equal(record.lost.lost, 12);
    assert_int_equal(stream->records[2].type, 68);
    assert_int_equal(stream->records[2].size, 8);
}

static void expect_addresses(struct stream *stream, uint16_t misc, const uint64_t *chain, const uint64_t *expected,
                             size_t n)
{
    struct built built;

    buffer_clear(&stream->out);
    start_record(&built, PERF_RECORD_SAMPLE, misc);
    put8(&built, 100);
    put8(&built, chain[1]);
    put8(&built, n);
    built_bytes(&built, chain, n * sizeof(chain[0]));
    assert_true(pass(stream, &built));
    split(stream, 0);
    assert_int_equal(stream->records[0].size, built.size);
    assert_int_equal(word(stream->records[0].body, 0), 100);
    assert_int_equal(word(stream->records[0].body, 8), expected[1]);
    assert_int_equal(word(stream->records[0].body, 16), n);
    assert_memory_equal(stream->records[0].body + 24, expected, n * sizeof(chain[0]));
}

/* If the kernel's addresses are hidden, the kernel is shown at its link address, followed by its modules. */
TEST_WITH(test_hidden, setup, teardown)
{
    static const char shifted[] = "ffffffffa3400000 T _text\nffffffffa3400100 T do_idle\n";
    static const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffffa3400123, 0xffffffffc0a21010, 0xffffffffc0b00000,
                                     PERF_CONTEXT_USER,   0x401010,           0xffffffffa3400123};
    static const uint64_t expected[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000123, 0xffffffff85000010,
                                        KERNEL_VIEW_UNKNOWN, PERF_CONTEXT_USER,  0x401010,
                                        KERNEL_VIEW_UNKNOWN};
    struct stream *stream = *state;
    struct built built;

    hide_kernel(stream->fake, shifted, "ext4 4096 1 - Live 0xffffffffc0a21000\n");
    kernel_view_init(&stream->kernel, &stream->fake->sys);
    stream->attr.config1 = 0xffffffffa3400100;
    stream->source.layout = (struct record_layout){
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, .sample_id_all = true};
    stream->source.read = false;
    begin(stream);
    assert_int_equal(((const struct perf_event_attr *)(const void *)stream->records[0].body)->config1, 0);
    assert_int_equal(count(stream, PERF_RECORD_MMAP), 2);
    check_map(stream, PERF_RECORD_MMAP, 0,
              "1 -1 ffffffff81000000+4000000@ffffffff81000000 0:0 0.0 0 0 [kernel.kallsyms]_text");
    check_map(stream, PERF_RECORD_MMAP, 1, "1 -1 ffffffff85000000+1000@0 0:0 0.0 0 0 [ext4]");
    expect_addresses(stream, PERF_RECORD_MISC_KERNEL, chain, expected, ARRAY_SIZE(chain));
    expect_addresses(stream, PERF_RECORD_MISC_USER, chain + 4, expected + 4, 2);
    start_record(&built, PERF_RECORD_KSYMBOL, 0);
    put8(&built, 0xffffffffc0b00000);
    put8(&built, 0);
    built_text(&built, "bpf_prog_1");
    put_trailer(&built, stream->source.layout.sample_type);
    assert_false(pass(stream, &built));
}

/* A record whose header states too large a size (perf/record.c) is written with its real size. */
TEST_WITH(test_true_size, setup, teardown)
{
    struct stream *stream = *state;
    struct built built;

    stream->source.layout =
        (struct record_layout){.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME, .sample_id_all = true};
    begin(stream);
    start_record(&built, PERF_RECORD_BPF_EVENT, 0);
    put_array(&built, 2, 1);
    put_trailer(&built, stream->source.layout.sample_type);
    size_t size = built.size;
    put_array(&built, 2, 77);
    assert_true(pass(stream, &built));
    const struct perf_event_header *header = (const void *)(stream->out.data + stream->out.size - size);
    assert_int_equal(header->type, PERF_RECORD_BPF_EVENT);
    assert_int_equal(header->size, size);
}

static void take_read(struct stream *stream, uint64_t id, uint64_t period, const uint64_t *values)
{
    struct built built;

    start_record(&built, PERF_RECORD_SAMPLE, 0);
    put8(&built, id);
    put8(&built, period);
    put8(&built, 2);
    for (size_t i = 0; i < 4; i++)
        put8(&built, values[i]);
    assert_true(pass(stream, &built));
}

/*
 * Counter values start at 0 in each stream, since perf would otherwise assign everything counted before to the first
 * sample.
 */
TEST_WITH(test_reads, setup, teardown)
{
    static const struct {
        uint64_t id, period, in[4]; /* the sample has two values, each followed by its id */
        uint64_t out[2];
    } cases[] = {
        {7, 100, {5000, 7, 900, 8}, {100, 0}}, {17, 50, {20, 17, 1, 18}, {20, 0}},
        {7, 100, {5100, 7, 903, 8}, {200, 3}}, {7, 100, {5200, 7, 903, 8}, {300, 3}},
        {17, 50, {70, 17, 2, 18}, {70, 1}},
    };
    struct stream *stream = *state;

    stream->source.layout = (struct record_layout){
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
        .sample_id_all = true,
    };
    begin(stream);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t before = stream->out.size;
        take_read(stream, cases[i].id, cases[i].period, cases[i].in);
        split(stream, before);
        const unsigned char *body = stream->records[0].body;
        assert_int_equal(stream->n, 1);
        assert_int_equal(word(body, 0), cases[i].id);
        assert_int_equal(word(body, 24), cases[i].out[0]);
        assert_int_equal(word(body, 32), cases[i].in[1]);
        assert_int_equal(word(body, 40), cases[i].out[1]);
        assert_int_equal(word(body, 48), cases[i].in[3]);
        uint64_t samples = 0;
        assert_int_equal(perf_data_count(stream->out.data, stream->out.size, &samples), 0);
        assert_int_equal(samples, i + 1);
        assert_int_equal(perf_data_count(stream->out.data, stream->out.size - 1, &samples), -EBADMSG);
        assert_int_equal(perf_data_count(stream->out.data, before + 7, &samples), -EBADMSG);
    }
    uint64_t samples = 0;
    assert_int_equal(perf_data_count("PERFILE1\x10\0\0\0\0\0\0", 16, &samples), -EBADMSG);
    assert_int_equal(perf_data_count("", 0, &samples), -EBADMSG);
}

/* The size of a written record that contains a string of `in_text` bytes. 0: the record is too large and is removed. */
TEST(test_sizes)
{
    static const struct {
        size_t in_text, out_size;
    } cases[] = {
        {0, 16}, {1, 16}, {7, 16}, {8, 24}, {65519, 65528}, {65520, 0}, {100000, 0},
    };
    static char text[100001];
    struct buffer out = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        memset(text, 'x', cases[i].in_text);
        text[cases[i].in_text] = '\0';
        buffer_clear(&out);
        buffer_append_text(&out, "before");
        size_t start = perf_data_bytes_begin(&out, 9, 3);
        perf_data_bytes_write_text(&out, text);
        perf_data_bytes_end(&out, start);
        assert_int_equal(out.size, 6 + cases[i].out_size);
        if (cases[i].out_size == 0)
            continue;
        const struct perf_event_header expected = {9, 3, (uint16_t)cases[i].out_size};
        assert_memory_equal(out.data + start, &expected, sizeof(expected));
        for (size_t at = sizeof(expected) + cases[i].in_text; at < cases[i].out_size; at++)
            assert_int_equal(out.data[start + at], 0);
    }
    buffer_done(&out);
}

TEST_MAIN(NULL, NULL)
