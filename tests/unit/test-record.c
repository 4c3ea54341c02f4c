/* SPDX-License-Identifier: Apache-2.0 */
/* Records of all types but samples (test-record-sample.c), their trailers, and bytes that are not a record. */
#include "tests/unit/build-record.h"
#include "tests/unit/test.h"

struct field {
    unsigned width; /* bytes; 0: the text */
    uint64_t value;
    const char *text;
};
#define F2(v)                                                                                                          \
    {                                                                                                                  \
        .width = 2, .value = (v)                                                                                       \
    }
#define F4(v)                                                                                                          \
    {                                                                                                                  \
        .width = 4, .value = (v)                                                                                       \
    }
#define F8(v)                                                                                                          \
    {                                                                                                                  \
        .width = 8, .value = (v)                                                                                       \
    }
#define TEXT(t)                                                                                                        \
    {                                                                                                                  \
        .text = (t)                                                                                                    \
    }

static void put_field(struct built *built, const struct field *field)
{
    if (field->text)
        put_text(built, field->text);
    else if (field->width == 2)
        put2(built, (uint16_t)field->value);
    else if (field->width == 4)
        put4(built, (uint32_t)field->value);
    else
        put8(built, field->value);
}

static void check_mmap(const struct record *record)
{
    assert_int_equal(record->mmap.pid, 10);
    assert_int_equal(record->mmap.tid, 11);
    assert_int_equal(record->mmap.address, 0x7f0000001000);
    assert_int_equal(record->mmap.length, 0x2000);
    assert_int_equal(record->mmap.offset, 0x3000);
    assert_string_equal(record->mmap.file, "/lib/libc.so.6");
}

static void check_plain_mmap(const struct record *record)
{
    check_mmap(record);
    assert_int_equal(record->mmap.inode, 0);
    assert_int_equal(record->mmap.build_id_size, 0);
}

static void check_mmap2(const struct record *record)
{
    check_mmap(record);
    assert_int_equal(record->mmap.major, 8);
    assert_int_equal(record->mmap.minor, 1);
    assert_int_equal(record->mmap.inode, 77);
    assert_int_equal(record->mmap.inode_generation, 78);
    assert_int_equal(record->mmap.protection, 5);
    assert_int_equal(record->mmap.flags, 2);
    assert_int_equal(record->mmap.build_id_size, 0);
}

static void check_build_id(const struct record *record)
{
    check_mmap(record);
    assert_int_equal(record->mmap.major, 0);
    assert_int_equal(record->mmap.inode, 0);
    assert_int_equal(record->mmap.protection, 5);
    assert_int_equal(record->mmap.flags, 2);
    assert_int_equal(record->mmap.build_id_size, 20);
    assert_memory_equal(record->mmap.build_id, "abcdefghijklmnopqrst", 20);
}

static void check_comm(const struct record *record)
{
    assert_int_equal(record->comm.pid, 20);
    assert_int_equal(record->comm.tid, 21);
    assert_string_equal(record->comm.comm, "kworker/u8:2-ev");
}

static void check_task(const struct record *record)
{
    assert_int_equal(record->task.pid, 30);
    assert_int_equal(record->task.parent_pid, 31);
    assert_int_equal(record->task.tid, 32);
    assert_int_equal(record->task.parent_tid, 33);
    assert_int_equal(record->task.time, 34);
}

static void check_lost(const struct record *record)
{
    assert_int_equal(record->lost.id, record->type == PERF_RECORD_LOST ? 40 : 0);
    assert_int_equal(record->lost.lost, 41);
}

static void check_throttle(const struct record *record)
{
    assert_int_equal(record->throttle.time, 50);
    assert_int_equal(record->throttle.id, 51);
    assert_int_equal(record->throttle.stream_id, 52);
}

