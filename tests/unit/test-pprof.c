/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for pprof, parsed field by field. tests/e2e/sampler-perf.sh checks that protoc and pprof read them. */
#include <inttypes.h>
#include <libdeflate.h>

#include "base/cleanup.h"
#include "formats/profile.h"
#include "formats/writers.h"
#include "tests/unit/fake-symbols.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/read-pprof.h"
#include "tests/unit/test.h"

static const struct perf_event_attr clock_attr = {
    .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = 99};
static const struct perf_event_attr cycles_attr = {
    .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .sample_period = 5000};
static const struct writer_event clock_event = {.name = "cpu-clock", .attr = &clock_attr};
static const struct writer_event cycles_event = {.name = "cycles:u", .attr = &cycles_attr};
static const struct writer_end good_end = {.reason = "seconds", .records = 3, .duration_ns = 2 * NSEC_PER_SEC};

/* Returns the location (field 4) or function (field 5) with this id. */
static struct bytes by_id(struct bytes profile, unsigned number, uint64_t id)
{
    struct field field;

    while (read_field(&profile, &field))
        if (field.number == number && number_of(field.bytes, 1) == id)
            return field.bytes;
    fail_msg("no message of field %u has id %d", number, (int)id);
    return profile;
}

struct written {
    struct symbols symbols;
    struct writer_source source;
    struct kernel_view kernel;
    void *state;
    struct buffer out;
    struct bytes profile;
};

static void start(struct written *written, const struct writer_event *event)
{
    *written = (struct written){.kernel = {.open = true}};
    fake_symbols_init(&written->symbols);
    written->source = (struct writer_source){.events = event,
                                             .n_events = 1,
                                             .symbols = &written->symbols,
                                             .kernel = &written->kernel,
                                             .start_realtime_ns = 1700000000123456789};
    written->state = writer_pprof.begin(&written->source, &written->out);
    assert_non_null(written->state);
}

static void add(struct written *written, uint32_t pid, uint64_t ip, uint64_t period)
{
    const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, PERF_CONTEXT_USER, ip, ip + 1};
    struct record record = {.type = PERF_RECORD_SAMPLE,
                            .id = {.pid = pid, .tid = pid},
                            .sample = {.period = period, .callchain = chain, .n_callchain = ARRAY_SIZE(chain)}};

    assert_true(writer_pprof.record(written->state, &record, &written->out));
    writer_pprof.mark(written->state, &(struct writer_mark){.kind = WRITER_ROUND}, &written->out);
}

static void end(struct written *written, const struct writer_end *how)
{
    static uint8_t bytes[64 << 20];
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t size = 0;

    assert_int_equal(written->out.size, 0);
    writer_pprof.end(written->state, how, &written->out);
    assert_false(written->out.failed);
    assert_int_equal(
        libdeflate_gzip_decompress(decompressor, written->out.data, written->out.size, bytes, sizeof(bytes), &size),
        LIBDEFLATE_SUCCESS);
    libdeflate_free_decompressor(decompressor);
    written->profile = (struct bytes){bytes, bytes + size};
}

static void done(struct written *written)
{
    writer_pprof.free(written->state);
    buffer_done(&written->out);
    assert_int_equal(written->symbols.kept, 0);
}

/* --- the profile as text --- */

static void show_text(struct bytes profile, uint64_t number, const char *behind, struct buffer *out)
{
    struct field text = field_at(profile, 6, number);

    assert_int_equal(text.number, 6);
    buffer_append(out, text.bytes.at, (size_t)(text.bytes.end - text.bytes.at));
    buffer_append_text(out, behind);
}

static void show_type(struct bytes profile, struct bytes type, struct buffer *out)
{
    show_text(profile, number_of(type, 1), "/", out);
    show_text(profile, number_of(type, 2), " ", out);
}

static void show_location(struct bytes profile, uint64_t id, struct buffer *out)
{
    struct bytes location = by_id(profile, 4, id);
    struct bytes function = by_id(profile, 5, number_of(field_at(location, 4, 0).bytes, 1));

    assert_int_equal(field_at(location, 4, 1).number, 0); /* a single line */
    buffer_append_char(out, ' ');
    show_text(profile, number_of(function, 2), "@", out);
    buffer_appendf(out, "%" PRIx64, number_of(location, 3));
    if (number_of(location, 2))
        buffer_appendf(out, "/%" PRIu64, number_of(location, 2));
}

