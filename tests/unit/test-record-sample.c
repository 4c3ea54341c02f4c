/* SPDX-License-Identifier: Apache-2.0 */
/* Samples with each field, with all, and with many sets of fields, in the kernel's order; whole, cut short and garbled.
 */
#include "tests/unit/build-record.h"
#include "tests/unit/test.h"
#include "tests/unit/walk-record.h"

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

static void put_field(struct built *built, const struct shape *shape, uint64_t field, uint64_t value)
{
    if (asks(shape, field))
        put8(built, value);
}

static void put_sample_start(struct built *built, const struct shape *shape)
{
    put_field(built, shape, PERF_SAMPLE_IDENTIFIER, 904);
    put_field(built, shape, PERF_SAMPLE_IP, 401);
    if (asks(shape, PERF_SAMPLE_TID)) {
        put4(built, 901);
        put4(built, 902);
    }
    put_field(built, shape, PERF_SAMPLE_TIME, 903);
    put_field(built, shape, PERF_SAMPLE_ADDR, 402);
    put_field(built, shape, PERF_SAMPLE_ID, 904);
    put_field(built, shape, PERF_SAMPLE_STREAM_ID, 905);
    if (asks(shape, PERF_SAMPLE_CPU)) {
        put4(built, 906);
        put4(built, 999);
    }
    put_field(built, shape, PERF_SAMPLE_PERIOD, 403);
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
            put8(built, shape->stack - 3); /* the kernel could not copy the rest */
    }
}

static void put_sample_end(struct built *built, const struct shape *shape)
{
    put_field(built, shape, PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, 404);
    put_field(built, shape, PERF_SAMPLE_DATA_SRC, 405);
    put_field(built, shape, PERF_SAMPLE_TRANSACTION, 406);
    if (asks(shape, PERF_SAMPLE_REGS_INTR))
        put_registers(built, shape, shape->layout.sample_regs_intr, 850);
    put_field(built, shape, PERF_SAMPLE_PHYS_ADDR, 407);
    put_field(built, shape, PERF_SAMPLE_CGROUP, 408);
    put_field(built, shape, SAMPLE_DATA_PAGE_SIZE, 409);
    put_field(built, shape, SAMPLE_CODE_PAGE_SIZE, 410);
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

/* Each field alone, all fields, all but one, and many other sets. */
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

/* Samples that are refused, though nothing outside of them would be read. */
static void test_refused(void **state)
{
    static const struct {
        uint64_t in_type, in_size;
        int out;
    } sizes[] = {
        {PERF_SAMPLE_AUX, 16, 0},
        {PERF_SAMPLE_AUX, 15, -EBADMSG}, /* the next field would not be at a multiple of 8 */
        {PERF_SAMPLE_STACK_USER, 16, 0},
        {PERF_SAMPLE_STACK_USER, 12, -EBADMSG},
        {PERF_SAMPLE_STACK_USER, 8, -EBADMSG}, /* the copied size is above the size */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),      cmocka_unit_test(test_shapes),  cmocka_unit_test(test_read_formats),
        cmocka_unit_test(test_cut_samples), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
