/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring that the test writes as the kernel would, with records that wrap at every place; and one that the kernel
 * writes, small enough to wrap many times, with every field of a sample that a clock can have.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "perf/ring.h"
#include "tests/unit/walk-record.h"

/* ---- a ring in memory ---- */

/* Gives `page` where a descriptor would be mapped. */
struct played {
    struct sys sys;
    struct perf_event_mmap_page *page;
    size_t size;
    int error, fd, protection;
    unsigned mapped, unmapped;
};

static int played_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct played *played = (struct played *)sys;

    if (played->error)
        return -played->error;
    assert_int_equal(size, played->size);
    played->fd = fd;
    played->protection = protection;
    played->mapped++;
    *ret = played->page;
    return 0;
}

static int played_munmap(struct sys *sys, void *address, size_t size)
{
    struct played *played = (struct played *)sys;

    assert_ptr_equal(address, played->page);
    assert_int_equal(size, played->size);
    played->unmapped++;
    return 0;
}

static void play(struct played *played, size_t pages)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    *played = (struct played){.sys = {.mmap = played_mmap, .munmap = played_munmap}, .size = (1 + pages) * page_size};
    played->page = aligned_alloc(page_size, played->size);
    assert_non_null(played->page);
    memset(played->page, 0, played->size);
    played->page->data_offset = page_size;
    played->page->data_size = pages * page_size;
}

static void unplay(struct played *played)
{
    assert_int_equal(played->mapped, played->unmapped);
    free(played->page);
}

/* As the kernel does it: byte by byte around the end, then the head. */
static void write_bytes(struct played *played, const void *bytes, size_t size)
{
    char *data = (char *)played->page + played->page->data_offset;
    uint64_t head = played->page->data_head;

    for (size_t i = 0; i < size; i++)
        data[(head + i) & (played->page->data_size - 1)] = ((const char *)bytes)[i];
    __atomic_store_n(&played->page->data_head, head + size, __ATOMIC_RELEASE);
}

/* A record whose bytes say which it is. */
static void write_record(struct played *played, uint32_t number, uint16_t size)
{
    struct {
        struct perf_event_header header;
        unsigned char bytes[UINT16_MAX];
    } record = {.header = {.type = number, .size = size}};

    for (size_t i = 0; i + sizeof(record.header) < size; i++)
        record.bytes[i] = (unsigned char)(number + i);
    write_bytes(played, &record, size);
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

static void test_open(void **state)
{
    static const size_t bad_pages[] = {0, 3, 6, 127, SIZE_MAX, SIZE_MAX / 2 + 1};
    struct ring *ring = NULL;
    struct played played;

    (void)state;
    play(&played, 2);
    for (size_t i = 0; i < ARRAY_SIZE(bad_pages); i++)
        assert_int_equal(ring_open(&played.sys, 7, bad_pages[i], &ring), -EINVAL);
    played.error = EPERM;
    assert_int_equal(ring_open(&played.sys, 7, 2, &ring), -EPERM);
    assert_null(ring);
    assert_int_equal(played.mapped, 0);
    played.error = 0;
    assert_int_equal(ring_open(&played.sys, 7, 2, &ring), 0);
    assert_int_equal(played.fd, 7);
    assert_int_equal(played.protection, PROT_READ | PROT_WRITE);
    assert_null(ring_free(ring));
    assert_int_equal(played.unmapped, 1);
    assert_null(ring_free(NULL));
    unplay(&played);
}

static void test_where_data_are(void **state)
{
    static const struct {
        uint64_t in_offset, in_size;
        int out;
    } cases[] = {
        {4096, 8192, 0},
        {4096, 4096, 0},
        {8192, 4096, 0},
        {8192, 8192, -EBADMSG},
        {4096, 6144, -EBADMSG},
        {4096, 4, -EBADMSG},
        {4100, 4096, -EBADMSG},
        {UINT64_MAX - 7, 4096, -EBADMSG},
        {16384, 8, -EBADMSG},
        {4096, UINT64_C(1) << 63, -EBADMSG},
        {0, 0, 0}, /* before 4.1 */
    };
    size_t unit = (size_t)sysconf(_SC_PAGESIZE) / 4096;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ring *ring = NULL;
        struct played played;
        play(&played, 2);
        played.page->data_offset = cases[i].in_offset * unit;
        played.page->data_size = cases[i].in_size * unit;
        assert_int_equal(ring_open(&played.sys, 7, 2, &ring), cases[i].out);
        assert_int_equal(ring != NULL, cases[i].out == 0);
        ring_free(ring);
        unplay(&played);
    }
}

