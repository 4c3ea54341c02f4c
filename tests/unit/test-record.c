/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffer records: samples, all other types, and bytes that are not a record. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/unit/build-record.h"
#include "tests/unit/test.h"
#include "tests/unit/walk-record.h"

#define RECORD_LOST_SAMPLES 13
#define BUILD_ID "abcdefghijklmnopqrst"

struct field {
    unsigned width; /* size in bytes; 0: the field is a string */
    uint64_t value;
    const char *text;
};
#define F(bytes, v)                                                                                                    \
    {                                                                                                                  \
        .width = (bytes), .value = (v)                                                                                 \
    }
#define TEXT(t)                                                                                                        \
    {                                                                                                                  \
        .text = (t)                                                                                                    \
    }

static void put_field(struct built *built, const struct field *field)
{
    if (field->text)
        built_text(built, field->text);
    else if (field->width == 2)
        put2(built, (uint16_t)field->value);
    else if (field->width == 4)
        put4(built, (uint32_t)field->value);
    else
        put8(built, field->value);
}

/* Describes each decoded field. */
static char *describe(const struct record *record)
{
    const struct record_layout layout = {.read_format = PERF_FORMAT_ID};
    _cleanup_(buffer_done) struct buffer text = {0};

    switch (record->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        buffer_appendf(&text, "%u/%u %jx+%jx@%jx %s", record->mmap.pid, record->mmap.tid,
                       (uintmax_t)record->mmap.address, (uintmax_t)record->mmap.length, (uintmax_t)record->mmap.offset,
                       record->mmap.file);
        buffer_appendf(&text, " %u:%u inode %ju.%ju prot %u flags %u build id %u %.*s", record->mmap.major,
                       record->mmap.minor, (uintmax_t)record->mmap.inode, (uintmax_t)record->mmap.inode_generation,
                       record->mmap.protection, record->mmap.flags, record->mmap.build_id_size,
                       (int)record->mmap.build_id_size, (const char *)record->mmap.build_id);
        break;
    case PERF_RECORD_COMM:
        buffer_appendf(&text, "%u/%u %s", record->comm.pid, record->comm.tid, record->comm.comm);
        break;
    case PERF_RECORD_EXIT:
    case PERF_RECORD_FORK:
        buffer_appendf(&text, "%u/%u of %u/%u at %ju", record->task.pid, record->task.tid, record->task.parent_pid,
                       record->task.parent_tid, (uintmax_t)record->task.time);
        break;
    case PERF_RECORD_LOST:
    case RECORD_LOST_SAMPLES:
        buffer_appendf(&text, "%ju of %ju", (uintmax_t)record->lost.lost, (uintmax_t)record->lost.id);
        break;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        buffer_appendf(&text, "%ju, stream %ju, at %ju", (uintmax_t)record->throttle.id,
                       (uintmax_t)record->throttle.stream_id, (uintmax_t)record->throttle.time);
        break;
    case PERF_RECORD_READ:
        buffer_appendf(&text, "%zu: %ju of %ju, enabled %ju", record->sample.n_read,
                       (uintmax_t)record_read_value(&record->sample, &layout, 0).value,
                       (uintmax_t)record_read_value(&record->sample, &layout, 0).id,
                       (uintmax_t)record->sample.time_enabled);
        break;
    case PERF_RECORD_SWITCH_CPU_WIDE:
        buffer_appendf(&text, "%u/%u", record->context_switch.next_pid, record->context_switch.next_tid);
        break;
    case PERF_RECORD_KSYMBOL:
        buffer_appendf(&text, "%jx+%x type %u flags %x %s", (uintmax_t)record->ksymbol.address, record->ksymbol.length,
                       record->ksymbol.ksym_type, record->ksymbol.flags, record->ksymbol.name);
        break;
    case PERF_RECORD_CGROUP:
        buffer_appendf(&text, "%ju %s", (uintmax_t)record->cgroup.id, record->cgroup.path);
        break;
    default:
        break;
    }
    return buffer_string(&text);
}

