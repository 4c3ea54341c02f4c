/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/utsname.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "tests/unit/build-record.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/test.h"

#define SAMPLE                                                                                                         \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |                  \
     PERF_SAMPLE_PERIOD)
#define READ_FORMAT                                                                                                    \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define TIME UINT64_C(2000000007) /* at 1700000001.000000007 */
/* The start of a line of a record with the trailer of put_trailer(). */
#define WHEN ",\"time\":1699999999.000000903,\"cpu\":906"

static const uint64_t cycle_ids[] = {100, 102}, instruction_ids[] = {101, 103};

struct stream {
    struct perf_event_attr attr;
    struct writer_event events[2];
    struct writer_source source;
    struct kernel_view kernel;
    struct buffer out;
    void *state;
};

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
        .n_cpus = 1, /* of two threads */
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

/* Each line by itself is an object that has a type, according to an independent parser, jansson. */
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
            print_message("%.*s: %s\n", (int)(newline - at), at, error.text);
        assert_non_null(line);
        assert_true(json_is_string(json_object_get(line, "type")));
        json_decref(line);
        at = newline + 1;
    }
}

/* All that is there is `expected`; it is taken. */
static void expect(struct stream *stream, const char *expected)
{
    check_lines(&stream->out);
    buffer_append_char(&stream->out, '\0');
    assert_string_equal(stream->out.data, expected);
    buffer_clear(&stream->out);
}

static void take(struct stream *stream, struct built *built, bool written)
{
    struct record record;

    set_record_size(built->bytes, built->size);
    assert_int_equal(record_decode(built->bytes, built->size, &stream->source.layout, &record), 0);
    assert_int_equal(writer_ndjson.record(stream->state, &record, &stream->out), written);
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

static void test_sample(void **state)
{
    static const struct {
        uint16_t misc;
        uint64_t ip;
        const char *out;
    } cases[] = {
        {PERF_RECORD_MISC_USER, FAKE_IP, "\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\""},
        {PERF_RECORD_MISC_USER, FAKE_BARE_IP,
         "\"ip\":\"0x403000\",\"symbol\":\"[unknown]\",\"module\":\"/usr/bin/hot\""},
        {PERF_RECORD_MISC_USER, FAKE_LOST_IP,
         "\"ip\":\"0x7f0000000000\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\""},
        {PERF_RECORD_MISC_USER, FAKE_ODD_IP,
         "\"ip\":\"0x402000\",\"symbol\":\"operator\\\"\\\" "
         "_\\\\\\n\xef\xbf\xbd\xc3\xa9\",\"module\":\"/usr/bin/hot\""},
        {PERF_RECORD_MISC_KERNEL, FAKE_KERNEL_IP,
         "\"ip\":\"0xffffffff81000010\",\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\""},
        {PERF_RECORD_MISC_USER, FAKE_KERNEL_IP,
         "\"ip\":\"0xffffffff81000010\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\""},
        {PERF_RECORD_MISC_GUEST_USER, FAKE_IP, "\"ip\":\"0x401010\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\""},
        {PERF_RECORD_MISC_USER, 0, "\"ip\":\"0x0\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\""},
    };
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char expected[512];
        buffer_clear(&stream.out);
        start_sample(&built, cases[i].misc, cases[i].ip);
        take(&stream, &built, true);
        snprintf(expected, sizeof(expected), SAMPLE_START "%s,\"period\":12345}\n", cases[i].out);
        expect(&stream, expected);
    }
    finish(&stream);
}

/*
 * Markers name the address space of the addresses that follow, and are not addresses themselves. The first address is
 * where the sample was taken; the others are of callers, behind their calls.
 */
