/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for pprof, read again field by field. */
#include <inttypes.h>
#include <libdeflate.h>

#include "base/cleanup.h"
#include "formats/profile.h"
#include "formats/writers.h"
#include "tests/unit/fake-symbols.h"
#include "tests/unit/read-pprof.h"
#include "tests/unit/test.h"

static const struct perf_event_attr clock_attr = {
    .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = 99};
static const struct perf_event_attr cycles_attr = {
    .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .sample_period = 5000};
static const struct writer_event clock_event = {.name = "cpu-clock", .attr = &clock_attr};
static const struct writer_event cycles_event = {.name = "cycles:u", .attr = &cycles_attr};
static const struct writer_end good_end = {.reason = "seconds", .records = 3, .duration_ns = 2 * NSEC_PER_SEC};

struct written {
    struct symbols symbols;
    struct writer_source source;
    struct kernel_view kernel;
    void *state;
    struct buffer out;
    struct read_pprof *profile;
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
    writer_pprof.notice(written->state, &(struct writer_notice){.kind = WRITER_ROUND}, &written->out);
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
    written->profile = read_pprof(bytes, size);
    assert_non_null(written->profile);
}

static void done(struct written *written)
{
    read_pprof_free(written->profile);
    writer_pprof.free(written->state);
    buffer_done(&written->out);
    assert_int_equal(written->symbols.kept, 0);
}

static const char *text(const struct read_pprof *profile, int64_t number)
{
    assert_in_range(number, 0, profile->n_string_table - 1);
    return profile->string_table[number];
}

static void show_location(const struct read_pprof *profile, uint64_t id, struct buffer *out)
{
    assert_in_range(id, 1, profile->n_location);
    const struct read_location *location = &profile->location[id - 1];
    assert_int_equal(location->id, id);
    assert_int_equal(location->n_line, 1);
    for (size_t i = 0; i < profile->n_function; i++)
        if (profile->function[i].id == location->function_id)
            buffer_appendf(out, " %s", text(profile, profile->function[i].name));
    buffer_appendf(out, "@%" PRIx64, location->address);
    if (location->mapping_id)
        buffer_appendf(out, "/%" PRIu64, location->mapping_id);
}

static void show_sample(const struct read_pprof *profile, const struct read_sample *sample, struct buffer *out)
{
    for (size_t i = 0; i < sample->n_value; i++)
        buffer_appendf(out, "%" PRId64 " ", sample->value[i]);
    for (size_t i = 0; i < sample->n_label; i++)
        buffer_appendf(out, "%s=%s%" PRId64 " ", text(profile, sample->label[i].key),
                       text(profile, sample->label[i].str), sample->label[i].num);
    for (size_t i = 0; i < sample->n_location_id; i++)
        show_location(profile, sample->location_id[i], out);
    buffer_append_char(out, '\n');
}

static void show_mapping(const struct read_pprof *profile, const struct read_mapping *mapping, struct buffer *out)
{
    buffer_appendf(out, "mapping %" PRIu64 " %" PRIx64 "-%" PRIx64 " %" PRIx64 " %s %s%s\n", mapping->id,
                   mapping->memory_start, mapping->memory_limit, mapping->file_offset, text(profile, mapping->filename),
                   text(profile, mapping->build_id), mapping->has_functions ? " functions" : "");
}

static void assert_shown(const struct read_pprof *profile, const char *expected)
{
    struct buffer out = {0};

    assert_string_equal(profile->string_table[0], "");
    for (size_t i = 0; i < profile->n_sample_type; i++)
        buffer_appendf(&out, "%s/%s ", text(profile, profile->sample_type[i].type),
                       text(profile, profile->sample_type[i].unit));
    buffer_appendf(&out, "%" PRId64 " %s/%s default %s\n", profile->period, text(profile, profile->period_type.type),
                   text(profile, profile->period_type.unit), text(profile, profile->default_sample_type));
    for (size_t i = 0; i < profile->n_comment; i++)
        buffer_appendf(&out, "# %s\n", text(profile, profile->comment[i]));
    for (size_t i = 0; i < profile->n_mapping; i++)
        show_mapping(profile, &profile->mapping[i], &out);
    for (size_t i = 0; i < profile->n_sample; i++)
        show_sample(profile, &profile->sample[i], &out);
    _cleanup_(freep) char *shown = buffer_string(&out);
    assert_string_equal(shown, expected);
}

