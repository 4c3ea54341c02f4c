/* SPDX-License-Identifier: Apache-2.0 */
/* A ring buffer that the test fills as the kernel would, with records that wrap at every offset. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/ring.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct ring *, ring_free);

/* Simulates mmap() of a ring buffer by returning `page`. */
struct simulated {
    struct sys sys;
    struct perf_event_mmap_page *page;
    size_t size;
    int error, fd, protection;
    unsigned mapped, unmapped;
};

static int simulated_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct simulated *simulated = (struct simulated *)sys;

    if (simulated->error)
        return -simulated->error;
    assert_int_equal(size, simulated->size);
    simulated->fd = fd;
    simulated->protection = protection;
    simulated->mapped++;
    *ret = simulated->page;
    return 0;
}

static int simulated_munmap(struct sys *sys, void *address, size_t size)
{
    struct simulated *simulated = (struct simulated *)sys;

    assert_ptr_equal(address, simulated->page);
    assert_int_equal(size, simulated->size);
    simulated->unmapped++;
    return 0;
}

static void sim(struct simulated *simulated, size_t pages)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    *simulated = (struct simulated){.sys.calls = {.mmap = simulated_mmap, .munmap = simulated_munmap},
                                    .size = (1 + pages) * page_size};
    simulated->page = aligned_alloc(page_size, simulated->size);
    assert_non_null(simulated->page);
    memset(simulated->page, 0, simulated->size);
    simulated->page->data_offset = page_size;
    simulated->page->data_size = pages * page_size;
}

static void simulated_done(struct simulated *simulated)
{
    assert_int_equal(simulated->mapped, simulated->unmapped);
    free(simulated->page);
}

/* Writes like the kernel: first the bytes, wrapping at the end if necessary, then the head. */
static void write_bytes(struct simulated *simulated, const void *bytes, size_t size)
{
    char *data = (char *)simulated->page + simulated->page->data_offset;
    uint64_t head = simulated->page->data_head;

    for (size_t i = 0; i < size; i++)
        data[(head + i) & (simulated->page->data_size - 1)] = ((const char *)bytes)[i];
    __atomic_store_n(&simulated->page->data_head, head + size, __ATOMIC_RELEASE);
}

/* Writes a record whose bytes are derived from its number. */
static void write_record(struct simulated *simulated, uint32_t number, uint16_t size)
{
    struct {
        struct perf_event_header header;
        unsigned char bytes[UINT16_MAX];
    } record = {.header = {.type = number, .size = size}};

    for (size_t i = 0; i + sizeof(record.header) < size; i++)
        record.bytes[i] = (unsigned char)(number + i);
    write_bytes(simulated, &record, size);
}

static void check_record(const struct perf_event_header *header, uint32_t number, uint16_t size)
{
    assert_non_null(header);
    assert_int_equal((uintptr_t)header % 8, 0);
    assert_int_equal(header->type, number);
    assert_int_equal(header->size, size);
    for (size_t i = 0; i + sizeof(*header) < size; i++)
        assert_int_equal(((const unsigned char *)(header + 1))[i], (unsigned char)(number + i));
}

static const struct perf_event_header *next(struct ring *ring)
{
    const struct perf_event_header *header = (const void *)-1;

    assert_int_equal(ring_next(ring, &header), 0);
    return header;
}

TEST(test_open)
{
    static const size_t bad_pages[] = {0, 3, 6, 127, SIZE_MAX, SIZE_MAX / 2 + 1};
    struct ring *ring = NULL;
    _cleanup_(simulated_done) struct simulated simulated;

    sim(&simulated, 2);
    for (size_t i = 0; i < ARRAY_SIZE(bad_pages); i++)
        assert_int_equal(ring_open(&simulated.sys, 7, bad_pages[i], &ring), -EINVAL);
    simulated.error = EPERM;
    assert_int_equal(ring_open(&simulated.sys, 7, 2, &ring), -EPERM);
    assert_null(ring);
    assert_int_equal(simulated.mapped, 0);
    simulated.error = 0;
    assert_int_equal(ring_open(&simulated.sys, 7, 2, &ring), 0);
    assert_int_equal(simulated.fd, 7);
    assert_int_equal(simulated.protection, PROT_READ | PROT_WRITE);
    assert_null(ring_free(ring));
    assert_int_equal(simulated.unmapped, 1);
    assert_null(ring_free(NULL));
}