static void test_callchain(void **state)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL,
                                     FAKE_KERNEL_IP,
                                     FAKE_IP,
                                     (uint64_t)PERF_CONTEXT_USER,
                                     FAKE_IP,
                                     FAKE_IP + 1,
                                     FAKE_KERNEL_IP,
                                     (uint64_t)PERF_CONTEXT_GUEST_USER,
                                     FAKE_IP};
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, PERF_SAMPLE_CALLCHAIN, 0);
    buffer_clear(&stream.out);
    start_sample(&built, PERF_RECORD_MISC_KERNEL, FAKE_KERNEL_IP);
    put8(&built, ARRAY_SIZE(chain));
    put_bytes(&built, chain, sizeof(chain));
    take(&stream, &built, true);
    expect(&stream, SAMPLE_START
           "\"ip\":\"0xffffffff81000010\",\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"period\":12345,"
           "\"callchain\":["
           "{\"ip\":\"0xffffffff81000010\",\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\"},"
           "{\"ip\":\"0x401010\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
           "{\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\"},"
           "{\"ip\":\"0x401011\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\"},"
           "{\"ip\":\"0xffffffff81000010\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
           "{\"ip\":\"0x401010\",\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"}]}\n");
    start_sample(&built, PERF_RECORD_MISC_USER, FAKE_IP);
    put8(&built, 0);
    take(&stream, &built, true);
    expect(&stream, SAMPLE_START "\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\",\"period\":12345,"
                                 "\"callchain\":[]}\n");
    finish(&stream);
}

/* If addresses of the kernel are hidden, its functions have names and offsets, and nothing else has a number. */
static void test_hidden(void **state)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL,
                                     FAKE_KERNEL_IP,
                                     FAKE_KERNEL_IP + 1,
                                     FAKE_KERNEL_IP + 0x100,
                                     (uint64_t)PERF_CONTEXT_USER,
                                     FAKE_IP,
                                     FAKE_KERNEL_IP,
                                     (uint64_t)PERF_CONTEXT_GUEST_KERNEL,
                                     FAKE_KERNEL_IP};
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, PERF_SAMPLE_CALLCHAIN, 0);
    stream.kernel.open = false;
    buffer_clear(&stream.out);
    start_sample(&built, PERF_RECORD_MISC_KERNEL, FAKE_KERNEL_IP);
    put8(&built, ARRAY_SIZE(chain));
    put_bytes(&built, chain, sizeof(chain));
    take(&stream, &built, true);
    expect(&stream,
           SAMPLE_START "\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x10\",\"period\":12345,"
                        "\"callchain\":["
                        "{\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x10\"},"
                        "{\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x11\"},"
                        "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
                        "{\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\"},"
                        "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
                        "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"}]}\n");
    finish(&stream);
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

/* If values have ids, they are found by id in any order; a value with an unknown id is left out. */
static void test_read(void **state)
{
    static const struct {
        uint64_t read_format, ids[2];
        const char *out;
    } cases[] = {
        {READ_FORMAT, {102, 103}, "\"cycles\":11,\"\\\"i\\\"\":12"},
        {READ_FORMAT, {101, 100}, "\"\\\"i\\\"\":11,\"cycles\":12"},
        {READ_FORMAT, {99, 103}, "\"\\\"i\\\"\":12"},
        {READ_FORMAT & ~(uint64_t)PERF_FORMAT_ID, {0, 0}, "\"cycles\":11,\"\\\"i\\\"\":12"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stream stream;
        struct built built;
        char expected[512];
        begin(&stream, PERF_SAMPLE_READ, cases[i].read_format);
        buffer_clear(&stream.out);
        put_read(&built, cases[i].read_format, cases[i].ids);
        take(&stream, &built, true);
        snprintf(expected, sizeof(expected),
                 SAMPLE_START "\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\",\"period\":12345,"
                              "\"counts\":{%s},\"enabled_ns\":5000,\"running_ns\":4000}\n",
                 cases[i].out);
        expect(&stream, expected);
        finish(&stream);
    }
}

/* CPUs came and left, and with those the only event of a PMU. */
static void test_changed(void **state)
{
    static const uint64_t ids[] = {101, 200};
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, PERF_SAMPLE_READ, READ_FORMAT);
    stream.events[0] = (struct writer_event){.name = "other", .attr = &stream.attr, .ids = ids};
    stream.events[1] = (struct writer_event){0};
    stream.source.n_events = 1;
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_EVENTS}, &stream.out);
    buffer_clear(&stream.out);
    put_read(&built, READ_FORMAT, (const uint64_t[]){103, 200});
    take(&stream, &built, true);
    put_read(&built, READ_FORMAT, (const uint64_t[]){102, 101});
    take(&stream, &built, true);
    buffer_append_char(&stream.out, '\0');
    assert_non_null(strstr(stream.out.data, "\"counts\":{\"other\":12}"));
    assert_non_null(strstr(strchr(stream.out.data, '\n'), "\"counts\":{\"other\":12}"));
    finish(&stream);
}

