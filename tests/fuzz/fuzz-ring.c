/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes choose what happens to a ring buffer: records are written, data_head and data_tail jump, data are
 * overwritten, and the reader reads, takes and releases records. As long as the ring buffer is consistent, the reader
 * gets all records that were written, in order and complete. In any case, nothing outside of it is read, and valid
 * records that follow are read again.
 */
#include "perf/ring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/walk-record.h"

enum { PAGES_MAX = 4, WRITTEN_MAX = 512, MISC = 5 };
enum action { WRITE, NEXT, TAKE, RELEASE, JUMP_HEAD, SET_HEAD, JUMP_TAIL, SCRIBBLE, N_ACTIONS };

struct world {
    struct sys sys;
    struct perf_event_mmap_page *page;
    char *data;
    uint64_t size, offset, announced;
    struct ring *ring;
    const struct perf_event_header *held; /* a record that was read but not taken; not used after a release */
    bool honest, tail_moved;              /* data_tail was changed by the test */
    /* Sizes of the records that were written; each record is filled with its number. */
    uint16_t written[WRITTEN_MAX];
    unsigned n_written, n_read;
};

static int world_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct world *world = (struct world *)sys;
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t start = world->page ? world->page->data_tail : 0;

    (void)fd;
    (void)protection;
    assert(posix_memalign(ret, page_size, size) == 0);
    memset(*ret, 0, size);
    world->data = (char *)*ret + page_size;
    world->size = size - page_size;
    world->page = *ret;
    world->page->data_head = world->page->data_tail = start;
    world->page->data_offset = world->offset;
    world->page->data_size = world->announced;
    return 0;
}

static int world_munmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    (void)size;
    free(address);
    return 0;
}

/* Writes like the kernel: at data_head, around the end, and only to space that was released. */
static bool record_write(struct world *world, uint16_t size, uint8_t type)
{
    uint64_t head = world->page->data_head;
    struct perf_event_header header = {.type = type, .misc = MISC, .size = size};

    if (world->n_written == WRITTEN_MAX || head + size - world->page->data_tail > world->size)
        return false;
    for (size_t i = 0; i < size; i++)
        world->data[(head + i) & (world->size - 1)] =
            i < sizeof(header) ? ((char *)&header)[i] : (char)world->n_written;
    world->written[world->n_written++] = size;
    __atomic_store_n(&world->page->data_head, head + size, __ATOMIC_RELEASE);
    return true;
}

static void record_check(const struct world *world)
{
    const char *bytes = (const char *)world->held;

    assert(world->n_read < world->n_written && world->held->size == world->written[world->n_read]);
    assert(world->held->misc == MISC);
    for (size_t i = sizeof(*world->held); i < world->held->size; i++)
        assert(bytes[i] == (char)world->n_read);
}

/* Reads every byte of the record, and decodes it. */
static void record_use(const struct world *world)
{
    static const struct record_layout layout = {
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
        .sample_id_all = true,
    };
    struct record record;

    assert(world->held->size >= sizeof(*world->held) && world->held->size % sizeof(uint64_t) == 0);
    assert(world->held->size <= world->size);
    _cleanup_(freep) void *copy = copy_exact(world->held, world->held->size);
    if (record_decode(copy, world->held->size, &layout, &record) == 0)
        walk_record(&record, &layout);
}

static int world_next(struct world *world)
{
    int r = ring_next(world->ring, &world->held);

    if (r < 0)
        world->held = NULL;
    assert(r == 0 || (r == -EBADMSG && !world->honest));
    if (world->honest)
        assert((world->held != NULL) == (world->n_read < world->n_written));
    if (world->held && world->honest)
        record_check(world);
    if (world->held)
        record_use(world);
    return r;
}

static void world_take(struct world *world)
{
    ring_take(world->ring);
    world->n_read += world->held != NULL;
    world->held = NULL;
}

/* While a record is held, the kernel does not overwrite it. */
static void scribble(struct world *world, struct input *input)
{
    size_t at = input_half(input) % world->size, n = input_byte(input);

    if (world->held)
        return;
    world->honest = false;
    input_copy(input, world->data + at, MIN(n, world->size - at));
}

static void act(struct world *world, struct input *input)
{
    uint64_t *head = (uint64_t *)&world->page->data_head;
    enum action action = input_byte(input) % N_ACTIONS;

    if (action == JUMP_HEAD || action == SET_HEAD || action == JUMP_TAIL)
        world->honest = false;
    switch (action) {
    case WRITE:
        record_write(world, (uint16_t)(8 + input_half(input) % (world->size / 2) / 8 * 8), input_byte(input));
        break;
    case NEXT:
        world_next(world);
        break;
    case TAKE:
        world_take(world);
        break;
    case RELEASE:
        ring_release(world->ring);
        assert(!world->honest || world->page->data_tail <= *head);
        break;
    case JUMP_HEAD:
        *head += (uint64_t)(int16_t)input_half(input);
        break;
    case SET_HEAD:
        *head = input_word(input);
        break;
    case JUMP_TAIL:
        world->page->data_tail += (uint64_t)(int16_t)input_half(input);
        world->tail_moved = true;
        break;
    case SCRIBBLE:
        scribble(world, input);
        break;
    case N_ACTIONS:
        break;
    }
}

/* Starts at a data_head where a record can begin. */
static void recover(struct world *world)
{
    world->page->data_head &= ~(uint64_t)7;
    unsigned turns = 0;
    do {
        assert(turns++ < 2 * world->size / sizeof(struct perf_event_header) + 4);
        if (world_next(world) == 0 && !world->held)
            break;
        world_take(world);
    } while (true);
    ring_release(world->ring);
    assert(world->tail_moved || world->page->data_tail == world->page->data_head);
    world->page->data_tail = world->page->data_head;
    world->n_read = world->n_written = 0;
    world->honest = true;
    assert(record_write(world, 48, PERF_RECORD_SAMPLE) && record_write(world, 8, PERF_RECORD_LOST));
    for (unsigned i = 0; i < 2; i++) {
        assert(world_next(world) == 0 && world->held);
        world_take(world);
    }
    assert(world_next(world) == 0 && !world->held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct world world = {.sys.calls = {.mmap = world_mmap, .munmap = world_munmap}, .honest = true};
    uint8_t first = input_byte(&input);
    struct perf_event_mmap_page before = {.data_tail = input_half(&input) * UINT64_C(8)};

    world.page = &before;
    if (first & 0x40)
        before.data_tail -= 0x10000; /* data_head soon wraps around to 0 */
    if (first & 0x80) {
        world.offset = input_word(&input);
        world.announced = input_word(&input);
    }
    int r = ring_open(&world.sys, 1, 1U << first % 3, &world.ring);
    assert(r == 0 || (r == -EBADMSG && world.announced));
    if (r < 0)
        return 0;
    if (world.announced) { /* use data_offset and data_size as announced by the kernel */
        world.data = (char *)world.page + world.offset;
        world.size = world.announced;
        world.honest = world.offset >= sizeof(before) && world.size >= 512;
    }
    while (input_left(&input) > 0)
        act(&world, &input);
    if (!world.announced)
        recover(&world);
    ring_free(world.ring);
    return 0;
}
