/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of two events as NDJSON: the lines are exact, and jansson parses them independently. */
#include <stdio.h>
#include <sys/utsname.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "sampler/writer.h"
#include "symbols/kernel.h"
#include "tests/unit/build-record.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define SAMPLE                                                                                                         \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD)
#define READ_FORMAT                                                                                                    \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define TIME UINT64_C(2000000007) /* of CLOCK_MONOTONIC; in Unix time it is 1700000001.000000007 */

static const uint64_t cycle_ids[] = {100, 102}, instruction_ids[] = {101, 103};

struct stream {
    struct perf_event_attr attr;
    struct writer_event events[2];
    struct writer_source source;
    struct kernel_view kernel;
    struct buffer out;
    void *state;
};

/* Begins a stream with SAMPLE and these additional bits, and writes its first lines to `out`. */
static void begin(struct stream *stream, uint64_t sample_type, uint64_t read_format)
{
    *stream = (struct stream){
        .attr = {.sample_type = SAMPLE | sample_type,
                 .read_format = read_format,
                 .freq = 1,
                 .sample_freq = 99,
                 .sample_id_all = 1},
        .kernel = {.open = true},
        .events = {{.name = "cycles", .attr = &stream->attr, .ids = cycle_ids},
                   {.name = "\"i\"", .attr = &stream->attr, .ids = instruction_ids}},
    };
    stream->source = (struct writer_source){
        .events = stream->events,
        .n_events = 2,
        .n_ids = 2,
        .n_cpus = 1, /* each event is opened on two threads and has an id on each */
        .layout = record_layout_of(&stream->attr),
        .read = sample_type & PERF_SAMPLE_READ,
        .kernel = &stream->kernel,
        .start_realtime_ns = 1700000000 * NSEC_PER_SEC,
        .start_monotonic_ns = NSEC_PER_SEC,
        .seconds = 2.5,
    };
    stream->state = writer_ndjson.begin(&stream->source, &stream->out);
    assert_non_null(stream->state);
}

static void finish(struct stream *stream)
{
    writer_ndjson.free(stream->state);
    buffer_done(&stream->out);
}

/* Each line is a JSON object with a type. */
static void check_lines(const struct buffer *out)
{
    const char *at = out->data, *end = at + out->size;
    json_error_t error;

    assert_false(out->failed);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(newline);
        json_t *line = json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, &error);
        if (!line)
            fail_msg("%.*s: %s\n", (int)(newline - at), at, error.text);
        assert_true(json_is_string(json_object_get(line, "type")));
        json_decref(line);
        at = newline + 1;
    }
}

static void expect(struct stream *stream, const char *expected)
{
    check_lines(&stream->out);
    buffer_append_char(&stream->out, '\0');
    assert_string_equal(stream->out.data, expected);
    buffer_clear(&stream->out);
}

/* Decodes and writes a record; returns whether it became a line. */
static bool take(struct stream *stream, struct built *built)
{
    struct record record;

    set_record_size(built->bytes, built->size);
    assert_int_equal(record_decode(built->bytes, built->size, &stream->source.layout, &record), 0);
    return writer_ndjson.record(stream->state, &record, &stream->out);
}

static void start_sample(struct built *built, uint16_t misc, uint64_t ip)
{
    start_record(built, PERF_RECORD_SAMPLE, misc);
    put8(built, 100);
    put8(built, ip);
    put4(built, FAKE_PID);
    put4(built, FAKE_PID + 1);
    put8(built, TIME);
    put4(built, 3);
    put4(built, 0);
    put8(built, 12345);
}

#define SAMPLE_START                                                                                                   \
    "{\"type\":\"sample\",\"time\":1700000001.000000007,\"cpu\":3,\"pid\":1000,\"tid\":1001,\"comm\":\"hot\","
#define USER PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define PROGRAM "\"module\":\"/usr/bin/hot\""
#define ODD "\"operator\\\"\\\" _\\\\\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\""
#define HOT "\"symbol\":\"hot\"," PROGRAM
#define IDLE "\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\""
#define UNKNOWN "\"symbol\":\"[unknown]\",\"module\":\"[unknown]\""
#define PERIOD ",\"period\":12345"

