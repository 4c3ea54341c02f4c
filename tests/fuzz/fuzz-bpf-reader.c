/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads arbitrary bytes as the maps of a BPF program, which change between and during reads, and as counter values.
 * Nothing outside of the maps may be read, a slot occurs at most once per read, an event that the CPU does not count
 * has no counts, and no group runs for longer than it is enabled.
 */
#include "bpf/reader.h"
#include "perf/sys.h"
#include "tests/fuzz/fuzz.h"

enum { COUNTS = 1, RECORDS, CPUS_MAX = 3, SLOTS_MAX = 8, CHANGES_MAX = 4 };
enum action { SET_CPU, STORE_COUNT, STORE_RECORD, SWITCH, READ, N_ACTIONS };

struct world {
    struct sys sys;
    struct input input;
    struct bpf_shape shape;
    uint64_t *counts;
    struct bpf_record *records;
    size_t n_counts;
    struct bpf_event events[CPUS_MAX][BPF_EVENTS_MAX];
    bool is_set[CPUS_MAX];
    struct bpf_reader *reader;
};

static int world_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct world *world = (struct world *)sys;

    (void)protection;
    /* Records have the alignment of their type, whose size is a multiple of it. */
    *ret = fd == COUNTS ? malloc(size) : aligned_alloc(_Alignof(struct bpf_record), size);
    assert(*ret);
    memset(*ret, 0, size);
    if (fd == COUNTS) {
        world->counts = *ret;
        world->n_counts = size / sizeof(uint64_t);
    } else {
        world->records = *ret;
    }
    return 0;
}

static int world_munmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    (void)size;
    free(address);
    return 0;
}

/* Returns mostly small numbers, so that some are equal, and sometimes an arbitrary number. */
static uint64_t take_value(struct input *input)
{
    uint8_t first = input_byte(input);

    return first == 0xff ? input_word(input) : first == 0xfe ? (uint64_t)-input_byte(input) : first;
}

static void store_count(struct world *world)
{
    size_t at = input_half(&world->input) % world->n_counts;

    world->counts[at] = take_value(&world->input);
}

static void store_record(struct world *world, unsigned cpu)
{
    uint64_t *words = (uint64_t *)&world->records[cpu];
    size_t at = input_byte(&world->input) % (sizeof(world->records[0]) / sizeof(uint64_t));

    words[at] = take_value(&world->input);
}

/* Stores a consistent record with any content. */
static void switch_slot(struct world *world, unsigned cpu)
{
    struct bpf_record *record = &world->records[cpu];
    uint8_t slot = input_byte(&world->input);

    record->seq++;
    record->slot = slot == 0xff ? BPF_SLOT_NONE : slot == 0xfe ? (uint32_t)input_word(&world->input) : slot % 10;
    record->epoch = input_byte(&world->input) % 4;
    record->valid = ~take_value(&world->input);
    record->switches = take_value(&world->input);
    record->base[input_byte(&world->input) % BPF_WORDS_MAX] = take_value(&world->input);
    record->check = bpf_check_begin(record->seq, record->slot, record->epoch, record->valid);
    for (size_t i = 0; i < bpf_words(&world->shape); i++)
        record->check = bpf_check_step(record->check, record->base[i]);
}

static void set_cpu(struct world *world, unsigned cpu)
{
    struct bpf_event *events = world->events[cpu];

    memset(events, 0, sizeof(world->events[cpu]));
    for (uint32_t i = 0; i < world->shape.events; i++) {
        uint8_t choice = input_byte(&world->input);
        events[i] =
            (struct bpf_event){.source = choice % (SOURCE_SWITCHES + 1), .group = choice / 16 % world->shape.groups};
    }
    bpf_reader_set_cpu(world->reader, cpu, events);
    world->is_set[cpu] = true;
}

/* The program may switch while the counters are read. */
static int world_now(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    struct world *world = userdata;
    uint8_t changes = input_byte(&world->input);

    for (unsigned i = 0; i < changes % CHANGES_MAX; i++)
        if (changes & 0x40)
            switch_slot(world, cpu);
        else
            store_record(world, cpu);
    if (changes == 0xff)
        return -ENODEV;
    for (size_t i = 0; i < bpf_words(&world->shape); i++)
        words[i] = take_value(&world->input);
    *ret_valid = ~take_value(&world->input);
    return 0;
}

static void check_delta(const struct world *world, unsigned cpu, const uint64_t *delta)
{
    const struct bpf_event *events = world->events[cpu];
    bool grew = false;

    for (uint32_t i = 0; i < world->shape.events; i++) {
        const uint64_t *times = &delta[world->shape.events + 2U * events[i].group];
        assert(delta[i] == 0 || (events[i].source != SOURCE_NONE && times[1] > 0));
        assert(times[1] == 0 || times[0] > 0);
    }
    for (uint32_t i = 0; i < bpf_words(&world->shape); i++)
        grew |= delta[i] > 0;
    assert(grew);
}

static void read_cpu(struct world *world, unsigned cpu)
{
    uint64_t delta[BPF_WORDS_MAX];
    uint32_t slots = 1 + input_byte(&world->input) % world->shape.slots, from = 0, slot;

    if (!world->is_set[cpu])
        return;
    int r = bpf_reader_read(world->reader, cpu, world_now, world);
    assert(r == 0 || r == 1 || r == -ENODEV);
    bpf_reader_running(world->reader, cpu);
    while ((slot = bpf_reader_take(world->reader, cpu, from, slots, delta)) != BPF_SLOT_NONE) {
        assert(slot >= from && slot < slots);
        check_delta(world, cpu, delta);
        from = slot + 1;
    }
    assert(bpf_reader_take(world->reader, cpu, 0, slots, delta) == BPF_SLOT_NONE || r < 1);
    assert(!bpf_reader_is_exact(world->reader, cpu) || r == 1);
}

static void act(struct world *world)
{
    uint8_t choice = input_byte(&world->input);
    unsigned cpu = choice / 16 % world->shape.cpus;

    switch ((enum action)(choice % N_ACTIONS)) {
    case SET_CPU:
        set_cpu(world, cpu);
        break;
    case STORE_COUNT:
        store_count(world);
        break;
    case STORE_RECORD:
        store_record(world, cpu);
        break;
    case SWITCH:
        switch_slot(world, cpu);
        break;
    case READ:
    case N_ACTIONS:
        read_cpu(world, cpu);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {.sys.calls = {.mmap = world_mmap, .munmap = world_munmap}, .input = {data, data + size}};
    const struct bpf_maps maps = {COUNTS, RECORDS};

    world.shape = (struct bpf_shape){
        .cpus = 1 + input_byte(&world.input) % CPUS_MAX,
        .slots = BPF_SLOT_FIRST + 1 + input_byte(&world.input) % (SLOTS_MAX - BPF_SLOT_FIRST),
        .events = 1 + input_byte(&world.input) % BPF_EVENTS_MAX,
        .groups = 1 + input_byte(&world.input) % BPF_GROUPS_MAX,
    };
    assert(bpf_reader_new(&world.sys, &world.shape, &maps, &world.reader) == 0);
    while (input_left(&world.input) > 0)
        act(&world);
    bpf_reader_free(world.reader);
    return 0;
}