static void check_read(const struct record *record)
{
    assert_int_equal(record->sample.n_read, 1);
    assert_int_equal(record->sample.time_enabled, 0);
    const struct record_layout layout = {.read_format = PERF_FORMAT_ID};
    assert_int_equal(record_read_value(&record->sample, &layout, 0).value, 62);
    assert_int_equal(record_read_value(&record->sample, &layout, 0).id, 63);
}

static void check_switch(const struct record *record)
{
    assert_int_equal(record->context_switch.next_pid, 70);
    assert_int_equal(record->context_switch.next_tid, 71);
}

static void check_ksymbol(const struct record *record)
{
    assert_int_equal(record->ksymbol.address, 0xffffffffc0001000);
    assert_int_equal(record->ksymbol.length, 0x12345678);
    assert_int_equal(record->ksymbol.ksym_type, 1);
    assert_int_equal(record->ksymbol.flags, 0x8001);
    assert_string_equal(record->ksymbol.name, "bpf_prog_6deef7357e7b4530");
}

static void check_cgroup(const struct record *record)
{
    assert_int_equal(record->cgroup.id, 80);
    assert_string_equal(record->cgroup.path, "/system.slice/ssh.service");
}

#define MAPPED F4(10), F4(11), F8(0x7f0000001000), F8(0x2000), F8(0x3000)
#define TASK F4(30), F4(31), F4(32), F4(33), F8(34)

/* The layout of each has PERF_FORMAT_ID. */
static const struct {
    const char *name;
    uint32_t type;
    uint16_t misc;
    struct field fields[16];
    void (*check)(const struct record *record);
} cases[] = {
    {"MMAP", 1, 0, {MAPPED, TEXT("/lib/libc.so.6")}, check_plain_mmap},
    {"MMAP", 1, 1 << 13, {MAPPED, TEXT("/lib/libc.so.6")}, check_plain_mmap},
    /* the bit has another meaning there */
    {"MMAP", 1, MISC_BUILD_ID, {MAPPED, TEXT("/lib/libc.so.6")}, check_plain_mmap},
    {"LOST", 2, 0, {F8(40), F8(41)}, check_lost},
    {"COMM", 3, 1 << 13, {F4(20), F4(21), TEXT("kworker/u8:2-ev")}, check_comm},
    {"EXIT", 4, 0, {TASK}, check_task},
    {"THROTTLE", 5, 0, {F8(50), F8(51), F8(52)}, check_throttle},
    {"UNTHROTTLE", 6, 0, {F8(50), F8(51), F8(52)}, check_throttle},
    {"FORK", 7, 0, {TASK}, check_task},
    {"READ", 8, 0, {F4(60), F4(61), F8(62), F8(63)}, check_read},
    {"MMAP2", 10, 2, {MAPPED, F4(8), F4(1), F8(77), F8(78), F4(5), F4(2), TEXT("/lib/libc.so.6")}, check_mmap2},
    {"MMAP2",
     10,
     2 | MISC_BUILD_ID,
     {MAPPED, F2(0x1414), F2(0), TEXT("abcdefghijklmnopqrst"), F4(5), F4(2), TEXT("/lib/libc.so.6")},
     check_build_id},
    {"AUX", 11, 0, {F8(1), F8(2), F8(3)}, NULL},
    {"ITRACE_START", 12, 0, {F4(1), F4(2)}, NULL},
    {"LOST_SAMPLES", 13, 0, {F8(41)}, check_lost},
    {"SWITCH", 14, 1 << 13, {{0}}, NULL},
    {"SWITCH_CPU_WIDE", 15, 0, {F4(70), F4(71)}, check_switch},
    {"NAMESPACES", 16, 0, {F4(1), F4(2), F8(2), F8(3), F8(4), F8(5), F8(6)}, NULL},
    {"KSYMBOL",
     17,
     0,
     {F8(0xffffffffc0001000), F4(0x12345678), F2(1), F2(0x8001), TEXT("bpf_prog_6deef7357e7b4530")},
     check_ksymbol},
    {"BPF_EVENT", 18, 0, {F2(1), F2(0), F4(9), F8(0xdeadbeef)}, NULL},
    {"CGROUP", 19, 0, {F8(80), TEXT("/system.slice/ssh.service")}, check_cgroup},
    {"TEXT_POKE", 20, 0, {F8(0xffffffff81000000), F2(5), F2(5), F4(0x90909090), F8(0xe8)}, NULL},
    {"TEXT_POKE", 20, 0, {F8(0xffffffff81000000), F2(0), F2(2), F4(0x9090)}, NULL},
    {"AUX_OUTPUT_HW_ID", 21, 0, {F8(1)}, NULL},
    {"CALLCHAIN_DEFERRED", 22, 0, {F8(1), F8(2), F8(0x401000), F8(0x402000)}, NULL},
};