/*
 * Context markers tell the address space of the addresses that follow; they are not addresses themselves. The first
 * address of a callchain is that of the sample, the others are return addresses. If kernel addresses are hidden, kernel
 * functions are shown by name and offset, without any number from which an address could be derived.
 */
static const struct {
    uint16_t in_misc;
    uint64_t in_ip;
    const char *out;
    bool in_hidden, in_callchain;
    uint64_t in_chain[9];
} samples[] = {
    {USER, FAKE_IP, .out = "\"ip\":\"0x401010\"," HOT PERIOD},
    {USER, FAKE_BARE_IP, .out = "\"ip\":\"0x403000\",\"symbol\":\"[unknown]\"," PROGRAM PERIOD},
    {USER, FAKE_LOST_IP, .out = "\"ip\":\"0x7f0000000000\"," UNKNOWN PERIOD},
    {USER, FAKE_ODD_IP, .out = "\"ip\":\"0x402000\",\"symbol\":" ODD "," PROGRAM PERIOD},
    {KERNEL, FAKE_KERNEL_IP, .out = "\"ip\":\"0xffffffff81000010\"," IDLE PERIOD},
    {USER, FAKE_KERNEL_IP, .out = "\"ip\":\"0xffffffff81000010\"," UNKNOWN PERIOD},
    {PERF_RECORD_MISC_GUEST_USER, FAKE_IP, .out = "\"ip\":\"0x401010\"," UNKNOWN PERIOD},
    {USER, 0, .out = "\"ip\":\"0x0\"," UNKNOWN PERIOD},
    {USER, FAKE_IP, .in_callchain = true, .out = "\"ip\":\"0x401010\"," HOT PERIOD ",\"callchain\":[]"},
    {KERNEL, FAKE_KERNEL_IP, .in_callchain = true,
     .in_chain = {PERF_CONTEXT_KERNEL, FAKE_KERNEL_IP, FAKE_IP, PERF_CONTEXT_USER, FAKE_IP, FAKE_IP + 1, FAKE_KERNEL_IP,
                  PERF_CONTEXT_GUEST_USER, FAKE_IP},
     .out = "\"ip\":\"0xffffffff81000010\"," IDLE PERIOD ",\"callchain\":["
            "{\"ip\":\"0xffffffff81000010\"," IDLE "},{\"ip\":\"0x401010\"," UNKNOWN "},{\"ip\":\"0x401010\"," HOT "},"
            "{\"ip\":\"0x401011\"," HOT "},{\"ip\":\"0xffffffff81000010\"," UNKNOWN "},"
            "{\"ip\":\"0x401010\"," UNKNOWN "}]"},
    {KERNEL, FAKE_KERNEL_IP, .in_hidden = true, .in_callchain = true,
     .in_chain = {PERF_CONTEXT_KERNEL, FAKE_KERNEL_IP, FAKE_KERNEL_IP + 1, FAKE_KERNEL_IP + 0x100, PERF_CONTEXT_USER,
                  FAKE_IP, FAKE_KERNEL_IP, PERF_CONTEXT_GUEST_KERNEL, FAKE_KERNEL_IP},
     .out = IDLE ",\"offset\":\"0x10\"" PERIOD ",\"callchain\":[{" IDLE ",\"offset\":\"0x10\"},{" IDLE
                 ",\"offset\":\"0x11\"},{" UNKNOWN "},{\"ip\":\"0x401010\"," HOT "},{" UNKNOWN "},{" UNKNOWN "}]"},
};

TEST(test_samples)
{
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct stream stream;
        struct built built;
        char expected[1024];
        size_t n = 0;
        begin(&stream, samples[i].in_callchain ? PERF_SAMPLE_CALLCHAIN : 0, 0);
        stream.kernel.open = !samples[i].in_hidden;
        buffer_clear(&stream.out);
        start_sample(&built, samples[i].in_misc, samples[i].in_ip);
        while (n < ARRAY_SIZE(samples[i].in_chain) && samples[i].in_chain[n])
            n++;
        if (samples[i].in_callchain) {
            put8(&built, n);
            built_bytes(&built, samples[i].in_chain, n * sizeof(uint64_t));
        }
        assert_true(take(&stream, &built));
        snprintf(expected, sizeof(expected), SAMPLE_START "%s}\n", samples[i].out);
        expect(&stream, expected);
        finish(&stream);
    }
}