static void put_mapping(struct built *built)
{
    put4(built, 1);
    put4(built, 2);
    put8(built, 0x7f0000001000);
    put8(built, 8192);
    put8(built, 0x3000);
}

static void put_mmap(struct built *built)
{
    put_mapping(built);
    put_text(built, "/lib/\xff.so");
}

static void put_mmap2(struct built *built)
{
    put_mapping(built);
    put4(built, 254);
    put4(built, 1);
    put8(built, 99);
    put8(built, 0);
    put8(built, 0);
    put_text(built, "/lib/x.so");
}

static void put_mmap2_build_id(struct built *built)
{
    static const unsigned char id[24] = {4, 0, 0, 0, 0xde, 0xad, 0xbe, 0x0f};

    put_mapping(built);
    put_bytes(built, id, sizeof(id));
    put8(built, 0);
    put_text(built, "/lib/x.so");
}

static void put_comm(struct built *built)
{
    put4(built, 5);
    put4(built, 6);
    put_text(built, "a\"b\\c\x1b");
}

static void put_task(struct built *built)
{
    put4(built, 10);
    put4(built, UINT32_MAX);
    put4(built, 12);
    put4(built, 13);
    put8(built, 1);
}

static void put_lost(struct built *built)
{
    put8(built, 100);
    put8(built, 77);
}

static void put_three(struct built *built)
{
    put8(built, 1);
    put8(built, 100);
    put8(built, 100);
}

static void put_lost_samples(struct built *built)
{
    put8(built, 5);
}

static void put_nothing(struct built *built)
{
    (void)built;
}

static void put_next(struct built *built)
{
    put4(built, 20);
    put4(built, 21);
}

static void put_cgroup(struct built *built)
{
    put8(built, 42);
    put_text(built, "/system.slice");
}

static void put_ksymbol(struct built *built)
{
    put8(built, FAKE_KERNEL_IP);
    put4(built, 64);
    put2(built, 1);
    put2(built, 1);
    put_text(built, "bpf_prog_1");
}

#define MAPPING "\"pid\":1,\"tid\":2,\"address\":\"0x7f0000001000\",\"length\":8192,\"offset\":\"0x3000\",\"file\":"
#define WHO "\"pid\":901,\"tid\":902"

