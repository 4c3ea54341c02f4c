/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings that the kernel writes, small enough to wrap many times, with every field that a clock's sample can have. If a
 * field were decoded a word off, its value or the next would be absurd.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/ring.h"
#include "tests/unit/test.h"
#include "tests/unit/walk-record.h"

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
    bool user_page; /* a sample had a page size */
};

/* False, with a message, where the kernel refuses. */
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
        clock->attr.sample_regs_user = 0x7; /* three registers that every machine has */
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
    leave_out("perf_event_open of a task clock with sample_type %#llx: %s", (unsigned long long)fields,
              strerror(-clock->fd));
    return false;
}

static bool map_clock(struct clock *clock)
{
    int r = ring_open(&clock->sys, clock->fd, 1, &clock->ring);

    if (r == -EPERM) {
        leave_out("the limit of locked memory is reached");
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
                        record->mmap.protection == (PROT_READ | PROT_EXEC) &&
                        strstr(record->mmap.file, "test-ring-kernel");
        break;
    case PERF_RECORD_FORK:
        clock->forks += record->task.parent_pid == (uint32_t)getpid();
        break;
    default:
        clock->others++;
    }
}

static const struct perf_event_header *next(struct ring *ring)
{
    const struct perf_event_header *header = (const void *)-1;

    assert_int_equal(ring_next(ring, &header), 0);
    return header;
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

/* Causes records of other types. */
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

/* Stays in user space, since only that is sampled. */
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
    uint64_t begin = clock.sys.now(&clock.sys, CLOCK_MONOTONIC), least = work(&clock) / PERIOD_NS / 10;
    /* The kernel samples by a timer that runs on while the host takes the CPU away; CPU time stands still then. */
    uint64_t most = (clock.sys.now(&clock.sys, CLOCK_MONOTONIC) - begin) / PERIOD_NS + 2;
    /* Samples of kernel time are not taken; the machine may be slow, and may throttle. */
    print_message("%u samples of %u to %u, %u others\n", clock.samples, (unsigned)least, (unsigned)most, clock.others);
    assert_in_range(clock.samples, least, most);
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
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_new_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