TEST(test_where_data_are)
{
    static const struct {
        uint64_t in_offset, in_size;
        int out;
    } cases[] = {
        {4096, 8192, 0},
        {8192, 4096, 0},
        {8192, 8192, -EBADMSG},
        {4096, 4, -EBADMSG},
        {4100, 4096, -EBADMSG},
        {16384, 8, -EBADMSG},
        {4096, UINT64_C(1) << 63, -EBADMSG},
        {0, 0, 0}, /* a page as before Linux 4.1, without data_offset and data_size */
    };
    size_t unit = (size_t)sysconf(_SC_PAGESIZE) / 4096;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(simulated_done) struct simulated simulated;
        _cleanup_(ring_freep) struct ring *ring = NULL;
        sim(&simulated, 2);
        simulated.page->data_offset = cases[i].in_offset * unit;
        simulated.page->data_size = cases[i].in_size * unit;
        assert_int_equal(ring_open(&simulated.sys, 7, 2, &ring), cases[i].out);
        assert_int_equal(ring != NULL, cases[i].out == 0);
    }
}

TEST(test_take_and_release)
{
    _cleanup_(simulated_done) struct simulated simulated;
    _cleanup_(ring_freep) struct ring *ring = NULL;

    sim(&simulated, 1);
    assert_int_equal(ring_open(&simulated.sys, 7, 1, &ring), 0);
    assert_null(next(ring));
    ring_take(ring);
    ring_release(ring);
    assert_int_equal(simulated.page->data_tail, 0);
    write_record(&simulated, 1, 16);
    write_record(&simulated, 2, 40);
    check_record(next(ring), 1, 16);
    check_record(next(ring), 1, 16); /* the record is returned again, as it was not consumed */
    ring_take(ring);
    ring_take(ring); /* the second call consumes nothing */
    check_record(next(ring), 2, 40);
    assert_int_equal(simulated.page->data_tail, 0);
    ring_release(ring); /* releases only consumed records */
    assert_int_equal(simulated.page->data_tail, 16);
    check_record(next(ring), 2, 40);
    ring_take(ring);
    assert_null(next(ring));
    ring_release(ring);
    assert_int_equal(simulated.page->data_tail, 56);
    /* If nothing was consumed, the tail is not written. */
    simulated.page->data_tail = 12345;
    ring_release(ring);
    assert_int_equal(simulated.page->data_tail, 12345);
}

/*
 * Records of all sizes are written and read in turn. The records wrap, and the head exceeds the range of a signed
 * number.
 */
TEST(test_run)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE), pages = 32 * 4096 / page_size;
    uint32_t written = 0, read = 0;
    uint64_t random = 1;
    _cleanup_(simulated_done) struct simulated simulated;
    _cleanup_(ring_freep) struct ring *ring = NULL;

    sim(&simulated, pages);
    simulated.page->data_head = simulated.page->data_tail = UINT64_MAX - 4095;
    assert_int_equal(ring_open(&simulated.sys, 7, pages, &ring), 0);
    while (written < 500) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint16_t size = (uint16_t)(written % 20 ? 8 + 8 * ((random >> 40) % 500) : UINT16_MAX - 7);
        if (simulated.page->data_head - simulated.page->data_tail + size <= simulated.page->data_size) {
            write_record(&simulated, written++, size);
            continue;
        }
        for (const struct perf_event_header *header; (header = next(ring));) {
            check_record(header, read++, header->size);
            ring_take(ring);
        }
        ring_release(ring);
    }
    assert_true(read > 400);
}