/*
 * A sample names its cgroup, whatever bytes the name contains, and the last line counts the stacks with only one
 * function.
 */
TEST(test_cgroups)
{
    static const uint64_t chain[] = {PERF_CONTEXT_USER, FAKE_IP}, ids[] = {7, 8};
    static const char *const out[] = {"\"cgroup\":\"/a\\\"\xef\xbf\xbd\xef\xbf\xbd\",", ""};
    const struct record made = {.type = PERF_RECORD_CGROUP, .cgroup = {7, "/a\"\n\xff"}};
    struct fake_sys *fake = fake_sys_new();
    _cleanup_(buffer_done) struct buffer early = {0};
    struct stream stream;
    char expected[512];

    fake_file(fake, "/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 none rw\n");
    begin(&stream, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP, 0);
    assert_int_equal(cgroup_lookup_new(&fake->sys, &stream.source.cgroups), 0);
    cgroup_lookup_update(stream.source.cgroups, &made);
    buffer_clear(&stream.out);
    for (size_t i = 0; i < 20; i++) {
        struct built built;
        start_sample(&built, USER, FAKE_IP);
        put8(&built, ARRAY_SIZE(chain));
        built_bytes(&built, chain, sizeof(chain));
        put8(&built, ids[i % 2]);
        assert_true(take(&stream, &built));
        snprintf(expected, sizeof(expected),
                 SAMPLE_START "%s\"ip\":\"0x401010\"," HOT PERIOD ",\"callchain\":[{\"ip\":\"0x401010\"," HOT "}]}\n",
                 out[i % 2]);
        expect(&stream, expected);
    }
    writer_ndjson.early(stream.state, &early);
    buffer_append_char(&early, '\0');
    assert_true(str_starts(early.data, "stacks end after one function in hot (100 % of 20 samples)"));
    writer_ndjson.end(stream.state, &(struct writer_end){.reason = "seconds", .early = "they end"}, &stream.out);
    check_lines(&stream.out);
    buffer_append_char(&stream.out, '\0');
    assert_non_null(strstr(stream.out.data, "\"they end\"]}\n"));
    cgroup_lookup_free(stream.source.cgroups);
    finish(&stream);
    fake_sys_free(fake);
}

static void put_read(struct built *built, uint64_t read_format, const uint64_t *ids)
{
    start_sample(built, PERF_RECORD_MISC_USER, FAKE_IP);
    put8(built, 2);
    put8(built, 5000);
    put8(built, 4000);
    for (size_t i = 0; i < 2; i++) {
        put8(built, 11 + i);
        if (read_format & PERF_FORMAT_ID)
            put8(built, ids[i]);
    }
}

/*
 * Values with ids are matched by id in any order; a value with an unknown id is omitted. `in_changed`: after a hotplug,
 * the only event of a PMU has been replaced.
 */