static void build_case(size_t n, struct built *built)
{
    start_record(built, cases[n].type, cases[n].misc);
    for (size_t i = 0; cases[n].fields[i].width || cases[n].fields[i].text; i++) {
        put_field(built, &cases[n].fields[i]);
        /* The build id is the only bytes that are not padded. */
        if (cases[n].check == check_build_id && cases[n].fields[i].text && built->size < 76)
            built->size = 8 + 32 + 24;
    }
    assert_int_equal(built->size % 8, 0);
}

static void test_types(void **state)
{
    const struct record_layout layout = {.sample_type = SAMPLE_ALL, .read_format = PERF_FORMAT_ID};
    struct record record;
    struct built built;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        build_case(i, &built);
        set_record_size(built.bytes, built.size);
        assert_string_equal(record_type_name(cases[i].type), cases[i].name);
        assert_int_equal(record_decode(built.bytes, sizeof(built.bytes), &layout, &record), 0);
        assert_int_equal(record.type, cases[i].type);
        assert_int_equal(record.misc, cases[i].misc);
        assert_int_equal(record.size, built.size);
        assert_ptr_equal(record.bytes, built.bytes);
        assert_int_equal(record.id.pid, UINT32_MAX);
        assert_int_equal(record.id.cpu, UINT32_MAX);
        assert_int_equal(record.id.time, 0);
        if (cases[i].check)
            cases[i].check(&record);
        try_cut_and_lies(&built, &layout, true);
    }
}

static const uint64_t trailer_fields[] = {PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
                                          PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};

static uint64_t chosen_fields(unsigned bits)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD; /* only samples have them */

    for (size_t i = 0; i < ARRAY_SIZE(trailer_fields); i++)
        if (bits & 1U << i)
            type |= trailer_fields[i];
    return type;
}

static void test_trailers(void **state)
{
    struct record record;
    struct built built;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (unsigned bits = 0; bits < 1U << ARRAY_SIZE(trailer_fields); bits++) {
            const struct record_layout layout = {
                .sample_type = chosen_fields(bits), .read_format = PERF_FORMAT_ID, .sample_id_all = true};
            build_case(i, &built);
            put_trailer(&built, layout.sample_type);
            set_record_size(built.bytes, built.size);
            assert_int_equal(record_decode(built.bytes, built.size, &layout, &record), 0);
            check_id(&record.id, layout.sample_type);
            if (cases[i].check)
                cases[i].check(&record);
            if (bits == 1 || bits == 1U << ARRAY_SIZE(trailer_fields))
                try_cut_and_lies(&built, &layout, false);
        }
}

/* The text must end before the trailer, whose zeros are not its own. */
static void test_unterminated(void **state)
{
    const struct record_layout layout = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = true};
    static const struct {
        uint32_t in_type;
        size_t in_words;
    } texts[] = {{1, 4}, {3, 1}, {10, 8}, {17, 2}, {19, 1}};
    struct built built;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        start_record(&built, texts[i].in_type, 0);
        for (size_t n = 0; n < texts[i].in_words; n++)
            put8(&built, 0);
        put_bytes(&built, "unended!", 8);
        put8(&built, 0);
        set_record_size(built.bytes, built.size);
        assert_int_equal(try_decode(built.bytes, built.size, &layout), -EBADMSG);
        built.bytes[built.size - 9] = '\0';
        assert_int_equal(try_decode(built.bytes, built.size, &layout), 0);
    }
}

