/* SPDX-License-Identifier: Apache-2.0 */
/* Features of the running kernel: groups, ring buffers, breakpoints and probes. */
#include <fcntl.h>
#include <link.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "perf/group.h"
#include "perf/reason.h"
#include "perf/ring.h"
#include "tests/unit/test.h"
#include "tests/unit/walk-record.h"

/* --- a group with events of two PMUs --- */

#define PAGES 64
#define PAGE_SIZE 4096

static const struct attr attrs[] = {
    {.kernel = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1}, .scale = 1.0},
    {.kernel = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1}, .scale = 1.0},
};

/* Causes PAGES page faults. */
static void touch_pages(void)
{
    char *pages = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    madvise(pages, PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)pages)[i * PAGE_SIZE] = 1;
    munmap(pages, PAGES * PAGE_SIZE);
}

static struct group_reading read_after_faults(const struct group *group)
{
    struct group_reading reading;

    touch_pages();
    assert_int_equal(group_read(group, &reading), 0);
    return reading;
}

/* After a pause, siblings count again even if their PMU is not the leader's. */
TEST(test_pause)
{
    struct group_target self = {.pid = 0, .cpu = -1};
    struct group *group = NULL;
    struct sys sys;
    int errors[2];

    sys_init(&sys);
    assert_int_equal(group_open_many(&sys, attrs, 2, true, &self, errors, &group), 0);
    if (!group)
        skip_because("the right to count");
    assert_int_equal(group_enable(group), 0);
    struct group_reading first = read_after_faults(group);
    assert_true(first.values[1] >= PAGES);
    assert_int_equal(group_disable(group), 0);
    struct group_reading paused = read_after_faults(group), still = read_after_faults(group);
    assert_int_equal(still.enabled, paused.enabled);
    assert_int_equal(still.values[0], paused.values[0]);
    assert_int_equal(still.values[1], paused.values[1]);
    assert_int_equal(group_enable(group), 0);
    struct group_reading resumed = read_after_faults(group);
    assert_true(resumed.values[0] > still.values[0]);
    assert_true(resumed.values[1] >= still.values[1] + PAGES);
    assert_true(resumed.enabled > still.enabled);
    group_free(group);
}

/* --- ring buffers --- */

#define PERIOD_NS 200000
#define SAMPLES 200

/*
 * Every field that a sample of a software clock can have. The rings are so small that they wrap many times. A field
 * decoded at a wrong offset would have an absurd value.
 */
#define ALL_FIELDS                                                                                                     \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                 \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |                \
     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |   \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR)
#define FEW_FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
/* PERF_SAMPLE_CGROUP is new in Linux 5.7, DATA_PAGE_SIZE and CODE_PAGE_SIZE in 5.11. */
#define NEW_FIELDS (PERF_SAMPLE_CGROUP | UINT64_C(3) << 22)
#define FORMAT_LOST (UINT64_C(1) << 4)

struct clock {
    struct perf_event_attr attr;
    struct record_layout layout;
    struct sys sys;
    struct ring *ring;
    uint64_t id;
    int fd;
    unsigned samples, comms, mmaps, forks;
    uint64_t last_time, last_value;
    bool user_page; /* at least one sample must have had a page size */
};

/* Returns false, and prints a message, if the kernel refuses the event or the ring buffer. */
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
        clock->attr.sample_regs_user = 0x7; /* three registers that every architecture has */
    if (fields & PERF_SAMPLE_REGS_INTR)
        clock->attr.sample_regs_intr = 0x3;
    if (fields & PERF_SAMPLE_STACK_USER)
        clock->attr.sample_stack_user = 256;
    clock->layout = record_layout_of(&clock->attr);
    sys_init(&clock->sys);
    clock->fd = sys_perf_event_open(&clock->sys, &clock->attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (clock->fd < 0) {
        leave_out("a task clock with sample_type %#llx", (unsigned long long)fields);
        return false;
    }
    assert_int_equal(sys_ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_ID, (unsigned long)&clock->id), 0);
    int r = ring_open(&clock->sys, clock->fd, 1, &clock->ring);
    if (r == -EPERM) {
        leave_out("enough locked memory (RLIMIT_MEMLOCK)");
        close(clock->fd);
        return false;
    }
    assert_int_equal(r, 0);
    return true;
}

