/* SPDX-License-Identifier: Apache-2.0 */
/* Records written field by field, whole, cut short at every length and with every word a lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/record.h"
#include "tests/unit/walk-record.h"

#define SIZE_MAX_BUILT 4096

/* Newer than some headers. */
#define SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define SAMPLE_WEIGHT_STRUCT (UINT64_C(1) << 24)
#define SAMPLE_ALL ((UINT64_C(1) << 25) - 1)
#define FORMAT_LOST (UINT64_C(1) << 4)
#define FORMAT_ALL ((UINT64_C(1) << 5) - 1)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
#define MISC_BUILD_ID (1 << 14)

struct built {
    _Alignas(8) unsigned char bytes[SIZE_MAX_BUILT];
    size_t size;
};

static void put(struct built *built, const void *bytes, size_t size)
{
    assert_true(built->size + size <= sizeof(built->bytes));
    memcpy(built->bytes + built->size, bytes, size);
    built->size += size;
}

static void put8(struct built *built, uint64_t value)
{
    put(built, &value, sizeof(value));
}

static void put4(struct built *built, uint32_t value)
{
    put(built, &value, sizeof(value));
}

static void put2(struct built *built, uint16_t value)
{
    put(built, &value, sizeof(value));
}

/* With its NUL, to the next multiple of 8. */
static void put_text(struct built *built, const char *text)
{
    put(built, text, strlen(text) + 1);
    while (built->size % 8)
        put(built, "", 1);
}

static void start(struct built *built, uint32_t type, uint16_t misc)
{
    built->size = 0;
    put4(built, type);
    put2(built, misc);
    put2(built, 0);
}

static void set_size(void *bytes, size_t size)
{
    uint16_t size16 = (uint16_t)size;
    memcpy((char *)bytes + 6, &size16, sizeof(size16));
}

/* A copy that ends where the memory ends. */
static void *exact_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size);
    assert_non_null(copy);
    return memcpy(copy, bytes, size);
}

static int try_decode(const void *bytes, size_t size, const struct record_layout *layout)
{
    struct record record = {.type = 12345};

    int r = record_decode(bytes, size, layout, &record);
    if (r == 0)
        walk_record(&record, layout);
    else
        assert_int_equal(record.type, 12345);
    return r;
}

/* The header says more than there is. */
static void try_cut(const struct built *built, const struct record_layout *layout, size_t size)
{
    void *copy = exact_copy(built->bytes, size);

    assert_int_equal(try_decode(copy, size, layout), -EBADMSG);
    free(copy);
}

/* The header says what there is; returns whether that is enough. */
static bool try_short(const struct built *built, const struct record_layout *layout, size_t size)
{
    void *copy = exact_copy(built->bytes, size);

    set_size(copy, size);
    int r = try_decode(copy, size, layout);
    assert_true(r == 0 || r == -EBADMSG);
    if (size % 8)
        assert_int_equal(r, -EBADMSG);
    free(copy);
    return r == 0;
}

/* Whatever a word says, as it is a count, a size or the end of a text. */
static void try_lies(const struct built *built, const struct record_layout *layout)
{
    static const uint64_t lies[] = {0,
                                    1,
                                    3,
                                    8,
                                    0xff,
                                    0xffff,
                                    0x10000,
                                    0xffffffff,
                                    0x0101010101010101,
                                    UINT64_C(1) << 61,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX / 3 + 1,
                                    UINT64_MAX - 3,
                                    UINT64_MAX};
    void *copy = exact_copy(built->bytes, built->size);

    for (size_t at = 8; at < built->size; at += 8)
        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
            memcpy((char *)copy + at, &lies[i], 8);
            int r = try_decode(copy, built->size, layout);
            assert_true(r == 0 || r == -EBADMSG);
            memcpy((char *)copy + at, built->bytes + at, 8);
        }
    free(copy);
}