TEST(test_read)
{
    static const uint64_t other_ids[] = {101, 200};
    static const struct {
        uint64_t in_format, in_ids[2];
        bool in_changed;
        const char *out;
    } cases[] = {
        {READ_FORMAT, {102, 103}, false, "\"cycles\":11,\"\\\"i\\\"\":12"},
        {READ_FORMAT, {101, 100}, false, "\"\\\"i\\\"\":11,\"cycles\":12"},
        {READ_FORMAT, {99, 103}, false, "\"\\\"i\\\"\":12"},
        {READ_FORMAT & ~(uint64_t)PERF_FORMAT_ID, {0, 0}, false, "\"cycles\":11,\"\\\"i\\\"\":12"},
        {READ_FORMAT, {103, 200}, true, "\"other\":12"},
        {READ_FORMAT, {102, 101}, true, "\"other\":12"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stream stream;
        struct built built;
        char expected[512];
        begin(&stream, PERF_SAMPLE_READ, cases[i].in_format);
        if (cases[i].in_changed) {
            stream.events[0] = (struct writer_event){.name = "other", .attr = &stream.attr, .ids = other_ids};
            stream.events[1] = (struct writer_event){0};
            stream.source.n_events = 1;
            writer_ndjson.mark(stream.state, &(struct writer_mark){.kind = WRITER_EVENTS}, &stream.out);
        }
        buffer_clear(&stream.out);
        put_read(&built, cases[i].in_format, cases[i].in_ids);
        assert_true(take(&stream, &built));
        snprintf(expected, sizeof(expected),
                 SAMPLE_START "\"ip\":\"0x401010\"," HOT PERIOD
                              ",\"counts\":{%s},\"enabled_ns\":5000,\"running_ns\":4000}\n",
                 cases[i].out);
        expect(&stream, expected);
        finish(&stream);
    }
}

struct field {
    size_t size;
    uint64_t value;
};

#define MAPPING_FIELDS                                                                                                 \
    {4, 1}, {4, 2}, {8, 0x7f0000001000}, {8, 8192},                                                                    \
    {                                                                                                                  \
        8, 0x3000                                                                                                      \
    }
#define MAPPING "\"pid\":1,\"tid\":2,\"address\":\"0x7f0000001000\",\"length\":8192,\"offset\":\"0x3000\",\"file\":"
#define COMM "\"pid\":5,\"tid\":6,\"comm\":\"a\\\"b\\\\c\xef\xbf\xbd\""
#define TASK_FIELDS                                                                                                    \
    {4, 10}, {4, UINT32_MAX}, {4, 12}, {4, 13},                                                                        \
    {                                                                                                                  \
        8, 1                                                                                                           \
    }
#define TASK "\"pid\":10,\"tid\":12,\"parent_pid\":-1,\"parent_tid\":13"
#define THREE                                                                                                          \
    {8, 1}, {8, 100},                                                                                                  \
    {                                                                                                                  \
        8, 100                                                                                                         \
    }
#define WHO "\"pid\":901,\"tid\":902" /* the values that put_trailer() writes */
#define SWITCH_OUT PERF_RECORD_MISC_SWITCH_OUT
#define NEXT WHO ",\"out\":true,\"next_pid\":20,\"next_tid\":21"
#define PREVIOUS WHO ",\"out\":false,\"previous_pid\":20,\"previous_tid\":21"
#define CGROUP "\"id\":42,\"path\":\"/system.slice\""
#define COMM_FIELDS                                                                                                    \
    {4, 5},                                                                                                            \
    {                                                                                                                  \
        4, 6                                                                                                           \
    }
#define ODD_COMM "a\"b\\c\x1b"
#define KSYMBOL_FIELDS                                                                                                 \
    {8, FAKE_KERNEL_IP}, {4, 64}, {2, 1},                                                                              \
    {                                                                                                                  \
        2, 1                                                                                                           \
    }
#define KERNEL_ADDRESS "\"address\":\"0xffffffff81000010\","
#define KSYMBOL "\"length\":64,\"name\":\"bpf_prog_1\",\"unregister\":true"

static const struct {
    uint32_t in_type;
    struct field in[17];
    const char *out, *out_type;
    const char *in_text; /* the record's text, which follows its fields */
    uint16_t in_misc;
    bool in_hidden; /* kernel addresses are hidden */
} records[] = {
    {PERF_RECORD_MMAP, {MAPPING_FIELDS}, MAPPING "\"/lib/\xef\xbf\xbd.so\"", "mmap", .in_text = "/lib/\xff.so"},
    {PERF_RECORD_MMAP2,
     {MAPPING_FIELDS, {4, 254}, {4, 1}, {8, 99}, {8, 0}, {8, 0}},
     MAPPING "\"/lib/x.so\",\"major\":254,\"minor\":1,\"inode\":99",
     "mmap2",
     .in_text = "/lib/x.so"},
    {PERF_RECORD_MMAP2,
     {MAPPING_FIELDS, {1, 4}, {1, 0}, {2, 0}, {1, 0xde}, {1, 0xad}, {1, 0xbe}, {1, 0xf}, {8, 0}, {8, 0}, {8, 0}},
     MAPPING "\"/lib/x.so\",\"build_id\":\"deadbe0f\"",
     "mmap2",
     .in_text = "/lib/x.so",
     .in_misc = MISC_BUILD_ID},
    {PERF_RECORD_COMM, {COMM_FIELDS}, COMM ",\"exec\":true", "comm", ODD_COMM, .in_misc = PERF_RECORD_MISC_COMM_EXEC},
    {PERF_RECORD_COMM, {COMM_FIELDS}, COMM ",\"exec\":false", "comm", .in_text = ODD_COMM},
    {PERF_RECORD_FORK, {TASK_FIELDS}, TASK, .out_type = "fork"},
    {PERF_RECORD_EXIT, {TASK_FIELDS}, TASK, .out_type = "exit"},
    {PERF_RECORD_LOST, {{8, 100}, {8, 77}}, WHO ",\"lost\":77", .out_type = "lost"},
    {PERF_RECORD_LOST_SAMPLES, {{8, 5}}, WHO ",\"lost\":5", .out_type = "lost_samples"},
    {PERF_RECORD_THROTTLE, {THREE}, WHO, .out_type = "throttle"},
    {PERF_RECORD_UNTHROTTLE, {THREE}, WHO, .out_type = "unthrottle"},
    {PERF_RECORD_SWITCH, {{0}}, WHO ",\"out\":true", .out_type = "switch", .in_misc = SWITCH_OUT},
    {PERF_RECORD_SWITCH_CPU_WIDE, {{4, 20}, {4, 21}}, NEXT, .out_type = "switch_cpu_wide", .in_misc = SWITCH_OUT},
    {PERF_RECORD_SWITCH_CPU_WIDE, {{4, 20}, {4, 21}}, PREVIOUS, .out_type = "switch_cpu_wide"},
    {PERF_RECORD_CGROUP, {{8, 42}}, CGROUP, "cgroup", .in_text = "/system.slice"},
    {PERF_RECORD_KSYMBOL, {KSYMBOL_FIELDS}, KERNEL_ADDRESS KSYMBOL, "ksymbol", .in_text = "bpf_prog_1"},
    {PERF_RECORD_KSYMBOL, {KSYMBOL_FIELDS}, KSYMBOL, "ksymbol", .in_text = "bpf_prog_1", .in_hidden = true},
    {PERF_RECORD_AUX, {THREE}, WHO, .out_type = "aux"},
};

static void put_field(struct built *built, const struct field *field)
{
    if (field->size == 8)
        put8(built, field->value);
    else if (field->size == 4)
        put4(built, (uint32_t)field->value);
    else if (field->size == 2)
        put2(built, (uint16_t)field->value);
    else
        put_filled(built, field->size, (int)field->value);
}

TEST(test_records)
{
    struct stream stream;
    struct built built;

    begin(&stream, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        char expected[512];
        stream.kernel.open = !records[i].in_hidden;
        buffer_clear(&stream.out);
        start_record(&built, records[i].in_type, records[i].in_misc);
        for (size_t k = 0; k < ARRAY_SIZE(records[i].in); k++)
            put_field(&built, &records[i].in[k]);
        if (records[i].in_text)
            built_text(&built, records[i].in_text);
        put_trailer(&built, stream.source.layout.sample_type);
        assert_true(take(&stream, &built));
        snprintf(expected, sizeof(expected), "{\"type\":\"%s\",\"time\":1699999999.000000903,\"cpu\":906,%s}\n",
                 records[i].out_type, records[i].out);
        expect(&stream, expected);
    }
    finish(&stream);
}

TEST(test_end)
{
    const struct writer_end end = {.reason = "error: \"x\"",
                                   .records = 5,
                                   .lost = 6,
                                   .dropped = 7,
                                   .malformed = 8,
                                   .throttled = 9,
                                   .duration_ns = 2500000000};
    struct stream stream;
    struct built built;

    begin(&stream, 0, 0);
    buffer_clear(&stream.out);
    for (uint32_t type = 60; type < 63; type++) { /* unknown types */
        start_record(&built, type, 0);
        put_trailer(&built, stream.source.layout.sample_type);
        assert_false(take(&stream, &built));
    }
    assert_int_equal(stream.out.size, 0);
    writer_ndjson.mark(stream.state, &(struct writer_mark){.kind = WRITER_DROPPED, .n = 7}, &stream.out);
    expect(&stream, "{\"type\":\"dropped\",\"dropped\":7}\n");
    writer_ndjson.end(stream.state, &end, &stream.out);
    expect(&stream,
           "{\"type\":\"end\",\"reason\":\"error: \\\"x\\\"\",\"records\":5,\"lost\":6,\"dropped\":7,"
           "\"unknown\":3,\"malformed\":8,\"seconds\":2.500000000,\"awaiting_symbols\":0,\"notes\":[\"the "
           "kernel hides its \\\"symbols\\\"\",\"the kernel throttled sampling 9 times, so samples are missing: "
           "ask for a lower frequency or a longer period, or raise "
           "kernel.perf_event_max_sample_rate\"]}\n");
    finish(&stream);
}

/*
 * A stream begins with a header and with lines without a time, which describe the running processes. After a pause the
 * processes are described again.
 */
TEST(test_begin_and_pause)
{
    static const char known[] =
        "{\"type\":\"comm\",\"pid\":1000,\"tid\":1000,\"comm\":\"hot\"}\n"
        "{\"type\":\"mmap2\",\"pid\":1000,\"tid\":1000,\"address\":\"0x401000\",\"length\":12288,\"offset\":\"0x1000\","
        "\"file\":\"/usr/bin/hot\",\"major\":8,\"minor\":1,\"inode\":4711,\"build_id\":\"0123456789abcdef\"}\n"
        "{\"type\":\"comm\",\"pid\":2,\"tid\":2,\"comm\":\"odd\xef\xbf\xbd\"}\n"
        "{\"type\":\"mmap2\",\"pid\":2,\"tid\":2,\"address\":\"0x500000\",\"length\":4096,\"offset\":\"0x0\","
        "\"file\":\"/tmp/\\\"odd\\\"\xef\xbf\xbd\xef\xbf\xbd\"}\n";
    struct stream stream;
    struct utsname name;
    char expected[2048];

    assert_int_equal(uname(&name), 0);
    begin(&stream, PERF_SAMPLE_READ, READ_FORMAT);
    snprintf(expected, sizeof(expected),
             "{\"type\":\"header\",\"version\":\"" PACKAGE_VERSION "\",\"hostname\":\"%s\",\"kernel\":\"%s\","
             "\"machine\":\"%s\",\"time\":1700000000.000000000,\"clock\":\"monotonic\","
             "\"realtime_offset_ns\":1699999999000000000,\"seconds\":2.500000000,\"event\":\"cycles\","
             "\"frequency\":99,\"read\":[\"cycles\",\"\\\"i\\\"\"],\"cpus\":1,"
             "\"notes\":[\"the kernel hides its \\\"symbols\\\"\"]}\n%s",
             name.nodename, name.release, name.machine, known);
    expect(&stream, expected);
    writer_ndjson.mark(stream.state, &(struct writer_mark){.kind = WRITER_PAUSED, .time_ns = TIME}, &stream.out);
    writer_ndjson.mark(stream.state, &(struct writer_mark){.kind = WRITER_RESUMED, .time_ns = TIME + NSEC_PER_SEC},
                       &stream.out);
    expect(&stream, "{\"type\":\"pause\",\"time\":1700000001.000000007}\n"
                    "{\"type\":\"resume\",\"time\":1700000002.000000007}\n");
    writer_ndjson.mark(stream.state, &(struct writer_mark){.kind = WRITER_RESCANNED}, &stream.out);
    expect(&stream, known);
    finish(&stream);
}

TEST_MAIN(NULL, NULL)