static void check_sample(struct clock *clock, const struct record *record)
{
    const struct record_sample *sample = &record->sample;
    const struct record_layout *layout = &clock->layout;

    assert_int_equal(record->misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
    assert_true(sample->ip > 0 && sample->ip < UINT64_C(1) << 56);
    assert_int_equal(sample->period, PERIOD_NS);
    if (layout->sample_type & PERF_SAMPLE_READ) {
        struct record_value value = record_read_value(sample, layout, 0);
        assert_int_equal(sample->n_read, 1);
        assert_true(value.value > clock->last_value);
        clock->last_value = value.value;
        assert_int_equal(value.id, clock->id);
        assert_int_equal(sample->time_enabled > 0, layout->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0);
        assert_int_equal(sample->time_running > 0, layout->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0);
        assert_true(value.lost < 1000000);
        assert_true(sample->n_callchain >= 2 && sample->n_callchain < 200);
        assert_int_equal(sample->callchain[0], PERF_CONTEXT_USER);
        assert_int_equal(sample->callchain[1], sample->ip);
        assert_int_equal(sample->user_registers.abi, PERF_SAMPLE_REGS_ABI_64);
        assert_int_equal(sample->interrupt_registers.abi, PERF_SAMPLE_REGS_ABI_64);
        assert_true(sample->stack_size > 0 && sample->stack_size <= 256);
    }
    if (layout->sample_type & PERF_SAMPLE_CGROUP)
        assert_true(sample->cgroup > 0);
    if (sample->code_page_size) {
        assert_int_equal(sample->code_page_size & (sample->code_page_size - 1), 0);
        assert_true(sample->code_page_size >= 4096);
        clock->user_page = true;
    }
    assert_true(sample->physical_address == 0 && sample->address == 0 && sample->transaction == 0);
    clock->samples++;
}

static void check_id(struct clock *clock, const struct record *record)
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

static void check_record(struct clock *clock, const struct record *record)
{
    check_id(clock, record);
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        check_sample(clock, record);
        break;
    case PERF_RECORD_COMM:
        clock->comms += record->comm.pid == (uint32_t)getpid() && str_equal(record->comm.comm, "ring-of-gold");
        break;
    case PERF_RECORD_MMAP2:
        clock->mmaps += record->mmap.length == (uint64_t)sysconf(_SC_PAGESIZE) && record->mmap.inode != 0 &&
                        record->mmap.protection == (PROT_READ | PROT_EXEC) &&
                        strstr(record->mmap.file, "test-perf-kernel");
        break;
    case PERF_RECORD_FORK:
        clock->forks += record->task.parent_pid == (uint32_t)getpid();
        break;
    default:
        break;
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
        check_record(clock, &record);
        ring_take(clock->ring);
    }
    ring_release(clock->ring);
}