/* `tight`: nothing of it can be spared. */
static void try_all(const struct built *built, const struct record_layout *layout, bool tight)
{
    for (size_t size = 0; size < built->size; size++) {
        try_cut(built, layout, size);
        if (size >= 8) {
            bool enough = try_short(built, layout, size);
            assert_false(tight && enough);
        }
    }
    try_lies(built, layout);
}

/* ---- records other than samples ---- */

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

/* Each has a layout of PERF_FORMAT_ID. */
static const struct {
    const char *name;
    uint32_t type;
    uint16_t misc;
    struct field fields[16];
    void (*check)(const struct record *record);
} cases[] = {
    {"MMAP", 1, 0, {MAPPED, TEXT("/lib/libc.so.6")}, check_plain_mmap},
    {"MMAP", 1, 1 << 13, {MAPPED, TEXT("/lib/libc.so.6")}, check_plain_mmap},
    /* the bit means another thing there */
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
    start(built, cases[n].type, cases[n].misc);
    for (size_t i = 0; cases[n].fields[i].width || cases[n].fields[i].text; i++) {
        put_field(built, &cases[n].fields[i]);
        /* The build id is the one text that nothing pads. */
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
        set_size(built.bytes, built.size);
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
        try_all(&built, &layout, true);
    }
}

/* What is behind the body of all but samples. */
static void put_trailer(struct built *built, uint64_t type)
{
    if (type & PERF_SAMPLE_TID) {
        put4(built, 901);
        put4(built, 902);
    }
    if (type & PERF_SAMPLE_TIME)
        put8(built, 903);
    if (type & PERF_SAMPLE_ID)
        put8(built, 904);
    if (type & PERF_SAMPLE_STREAM_ID)
        put8(built, 905);
    if (type & PERF_SAMPLE_CPU) {
        put4(built, 906);
        put4(built, 999);
    }
    if (type & PERF_SAMPLE_IDENTIFIER)
        put8(built, 904);
}

static void check_id(const struct record_id *id, uint64_t type)
{
    assert_int_equal(id->pid, type & PERF_SAMPLE_TID ? 901 : UINT32_MAX);
    assert_int_equal(id->tid, type & PERF_SAMPLE_TID ? 902 : UINT32_MAX);
    assert_int_equal(id->time, type & PERF_SAMPLE_TIME ? 903 : 0);
    assert_int_equal(id->id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 904 : 0);
    assert_int_equal(id->stream_id, type & PERF_SAMPLE_STREAM_ID ? 905 : 0);
    assert_int_equal(id->cpu, type & PERF_SAMPLE_CPU ? 906 : UINT32_MAX);
}

static const uint64_t trailer_fields[] = {PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
                                          PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};

static uint64_t chosen_fields(unsigned bits)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD; /* of samples alone */

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
            set_size(built.bytes, built.size);
            assert_int_equal(record_decode(built.bytes, built.size, &layout, &record), 0);
            check_id(&record.id, layout.sample_type);
            if (cases[i].check)
                cases[i].check(&record);
            if (bits == 1 || bits == 1U << ARRAY_SIZE(trailer_fields))
                try_all(&built, &layout, false);
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
        start(&built, texts[i].in_type, 0);
        for (size_t n = 0; n < texts[i].in_words; n++)
            put8(&built, 0);
        put(&built, "unended!", 8);
        put8(&built, 0);
        set_size(built.bytes, built.size);
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
        set_size(built.bytes, built.size);
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
        start(&built, types[i], 7);
        set_size(built.bytes, 8);
        assert_int_equal(record_decode(built.bytes, 8, &layout, &record), 0);
        assert_int_equal(record.type, types[i]);
        assert_int_equal(record.size, 8);
        assert_int_equal(record.id.pid, UINT32_MAX);
        put8(&built, UINT64_MAX);
        put_trailer(&built, layout.sample_type);
        set_size(built.bytes, built.size);
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
        start(&built, PERF_RECORD_SWITCH, 0);
        set_size(built.bytes, headers[i].in_size);
        assert_int_equal(try_decode(built.bytes, headers[i].in_there, &layout), headers[i].out);
    }
}

