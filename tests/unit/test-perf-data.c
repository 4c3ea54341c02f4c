/* SPDX-License-Identifier: Apache-2.0 */
/* perf's format read back word by word; that perf itself reads it is tests/e2e/sampler-perf.sh's. */
#include "base/cleanup.h"
#include "formats/writers.h"
#include "tests/unit/build-record.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/hidden-kernel.h"
#include "tests/unit/perf-data-stream.h"
#include "tests/unit/test.h"

#define ATTR_SIZE 128

/* perf looks for ids at the same place in all records: each attr has the leader's layout. */
static void check_attr(const unsigned char *bytes, uint64_t config, const uint64_t *ids)
{
    struct perf_event_attr attr = {0};

    memcpy(&attr, bytes, MIN(sizeof(attr), ATTR_SIZE));
    assert_int_equal(attr.size, ATTR_SIZE);
    assert_int_equal(attr.config, config);
    assert_int_equal(attr.sample_type, PERF_DATA_SAMPLE);
    assert_int_equal(attr.read_format, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    assert_true(attr.sample_id_all);
    if (ids)
        assert_memory_equal(bytes + ATTR_SIZE, ids, 16);
}

static void test_events(void **state)
{
    struct perf_data_stream *stream = *state;

    perf_data_begin(stream);
    assert_int_equal(perf_data_count(stream, 64), 2);
    assert_int_equal(stream->records[0].type, 64);
    assert_int_equal(stream->records[1].type, 64);
    assert_int_equal(stream->records[0].size, 8 + ATTR_SIZE + 16);
    check_attr(stream->records[0].body, PERF_COUNT_HW_CPU_CYCLES, perf_data_cycle_ids);
    check_attr(stream->records[1].body, PERF_COUNT_HW_INSTRUCTIONS, perf_data_instruction_ids);

    const unsigned char *desc = perf_data_feature(stream, 12);
    assert_int_equal(perf_data_half(desc, 0), 2);
    assert_int_equal(perf_data_half(desc, 4), ATTR_SIZE);
    check_attr(desc + 8, PERF_COUNT_HW_CPU_CYCLES, NULL);
    const unsigned char *rest = desc + 8 + ATTR_SIZE;
    assert_int_equal(perf_data_half(rest, 0), 2);
    assert_int_equal(perf_data_half(rest, 4), 8);
    assert_string_equal((const char *)rest + 8, "cycles");
    assert_memory_equal(rest + 16, perf_data_cycle_ids, 16);
    check_attr(rest + 32, PERF_COUNT_HW_INSTRUCTIONS, NULL);
    assert_int_equal(perf_data_half(rest + 32 + ATTR_SIZE, 4), 16);
    assert_string_equal((const char *)rest + 32 + ATTR_SIZE + 8, "instructions");

    const unsigned char *group = perf_data_feature(stream, 17);
    assert_int_equal(perf_data_half(group, 0), 1);
    assert_int_equal(perf_data_half(group, 4 + 4 + perf_data_half(group, 4)), 0);
    assert_int_equal(perf_data_half(group, 4 + 4 + perf_data_half(group, 4) + 4), 2);
    const unsigned char *clock = perf_data_feature(stream, 29);
    assert_int_equal(perf_data_half(clock, 0), 1);
    assert_int_equal(perf_data_half(clock, 4), CLOCK_MONOTONIC);
    assert_int_equal(perf_data_word(clock, 8), 1700000000 * NSEC_PER_SEC);
    assert_int_equal(perf_data_word(clock, 16), 5);
}

static void decode(const struct perf_data_stream *stream, size_t n, struct record *ret)
{
    const void *bytes = stream->records[n].body - 8;

    assert_int_equal(record_decode(bytes, stream->records[n].size, &stream->source.layout, ret), 0);
    assert_int_equal(ret->id.time, 0);
    assert_int_equal(ret->id.id, 0);
}

static void test_processes(void **state)
{
    struct perf_data_stream *stream = *state;
    struct record record;

    perf_data_begin(stream);
    assert_int_equal(perf_data_count(stream, PERF_RECORD_COMM), 2);
    decode(stream, perf_data_find(stream, PERF_RECORD_COMM, 0), &record);
    assert_int_equal(record.comm.pid, FAKE_PID);
    assert_int_equal(record.comm.tid, FAKE_PID);
    assert_string_equal(record.comm.comm, "hot");
    assert_int_equal(perf_data_count(stream, PERF_RECORD_MMAP2), 2);
    decode(stream, perf_data_find(stream, PERF_RECORD_MMAP2, 0), &record);
    assert_int_equal(record.misc, PERF_RECORD_MISC_USER);
    assert_int_equal(record.mmap.pid, FAKE_PID);
    assert_int_equal(record.mmap.address, fake_mapping.start);
    assert_int_equal(record.mmap.length, fake_mapping.end - fake_mapping.start);
    assert_int_equal(record.mmap.offset, fake_mapping.offset);
    assert_int_equal(record.mmap.major, 8);
    assert_int_equal(record.mmap.minor, 1);
    assert_int_equal(record.mmap.inode, 4711);
    assert_int_equal(record.mmap.inode_generation, 3);
    assert_int_equal(record.mmap.protection, 5);
    assert_int_equal(record.mmap.flags, 2);
    assert_string_equal(record.mmap.file, "/usr/bin/hot");

    size_t id = perf_data_find(stream, 67, 0);
    assert_int_equal(perf_data_count(stream, 67), 1);
    assert_int_equal(stream->records[id].misc, PERF_RECORD_MISC_USER | 1 << 15);
    assert_int_equal(perf_data_half(stream->records[id].body, 0), UINT32_MAX);
    assert_memory_equal(stream->records[id].body + 4, fake_mapping.build_id, 8);
    assert_int_equal(stream->records[id].body[24], 8);
    assert_string_equal((const char *)stream->records[id].body + 28, "/usr/bin/hot");
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

static void check_kernel_map(const struct perf_data_stream *stream, size_t n, uint64_t start, uint64_t size,
                             uint64_t offset, const char *name)
{
    struct record record;

    decode(stream, perf_data_find(stream, PERF_RECORD_MMAP, n), &record);
    assert_int_equal(record.misc, PERF_RECORD_MISC_KERNEL);
    assert_int_equal(record.mmap.pid, UINT32_MAX);
    assert_int_equal(record.mmap.address, start);
    assert_int_equal(record.mmap.length, size);
    assert_int_equal(record.mmap.offset, offset);
    assert_string_equal(record.mmap.file, name);
}

/* The kernel ends where the next module starts; modules below it do not count. */
static void test_kernel(void **state)
{
    struct perf_data_stream *stream = *state;

    fake_file(stream->fake, "/proc/kallsyms", "%s", kallsyms);
    fake_file(stream->fake, "/proc/modules", "%s", modules);
    write_notes(stream->fake);
    perf_data_begin(stream);
    assert_int_equal(perf_data_count(stream, PERF_RECORD_MMAP), 3);
    check_kernel_map(stream, 0, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text");
    check_kernel_map(stream, 1, 0xffffffff82000000, 1011712, 0, "[ext4]");
    check_kernel_map(stream, 2, 0xffffffff80000000, 100, 0, "[jbd2]");
    size_t id = perf_data_find(stream, 67, 0);
    assert_int_equal(stream->records[id].misc, PERF_RECORD_MISC_KERNEL | 1 << 15);
    assert_memory_equal(stream->records[id].body + 4, "\xca\xfe\xba\xbe", 4);
    assert_int_equal(stream->records[id].body[24], 4);
    assert_string_equal((const char *)stream->records[id].body + 28, "[kernel.kallsyms]");
}

static void test_kernel_sections(void **state)
{
    static const struct {
        const char *kallsyms, *name; /* NULL: no record */
        uint64_t start;
    } cases[] = {
        {"ffff800008000000 t _head\nffff800008010000 T _stext\n", "[kernel.kallsyms]_stext", 0xffff800008010000},
        {"ffff800008000000 T _text\nffff800008010000 T _stext\n", "[kernel.kallsyms]_text", 0xffff800008000000},
        {"0000000000000000 T _text\n0000000000000000 T _stext\n", NULL, 0},
        {" T _text\n", NULL, 0},
        {"", NULL, 0},
    };
    struct perf_data_stream *stream = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_file(stream->fake, "/proc/kallsyms", "%s", cases[i].kallsyms);
        perf_data_begin(stream);
        assert_int_equal(perf_data_count(stream, PERF_RECORD_MMAP), cases[i].name ? 1 : 0);
        if (cases[i].name)
            check_kernel_map(stream, 0, cases[i].start, 64 << 20, cases[i].start, cases[i].name);
        writer_perf_data.free(stream->state);
        buffer_clear(&stream->out);
    }
    perf_data_begin(stream);
}

static bool pass(struct perf_data_stream *stream, struct built *built)
{
    struct record record;

    set_record_size(built->bytes, built->size);
    assert_int_equal(record_decode(built->bytes, built->size, &stream->source.layout, &record), 0);
    return writer_perf_data.record(stream->state, &record, &stream->out);
}

/* Records are passed on as they are, except for those that perf 6.1 ends at. */
static void test_records(void **state)
{
    struct perf_data_stream *stream = *state;
    const struct writer_end end = {.reason = "seconds"};
    struct record record;
    struct built built;

    perf_data_begin(stream);
    buffer_clear(&stream->out);
    start_record(&built, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put4(&built, 1);
    put4(&built, 2);
    put_text(&built, "a name");
    put_trailer(&built, PERF_DATA_SAMPLE);
    assert_true(pass(stream, &built));
    assert_int_equal(stream->out.size, built.size);
    assert_memory_equal(stream->out.data, built.bytes, built.size);
    for (uint32_t type = 22; type < 64; type++) {
        start_record(&built, type, 0);
        put8(&built, 0);
        put8(&built, 0);
        put_trailer(&built, PERF_DATA_SAMPLE);
        assert_false(pass(stream, &built));
    }
    writer_perf_data.notice(stream->state, &(struct writer_notice){.kind = WRITER_DROPPED, .n = 12}, &stream->out);
    writer_perf_data.notice(stream->state, &(struct writer_notice){.kind = WRITER_ROUND}, &stream->out);
    writer_perf_data.end(stream->state, &end, &stream->out);
    perf_data_split(stream, 0);
    assert_int_equal(stream->n, 3);
    decode(stream, 1, &record);
    assert_int_equal(record.type, PERF_RECORD_LOST);
    assert_int_equal(record.lost.id, 100);
    assert_int_equal(record.lost.lost, 12);
    assert_int_equal(stream->records[2].type, 68);
    assert_int_equal(stream->records[2].size, 8);
}

static void expect_addresses(struct perf_data_stream *stream, uint16_t misc, const uint64_t *chain,
                             const uint64_t *expected, size_t n)
{
    struct built built;

    buffer_clear(&stream->out);
    start_record(&built, PERF_RECORD_SAMPLE, misc);
    put8(&built, 100);
    put8(&built, chain[1]);
    put8(&built, n);
    put_bytes(&built, chain, n * sizeof(chain[0]));
    assert_true(pass(stream, &built));
    perf_data_split(stream, 0);
    assert_int_equal(stream->records[0].size, built.size);
    assert_int_equal(perf_data_word(stream->records[0].body, 0), 100);
    assert_int_equal(perf_data_word(stream->records[0].body, 8), expected[1]);
    assert_int_equal(perf_data_word(stream->records[0].body, 16), n);
    assert_memory_equal(stream->records[0].body + 24, expected, n * sizeof(chain[0]));
}

/* If the kernel hides its address, it is shown at the address that it was linked to, and its modules follow. */
static void test_hidden(void **state)
{
    static const char shifted[] = "ffffffffa3400000 T _text\nffffffffa3400100 T do_idle\n";
    static const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffffa3400123, 0xffffffffc0a21010, 0xffffffffc0b00000,
                                     PERF_CONTEXT_USER,   0x401010,           0xffffffffa3400123};
    static const uint64_t expected[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000123, 0xffffffff85000010,
                                        KERNEL_VIEW_UNKNOWN, PERF_CONTEXT_USER,  0x401010,
                                        KERNEL_VIEW_UNKNOWN};
    struct perf_data_stream *stream = *state;
    struct built built;

    hide_kernel(stream->fake, shifted, "ext4 4096 1 - Live 0xffffffffc0a21000\n");
    kernel_view_init(&stream->kernel, &stream->fake->sys);
    stream->attr.config1 = 0xffffffffa3400100;
    stream->source.layout = (struct record_layout){
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, .sample_id_all = true};
    stream->source.read = false;
    perf_data_begin(stream);
    assert_int_equal(((const struct perf_event_attr *)(const void *)stream->records[0].body)->config1, 0);
    assert_int_equal(perf_data_count(stream, PERF_RECORD_MMAP), 2);
    check_kernel_map(stream, 0, 0xffffffff81000000, 64 << 20, 0xffffffff81000000, "[kernel.kallsyms]_text");
    check_kernel_map(stream, 1, 0xffffffff85000000, 4096, 0, "[ext4]");
    expect_addresses(stream, PERF_RECORD_MISC_KERNEL, chain, expected, ARRAY_SIZE(chain));
    expect_addresses(stream, PERF_RECORD_MISC_USER, chain + 4, expected + 4, 2);
    start_record(&built, PERF_RECORD_KSYMBOL, 0);
    put8(&built, 0xffffffffc0b00000);
    put8(&built, 0);
    put_text(&built, "bpf_prog_1");
    put_trailer(&built, stream->source.layout.sample_type);
    assert_false(pass(stream, &built));
}

/* Behind a pause there are records about all processes again, but not about the kernel. */
static void test_relearned(void **state)
{
    struct perf_data_stream *stream = *state;

    perf_data_begin(stream);
    buffer_clear(&stream->out);
    writer_perf_data.notice(stream->state, &(struct writer_notice){.kind = WRITER_RESCANNED}, &stream->out);
    perf_data_split(stream, 0);
    assert_int_equal(perf_data_count(stream, PERF_RECORD_COMM), 2);
    assert_int_equal(perf_data_count(stream, PERF_RECORD_MMAP2), 2);
    assert_int_equal(perf_data_count(stream, 67), 1);
    assert_int_equal(stream->n, 5);
}

static void take_read(struct perf_data_stream *stream, uint64_t id, uint64_t period, const uint64_t *values)
{
    struct built built;
    struct record record;

    start_record(&built, PERF_RECORD_SAMPLE, 0);
    put8(&built, id);
    put8(&built, period);
    put8(&built, 2);
    for (size_t i = 0; i < 4; i++)
        put8(&built, values[i]);
    set_record_size(built.bytes, built.size);
    assert_int_equal(record_decode(built.bytes, built.size, &stream->source.layout, &record), 0);
    assert_true(writer_perf_data.record(stream->state, &record, &stream->out));
}

/* Counts start at 0 in a stream: perf would weigh its first sample by everything that was counted before. */
static void test_reads(void **state)
{
    static const struct {
        uint64_t id, period, in[4]; /* values and ids */
        uint64_t out[2];
    } cases[] = {
        {7, 100, {5000, 7, 900, 8}, {100, 0}}, {17, 50, {20, 17, 1, 18}, {20, 0}},
        {7, 100, {5100, 7, 903, 8}, {200, 3}}, {7, 100, {5200, 7, 903, 8}, {300, 3}},
        {17, 50, {70, 17, 2, 18}, {70, 1}},
    };
    struct perf_data_stream *stream = *state;

    stream->source.layout = (struct record_layout){
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
        .sample_id_all = true,
    };
    perf_data_begin(stream);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t before = stream->out.size;
        take_read(stream, cases[i].id, cases[i].period, cases[i].in);
        perf_data_split(stream, before);
        const unsigned char *body = stream->records[0].body;
        assert_int_equal(stream->n, 1);
        assert_int_equal(perf_data_word(body, 0), cases[i].id);
        assert_int_equal(perf_data_word(body, 24), cases[i].out[0]);
        assert_int_equal(perf_data_word(body, 32), cases[i].in[1]);
        assert_int_equal(perf_data_word(body, 40), cases[i].out[1]);
        assert_int_equal(perf_data_word(body, 48), cases[i].in[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_processes, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_kernel, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_kernel_sections, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_records, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_hidden, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_relearned, perf_data_setup, perf_data_teardown),
        cmocka_unit_test_setup_teardown(test_reads, perf_data_setup, perf_data_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