#define MAPPED F(4, 10), F(4, 11), F(8, 0x7f0000001000), F(8, 0x2000), F(8, 0x3000)
#define TASK F(4, 30), F(4, 31), F(4, 32), F(4, 33), F(8, 34)
#define MMAP_OUT "10/11 7f0000001000+2000@3000 /lib/libc.so.6 0:0 inode 0.0 prot 0 flags 0 build id 0 "

/* All layouts have PERF_FORMAT_ID. */
static const struct {
    const char *name;
    uint32_t type;
    uint16_t misc;
    struct field fields[16];
    const char *out;
} cases[] = {
    {"MMAP", 1, 0, {MAPPED, TEXT("/lib/libc.so.6")}, MMAP_OUT},
    {"MMAP", 1, 1 << 13, {MAPPED, TEXT("/lib/libc.so.6")}, MMAP_OUT},
    {"MMAP", 1, MISC_BUILD_ID, {MAPPED, TEXT("/lib/libc.so.6")}, MMAP_OUT}, /* an MMAP record never has a build id */
    {"LOST", 2, 0, {F(8, 40), F(8, 41)}, "41 of 40"},
    {"COMM", 3, 1 << 13, {F(4, 20), F(4, 21), TEXT("kworker/u8:2-ev")}, "20/21 kworker/u8:2-ev"},
    {"EXIT", 4, 0, {TASK}, "30/32 of 31/33 at 34"},
    {"THROTTLE", 5, 0, {F(8, 50), F(8, 51), F(8, 52)}, "51, stream 52, at 50"},
    {"UNTHROTTLE", 6, 0, {F(8, 50), F(8, 51), F(8, 52)}, "51, stream 52, at 50"},
    {"FORK", 7, 0, {TASK}, "30/32 of 31/33 at 34"},
    {"READ", 8, 0, {F(4, 60), F(4, 61), F(8, 62), F(8, 63)}, "1: 62 of 63, enabled 0"},
    {"MMAP2",
     10,
     2,
     {MAPPED, F(4, 8), F(4, 1), F(8, 77), F(8, 78), F(4, 5), F(4, 2), TEXT("/lib/libc.so.6")},
     "10/11 7f0000001000+2000@3000 /lib/libc.so.6 8:1 inode 77.78 prot 5 flags 2 build id 0 "},
    {"MMAP2",
     10,
     2 | MISC_BUILD_ID,
     {MAPPED, F(2, 0x1414), F(2, 0), TEXT(BUILD_ID), F(4, 5), F(4, 2), TEXT("/lib/libc.so.6")},
     "10/11 7f0000001000+2000@3000 /lib/libc.so.6 0:0 inode 0.0 prot 5 flags 2 build id 20 " BUILD_ID},
    {"AUX", 11, 0, {F(8, 1), F(8, 2), F(8, 3)}, ""},
    {"ITRACE_START", 12, 0, {F(4, 1), F(4, 2)}, ""},
    {"LOST_SAMPLES", RECORD_LOST_SAMPLES, 0, {F(8, 41)}, "41 of 0"},
    {"SWITCH", 14, 1 << 13, {{0}}, ""},
    {"SWITCH_CPU_WIDE", 15, 0, {F(4, 70), F(4, 71)}, "70/71"},
    {"NAMESPACES", 16, 0, {F(4, 1), F(4, 2), F(8, 2), F(8, 3), F(8, 4), F(8, 5), F(8, 6)}, ""},
    {"KSYMBOL",
     17,
     0,
     {F(8, 0xffffffffc0001000), F(4, 0x12345678), F(2, 1), F(2, 0x8001), TEXT("bpf_prog_6deef7357e7b4530")},
     "ffffffffc0001000+12345678 type 1 flags 8001 bpf_prog_6deef7357e7b4530"},
    {"BPF_EVENT", 18, 0, {F(2, 1), F(2, 0), F(4, 9), F(8, 0xdeadbeef)}, ""},
    {"CGROUP", 19, 0, {F(8, 80), TEXT("/system.slice/ssh.service")}, "80 /system.slice/ssh.service"},
    {"TEXT_POKE", 20, 0, {F(8, 0xffffffff81000000), F(2, 5), F(2, 5), F(4, 0x90909090), F(8, 0xe8)}, ""},
    {"TEXT_POKE", 20, 0, {F(8, 0xffffffff81000000), F(2, 0), F(2, 2), F(4, 0x9090)}, ""},
    {"AUX_OUTPUT_HW_ID", 21, 0, {F(8, 1)}, ""},
    {"CALLCHAIN_DEFERRED", 22, 0, {F(8, 1), F(8, 2), F(8, 0x401000), F(8, 0x402000)}, ""},
};