/* ---- samples ---- */

struct shape {
    struct record_layout layout;
    size_t n_read, n_callchain, n_branches, raw, stack, aux;
    bool registers, no_branch_stack;
};

static bool asks(const struct shape *shape, uint64_t field)
{
    return shape->layout.sample_type & field;
}

static void put_array(struct built *built, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        put8(built, first + i);
}

static void put_read_times(struct built *built, uint64_t format)
{
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        put8(built, 501);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        put8(built, 502);
}

static void put_read_value(struct built *built, uint64_t format, size_t n)
{
    put8(built, 510 + n);
    if (!(format & PERF_FORMAT_GROUP))
        put_read_times(built, format);
    if (format & PERF_FORMAT_ID)
        put8(built, 520 + n);
    if (format & FORMAT_LOST)
        put8(built, 530 + n);
}

static void put_read(struct built *built, const struct shape *shape)
{
    uint64_t format = shape->layout.read_format;

    if (!(format & PERF_FORMAT_GROUP)) {
        put_read_value(built, format, 0);
        return;
    }
    put8(built, shape->n_read);
    put_read_times(built, format);
    for (size_t i = 0; i < shape->n_read; i++)
        put_read_value(built, format, i);
}

static void put_filled(struct built *built, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++)
        put(built, &(char){(char)byte}, 1);
}

