/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel advances data_head after it has written records; the reader advances data_tail after it has read them.
 * data_head and data_tail only grow; modulo the size of the data, they are offsets in the data.
 *
 * With attr.write_backward, data_head begins at 0 and only falls: the newest record begins there. The data is zeroed at
 * first, so a header of size 0 follows the last record of a ring that was never full (kernel/events/ring_buffer.c;
 * tools/perf/util/mmap.c, overwrite_rb_find_range()).
 */
#include "perf/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ALIGNMENT sizeof(uint64_t) /* alignment of every record, so a header never wraps */

struct ring {
    struct sys *sys;
    void *mapping;
    size_t mapping_size;
    struct perf_event_mmap_page *page; /* NULL for records in memory, which fill `mapping` and never wrap */
    const char *data;
    uint64_t size;     /* size of the data, a power of two */
    uint64_t head;     /* last seen value of data_head: everything below it can be read */
    uint64_t tail;     /* position of the first record that was not taken */
    uint64_t released; /* last written value of data_tail */
    size_t current;    /* size of the record that ring_next() returned and that is not taken yet */
    void *bounce;      /* copy of a record that wraps, in one piece */
    size_t bounce_size;
};

DEFINE_CLEANUP(struct ring *, ring_free);

static bool power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/*
 * Before Linux 4.1, the page does not say where the data is: the data follows the page, up to the end of the mapping.
 */
static int find_data(struct ring *ring, size_t page_size)
{
    uint64_t offset = ring->page->data_offset, size = ring->page->data_size;

    if (size == 0) {
        offset = page_size;
        size = ring->mapping_size - page_size;
    }
    if (!power_of_two(size) || size < ALIGNMENT || offset % ALIGNMENT != 0 || offset > ring->mapping_size ||
        size > ring->mapping_size - offset)
        return -EBADMSG;
    ring->data = (const char *)ring->mapping + offset;
    ring->size = size;
    return 0;
}

static int ring_map(struct sys *sys, int fd, size_t pages, int protection, struct ring **ret)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    if (!power_of_two(pages) || pages > SIZE_MAX / page_size - 1)
        return -EINVAL;
    _cleanup_(ring_freep) struct ring *ring = calloc(1, sizeof(*ring));
    if (!ring)
        return -ENOMEM;
    ring->sys = sys;
    ring->mapping_size = (1 + pages) * page_size;
    int r = sys_mmap(sys, fd, ring->mapping_size, protection, &ring->mapping);
    if (r < 0)
        return r;
    ring->page = ring->mapping;
    r = find_data(ring, page_size);
    if (r < 0)
        return r;
    ring->head = ring->tail = ring->released = ring->page->data_tail;
    *ret = steal(ring);
    return 0;
}

int ring_open(struct sys *sys, int fd, size_t pages, struct ring **ret)
{
    return ring_map(sys, fd, pages, PROT_READ | PROT_WRITE, ret);
}

/* If the mapping is not writable, the kernel does not see what was read and overwrites records. */
int ring_open_overwritten(struct sys *sys, int fd, size_t pages, struct ring **ret)
{
    return ring_map(sys, fd, pages, PROT_READ, ret);
}

struct ring *ring_free(struct ring *ring)
{
    if (!ring)
        return NULL;
    if (ring->mapping && ring->page)
        sys_munmap(ring->sys, ring->mapping, ring->mapping_size);
    else
        free(ring->mapping);
    free(ring->bounce);
    free(ring);
    return NULL;
}

static int ring_drop_all(struct ring *ring)
{
    ring->tail = ring->head;
    return -EBADMSG;
}

static int grow_bounce(struct ring *ring, size_t size)
{
    if (size <= ring->bounce_size)
        return 0;
    size_t larger = MAX(ring->bounce_size, 1024);
    while (larger < size)
        larger *= 2;
    void *bounce = realloc(ring->bounce, larger);
    if (!bounce)
        return -ENOMEM;
    ring->bounce = bounce;
    ring->bounce_size = larger;
    return 0;
}