static void test_others(void **state)
{
    static const struct {
        uint32_t type;
        uint16_t misc;
        void (*put)(struct built *built);
        const char *name, *out;
    } cases[] = {
        {PERF_RECORD_MMAP, 0, put_mmap, "mmap", MAPPING "\"/lib/\xef\xbf\xbd.so\""},
        {PERF_RECORD_MMAP2, 0, put_mmap2, "mmap2", MAPPING "\"/lib/x.so\",\"major\":254,\"minor\":1,\"inode\":99"},
        {PERF_RECORD_MMAP2, MISC_BUILD_ID, put_mmap2_build_id, "mmap2",
         MAPPING "\"/lib/x.so\",\"build_id\":\"deadbe0f\""},
        {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, put_comm, "comm",
         "\"pid\":5,\"tid\":6,\"comm\":\"a\\\"b\\\\c\\u001b\",\"exec\":true"},
        {PERF_RECORD_COMM, 0, put_comm, "comm", "\"pid\":5,\"tid\":6,\"comm\":\"a\\\"b\\\\c\\u001b\",\"exec\":false"},
        {PERF_RECORD_FORK, 0, put_task, "fork", "\"pid\":10,\"tid\":12,\"parent_pid\":-1,\"parent_tid\":13"},
        {PERF_RECORD_EXIT, 0, put_task, "exit", "\"pid\":10,\"tid\":12,\"parent_pid\":-1,\"parent_tid\":13"},
        {PERF_RECORD_LOST, 0, put_lost, "lost", WHO ",\"lost\":77"},
        {PERF_RECORD_LOST_SAMPLES, 0, put_lost_samples, "lost_samples", WHO ",\"lost\":5"},
        {PERF_RECORD_THROTTLE, 0, put_three, "throttle", WHO},
        {PERF_RECORD_UNTHROTTLE, 0, put_three, "unthrottle", WHO},
        {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, put_nothing, "switch", WHO ",\"out\":true"},
        {PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, put_next, "switch_cpu_wide",
         WHO ",\"out\":true,\"next_pid\":20,\"next_tid\":21"},
        {PERF_RECORD_SWITCH_CPU_WIDE, 0, put_next, "switch_cpu_wide",
         WHO ",\"out\":false,\"previous_pid\":20,\"previous_tid\":21"},
        {PERF_RECORD_CGROUP, 0, put_cgroup, "cgroup", "\"id\":42,\"path\":\"/system.slice\""},
        {PERF_RECORD_KSYMBOL, 0, put_ksymbol, "ksymbol",
         "\"address\":\"0xffffffff81000010\",\"length\":64,\"name\":\"bpf_prog_1\",\"unregister\":true"},
        {PERF_RECORD_AUX, 0, put_three, "aux", WHO},
    };
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char expected[512];
        buffer_clear(&stream.out);
        start_record(&built, cases[i].type, cases[i].misc);
        cases[i].put(&built);
        put_trailer(&built, stream.source.layout.sample_type);
        take(&stream, &built, true);
        snprintf(expected, sizeof(expected), "{\"type\":\"%s\"" WHEN ",%s}\n", cases[i].name, cases[i].out);
        expect(&stream, expected);
    }
    finish(&stream);
}

static void test_hidden_ksymbol(void **state)
{
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, 0, 0);
    stream.kernel.open = false;
    buffer_clear(&stream.out);
    start_record(&built, PERF_RECORD_KSYMBOL, 0);
    put_ksymbol(&built);
    put_trailer(&built, stream.source.layout.sample_type);
    take(&stream, &built, true);
    expect(&stream, "{\"type\":\"ksymbol\"" WHEN ",\"length\":64,\"name\":\"bpf_prog_1\",\"unregister\":true}\n");
    finish(&stream);
}

static void test_unknown(void **state)
{
    const struct writer_end end = {
        .reason = "error: \"x\"", .records = 5, .lost = 6, .dropped = 7, .malformed = 8, .duration_ns = 2500000000};
    struct stream stream;
    struct built built;

    (void)state;
    begin(&stream, 0, 0);
    buffer_clear(&stream.out);
    for (uint32_t type = 60; type < 63; type++) {
        start_record(&built, type, 0);
        put_trailer(&built, stream.source.layout.sample_type);
        take(&stream, &built, false);
    }
    assert_int_equal(stream.out.size, 0);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_DROPPED, .n = 7}, &stream.out);
    expect(&stream, "{\"type\":\"dropped\",\"dropped\":7}\n");
    writer_ndjson.end(stream.state, &end, &stream.out);
    expect(&stream, "{\"type\":\"end\",\"reason\":\"error: \\\"x\\\"\",\"records\":5,\"lost\":6,\"dropped\":7,"
                    "\"unknown\":3,\"malformed\":8,\"seconds\":2.500000000,\"notes\":[\"the kernel hides its "
                    "\\\"symbols\\\"\"]}\n");
    finish(&stream);
}