static void put_branches(struct built *built, const struct shape *shape)
{
    put8(built, shape->n_branches);
    if (shape->no_branch_stack)
        return;
    if (shape->layout.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
        put8(built, 701);
    put_array(built, 3 * shape->n_branches, 710);
    if (shape->layout.branch_sample_type & BRANCH_COUNTERS)
        put_array(built, shape->n_branches, 750);
}

static void put_registers(struct built *built, const struct shape *shape, uint64_t mask, uint64_t first)
{
    put8(built, shape->registers ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
    if (shape->registers)
        put_array(built, (size_t)__builtin_popcountll(mask), first);
}

static void put_sample_start(struct built *built, const struct shape *shape)
{
    if (asks(shape, PERF_SAMPLE_IDENTIFIER))
        put8(built, 904);
    if (asks(shape, PERF_SAMPLE_IP))
        put8(built, 401);
    if (asks(shape, PERF_SAMPLE_TID)) {
        put4(built, 901);
        put4(built, 902);
    }
    if (asks(shape, PERF_SAMPLE_TIME))
        put8(built, 903);
    if (asks(shape, PERF_SAMPLE_ADDR))
        put8(built, 402);
    if (asks(shape, PERF_SAMPLE_ID))
        put8(built, 904);
    if (asks(shape, PERF_SAMPLE_STREAM_ID))
        put8(built, 905);
    if (asks(shape, PERF_SAMPLE_CPU)) {
        put4(built, 906);
        put4(built, 999);
    }
    if (asks(shape, PERF_SAMPLE_PERIOD))
        put8(built, 403);
}

static void put_sample_middle(struct built *built, const struct shape *shape)
{
    if (asks(shape, PERF_SAMPLE_READ))
        put_read(built, shape);
    if (asks(shape, PERF_SAMPLE_CALLCHAIN)) {
        put8(built, shape->n_callchain);
        put_array(built, shape->n_callchain, 600);
    }
    if (asks(shape, PERF_SAMPLE_RAW)) {
        put4(built, (uint32_t)shape->raw);
        put_filled(built, shape->raw, 'r');
    }
    if (asks(shape, PERF_SAMPLE_BRANCH_STACK))
        put_branches(built, shape);
    if (asks(shape, PERF_SAMPLE_REGS_USER))
        put_registers(built, shape, shape->layout.sample_regs_user, 800);
    if (asks(shape, PERF_SAMPLE_STACK_USER)) {
        put8(built, shape->stack);
        put_filled(built, shape->stack, 's');
        if (shape->stack)
            put8(built, shape->stack - 3); /* the rest could not be copied */
    }
}

static void put_sample_end(struct built *built, const struct shape *shape)
{
    if (asks(shape, PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
        put8(built, 404);
    if (asks(shape, PERF_SAMPLE_DATA_SRC))
        put8(built, 405);
    if (asks(shape, PERF_SAMPLE_TRANSACTION))
        put8(built, 406);
    if (asks(shape, PERF_SAMPLE_REGS_INTR))
        put_registers(built, shape, shape->layout.sample_regs_intr, 850);
    if (asks(shape, PERF_SAMPLE_PHYS_ADDR))
        put8(built, 407);
    if (asks(shape, PERF_SAMPLE_CGROUP))
        put8(built, 408);
    if (asks(shape, SAMPLE_DATA_PAGE_SIZE))
        put8(built, 409);
    if (asks(shape, SAMPLE_CODE_PAGE_SIZE))
        put8(built, 410);
    if (asks(shape, PERF_SAMPLE_AUX)) {
        put8(built, shape->aux);
        put_filled(built, shape->aux, 'a');
    }
}

static void build_sample(struct built *built, const struct shape *shape)
{
    start(built, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    put_sample_start(built, shape);
    put_sample_middle(built, shape);
    put_sample_end(built, shape);
    set_size(built->bytes, built->size);
}

static void check_array(const uint64_t *values, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(values[i], first + i);
}

static void check_filled(const void *bytes, size_t size, size_t out_size, char byte)
{
    assert_int_equal(size, out_size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((const char *)bytes)[i], byte);
}

static void check_values(const struct shape *shape, const struct record_sample *sample)
{
    uint64_t format = asks(shape, PERF_SAMPLE_READ) ? shape->layout.read_format : 0;
    size_t n = !asks(shape, PERF_SAMPLE_READ) ? 0 : format & PERF_FORMAT_GROUP ? shape->n_read : 1;

    assert_int_equal(sample->n_read, n);
    assert_int_equal(sample->time_enabled, format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 501 : 0);
    assert_int_equal(sample->time_running, format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 502 : 0);
    for (size_t i = 0; i <= n; i++) {
        struct record_value value = record_read_value(sample, &shape->layout, i);
        assert_int_equal(value.value, i < n ? 510 + i : 0);
        assert_int_equal(value.id, i < n && format & PERF_FORMAT_ID ? 520 + i : 0);
        assert_int_equal(value.lost, i < n && format & FORMAT_LOST ? 530 + i : 0);
    }
}

static void check_branches(const struct shape *shape, const struct record_sample *sample)
{
    bool there = asks(shape, PERF_SAMPLE_BRANCH_STACK);
    uint64_t type = there ? shape->layout.branch_sample_type : 0;

    assert_int_equal(sample->n_branches, there ? shape->n_branches : 0);
    assert_int_equal(sample->branch_index, type & PERF_SAMPLE_BRANCH_HW_INDEX && !shape->no_branch_stack ? 701 : 0);
    if (sample->n_branches == 0)
        return;
    check_array((const uint64_t *)sample->branches, 3 * sample->n_branches, 710);
    if (type & BRANCH_COUNTERS)
        check_array(sample->branch_counters, sample->n_branches, 750);
    else
        assert_null(sample->branch_counters);
}

static void check_registers(const struct shape *shape, uint64_t field, const struct record_registers *registers,
                            uint64_t mask, uint64_t first)
{
    bool there = asks(shape, field) && shape->registers;

    assert_int_equal(registers->abi, there ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
    if (there)
        check_array(registers->values, (size_t)__builtin_popcountll(mask), first);
    else
        assert_null(registers->values);
}

static void check_numbers(const struct shape *shape, const struct record_sample *sample)
{
    const struct {
        uint64_t field, value, out;
    } numbers[] = {
        {PERF_SAMPLE_IP, sample->ip, 401},
        {PERF_SAMPLE_ADDR, sample->address, 402},
        {PERF_SAMPLE_PERIOD, sample->period, 403},
        {PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, sample->weight, 404},
        {PERF_SAMPLE_DATA_SRC, sample->data_source, 405},
        {PERF_SAMPLE_TRANSACTION, sample->transaction, 406},
        {PERF_SAMPLE_PHYS_ADDR, sample->physical_address, 407},
        {PERF_SAMPLE_CGROUP, sample->cgroup, 408},
        {SAMPLE_DATA_PAGE_SIZE, sample->data_page_size, 409},
        {SAMPLE_CODE_PAGE_SIZE, sample->code_page_size, 410},
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        assert_int_equal(numbers[i].value, asks(shape, numbers[i].field) ? numbers[i].out : 0);
}

static void check_sample(const struct shape *shape, const struct record *record)
{
    const struct record_sample *sample = &record->sample;

    check_id(&record->id, shape->layout.sample_type);
    check_numbers(shape, sample);
    check_values(shape, sample);
    assert_int_equal(sample->n_callchain, asks(shape, PERF_SAMPLE_CALLCHAIN) ? shape->n_callchain : 0);
    check_array(sample->callchain, sample->n_callchain, 600);
    check_filled(sample->raw, sample->raw_size, asks(shape, PERF_SAMPLE_RAW) ? shape->raw : 0, 'r');
    check_branches(shape, sample);
    check_registers(shape, PERF_SAMPLE_REGS_USER, &sample->user_registers, shape->layout.sample_regs_user, 800);
    check_registers(shape, PERF_SAMPLE_REGS_INTR, &sample->interrupt_registers, shape->layout.sample_regs_intr, 850);
    size_t stack = asks(shape, PERF_SAMPLE_STACK_USER) && shape->stack ? shape->stack - 3 : 0;
    check_filled(sample->stack, sample->stack_size, stack, 's');
    check_filled(sample->aux, sample->aux_size, asks(shape, PERF_SAMPLE_AUX) ? shape->aux : 0, 'a');
}

static void try_sample(const struct shape *shape)
{
    struct record record;
    struct built built;

    build_sample(&built, shape);
    assert_int_equal(built.size % 8, 0);
    void *copy = exact_copy(built.bytes, built.size);
    assert_int_equal(record_decode(copy, built.size, &shape->layout, &record), 0);
    check_sample(shape, &record);
    walk_record(&record, &shape->layout);
    free(copy);
}

static const struct shape full = {
    .layout = {.sample_type = SAMPLE_ALL,
               .read_format = FORMAT_ALL,
               .branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX | BRANCH_COUNTERS,
               .sample_regs_user = 0xff0fff,
               .sample_regs_intr = 0x8000000000000001,
               .sample_id_all = true},
    .n_read = 3,
    .n_callchain = 10,
    .n_branches = 4,
    .raw = 20,
    .stack = 64,
    .aux = 16,
    .registers = true,
};

/* Each field alone, all, all but each, and many others. */
static void test_fields(void **state)
{
    struct shape shape = full;
    uint64_t random = 1;

    (void)state;
    try_sample(&shape);
    for (unsigned bit = 0; bit < 25; bit++) {
        shape.layout.sample_type = UINT64_C(1) << bit;
        try_sample(&shape);
        shape.layout.sample_type = SAMPLE_ALL & ~(UINT64_C(1) << bit);
        try_sample(&shape);
    }
    for (unsigned i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        shape.layout.sample_type = (random >> 33) & SAMPLE_ALL;
        try_sample(&shape);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    const struct shape shapes[] = {
        {.layout = full.layout, .raw = 4},
        {.layout = full.layout, .raw = 4, .no_branch_stack = true, .registers = true, .stack = 8},
        {.layout = full.layout, .raw = 12, .n_branches = 1, .n_callchain = 127, .n_read = 64},
        {.layout = full.layout, .raw = 1020, .n_callchain = 1, .stack = 512, .aux = 8, .registers = true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct shape shape = shapes[i];
        for (unsigned branch = 0; branch < 4; branch++) {
            shape.layout.branch_sample_type =
                (branch & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) | (branch & 2 ? BRANCH_COUNTERS : 0);
            try_sample(&shape);
        }
    }
}

static void test_read_formats(void **state)
{
    struct shape shape = full;

    (void)state;
    for (uint64_t format = 0; format <= FORMAT_ALL; format++)
        for (shape.n_read = 0; shape.n_read < 4; shape.n_read++) {
            shape.layout.read_format = format;
            shape.layout.sample_type = SAMPLE_ALL;
            try_sample(&shape);
            shape.layout.sample_type = PERF_SAMPLE_READ;
            try_sample(&shape);
        }
}

static void test_cut_samples(void **state)
{
    struct shape shape = full;
    struct built built;

    (void)state;
    build_sample(&built, &shape);
    try_all(&built, &shape.layout, true);
    for (unsigned bit = 0; bit < 25; bit++) {
        shape.layout.sample_type = UINT64_C(1) << bit;
        build_sample(&built, &shape);
        try_all(&built, &shape.layout, true);
    }
    shape = full;
    shape.no_branch_stack = true;
    shape.n_branches = 0;
    build_sample(&built, &shape);
    try_all(&built, &shape.layout, false);
}

/* What is refused though nothing would be read outside. */
static void test_refused(void **state)
{
    static const struct {
        uint64_t in_type, in_size;
        int out;
    } sizes[] = {
        {PERF_SAMPLE_AUX, 16, 0},
        {PERF_SAMPLE_AUX, 15, -EBADMSG}, /* what follows would not be at a multiple of 8 */
        {PERF_SAMPLE_STACK_USER, 16, 0},
        {PERF_SAMPLE_STACK_USER, 12, -EBADMSG},
        {PERF_SAMPLE_STACK_USER, 8, -EBADMSG}, /* more was copied than there is */
        {PERF_SAMPLE_CALLCHAIN, 4, -EBADMSG},
        {PERF_SAMPLE_CALLCHAIN, 3, 0},
        {PERF_SAMPLE_BRANCH_STACK, 1, 0},
        {PERF_SAMPLE_BRANCH_STACK, 2, -EBADMSG},
        {PERF_SAMPLE_BRANCH_STACK, UINT64_MAX / 3 + 1, -EBADMSG},
        {PERF_SAMPLE_RAW, 28, 0},
        {PERF_SAMPLE_RAW, 0, -EBADMSG},
        {PERF_SAMPLE_RAW, 27, -EBADMSG},
        {PERF_SAMPLE_RAW, 36, -EBADMSG},
        {PERF_SAMPLE_RAW, UINT32_MAX - 3, -EBADMSG},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        const struct record_layout layout = {.sample_type = sizes[i].in_type};
        struct built built;
        start(&built, PERF_RECORD_SAMPLE, 0);
        if (sizes[i].in_type == PERF_SAMPLE_RAW) {
            put4(&built, (uint32_t)sizes[i].in_size);
            put4(&built, 0);
        } else {
            put8(&built, sizes[i].in_size);
        }
        put_array(&built, 3, 14);
        set_size(built.bytes, built.size);
        assert_int_equal(try_decode(built.bytes, built.size, &layout), sizes[i].out);
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

/* Whatever the header of this build names is known by name. */
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
        cmocka_unit_test(test_types),   cmocka_unit_test(test_trailers),      cmocka_unit_test(test_unterminated),
        cmocka_unit_test(test_header),  cmocka_unit_test(test_build_id_size), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_fields),  cmocka_unit_test(test_shapes),        cmocka_unit_test(test_read_formats),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_cut_samples),   cmocka_unit_test(test_layout),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