/* Copies the `size` bytes at position `at`, which may wrap. */
static void copy_out(const struct ring *ring, uint64_t at, size_t size, char *to)
{
    uint64_t start = at & (ring->size - 1);
    size_t first = (size_t)MIN(size, ring->size - start);

    memcpy(to, ring->data + start, first);
    memcpy(to + first, ring->data, size - first);
}

/* Copies a record of `size` bytes that begins at offset `start` and wraps around the end of the ring, into one piece.
 */
static int ring_join(struct ring *ring, uint64_t start, size_t size, const struct perf_event_header **ret)
{
    int r = grow_bounce(ring, size);

    if (r < 0)
        return r;
    copy_out(ring, start, size, ring->bounce);
    *ret = ring->bounce;
    return 0;
}

/*
 * Returns the number of bytes that can be read. Reads data_head only when all records below the known head are taken,
 * because the kernel keeps writing to the cache line of data_head.
 */
static uint64_t available(struct ring *ring)
{
    if (ring->tail == ring->head && ring->page)
        ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    return ring->head - ring->tail;
}

int ring_next(struct ring *ring, const struct perf_event_header **ret)
{
    uint64_t n = available(ring);

    ring->current = 0;
    if (n == 0) {
        *ret = NULL;
        return 0;
    }
    if (n > ring->size || n < sizeof(**ret) || ring->tail % ALIGNMENT != 0)
        return ring_drop_all(ring);
    uint64_t start = ring->tail & (ring->size - 1);
    const struct perf_event_header *header = (const struct perf_event_header *)(ring->data + start);
    size_t size = header->size;
    if (size < sizeof(*header) || size % ALIGNMENT != 0 || size > n)
        return ring_drop_all(ring);
    int r = 0;
    if (start + size > ring->size)
        r = ring_join(ring, start, size, &header);
    if (r < 0)
        return r;
    ring->current = size;
    *ret = header;
    return 0;
}

void ring_take(struct ring *ring)
{
    ring->tail += ring->current;
    ring->current = 0;
}

/* After the store, the kernel may overwrite the records below the tail, so all reads of them must precede it. */
void ring_release(struct ring *ring)
{
    if (ring->tail == ring->released || !ring->page)
        return;
    ring->released = ring->tail;
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

/* --- copies --- */

void ring_rewind(struct ring *ring)
{
    ring->tail = 0;
    ring->current = 0;
}

int ring_of_records(void *bytes, size_t size, struct ring **ret)
{
    struct ring *ring = calloc(1, sizeof(*ring));

    if (!ring) {
        free(bytes);
        return -ENOMEM;
    }
    *ring = (struct ring){.mapping = bytes, .data = bytes, .head = size};
    for (ring->size = ALIGNMENT; ring->size < size;)
        ring->size *= 2;
    *ret = ring;
    return 0;
}

/* The records are written into the copy from its end, so that the oldest comes first. */
int ring_copy(const struct ring *ring, struct ring **ret, bool *ret_full)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), done = 0;
    char *bytes = malloc(ring->size);

    if (!bytes)
        return -ENOMEM;
    *ret_full = true;
    while (ring->size - done >= sizeof(struct perf_event_header) && head % ALIGNMENT == 0) {
        struct perf_event_header header;
        copy_out(ring, head + done, sizeof(header), (char *)&header);
        *ret_full = header.size != 0;
        if (header.size < sizeof(header) || header.size % ALIGNMENT != 0 || header.size > ring->size - done)
            break;
        done += header.size;
        copy_out(ring, head + done - header.size, header.size, bytes + (ring->size - done));
    }
    memmove(bytes, bytes + (ring->size - done), done);
    char *smaller = realloc(bytes, MAX(done, 1));
    return ring_of_records(smaller ? smaller : bytes, done, ret);
}