static void build_case(size_t n, struct built *built)
{
    start_record(built, cases[n].type, cases[n].misc);
    for (size_t i = 0; cases[n].fields[i].width || cases[n].fields[i].text; i++) {
        put_field(built, &cases[n].fields[i]);
        /* Only the build id is not padded to 8 bytes. */
        if (cases[n].fields[i].text && str_equal(cases[n].fields[i].text, BUILD_ID))
            built->size = 8 + 32 + 24;
    }
    assert_int_equal(built->size % 8, 0);
}

TEST(test_types)
{
    const struct record_layout layout = {.sample_type = SAMPLE_ALL, .read_format = PERF_FORMAT_ID};
    struct record record;
    struct built built;

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
        _cleanup_(freep) char *text = describe(&record);
        assert_string_equal(text, cases[i].out);
        try_cut_and_lies(&built, &layout, true);
    }
}

static const uint64_t trailer_fields[] = {PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
                                          PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};

static uint64_t chosen_fields(unsigned bits)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD; /* these fields exist only in samples */

    for (size_t i = 0; i < ARRAY_SIZE(trailer_fields); i++)
        if (bits & 1U << i)
            type |= trailer_fields[i];
    return type;
}

TEST(test_trailers)
{
    struct record record;
    struct built built;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (unsigned bits = 0; bits < 1U << ARRAY_SIZE(trailer_fields); bits++) {
            const struct record_layout layout = {
                .sample_type = chosen_fields(bits), .read_format = PERF_FORMAT_ID, .sample_id_all = true};
            build_case(i, &built);
            put_trailer(&built, layout.sample_type);
            set_record_size(built.bytes, built.size);
            assert_int_equal(record_decode(built.bytes, built.size, &layout, &record), 0);
            check_id(&record.id, layout.sample_type);
            _cleanup_(freep) char *text = describe(&record);
            assert_string_equal(text, cases[i].out);
            if (bits == 1 || bits == 1U << ARRAY_SIZE(trailer_fields))
                try_cut_and_lies(&built, &layout, false);
        }
}

/*
 * If several events receive the same record, the kernel sets the size of some record types too large, by one trailer
 * per event. The first of these trailers is the real one.
 */
TEST(test_claims_too_much)
{
    static const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    const struct record_layout layout = {.sample_type = type, .read_format = PERF_FORMAT_ID, .sample_id_all = true};
    struct record record;
    struct built built;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (cases[i].type != PERF_RECORD_KSYMBOL && cases[i].type != PERF_RECORD_BPF_EVENT)
            continue;
        build_case(i, &built);
        put_trailer(&built, type);
        size_t size = built.size;
        for (unsigned k = 0; k < 8; k++)
            put8(&built, UINT64_MAX);
        set_record_size(built.bytes, built.size);
        assert_int_equal(record_decode(built.bytes, built.size, &layout, &record), 0);
        check_id(&record.id, type);
        assert_int_equal(record.size, size);
        _cleanup_(freep) char *text = describe(&record);
        assert_string_equal(text, cases[i].out);
        _cleanup_(buffer_done) struct buffer copy = {0};
        record_append(&record, &copy);
        assert_int_equal(copy.size, size);
        assert_int_equal(((const struct perf_event_header *)(const void *)copy.data)->size, size);
        assert_memory_equal(copy.data + 8, built.bytes + 8, size - 8);
    }
}