/* The kernel that does not say where the data are. */
static void test_old_kernel(void **state)
{
    struct played played;
    struct ring *ring;

    (void)state;
    play(&played, 1);
    write_record(&played, 5, 24);
    played.page->data_offset = played.page->data_size = 0;
    assert_int_equal(ring_open(&played.sys, 7, 1, &ring), 0);
    check_record(next(ring), 5, 24);
    ring_free(ring);
    unplay(&played);
}

static void test_take_and_release(void **state)
{
    struct played played;
    struct ring *ring;

    (void)state;
    play(&played, 1);
    assert_int_equal(ring_open(&played.sys, 7, 1, &ring), 0);
    assert_null(next(ring));
    ring_take(ring);
    ring_release(ring);
    assert_int_equal(played.page->data_tail, 0);
    write_record(&played, 1, 16);
    write_record(&played, 2, 40);
    check_record(next(ring), 1, 16);
    check_record(next(ring), 1, 16); /* not taken yet */
    ring_take(ring);
    ring_take(ring); /* takes no other */
    check_record(next(ring), 2, 40);
    assert_int_equal(played.page->data_tail, 0);
    ring_release(ring); /* what was taken, not what was looked at */
    assert_int_equal(played.page->data_tail, 16);
    check_record(next(ring), 2, 40);
    ring_take(ring);
    assert_null(next(ring));
    write_record(&played, 3, 8);
    check_record(next(ring), 3, 8);
    ring_take(ring);
    assert_null(next(ring));
    ring_release(ring);
    assert_int_equal(played.page->data_tail, 64);
    /* Nothing was taken: nothing is written. */
    played.page->data_tail = 12345;
    assert_null(next(ring));
    ring_release(ring);
    assert_int_equal(played.page->data_tail, 12345);
    ring_free(ring);
    unplay(&played);
}

/* Every place of the data, with sizes that wrap everywhere: in the header's shadow, at the end, around all of it. */
static void test_wraps(void **state)
{
    static const size_t data_sizes[] = {64, 256};

    (void)state;
    for (size_t k = 0; k < ARRAY_SIZE(data_sizes); k++)
        for (uint16_t size = 8; size <= data_sizes[k]; size += 8)
            for (uint64_t place = 0; place < data_sizes[k]; place += 8) {
                struct played played;
                struct ring *ring;
                play(&played, 1);
                played.page->data_size = data_sizes[k];
                /* far on, just before a 32-bit number would overflow */
                played.page->data_head = played.page->data_tail = 0xffffff00 + place;
                assert_int_equal(ring_open(&played.sys, 7, 1, &ring), 0);
                for (uint32_t i = 0; i < 3; i++) {
                    write_record(&played, i + 100, size);
                    check_record(next(ring), i + 100, size);
                    ring_take(ring);
                    assert_null(next(ring));
                    ring_release(ring);
                    assert_int_equal(played.page->data_tail, played.page->data_head);
                }
                ring_free(ring);
                unplay(&played);
            }
}

/* Of all sizes, in one long run, filled and drained by turns; the head is far beyond what a signed number holds. */
static void test_run(void **state)
{
    uint32_t written = 0, read = 0;
    uint64_t random = 1;
    struct played played;
    struct ring *ring;

    (void)state;
    play(&played, 1);
    played.page->data_head = played.page->data_tail = UINT64_MAX - 4095;
    assert_int_equal(ring_open(&played.sys, 7, 1, &ring), 0);
    while (written < 5000) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint16_t size = (uint16_t)(8 + 8 * ((random >> 40) % 120));
        if (played.page->data_head - played.page->data_tail + size <= played.page->data_size) {
            write_record(&played, written++, size);
            continue;
        }
        for (const struct perf_event_header *header; (header = next(ring));) {
            check_record(header, read++, header->size);
            ring_take(ring);
        }
        ring_release(ring);
    }
    assert_true(read > 4900);
    ring_free(ring);
    unplay(&played);
}

