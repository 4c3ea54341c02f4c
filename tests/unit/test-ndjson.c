/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/utsname.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "formats/writers.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/ndjson-stream.h"
#include "tests/unit/test.h"

#define READ_FORMAT                                                                                                    \
    (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define TIME UINT64_C(2000000007) /* at 1700000001.000000007 */

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
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char expected[512];
        buffer_clear(&stream.out);
        start_sample(&built, cases[i].misc, cases[i].ip);
        ndjson_stream_take(&stream, &built, true);
        snprintf(expected, sizeof(expected), SAMPLE_START "%s,\"period\":12345}\n", cases[i].out);
        ndjson_stream_expect(&stream, expected);
    }
    ndjson_stream_finish(&stream);
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
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, PERF_SAMPLE_CALLCHAIN, 0);
    buffer_clear(&stream.out);
    start_sample(&built, PERF_RECORD_MISC_KERNEL, FAKE_KERNEL_IP);
    put8(&built, ARRAY_SIZE(chain));
    put_bytes(&built, chain, sizeof(chain));
    ndjson_stream_take(&stream, &built, true);
    ndjson_stream_expect(
        &stream, SAMPLE_START
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
    ndjson_stream_take(&stream, &built, true);
    ndjson_stream_expect(&stream, SAMPLE_START
                         "\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\",\"period\":12345,"
                         "\"callchain\":[]}\n");
    ndjson_stream_finish(&stream);
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
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, PERF_SAMPLE_CALLCHAIN, 0);
    stream.kernel.open = false;
    buffer_clear(&stream.out);
    start_sample(&built, PERF_RECORD_MISC_KERNEL, FAKE_KERNEL_IP);
    put8(&built, ARRAY_SIZE(chain));
    put_bytes(&built, chain, sizeof(chain));
    ndjson_stream_take(&stream, &built, true);
    ndjson_stream_expect(&stream, SAMPLE_START
                         "\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x10\",\"period\":12345,"
                         "\"callchain\":["
                         "{\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x10\"},"
                         "{\"symbol\":\"do_idle\",\"module\":\"[kernel.kallsyms]\",\"offset\":\"0x11\"},"
                         "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
                         "{\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\"},"
                         "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"},"
                         "{\"symbol\":\"[unknown]\",\"module\":\"[unknown]\"}]}\n");
    ndjson_stream_finish(&stream);
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
        struct ndjson_stream stream;
        struct built built;
        char expected[512];
        ndjson_stream_begin(&stream, PERF_SAMPLE_READ, cases[i].read_format);
        buffer_clear(&stream.out);
        put_read(&built, cases[i].read_format, cases[i].ids);
        ndjson_stream_take(&stream, &built, true);
        snprintf(expected, sizeof(expected),
                 SAMPLE_START "\"ip\":\"0x401010\",\"symbol\":\"hot\",\"module\":\"/usr/bin/hot\",\"period\":12345,"
                              "\"counts\":{%s},\"enabled_ns\":5000,\"running_ns\":4000}\n",
                 cases[i].out);
        ndjson_stream_expect(&stream, expected);
        ndjson_stream_finish(&stream);
    }
}

/* CPUs came and left, and with those the only event of a PMU. */
static void test_changed(void **state)
{
    static const uint64_t ids[] = {101, 200};
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, PERF_SAMPLE_READ, READ_FORMAT);
    stream.events[0] = (struct writer_event){.name = "other", .attr = &stream.attr, .ids = ids};
    stream.events[1] = (struct writer_event){0};
    stream.source.n_events = 1;
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_EVENTS}, &stream.out);
    buffer_clear(&stream.out);
    put_read(&built, READ_FORMAT, (const uint64_t[]){103, 200});
    ndjson_stream_take(&stream, &built, true);
    put_read(&built, READ_FORMAT, (const uint64_t[]){102, 101});
    ndjson_stream_take(&stream, &built, true);
    buffer_append_char(&stream.out, '\0');
    assert_non_null(strstr(stream.out.data, "\"counts\":{\"other\":12}"));
    assert_non_null(strstr(strchr(stream.out.data, '\n'), "\"counts\":{\"other\":12}"));
    ndjson_stream_finish(&stream);
}