/* A string must be terminated before the trailer. A zero byte in the trailer does not terminate it. */
TEST(test_unterminated)
{
    const struct record_layout layout = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = true};
    static const struct {
        uint32_t in_type;
        size_t in_words;
    } texts[] = {{1, 4}, {3, 1}, {10, 8}, {17, 2}, {19, 1}};
    struct built built;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        start_record(&built, texts[i].in_type, 0);
        for (size_t n = 0; n < texts[i].in_words; n++)
            put8(&built, 0);
        built_bytes(&built, "unended!", 8);
        put8(&built, 0);
        set_record_size(built.bytes, built.size);
        assert_int_equal(try_decode(built.bytes, built.size, &layout), -EBADMSG);
        built.bytes[built.size - 9] = '\0';
        assert_int_equal(try_decode(built.bytes, built.size, &layout), 0);
    }
}

TEST(test_build_id_size)
{
    const struct record_layout layout = {0};
    struct record record;
    struct built built;
    size_t n = 0;

    while (!str_equal(cases[n].name, "MMAP2") || !(cases[n].misc & MISC_BUILD_ID))
        n++;
    build_case(n, &built);
    set_record_size(built.bytes, built.size);
    for (unsigned size = 0; size < 256; size++) {
        built.bytes[40] = (unsigned char)size;
        int r = record_decode(built.bytes, built.size, &layout, &record);
        assert_int_equal(r, size <= 20 ? 0 : -EBADMSG);
        assert_true(r < 0 || record.mmap.build_id_size == size);
    }
}

/* Record types of future kernels, and types that only perf's own files contain, are unknown. */
TEST(test_unknown)
{
    static const uint32_t types[] = {0, 23, 64, 79, 0x80000000, UINT32_MAX};
    const struct record_layout layout = {.sample_type = SAMPLE_ALL, .sample_id_all = true};
    struct record record;
    struct built built;

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

TEST(test_header)
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

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        start_record(&built, PERF_RECORD_SWITCH, 0);
        set_record_size(built.bytes, headers[i].in_size);
        assert_int_equal(try_decode(built.bytes, headers[i].in_there, &layout), headers[i].out);
    }
}

/*
 * Samples with a single field, with all fields, and with many combinations, in the kernel's order; complete, truncated
 * and corrupted.
 */

struct shape {
    struct record_layout layout;
    size_t n_read, n_callchain, n_branches, raw, stack, aux;
    bool registers, no_branch_stack;
};

static bool asks(const struct shape *shape, uint64_t field)
{
    return shape->layout.sample_type & field;
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

static void put_number(struct built *built, const struct shape *shape, uint64_t field, uint64_t value)
{
    if (asks(shape, field))
        put8(built, value);
}

static void put_sample_start(struct built *built, const struct shape *shape)
{
    put_number(built, shape, PERF_SAMPLE_IDENTIFIER, 904);
    put_number(built, shape, PERF_SAMPLE_IP, 401);
    if (asks(shape, PERF_SAMPLE_TID)) {
        put4(built, 901);
        put4(built, 902);
    }
    put_number(built, shape, PERF_SAMPLE_TIME, 903);
    put_number(built, shape, PERF_SAMPLE_ADDR, 402);
    put_number(built, shape, PERF_SAMPLE_ID, 904);
    put_number(built, shape, PERF_SAMPLE_STREAM_ID, 905);
    if (asks(shape, PERF_SAMPLE_CPU)) {
        put4(built, 906);
        put4(built, 999);
    }
    put_number(built, shape, PERF_SAMPLE_PERIOD, 403);
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
            put8(built, shape->stack - 3); /* the kernel could not copy the rest of the stack */
    }
}