static void show_sample(struct bytes profile, struct bytes sample, struct buffer *out)
{
    struct bytes ids = field_at(sample, 1, 0).bytes, values = field_at(sample, 2, 0).bytes;
    struct field label;

    while (values.at < values.end)
        buffer_appendf(out, "%" PRIu64 " ", read_varint(&values));
    for (size_t i = 0; (label = field_at(sample, 3, i)).number; i++) {
        show_text(profile, number_of(label.bytes, 1), "=", out);
        show_text(profile, number_of(label.bytes, 2), "", out);
        buffer_appendf(out, "%" PRIu64 " ", number_of(label.bytes, 3));
    }
    while (ids.at < ids.end)
        show_location(profile, read_varint(&ids), out);
    buffer_append_char(out, '\n');
}

static void show_mapping(struct bytes profile, struct bytes mapping, struct buffer *out)
{
    buffer_appendf(out, "mapping %" PRIu64 " %" PRIx64 "-%" PRIx64 " %" PRIx64 " ", number_of(mapping, 1),
                   number_of(mapping, 2), number_of(mapping, 3), number_of(mapping, 4));
    show_text(profile, number_of(mapping, 5), " ", out);
    show_text(profile, number_of(mapping, 6), number_of(mapping, 7) ? " functions\n" : "\n", out);
}

static void assert_shown(struct bytes profile, const char *expected)
{
    struct buffer out = {0};
    struct field field;

    assert_int_equal(field_at(profile, 6, 0).value, 0); /* the string table begins with an empty string */
    for (size_t i = 0; (field = field_at(profile, 1, i)).number; i++)
        show_type(profile, field.bytes, &out);
    buffer_appendf(&out, "%" PRIu64 " ", number_of(profile, 12));
    show_type(profile, field_at(profile, 11, 0).bytes, &out);
    buffer_append_text(&out, "default ");
    show_text(profile, number_of(profile, 14), "\n", &out);
    for (size_t i = 0; (field = field_at(profile, 13, i)).number; i++) {
        buffer_append_text(&out, "# ");
        show_text(profile, read_varint(&field.bytes), "\n", &out);
    }
    for (size_t i = 0; (field = field_at(profile, 3, i)).number; i++)
        show_mapping(profile, field.bytes, &out);
    for (size_t i = 0; (field = field_at(profile, 2, i)).number; i++)
        show_sample(profile, field.bytes, &out);
    _cleanup_(freep) char *shown = buffer_string(&out);
    assert_string_equal(shown, expected);
}

TEST(test_profile)
{
    struct written written;
    struct record other = {.type = PERF_RECORD_COMM};

    start(&written, &clock_event);
    add(&written, 100, 0x10210, 10);
    add(&written, 200, 0x50210, 20);
    add(&written, 100, 0x10210, 40);
    add(&written, 200, 0x90000, 30);
    assert_false(writer_pprof.record(written.state, &other, &written.out));
    end(&written, &good_end);
    assert_int_equal(number_of(written.profile, 9), 1700000000123456789);
    assert_int_equal(number_of(written.profile, 10), 2000000000);
    assert_shown(
        written.profile,
        "samples/count cpu-clock/nanoseconds 25 cpu-clock/nanoseconds default cpu-clock\n"
        "# perfcountd: 4 samples\n"
        "mapping 1 0-ffffffffffffffff 0 [kernel.kallsyms]  functions\n"
        "mapping 2 10000-20000 1000 /bin/app 0123abff functions\n"
        "mapping 3 90000-a0000 0 //anon \n"
        "2 50 pid=100 tid=100 comm=my app0  sys_read@ffffffff81000010/1 leaf@10210/2 leaf@10210/2\n"
        "1 20 pid=200 tid=200 comm=my app0  sys_read@ffffffff81000010/1 leaf@10210/2 leaf@10210/2\n"
        "1 30 pid=200 tid=200 comm=my app0  sys_read@ffffffff81000010/1 [unknown]@90000/3 [unknown]@90000/3\n");
    assert_int_equal(field_at(written.profile, 5, 3).number, 0); /* each of the three functions is listed once */
    done(&written);
}

/*
 * A hostile cgroup name is converted to UTF-8, like all strings. Threads and cgroups are counted separately and share
 * their frames.
 */