static void test_unknown(void **state)
{
    const struct writer_end end = {.reason = "error: \"x\"",
                                   .records = 5,
                                   .lost = 6,
                                   .dropped = 7,
                                   .malformed = 8,
                                   .throttled = 9,
                                   .duration_ns = 2500000000};
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    buffer_clear(&stream.out);
    for (uint32_t type = 60; type < 63; type++) {
        start_record(&built, type, 0);
        put_trailer(&built, stream.source.layout.sample_type);
        ndjson_stream_take(&stream, &built, false);
    }
    assert_int_equal(stream.out.size, 0);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_DROPPED, .n = 7}, &stream.out);
    ndjson_stream_expect(&stream, "{\"type\":\"dropped\",\"dropped\":7}\n");
    writer_ndjson.end(stream.state, &end, &stream.out);
    ndjson_stream_expect(
        &stream, "{\"type\":\"end\",\"reason\":\"error: \\\"x\\\"\",\"records\":5,\"lost\":6,\"dropped\":7,"
                 "\"unknown\":3,\"malformed\":8,\"seconds\":2.500000000,\"awaiting_symbols\":0,\"notes\":[\"the "
                 "kernel hides its \\\"symbols\\\"\",\"the kernel throttled sampling 9 times, and samples are missing "
                 "there: ask for a lower frequency or a longer period, or raise "
                 "kernel.perf_event_max_sample_rate\"]}\n");
    ndjson_stream_finish(&stream);
}

static void test_header(void **state)
{
    struct ndjson_stream stream;
    struct utsname name;
    char *read, *version, *hostname, *kernel, *machine, *clock, *event, *note;
    json_int_t offset, frequency, cpus;
    double seconds, time;

    (void)state;
    ndjson_stream_begin(&stream, PERF_SAMPLE_READ, READ_FORMAT);
    ndjson_check_lines(&stream.out);
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
    ndjson_stream_finish(&stream);
}

/* Lines about processes that run already have no time. */
static void test_known(void **state)
{
    struct ndjson_stream stream;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    char *newline = memchr(stream.out.data, '\n', stream.out.size);
    assert_non_null(newline);
    size_t header = (size_t)(newline + 1 - stream.out.data);
    memmove(stream.out.data, newline + 1, stream.out.size - header);
    stream.out.size -= header;
    ndjson_stream_expect(
        &stream, "{\"type\":\"comm\",\"pid\":1000,\"tid\":1000,\"comm\":\"hot\"}\n"
                 "{\"type\":\"mmap2\",\"pid\":1000,\"tid\":1000,\"address\":\"0x401000\",\"length\":12288,\"offset\":"
                 "\"0x1000\",\"file\":\"/usr/bin/hot\",\"major\":8,\"minor\":1,\"inode\":4711,\"build_id\":"
                 "\"0123456789abcdef\"}\n"
                 "{\"type\":\"comm\",\"pid\":2,\"tid\":2,\"comm\":\"odd\\u0009\"}\n"
                 "{\"type\":\"mmap2\",\"pid\":2,\"tid\":2,\"address\":\"0x500000\",\"length\":4096,\"offset\":\"0x0\","
                 "\"file\":\"/tmp/\\\"odd\\\"\\u0001\xef\xbf\xbd\"}\n");
    ndjson_stream_finish(&stream);
}

/* A pause and its end, with times of the records' clock; then lines about all processes again. */
static void test_pause(void **state)
{
    struct ndjson_stream stream;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    size_t header = (size_t)((char *)memchr(stream.out.data, '\n', stream.out.size) + 1 - stream.out.data);
    _cleanup_(freep) char *known = strndup(stream.out.data + header, stream.out.size - header);
    buffer_clear(&stream.out);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_PAUSED, .time_ns = TIME}, &stream.out);
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_RESUMED, .time_ns = TIME + NSEC_PER_SEC},
                         &stream.out);
    ndjson_stream_expect(&stream, "{\"type\":\"pause\",\"time\":1700000001.000000007}\n"
                                  "{\"type\":\"resume\",\"time\":1700000002.000000007}\n");
    writer_ndjson.notice(stream.state, &(struct writer_notice){.kind = WRITER_RESCANNED}, &stream.out);
    ndjson_stream_expect(&stream, known);
    ndjson_stream_finish(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample), cmocka_unit_test(test_callchain), cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_read),   cmocka_unit_test(test_unknown),   cmocka_unit_test(test_header),
        cmocka_unit_test(test_known),  cmocka_unit_test(test_pause),     cmocka_unit_test(test_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