static void test_header(void **state)
{
    struct stream stream;
    struct utsname name;
    char *read, *version, *hostname, *kernel, *machine, *clock, *event, *note;
    json_int_t offset, frequency, cpus;
    double seconds, time;

    (void)state;
    begin(&stream, PERF_SAMPLE_READ, READ_FORMAT);
    check_lines(&stream.out);
    json_t *header = json_loadb(stream.out.data, stream.out.size, JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_unpack(header, "{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:F, s:F, s:[s,s], s:[s]}",
                                 "version", &version, "hostname", &hostname, "kernel", &kernel, "machine", &machine,
                                 "clock", &clock, "realtime_offset_ns", &offset, "event", &event, "frequency",
                                 &frequency, "cpus", &cpus, "seconds", &seconds, "time", &time, "read", &event, &read,
                                 "notes", &note),
                     0);
    assert_int_equal(uname(&name), 0);
    assert_string_equal(version, PACKAGE_VERSION);
    assert_string_equal(hostname, name.nodename);
    assert_string_equal(kernel, name.release);
    assert_string_equal(machine, name.machine);
    assert_string_equal(clock, "monotonic");
    assert_string_equal(event, "cycles");
    assert_string_equal(read, "\"i\"");
    assert_string_equal(note, "the kernel hides its \"symbols\"");
    assert_int_equal(offset, 1699999999 * (json_int_t)NSEC_PER_SEC);
    assert_int_equal(frequency, 99);
    assert_int_equal(cpus, 1);
    assert_true(seconds == 2.5 && time == 1700000000);
    json_decref(header);
    finish(&stream);
}

/* Lines about processes that run already have no time. */
static void test_known(void **state)
{
    struct stream stream;

    (void)state;
    begin(&stream, 0, 0);
    char *newline = memchr(stream.out.data, '\n', stream.out.size);
    assert_non_null(newline);
    size_t header = (size_t)(newline + 1 - stream.out.data);
    memmove(stream.out.data, newline + 1, stream.out.size - header);
    stream.out.size -= header;
    expect(&stream,
           "{\"type\":\"comm\",\"pid\":1000,\"tid\":1000,\"comm\":\"hot\"}\n"
           "{\"type\":\"mmap2\",\"pid\":1000,\"tid\":1000,\"address\":\"0x401000\",\"length\":12288,\"offset\":"
           "\"0x1000\",\"file\":\"/usr/bin/hot\",\"major\":8,\"minor\":1,\"inode\":4711,\"build_id\":"
           "\"0123456789abcdef\"}\n"
           "{\"type\":\"comm\",\"pid\":2,\"tid\":2,\"comm\":\"odd\\u0009\"}\n"
           "{\"type\":\"mmap2\",\"pid\":2,\"tid\":2,\"address\":\"0x500000\",\"length\":4096,\"offset\":\"0x0\","
           "\"file\":\"/tmp/\\\"odd\\\"\\u0001\xef\xbf\xbd\"}\n");
    finish(&stream);
}

/* A pause and its end, with times of the records' clock; then lines about all processes again. */
static void test_pause(void **state)
{
    struct stream stream;

    (void)state;
    begin(&stream, 0, 0);
    size_t header = (size_t)((char *)memchr(stream.out.data, '\n', stream.out.size) + 1 - stream.out.data);
    _cleanup_(freep) char *known = strndup(stream.out.data + header, stream.out.size - header);
    buffer_clear(&stream.out);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_PAUSED, .time_ns = TIME}, &stream.out);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_RESUMED, .time_ns = TIME + NSEC_PER_SEC},
                         &stream.out);
    expect(&stream, "{\"type\":\"pause\",\"time\":1700000001.000000007}\n"
                    "{\"type\":\"resume\",\"time\":1700000002.000000007}\n");
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_RESCANNED}, &stream.out);
    expect(&stream, known);
    finish(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),         cmocka_unit_test(test_callchain), cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_hidden_ksymbol), cmocka_unit_test(test_read),      cmocka_unit_test(test_others),
        cmocka_unit_test(test_unknown),        cmocka_unit_test(test_header),    cmocka_unit_test(test_known),
        cmocka_unit_test(test_pause),          cmocka_unit_test(test_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