TEST(test_corrupt)
{
    static const struct {
        uint16_t in_size;
        uint64_t in_there; /* bytes from the record's header to the head */
    } cases[] = {{0, 64},  {4, 64},       {7, 64}, {12, 64},      {63, 64},
                 {72, 64}, {65528, 4096}, {8, 4},  {8, 4096 + 8}, {8, 0x80000000}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct perf_event_header *header = NULL;
        _cleanup_(simulated_done) struct simulated simulated;
        _cleanup_(ring_freep) struct ring *ring = NULL;
        sim(&simulated, 1);
        simulated.page->data_size = 4096;
        assert_int_equal(ring_open(&simulated.sys, 7, 1, &ring), 0);
        write_record(&simulated, 1, 16);
        write_bytes(&simulated, &(struct perf_event_header){.type = 2, .size = cases[i].in_size}, 8);
        simulated.page->data_head = 16 + cases[i].in_there;
        if (simulated.page->data_head <= simulated.page->data_size) {
            check_record(next(ring), 1, 16);
            ring_take(ring);
        }
        assert_int_equal(ring_next(ring, &header), -EBADMSG);
        assert_null(header);
        ring_take(ring);
        assert_null(next(ring));
        ring_release(ring);
        assert_int_equal(simulated.page->data_tail, simulated.page->data_head);
        /* Later records can then be read, but only after one more drop if the head is misaligned by 4 bytes. */
        simulated.page->data_head = (simulated.page->data_head + 7) & ~UINT64_C(7);
        if (ring_next(ring, &header) < 0)
            assert_int_equal(cases[i].in_there % 8, 4);
        write_record(&simulated, 3, 48);
        check_record(next(ring), 3, 48);
    }
}

/* Writes like the kernel with attr.write_backward. */
static void write_backward(struct simulated *simulated, uint32_t number, uint16_t size)
{
    uint64_t head = simulated->page->data_head - size;

    simulated->page->data_head = head;
    write_record(simulated, number, size);
    __atomic_store_n(&simulated->page->data_head, head, __ATOMIC_RELEASE);
}

/* The copy contains as many of the newest records as fit, oldest first. */
static void check_copy(const struct ring *ring, const uint16_t *sizes, uint32_t written, size_t room)
{
    _cleanup_(ring_freep) struct ring *copy = NULL;
    uint32_t first = written;
    bool full;

    while (first > 0 && sizes[first - 1] <= room)
        room -= sizes[--first];
    assert_int_equal(ring_copy(ring, &copy, &full), 0);
    assert_int_equal(full, first > 0 || room == 0);
    for (uint32_t number = first; number < written; number++) {
        check_record(next(copy), number, sizes[number]);
        ring_take(copy);
        ring_release(copy);
    }
    assert_null(next(copy));
}

TEST(test_overwritten)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    uint16_t sizes[600] = {0};
    uint64_t random = 1;
    _cleanup_(simulated_done) struct simulated simulated;
    _cleanup_(ring_freep) struct ring *ring = NULL;

    sim(&simulated, 1);
    assert_int_equal(ring_open_overwritten(&simulated.sys, 7, 1, &ring), 0);
    assert_int_equal(simulated.protection, PROT_READ);
    check_copy(ring, sizes, 0, page_size);
    for (uint32_t written = 0; written < ARRAY_SIZE(sizes);) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        sizes[written] = (uint16_t)(written % 50 == 49 ? page_size : 8 + 8 * ((random >> 40) % 60));
        write_backward(&simulated, written, sizes[written]);
        check_copy(ring, sizes, ++written, page_size);
    }
}

/* The copy ends before a record that is larger than the ring, has an impossible size or is misaligned. */
TEST(test_overwritten_corrupt)
{
    static const uint16_t bad_sizes[] = {0, 1, 7, 12, UINT16_MAX, UINT16_MAX - 7};

    for (size_t i = 0; i < ARRAY_SIZE(bad_sizes); i++) {
        _cleanup_(simulated_done) struct simulated simulated;
        _cleanup_(ring_freep) struct ring *ring = NULL, *copy = NULL;
        bool full;
        sim(&simulated, 1);
        assert_int_equal(ring_open_overwritten(&simulated.sys, 7, 1, &ring), 0);
        write_backward(&simulated, 1, 16);
        write_bytes(&simulated, &(struct perf_event_header){.type = 1, .size = bad_sizes[i]}, 8);
        simulated.page->data_head = (uint64_t)-16;
        write_backward(&simulated, 2, 24);
        assert_int_equal(ring_copy(ring, &copy, &full), 0);
        check_record(next(copy), 2, 24);
        ring_take(copy);
        assert_null(next(copy));
        copy = ring_free(copy);
        simulated.page->data_head = 4;
        assert_int_equal(ring_copy(ring, &copy, &full), 0);
        assert_null(next(copy));
    }
}

TEST_MAIN(NULL, NULL)