static void test_build_id_size(void **state)
{
    const struct record_layout layout = {0};
    struct record record;
    struct built built;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (cases[i].check != check_build_id)
            continue;
        build_case(i, &built);
        set_record_size(built.bytes, built.size);
        for (unsigned size = 0; size < 256; size++) {
            built.bytes[40] = (unsigned char)size;
            int r = record_decode(built.bytes, built.size, &layout, &record);
            assert_int_equal(r, size <= 20 ? 0 : -EBADMSG);
            if (r == 0)
                assert_int_equal(record.mmap.build_id_size, size);
        }
        return;
    }
    fail();
}

/* Types of the future, and of perf's own files. */
static void test_unknown(void **state)
{
    static const uint32_t types[] = {0, 23, 64, 79, 0x80000000, UINT32_MAX};
    const struct record_layout layout = {.sample_type = SAMPLE_ALL, .sample_id_all = true};
    struct record record;
    struct built built;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        assert_null(record_type_name(types[i]));
        start_record(&built, types[i], 7);
        set_record_size(built.bytes, 8);
        assert_int_equal(record_decode(built.bytes, 8, &layout, &record), 0);
        assert_int_equal(record.type, types[i]);
        assert_int_equal(record.size, 8);
        assert_int_equal(record.id.pid, UINT32_MAX);
        put8(&built, UINT64_MAX);
        put_trailer(&built, layout.sample_type);
        set_record_size(built.bytes, built.size);
        assert_int_equal(record_decode(built.bytes, built.size, &layout, &record), 0);
        check_id(&record.id, layout.sample_type);
    }
}

static void test_header(void **state)
{
    static const struct {
        uint16_t in_size;
        size_t in_there;
        int out;
    } headers[] = {{8, 8, 0},           {8, 4096, 0},        {8, 7, -EBADMSG},
                   {0, 4096, -EBADMSG}, {7, 4096, -EBADMSG}, {16, 8, -EBADMSG},
                   {12, 16, -EBADMSG},  {9, 4096, -EBADMSG}, {65528, 4096, -EBADMSG}};
    const struct record_layout layout = {0};
    struct built built = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        start_record(&built, PERF_RECORD_SWITCH, 0);
        set_record_size(built.bytes, headers[i].in_size);
        assert_int_equal(try_decode(built.bytes, headers[i].in_there, &layout), headers[i].out);
    }
}

static void test_layout(void **state)
{
    const struct perf_event_attr attr = {.sample_type = 1,
                                         .read_format = 2,
                                         .branch_sample_type = 3,
                                         .sample_regs_user = 4,
                                         .sample_regs_intr = 5,
                                         .sample_id_all = 1};

    (void)state;
    struct record_layout layout = record_layout_of(&attr);
    assert_int_equal(layout.sample_type, 1);
    assert_int_equal(layout.read_format, 2);
    assert_int_equal(layout.branch_sample_type, 3);
    assert_int_equal(layout.sample_regs_user, 4);
    assert_int_equal(layout.sample_regs_intr, 5);
    assert_true(layout.sample_id_all);
    layout = record_layout_of(&(struct perf_event_attr){0});
    assert_false(layout.sample_id_all);
}

/* Every type that this build's kernel header names is known. */
static void test_names(void **state)
{
    (void)state;
    for (uint32_t type = 1; type < PERF_RECORD_MAX; type++)
        assert_non_null(record_type_name(type));
    assert_string_equal(record_type_name(PERF_RECORD_SAMPLE), "SAMPLE");
    assert_null(record_type_name(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),         cmocka_unit_test(test_trailers), cmocka_unit_test(test_unterminated),
        cmocka_unit_test(test_build_id_size), cmocka_unit_test(test_unknown),  cmocka_unit_test(test_header),
        cmocka_unit_test(test_layout),        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