/* The largest that there is, in one piece again. */
static void test_largest(void **state)
{
    struct played played;
    struct ring *ring;

    (void)state;
    play(&played, 16 * 4096 / (size_t)sysconf(_SC_PAGESIZE));
    played.page->data_head = played.page->data_tail = 32768;
    assert_int_equal(ring_open(&played.sys, 7, played.size / (size_t)sysconf(_SC_PAGESIZE) - 1, &ring), 0);
    for (uint32_t i = 0; i < 3; i++) {
        write_record(&played, i, 65528);
        check_record(next(ring), i, 65528);
        ring_take(ring);
        ring_release(ring);
    }
    ring_free(ring);
    unplay(&played);
}

static void test_corrupt(void **state)
{
    static const struct {
        uint16_t in_size;
        uint64_t in_there; /* bytes from its header to the head */
    } cases[] = {{0, 64},  {4, 64},       {7, 64}, {12, 64},      {63, 64},
                 {72, 64}, {65528, 4096}, {8, 4},  {8, 4096 + 8}, {8, 0x80000000}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct perf_event_header *header = NULL;
        struct played played;
        struct ring *ring;
        play(&played, 1);
        played.page->data_size = 4096;
        assert_int_equal(ring_open(&played.sys, 7, 1, &ring), 0);
        write_record(&played, 1, 16);
        write_bytes(&played, &(struct perf_event_header){.type = 2, .size = cases[i].in_size}, 8);
        played.page->data_head = 16 + cases[i].in_there;
        if (played.page->data_head <= played.page->data_size) {
            check_record(next(ring), 1, 16);
            ring_take(ring);
        }
        assert_int_equal(ring_next(ring, &header), -EBADMSG);
        assert_null(header);
        ring_take(ring);
        assert_null(next(ring));
        ring_release(ring);
        assert_int_equal(played.page->data_tail, played.page->data_head);
        /* What comes after is taken again, at the latest after another that was given up. */
        played.page->data_head = (played.page->data_head + 7) & ~UINT64_C(7);
        if (ring_next(ring, &header) < 0)
            assert_int_equal(cases[i].in_there % 8, 4);
        write_record(&played, 3, 48);
        check_record(next(ring), 3, 48);
        ring_free(ring);
        unplay(&played);
    }
}

/* ---- the kernel's ring ---- */

#define PERIOD_NS 200000

/* Everything a clock's sample can have. */
#define ALL_FIELDS                                                                                                     \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                 \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |                \
     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |   \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR)
#define FEW_FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
/* Since 5.7 and 5.11: DATA_PAGE_SIZE, CODE_PAGE_SIZE */
#define NEW_FIELDS (PERF_SAMPLE_CGROUP | UINT64_C(3) << 22)

struct clock {
    struct perf_event_attr attr;
    struct record_layout layout;
    struct sys sys;
    struct ring *ring;
    uint64_t id;
    int fd;
    unsigned samples, comms, mmaps, forks, exits, others;
    uint64_t last_time, last_value;
    bool user_page; /* a page size was told */
};

/* False where the kernel refuses, which is said. */
static bool open_clock(struct clock *clock, uint64_t fields, uint64_t read_format)
{
    *clock = (struct clock){
        .attr = {.type = PERF_TYPE_SOFTWARE,
                 .size = sizeof(clock->attr),
                 .config = PERF_COUNT_SW_TASK_CLOCK,
                 .sample_period = PERIOD_NS,
                 .sample_type = fields,
                 .read_format = read_format,
                 .disabled = 1,
                 .exclude_kernel = 1,
                 .exclude_hv = 1,
                 .mmap = 1,
                 .mmap2 = 1,
                 .comm = 1,
                 .task = 1,
                 .sample_id_all = 1},
    };
    if (fields & PERF_SAMPLE_REGS_USER)
        clock->attr.sample_regs_user = 0x7; /* three that every machine has */
    if (fields & PERF_SAMPLE_REGS_INTR)
        clock->attr.sample_regs_intr = 0x3;
    if (fields & PERF_SAMPLE_STACK_USER)
        clock->attr.sample_stack_user = 256;
    clock->layout = record_layout_of(&clock->attr);
    sys_init(&clock->sys);
    clock->fd = clock->sys.perf_event_open(&clock->sys, &clock->attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (clock->fd >= 0) {
        assert_int_equal(clock->sys.ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_ID, (unsigned long)&clock->id), 0);
        return true;
    }
    print_message("skipped: perf_event_open of a task clock with sample_type %#llx: %s\n", (unsigned long long)fields,
                  strerror(-clock->fd));
    return false;
}