static void put_sample_end(struct built *built, const struct shape *shape)
{
    put_number(built, shape, PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, 404);
    put_number(built, shape, PERF_SAMPLE_DATA_SRC, 405);
    put_number(built, shape, PERF_SAMPLE_TRANSACTION, 406);
    if (asks(shape, PERF_SAMPLE_REGS_INTR))
        put_registers(built, shape, shape->layout.sample_regs_intr, 850);
    put_number(built, shape, PERF_SAMPLE_PHYS_ADDR, 407);
    put_number(built, shape, PERF_SAMPLE_CGROUP, 408);
    put_number(built, shape, SAMPLE_DATA_PAGE_SIZE, 409);
    put_number(built, shape, SAMPLE_CODE_PAGE_SIZE, 410);
    if (asks(shape, PERF_SAMPLE_AUX)) {
        put8(built, shape->aux);
        put_filled(built, shape->aux, 'a');
    }
}

static void build_sample(struct built *built, const struct shape *shape)
{
    start_record(built, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    put_sample_start(built, shape);
    put_sample_middle(built, shape);
    put_sample_end(built, shape);
    set_record_size(built->bytes, built->size);
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

/* Each field alone, all fields, all but one, and many other combinations. */
TEST(test_fields)
{
    struct shape shape = full;
    uint64_t random = 1;

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

TEST(test_shapes)
{
    static const struct shape shapes[] = {
        {.raw = 4},
        {.raw = 4, .no_branch_stack = true, .registers = true, .stack = 8},
        {.raw = 12, .n_branches = 1, .n_callchain = 127, .n_read = 64},
        {.raw = 1020, .n_callchain = 1, .stack = 512, .aux = 8, .registers = true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        for (unsigned branch = 0; branch < 4; branch++) {
            struct shape shape = shapes[i];
            shape.layout = full.layout;
            shape.layout.branch_sample_type =
                (branch & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) | (branch & 2 ? BRANCH_COUNTERS : 0);
            try_sample(&shape);
        }
}

TEST(test_read_formats)
{
    static const uint64_t types[] = {SAMPLE_ALL, PERF_SAMPLE_READ};
    struct shape shape = full;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        for (uint64_t format = 0; format <= FORMAT_ALL; format++)
            for (shape.n_read = 0; shape.n_read < 4; shape.n_read++) {
                shape.layout.sample_type = types[i];
                shape.layout.read_format = format;
                try_sample(&shape);
            }
}

TEST(test_cut_samples)
{
    struct shape shape = full;
    struct built built;

    build_sample(&built, &shape);
    try_cut_and_lies(&built, &shape.layout, true);
    for (unsigned bit = 0; bit < 25; bit++) {
        shape.layout.sample_type = UINT64_C(1) << bit;
        build_sample(&built, &shape);
        try_cut_and_lies(&built, &shape.layout, true);
    }
    shape = full;
    shape.no_branch_stack = true;
    shape.n_branches = 0;
    build_sample(&built, &shape);
    try_cut_and_lies(&built, &shape.layout, false);
}

/* Samples that are refused although decoding them would not read past their end. */
TEST(test_refused)
{
    static const struct {
        uint64_t in_type, in_size;
        int out;
    } sizes[] = {
        {PERF_SAMPLE_AUX, 16, 0},
        {PERF_SAMPLE_AUX, 15, -EBADMSG}, /* the next field would be misaligned */
        {PERF_SAMPLE_STACK_USER, 16, 0},
        {PERF_SAMPLE_STACK_USER, 12, -EBADMSG},
        {PERF_SAMPLE_STACK_USER, 8, -EBADMSG}, /* the size that was copied exceeds the size of the stack field */
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

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        const struct record_layout layout = {.sample_type = sizes[i].in_type};
        struct built built;
        start_record(&built, PERF_RECORD_SAMPLE, 0);
        if (sizes[i].in_type == PERF_SAMPLE_RAW) {
            put4(&built, (uint32_t)sizes[i].in_size);
            put4(&built, 0);
        } else {
            put8(&built, sizes[i].in_size);
        }
        put_array(&built, 3, 14);
        set_record_size(built.bytes, built.size);
        assert_int_equal(try_decode(built.bytes, built.size, &layout), sizes[i].out);
    }
}

TEST_MAIN(NULL, NULL)