/* Causes records other than samples. The ring is drained before each, as a few samples fill it. */
static void do_things(struct clock *clock)
{
    _cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    drain(clock);
    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    munmap(mapped, 4096);
    drain(clock);
    assert_int_equal(prctl(PR_SET_NAME, "ring-of-gold"), 0);
    drain(clock);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Stays in user space, since the kernel is not sampled. */
static void spin(void)
{
    for (volatile unsigned i = 0; i < 100000; i++)
        ;
}

/* Works until there are SAMPLES samples, more than a ring of one page can hold. */
static void work(struct clock *clock)
{
    uint64_t limit = sys_now(&clock->sys, CLOCK_MONOTONIC) + 60 * NSEC_PER_SEC;

    assert_int_equal(sys_ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_ENABLE, 0), 0);
    do_things(clock);
    while (clock->samples < SAMPLES) {
        if (sys_now(&clock->sys, CLOCK_MONOTONIC) > limit)
            fail_msg("expected %d samples within 60 s, got %u", SAMPLES, clock->samples);
        spin();
        drain(clock);
    }
    assert_int_equal(sys_ioctl(&clock->sys, clock->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
    drain(clock);
}

static void try_clock(uint64_t fields, uint64_t read_format)
{
    struct clock clock;

    if (!open_clock(&clock, fields, read_format))
        return;
    work(&clock);
    assert_int_equal(clock.comms, 1);
    assert_int_equal(clock.mmaps, 1);
    assert_int_equal(clock.forks, 1);
    if (fields & UINT64_C(1) << 23)
        assert_true(clock.user_page);
    ring_free(clock.ring);
    close(clock.fd);
}

TEST(test_rings)
{
    static const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const struct {
        uint64_t in_fields, in_format;
    } clocks[] = {
        {FEW_FIELDS, 0},
        {ALL_FIELDS, PERF_FORMAT_GROUP | PERF_FORMAT_ID | times},
        {ALL_FIELDS, PERF_FORMAT_ID | times},
        {ALL_FIELDS | NEW_FIELDS, PERF_FORMAT_ID | FORMAT_LOST},
        {ALL_FIELDS | NEW_FIELDS, PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_LOST},
    };

    for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
        try_clock(clocks[i].in_fields, clocks[i].in_format);
}

/* --- breakpoints, uprobes and kprobes: each counts exactly what this process does --- */

#define TIMES 1000

static volatile uint64_t watched __attribute__((aligned(8)));

/* A function that is large enough for a probe and is never inlined. */
__attribute__((noinline)) static int probed(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static struct fixture {
    struct sys sys;
    struct machine *machine;
} fixture;

static int setup(void **state)
{
    sys_init(&fixture.sys);
    return machine_load(&fixture.sys, &fixture.machine, NULL);
}

static int teardown(void **state)
{
    machine_free(fixture.machine);
    return 0;
}

/* Opens `text` on this process. Skips the test if the kernel has no such PMU or does not permit it. */
static struct group *open_event(const char *text, struct event *event)
{
    const struct group_target target = {.pid = 0, .cpu = -1};
    struct group *group = NULL;
    struct error error;
    struct attr attr;
    char why[512];

    if (event_parse(text, event, &error) < 0)
        fail_msg("%s: %s", text, error.message);
    const struct pmu *pmu = attr_pmu(fixture.machine, event, 0);
    if (!pmu) {
        assert_int_equal(attr_check(&fixture.sys, fixture.machine, event, &error), -ENODEV);
        event_done(event);
        skip_because("a PMU for %s", text);
    }
    assert_int_equal(attr_build(&fixture.sys, fixture.machine, event, pmu, &attr, NULL), 0);
    int r = group_open(&fixture.sys, &attr, &target, &group);
    if (r < 0) {
        reason_format(fixture.machine, pmu, r, why, sizeof(why));
        if (r != -EACCES && r != -EPERM && r != -ENOSPC && r != -ENOSYS)
            fail_msg("%s: %s", text, why);
        event_done(event);
        skip_because("a PMU that counts %s", text);
    }
    assert_int_equal(group_enable(group), 0);
    return group;
}

static uint64_t close_event(struct group *group, struct event *event)
{
    struct group_reading reading;

    assert_int_equal(group_disable(group), 0);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.n, 1);
    group_free(group);
    event_done(event);
    return reading.values[0];
}

/* A virtual machine may accept breakpoints without ever reporting a hit. */
static bool breakpoints_are_hit(void)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_W,
        .bp_addr = (uint64_t)(uintptr_t)&watched,
        .bp_len = HW_BREAKPOINT_LEN_8,
        .exclude_kernel = 1,
    };
    _cleanup_(closep) int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    uint64_t count = 0;

    if (fd < 0)
        return true; /* the test then calls open_event(), which reports why the event cannot be opened */
    watched = 0;
    assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
    return count > 0;
}

TEST_WITH(test_breakpoint, setup, teardown)
{
    static const struct {
        const char *in_format;
        unsigned out; /* expected count per iteration; an iteration reads once and writes once */
    } cases[] = {{"mem:0x%lx/8:w:u", 1}, {"mem:0x%lx/8:rw:u", 2}, {"mem:0x%lx/8:w", 1}};

    if (!breakpoints_are_hit())
        skip_because("hardware breakpoints that are hit");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event event = {0};
        char text[64];
        snprintf(text, sizeof(text), cases[i].in_format, (unsigned long)(uintptr_t)&watched);
        struct group *group = open_event(text, &event);
        for (int k = 0; k < TIMES; k++) {
            uint64_t value = watched;
            watched = value + 1;
        }
        assert_int_equal(close_event(group, &event), cases[i].out * TIMES);
    }
}

struct search {
    uintptr_t address, offset;
};

/* Finds the file offset of an address in this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *userdata)
{
    struct search *search = userdata;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && search->address >= start && search->address < start + header->p_filesz)
            search->offset = search->address - start + header->p_offset;
    }
    return search->offset != 0;
}

TEST_WITH(test_uprobe, setup, teardown)
{
    struct search search = {.address = (uintptr_t)probed};
    struct event event = {0};
    char text[4096 + 64], path[4096];
    int sum = 0;

    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    assert_int_equal(dl_iterate_phdr(find_offset, &search), 1);
    snprintf(text, sizeof(text), "uprobe/path=%s,offset=0x%lx,name=probed/", path, (unsigned long)search.offset);
    struct group *group = open_event(text, &event);
    for (int i = 0; i < TIMES; i++)
        sum = probed(sum);
    assert_int_equal(sum, TIMES);
    assert_int_equal(close_event(group, &event), TIMES);
}

TEST_WITH(test_kprobe, setup, teardown)
{
    struct event event = {0};

    struct group *group = open_event("kprobe/func=__x64_sys_getppid/", &event);
    for (int i = 0; i < TIMES; i++)
        getppid();
    assert_int_equal(close_event(group, &event), TIMES);
}

TEST_MAIN(NULL, NULL)