TEST(test_labels)
{
    static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x10210};
    static const struct sample_of {
        uint32_t tid;
        uint64_t cgroup;
    } samples[] = {{101, 7}, {102, 7}, {101, 7}, {101, 8}, {101, 9}};
    struct fake_sys *fake = fake_sys_new();
    struct written written;

    fake_file(fake, "/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 none rw\n");
    start(&written, &clock_event);
    assert_int_equal(cgroup_lookup_new(&fake->sys, &written.source.cgroups), 0);
    writer_pprof.free(written.state);
    written.state = writer_pprof.begin(&written.source, &written.out);
    const struct record made[] = {
        {.type = PERF_RECORD_CGROUP, .cgroup = {7, "/kubepods/pod1/\xff\"<\n.service"}},
        {.type = PERF_RECORD_CGROUP, .cgroup = {8, "/"}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(made); i++)
        cgroup_lookup_update(written.source.cgroups, &made[i]);
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct record record = {
            .type = PERF_RECORD_SAMPLE,
            .id = {.pid = 100, .tid = samples[i].tid},
            .sample = {.period = 1, .callchain = chain, .n_callchain = 2, .cgroup = samples[i].cgroup}};
        assert_true(writer_pprof.record(written.state, &record, &written.out));
    }
    end(&written, &(struct writer_end){.reason = "seconds", .early = "they end early"});
    assert_shown(written.profile,
                 "samples/count cpu-clock/nanoseconds 1 cpu-clock/nanoseconds default cpu-clock\n"
                 "# perfcountd: 5 samples\n"
                 "# they end early\n"
                 "mapping 1 10000-20000 1000 /bin/app 0123abff functions\n"
                 "2 2 pid=100 tid=101 comm=my app0 cgroup=/kubepods/pod1/\xef\xbf\xbd\"<\xef\xbf\xbd.service0 "
                 "unit=\xef\xbf\xbd\"<\xef\xbf\xbd.service0  leaf@10210/1\n"
                 "1 1 pid=100 tid=102 comm=my app0 cgroup=/kubepods/pod1/\xef\xbf\xbd\"<\xef\xbf\xbd.service0 "
                 "unit=\xef\xbf\xbd\"<\xef\xbf\xbd.service0  leaf@10210/1\n"
                 "1 1 pid=100 tid=101 comm=my app0 cgroup=/0  leaf@10210/1\n"
                 "1 1 pid=100 tid=101 comm=my app0  leaf@10210/1\n");
    done(&written);
    cgroup_lookup_free(written.source.cgroups);
    fake_sys_free(fake);
}

TEST(test_head)
{
    static const struct writer_end bad_end = {
        .reason = "shutdown", .lost = 5, .dropped = 6, .throttled = 1, .duration_ns = 1500000};
    struct written written;

    start(&written, &cycles_event);
    written.symbols.known = false;
    assert_false(writer_pprof.settle(written.state));
    written.symbols.known = true;
    assert_true(writer_pprof.settle(written.state));
    end(&written, &bad_end);
    assert_shown(written.profile, "samples/count cycles:u/count 5000 cycles:u/count default cycles:u\n"
                                  "# perfcountd: 0 samples\n"
                                  "# 5 records lost by the kernel\n"
                                  "# the kernel throttled sampling 1 time, so samples are missing: ask for a "
                                  "lower frequency or a longer period, or raise kernel.perf_event_max_sample_rate\n"
                                  "# 6 records dropped\n"
                                  "# it ended after 1 ms: shutdown\n");
    done(&written);
}

/* Samples that did not fit into the profile are included in the totals. */
TEST(test_full)
{
    enum { SAMPLES = 30000 };
    struct written written;
    struct field field;
    struct bytes last = {0};
    struct buffer out = {0};
    uint64_t sum = 0, period = 0;

    start(&written, &clock_event);
    for (unsigned i = 0; i < SAMPLES; i++)
        add(&written, 300, i * 8, 2);
    end(&written, &good_end);
    for (struct bytes rest = written.profile; read_field(&rest, &field);)
        if (field.number == 2) {
            struct bytes values = field_at(field.bytes, 2, 0).bytes;
            sum += read_varint(&values);
            period += read_varint(&values);
            last = field.bytes;
        }
    assert_int_equal(sum, SAMPLES);
    sum = 0;
    assert_int_equal(pprof_count(written.out.data, written.out.size, &sum), 0);
    assert_int_equal(sum, SAMPLES);
    for (size_t size = 0; size < written.out.size; size += 1 + size / 8)
        assert_int_equal(pprof_count(written.out.data, size, &sum), -EBADMSG);
    assert_int_equal(period, 2 * SAMPLES);
    show_sample(written.profile, last, &out);
    field = field_at(written.profile, 13, 1);
    show_text(written.profile, read_varint(&field.bytes), "", &out);
    _cleanup_(freep) char *shown = buffer_string(&out);
    assert_non_null(strstr(shown, "[truncated]@0"));
    assert_non_null(strstr(shown, "whose stacks did not fit"));
    done(&written);
}

TEST_MAIN(NULL, NULL)