static void test_profile(void **state)
{
    struct written written;

    (void)state;
    start(&written, &clock_event);
    add(&written, 100, 0x10210, 10);
    add(&written, 200, 0x50210, 20);
    add(&written, 100, 0x10210, 40);
    add(&written, 200, 0x90000, 30);
    end(&written, &good_end);
    assert_int_equal(written.profile->time_nanos, 1700000000123456789);
    assert_int_equal(written.profile->duration_nanos, 2000000000);
    assert_shown(written.profile,
                 "samples/count cpu-clock/nanoseconds 25 cpu-clock/nanoseconds default cpu-clock\n"
                 "# perfcountd: 4 samples\n"
                 "mapping 1 0-ffffffffffffffff 0 [kernel.kallsyms]  functions\n"
                 "mapping 2 10000-20000 1000 /bin/app 0123abff functions\n"
                 "mapping 3 90000-a0000 0 //anon \n"
                 "2 50 pid=100 comm=my app0  sys_read@ffffffff81000010/1 leaf@10210/2 leaf@10210/2\n"
                 "1 20 pid=200 comm=my app0  sys_read@ffffffff81000010/1 leaf@10210/2 leaf@10210/2\n"
                 "1 30 pid=200 comm=my app0  sys_read@ffffffff81000010/1 [unknown]@90000/3 [unknown]@90000/3\n");
    /* Each function once. */
    assert_int_equal(written.profile->n_function, 3);
    done(&written);
}

/* If addresses of the kernel are hidden, they are shown as if it were where it was linked to. */
static void test_hidden(void **state)
{
    struct kernel_view_part part = {.start = 0xffffffff80f00000, .end = 0xffffffff84f00000, .nominal = 0x81000000};
    struct written written;

    (void)state;
    start(&written, &clock_event);
    written.kernel = (struct kernel_view){.loaded = true, .parts = &part, .n = 1};
    add(&written, 100, 0x10210, 10);
    end(&written, &good_end);
    assert_shown(written.profile, "samples/count cpu-clock/nanoseconds 10 cpu-clock/nanoseconds default cpu-clock\n"
                                  "# perfcountd: 1 samples\n"
                                  "mapping 1 0-ffffffffffffffff 0 [kernel.kallsyms]  functions\n"
                                  "mapping 2 10000-20000 1000 /bin/app 0123abff functions\n"
                                  "1 10 pid=100 comm=my app0  sys_read@81100010/1 leaf@10210/2 leaf@10210/2\n");
    done(&written);
}

static void test_head(void **state)
{
    static const struct writer_end bad_end = {
        .reason = "shutdown", .lost = 5, .dropped = 6, .throttled = 1, .duration_ns = 1500000};
    struct written written;

    (void)state;
    start(&written, &cycles_event);
    end(&written, &bad_end);
    assert_shown(written.profile, "samples/count cycles:u/count 5000 cycles:u/count default cycles:u\n"
                                  "# perfcountd: 0 samples\n"
                                  "# 5 records were lost by the kernel\n"
                                  "# the kernel throttled sampling 1 times, and samples are missing there: ask for a "
                                  "lower frequency or a longer period, or raise kernel.perf_event_max_sample_rate\n"
                                  "# 6 records were dropped\n"
                                  "# it ended after 1 ms: shutdown\n");
    done(&written);
}

/* All is there, as the sums say. */
static void test_full(void **state)
{
    enum { SAMPLES = 30000 };
    struct written written;
    int64_t sum = 0, period = 0;

    (void)state;
    start(&written, &clock_event);
    for (unsigned i = 0; i < SAMPLES; i++)
        add(&written, 300, i * 8, 2);
    end(&written, &good_end);
    for (size_t i = 0; i < written.profile->n_sample; i++) {
        sum += written.profile->sample[i].value[0];
        period += written.profile->sample[i].value[1];
    }
    assert_int_equal(sum, SAMPLES);
    assert_int_equal(period, 2 * SAMPLES);
    struct buffer out = {0};
    show_sample(written.profile, &written.profile->sample[written.profile->n_sample - 1], &out);
    _cleanup_(freep) char *shown = buffer_string(&out);
    assert_non_null(strstr(shown, "[truncated]@0"));
    assert_non_null(strstr(text(written.profile, written.profile->comment[1]), "samples found no room"));
    done(&written);
}

static void test_other_records(void **state)
{
    struct written written;
    struct record record = {.type = PERF_RECORD_COMM};

    (void)state;
    start(&written, &clock_event);
    assert_false(writer_pprof.record(written.state, &record, &written.out));
    written.symbols.known = false;
    assert_false(writer_pprof.settle(written.state));
    written.symbols.known = true;
    assert_true(writer_pprof.settle(written.state));
    end(&written, &good_end);
    done(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile), cmocka_unit_test(test_hidden),        cmocka_unit_test(test_head),
        cmocka_unit_test(test_full),    cmocka_unit_test(test_other_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
