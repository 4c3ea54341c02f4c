/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses arbitrary bytes as a history's block: of another version, with a valid head, or with records of valid sizes. The
 * history reads it and continues to record into it; meanwhile, another process may write to it. If nobody else does,
 * each new frame is read back as it was counted.
 */
#include "collectors/history.h"
#include "tests/fuzz/fuzz.h"

enum { HAS_HEAD = 1, HAS_RECORDS = 2, IS_WRITTEN_TO = 4, N_WORDS = 6, HEAD_BYTES = 8 * N_WORDS };

struct world {
    struct history *history;
    struct snapshot snapshot;
    struct row rows[2], *list[2];
    struct counter counters[2];
};

static void make_world(struct world *world)
{
    static const char *const collectors[] = {"cpu", "cgroup", NULL};

    world->snapshot.realtime_ns = world->snapshot.monotonic_ns = NSEC_PER_SEC;
    world->snapshot.rows = world->list;
    world->snapshot.n_rows = world->snapshot.next_row_id = 2;
    for (unsigned i = 0; i < 2; i++) {
        world->counters[i] = (struct counter){.event = "cycles", .pmu = "cpu", .unit = "", .known = true};
        world->rows[i] = (struct row){.id = i,
                                      .collector = i,
                                      .collector_name = collectors[i],
                                      .cpu = i ? -1 : 0,
                                      .group = "hw",
                                      .pmu = "cpu",
                                      .cgroup = i ? "/a" : NULL,
                                      .n_counters = 1,
                                      .counters = &world->counters[i]};
        world->list[i] = &world->rows[i];
    }
}

/* Writes input over the records, which may wrap around the end of the ring buffer. */
static size_t put_bytes_at(struct input *input, uint8_t *block, size_t position, size_t n)
{
    for (size_t i = 0; i < n; i++)
        block[HEAD_BYTES + (position + i) % (HISTORY_SIZE_MIN - HEAD_BYTES)] = input_byte(input);
    return n;
}

static size_t put_record(struct input *input, uint8_t *block, size_t position)
{
    uint32_t head[2] = {0, 1 + input_byte(input) % 2};
    uint32_t size = input_byte(input);

    head[0] = (uint32_t)sizeof(head) + size;
    struct input heads = {(const uint8_t *)head, (const uint8_t *)(head + 2)};
    return put_bytes_at(&heads, block, position, sizeof(head)) +
           put_bytes_at(input, block, position + sizeof(head), size);
}

static void make_block(struct input *input, unsigned flags, uint8_t *block)
{
    size_t begin = input_half(input), n_records = input_byte(input), size = 0;
    uint64_t head[N_WORDS] = {UINT64_C(0x7473696864637066), 1, HISTORY_SIZE_MIN, begin, 0, input_byte(input)};

    if (!(flags & HAS_HEAD)) {
        input_copy(input, block, MIN(input_left(input), HISTORY_SIZE_MIN));
        return;
    }
    if (flags & HAS_RECORDS)
        while (n_records-- > 0 && size < HISTORY_SIZE_MIN - HEAD_BYTES - 300)
            size += put_record(input, block, begin + size);
    else
        size = put_bytes_at(input, block, begin, MIN(input_left(input), HISTORY_SIZE_MIN - HEAD_BYTES));
    head[4] = begin + size;
    memcpy(block, head, sizeof(head));
}

static void use_table(const struct history_table *table)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < table->n_lines; i++) {
        const struct history_line *line = &table->lines[i];
        sum += strlen(line->row.collector) + strlen(line->row.group) + strlen(line->row.pmu);
        sum += line->row.cgroup ? strlen(line->row.cgroup) : 0;
        for (size_t k = 0; k < line->row.n_events; k++)
            sum +=
                strlen(line->row.events[k].event) + strlen(line->row.events[k].pmu) + strlen(line->row.events[k].unit);
        for (size_t k = 0; k < table->n_steps * line->row.n_events; k++)
            assert(line->values[k].known || line->values[k].value == 0);
        for (size_t k = 0; k < table->n_steps; k++)
            assert(line->cells[k].state <= HISTORY_UNKNOWN && line->cells[k].running_ns <= UINT64_MAX);
    }
    assert(sum != UINT64_MAX);
}

static void read_all(const struct history *history, const struct history_range *range)
{
    struct history_table table;
    uint64_t begin, end;

    int r = history_read(history, range, NULL, NULL, &table);
    assert(r == 0 || r == -E2BIG);
    use_table(&table);
    history_table_done(&table);
    history_span(history, &begin, &end);
}

static int count(struct world *world)
{
    world->snapshot.monotonic_ns += NSEC_PER_SEC;
    world->snapshot.realtime_ns += NSEC_PER_SEC;
    for (size_t i = 0; i < 2; i++) {
        world->rows[i].enabled_ns += 1000;
        world->rows[i].running_ns += 1000;
        world->counters[i].value += 7;
    }
    return history_record(world->history, &world->snapshot);
}

/*
 * The last frame contains all of the latest counts, even if other frames in the block claim to end at the same time.
 */
static void check_last(const struct world *world)
{
    const struct history_range range = {world->snapshot.realtime_ns - 1, world->snapshot.realtime_ns, 0};
    struct history_table table;
    uint64_t sum = 0;

    int r = history_read(world->history, &range, NULL, NULL, &table);
    assert(r == 0 || r == -E2BIG);
    for (size_t i = 0; r == 0 && i < table.n_lines; i++)
        if (table.lines[i].cells[table.n_steps - 1].state == HISTORY_COUNTING)
            sum += table.lines[i].values[(table.n_steps - 1) * table.lines[i].row.n_events].value;
    assert(r < 0 || (table.n_steps > 0 && (sum == 14 || table.steps[table.n_steps - 1].left_out > 0)));
    history_table_done(&table);
}

static void write_to(struct input *input, uint8_t *block)
{
    for (unsigned i = input_byte(input) % 8; i > 0; i--) {
        size_t at = input_half(input) % HISTORY_SIZE_MIN;
        block[at] = input_byte(input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    unsigned flags = input_byte(&input);
    const struct history_settings settings = {NSEC_PER_SEC, (1 + input_byte(&input)) * NSEC_PER_SEC};
    const struct history_range range = {input_word(&input), input_word(&input), input_word(&input)};
    const struct history_range always = {.until_ns = UINT64_MAX};
    _cleanup_(freep) uint8_t *block = calloc(1, HISTORY_SIZE_MIN);
    struct world world = {0};

    assert(block);
    make_world(&world);
    make_block(&input, flags, block);
    assert(history_new(block, HISTORY_SIZE_MIN, &settings, &world.history) == 0);
    for (unsigned i = 0; i < 4; i++) {
        if (flags & IS_WRITTEN_TO)
            write_to(&input, block);
        read_all(world.history, &always);
        read_all(world.history, &range);
        int r = count(&world);
        assert(r == 0 || (r == -EBADMSG && flags & IS_WRITTEN_TO));
        if (i > 0 && !(flags & IS_WRITTEN_TO))
            check_last(&world);
    }
    history_free(world.history);
    return 0;
}