static bool map_clock(struct clock *clock)
{
    int r = ring_open(&clock->sys, clock->fd, 1, &clock->ring);

    if (r == -EPERM) {
        print_message("skipped: the limit of locked memory is reached\n");
        close(clock->fd);
        return false;
    }
    assert_int_equal(r, 0);
    return true;
}

static void close_clock(struct clock *clock)
{
    ring_free(clock->ring);
    close(clock->fd);
}

static void check_clock_read(struct clock *clock, const struct record_sample *sample)
{
    struct record_value value = record_read_value(sample, &clock->layout, 0);

    assert_int_equal(sample->n_read, 1);
    assert_true(value.value > clock->last_value);
    clock->last_value = value.value;
    if (clock->layout.read_format & PERF_FORMAT_ID)
        assert_int_equal(value.id, clock->id);
    if (clock->layout.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        assert_true(sample->time_enabled > 0);
    if (clock->layout.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        assert_true(sample->time_running > 0);
    assert_true(value.lost < 1000000);
}

/* Where a field was a word off, it or one after it would be absurd. */
static void check_rest(struct clock *clock, const struct record_sample *sample)
{
    if (clock->layout.sample_type & PERF_SAMPLE_CALLCHAIN) {
        assert_true(sample->n_callchain >= 2 && sample->n_callchain < 200);
        assert_int_equal(sample->callchain[0], PERF_CONTEXT_USER);
        assert_int_equal(sample->callchain[1], sample->ip);
    }
    if (clock->layout.sample_type & PERF_SAMPLE_REGS_USER) {
        assert_int_equal(sample->user_registers.abi, PERF_SAMPLE_REGS_ABI_64);
        assert_non_null(sample->user_registers.values);
        assert_int_equal(sample->interrupt_registers.abi, PERF_SAMPLE_REGS_ABI_64);
    }
    if (clock->layout.sample_type & PERF_SAMPLE_STACK_USER)
        assert_true(sample->stack_size > 0 && sample->stack_size <= 256);
    if (clock->layout.sample_type & PERF_SAMPLE_CGROUP)
        assert_true(sample->cgroup > 0);
    if (sample->code_page_size) {
        assert_int_equal(sample->code_page_size & (sample->code_page_size - 1), 0);
        assert_true(sample->code_page_size >= 4096);
        clock->user_page = true;
    }
    assert_int_equal(sample->physical_address, 0);
    assert_int_equal(sample->address, 0);
    assert_int_equal(sample->transaction, 0);
}

static void check_clock_sample(struct clock *clock, const struct record *record)
{
    assert_int_equal(record->misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
    assert_true(record->sample.ip > 0 && record->sample.ip < UINT64_C(1) << 56);
    assert_int_equal(record->sample.period, PERIOD_NS);
    if (clock->layout.sample_type & PERF_SAMPLE_READ)
        check_clock_read(clock, &record->sample);
    check_rest(clock, &record->sample);
    clock->samples++;
}

static void check_clock_id(struct clock *clock, const struct record *record)
{
    assert_true(record->id.cpu < 4096);
    assert_true(record->id.time >= clock->last_time);
    clock->last_time = record->id.time;
    if (record->type != PERF_RECORD_EXIT) {
        assert_int_equal(record->id.pid, getpid());
        assert_int_equal(record->id.tid, getpid());
    }
    if (clock->layout.sample_type & PERF_SAMPLE_IDENTIFIER) {
        assert_int_equal(record->id.id, clock->id);
        assert_true(record->id.stream_id > 0);
    }
}

static void check_clock_record(struct clock *clock, const struct record *record)
{
    check_clock_id(clock, record);
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        check_clock_sample(clock, record);
        break;
    case PERF_RECORD_COMM:
        clock->comms += record->comm.pid == (uint32_t)getpid() && str_equal(record->comm.comm, "ring-of-gold");
        break;
    case PERF_RECORD_MMAP2:
        clock->mmaps += record->mmap.length == (uint64_t)sysconf(_SC_PAGESIZE) && record->mmap.inode != 0 &&
                        record->mmap.protection == (PROT_READ | PROT_EXEC) && strstr(record->mmap.file, "test-ring");
        break;
    case PERF_RECORD_FORK:
        clock->forks += record->task.parent_pid == (uint32_t)getpid();
        break;
    default:
        clock->others++;
    }
}

static void drain(struct clock *clock)
{
    const struct perf_event_header *header;
    struct record record;

    while ((header = next(clock->ring))) {
        assert_int_equal(record_decode(header, header->size, &clock->layout, &record), 0);
        walk_record(&record, &clock->layout);
        check_clock_record(clock, &record);
        ring_take(clock->ring);
    }
    ring_release(clock->ring);
}

static uint64_t cpu_time(struct clock *clock)
{
    return clock->sys.now(&clock->sys, CLOCK_PROCESS_CPUTIME_ID);
}

/* What makes records of other types. */
static void do_things(void)
{
    _cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

    assert_ptr_not_equal(mapped, MAP_FAILED);
    munmap(mapped, 4096);
    assert_int_equal(prctl(PR_SET_NAME, "ring-of-gold"), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Stays in user space, which is all that is sampled. */
static void spin(void)
{
    for (volatile unsigned i = 0; i < 100000; i++)
        ;
}

/* Works for 60 ms, and drains the ring of one page often enough. */
static uint64_t work(struct clock *clock)
{
    assert_int_equal(clock->sys.ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_ENABLE, 0), 0);
    uint64_t begin = cpu_time(clock), now;

    do_things();
    while ((now = cpu_time(clock)) < begin + 60 * NSEC_PER_MSEC) {
        spin();
        drain(clock);
    }
    assert_int_equal(clock->sys.ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
    drain(clock);
    return now - begin;
}

static void try_clock(uint64_t fields, uint64_t read_format)
{
    struct clock clock;

    if (!open_clock(&clock, fields, read_format) || !map_clock(&clock))
        return;
    uint64_t most = work(&clock) / PERIOD_NS + 2;
    /* Samples of kernel time are not taken; the machine may be slow, and may throttle. */
    print_message("%u samples of at most %u, %u others\n", clock.samples, (unsigned)most, clock.others);
    assert_true(clock.samples > most / 10);
    assert_true(clock.samples <= most + most / 10);
    assert_int_equal(clock.comms, 1);
    assert_int_equal(clock.mmaps, 1);
    assert_int_equal(clock.forks, 1);
    if (fields & UINT64_C(1) << 23)
        assert_true(clock.user_page);
    close_clock(&clock);
}

static void test_kernel(void **state)
{
    (void)state;
    try_clock(FEW_FIELDS, 0);
    try_clock(ALL_FIELDS, 0);
    try_clock(ALL_FIELDS, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    try_clock(ALL_FIELDS,
              PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
    try_clock(ALL_FIELDS, PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
}

static void test_new_kernel(void **state)
{
    (void)state;
    try_clock(ALL_FIELDS | NEW_FIELDS, PERF_FORMAT_ID | UINT64_C(1) << 4);
    try_clock(ALL_FIELDS | NEW_FIELDS, PERF_FORMAT_GROUP | PERF_FORMAT_ID | UINT64_C(1) << 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),       cmocka_unit_test(test_where_data_are),   cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_wraps),      cmocka_unit_test(test_take_and_release), cmocka_unit_test(test_run),
        cmocka_unit_test(test_largest),    cmocka_unit_test(test_corrupt),          cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_new_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
