/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/user-read.h"

#include <stdio.h>
#include <sys/mman.h>

#ifdef __aarch64__
#include <signal.h>
#include <ucontext.h>
#endif

#ifdef __x86_64__
#include <signal.h>
#include <ucontext.h>
#endif

#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "perf/group.h"

/* --- Mapped page --- */

#define TRIES_MAX 64
/*
 * The kernel writes the page only on the CPU on which the task runs. So a reader may be interrupted by a change of the
 * page, but never sees one in progress: program order and a compiler barrier suffice.
 */
#define barrier() __asm__ volatile("" ::: "memory")

/* The result of one pass over the page, which is valid if the page did not change during the pass. */
struct pass {
    struct userpage_reading reading;
    uint64_t cycles, offset, base_cycles, mask;
    uint32_t mult;
    uint16_t shift;
};

/* The hardware counter may be narrower than the count. The kernel's offset is relative to its sign-extended value. */
static uint64_t sign_extend(uint64_t value, unsigned width)
{
    return (uint64_t)((int64_t)(value << (64 - width)) >> (64 - width));
}

/* Whether the event of this page can be read in user space. */
static bool userpage_offers(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader)
{
    return reader->counter && page->cap_user_rdpmc && page->cap_user_time;
}

static int read_pass(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                     struct pass *pass)
{
    uint32_t index = page->index;
    unsigned width = page->pmc_width;
    uint64_t hardware;

    if (!userpage_offers(page, reader))
        return -EOPNOTSUPP;
    pass->reading = (struct userpage_reading){
        .active = index != 0,
        .enabled = page->time_enabled,
        .running = page->time_running,
        .value = (uint64_t)page->offset,
    };
    if (index == 0)
        return 0;
    if (width == 0 || width > 64 || page->time_shift > 63)
        return -EOPNOTSUPP;
    pass->cycles = reader->clock(reader);
    pass->offset = page->time_offset;
    pass->mult = page->time_mult;
    pass->shift = page->time_shift;
    /* A clock of fewer than 64 bits wraps; the kernel supplies the bits above the mask. */
    pass->base_cycles = page->cap_user_time_short ? page->time_cycles : 0;
    pass->mask = page->cap_user_time_short ? page->time_mask : UINT64_MAX;
    int r = reader->counter(reader, index - 1, &hardware);
    if (r == 0)
        pass->reading.value += sign_extend(hardware, width);
    return r;
}

/* Returns the nanoseconds since the kernel wrote the times of the page. */
static uint64_t elapsed(const struct pass *pass)
{
    uint64_t cycles = pass->base_cycles + ((pass->cycles - pass->base_cycles) & pass->mask);
    uint64_t whole = cycles >> pass->shift, rest = cycles & ((UINT64_C(1) << pass->shift) - 1);

    return pass->offset + whole * pass->mult + ((rest * pass->mult) >> pass->shift);
}

int userpage_read(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader,
                  struct userpage_reading *ret)
{
    struct pass pass = {0};

    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        uint32_t lock = page->lock;
        barrier();
        int r = read_pass(page, reader, &pass);
        barrier();
        if (page->lock != lock)
            continue;
        if (r < 0)
            return r;
        if (pass.reading.active) {
            uint64_t more = elapsed(&pass);
            pass.reading.enabled += more;
            pass.reading.running += more;
        }
        *ret = pass.reading;
        return 0;
    }
    return -EAGAIN;
}

#ifdef __aarch64__

/* --- arm64 --- */

#define MRS_SIZE 4

/*
 * The bit `rdpmc` of the PMU's config1. `long` (bit 0) is not set: before PMUv3p5 it binds cycles to the cycle counter,
 * which is taken by the per-CPU cycles event, and the event would never run. 32 bits suffice, since the kernel adds up
 * overflows.
 */
#define ASK_USER 2

/* The linker defines these two symbols as the beginning and the end of the section below. */
extern const char __start_userpage_counter[], __stop_userpage_counter[];

struct outcome {
    uint64_t value, refused;
};

/* The number of a register is part of the instruction, so each register needs an instruction of its own. */
#define READ(number, name)                                                                                             \
    case number:                                                                                                       \
        __asm__ volatile("mrs %0, " name : "=r"(value), "+r"(refused));                                                \
        break;
#define READ_EVENT(number) READ(number, "pmevcntr" #number "_el0")
#define EVENT_COUNTERS(f)                                                                                              \
    f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19)      \
        f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30)

/*
 * This function is alone in its section, so that the handler recognizes the instructions by their address. The handler
 * sets x9 to report a refusal.
 */
__attribute__((section("userpage_counter"), noinline)) static struct outcome read_register(unsigned number)
{
    register uint64_t refused __asm__("x9") = 0;
    uint64_t value = 0;

    switch (number) {
        EVENT_COUNTERS(READ_EVENT)
        READ(31, "pmccntr_el0")
    default:
        refused = 1;
    }
    return (struct outcome){value, refused};
}

/*
 * When kernel.perf_user_access becomes 0, the page still offers the counter until the next task switch, but mrs is
 * undefined. The handler steps over the instruction and records the refusal. Any other fault kills the process, as it
 * would without the handler.
 */
static void on_undefined(int number, siginfo_t *info, void *context)
{
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;

    (void)info;
    if (registers->pc >= (uintptr_t)__start_userpage_counter && registers->pc < (uintptr_t)__stop_userpage_counter) {
        registers->pc += MRS_SIZE;
        registers->regs[9] = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int arm64_prepare(const struct userpage_reader *reader)
{
    struct sigaction action = {.sa_sigaction = on_undefined, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    (void)reader;
    return sigaction(SIGILL, &action, NULL) < 0 ? -errno : 0;
}

/* mrs reads the counter (Documentation/arch/arm64/perf.rst of the kernel). */
static int arm64_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    (void)reader;
    struct outcome outcome = read_register(number);
    if (outcome.refused)
        return -EACCES;
    *ret = outcome.value;
    return 0;
}

/*
 * The virtual counter (cntvct_el0) is the clock. The barrier keeps the CPU from reading it before earlier instructions
 * are done.
 */
static uint64_t arm64_clock(const struct userpage_reader *reader)
{
    uint64_t now;

    (void)reader;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
    return now;
}

const struct userpage_reader userpage_reader = {
    .prepare = arm64_prepare,
    .counter = arm64_counter,
    .clock = arm64_clock,
    .allowed_path = "/proc/sys/kernel/perf_user_access",
    .ask = ASK_USER,
};

#elif defined(__x86_64__)

/* --- x86-64 --- */

#define RDPMC_SIZE 2

/* The linker defines these two symbols as the beginning and the end of the section below. */
extern const char __start_userpage_counter[], __stop_userpage_counter[];

struct outcome {
    uint64_t value, refused;
};

/*
 * This function is alone in its section, so that the handler recognizes the instruction by its address. The handler
 * sets rsi to report a refusal.
 */
__attribute__((section("userpage_counter"), noinline)) static struct outcome rdpmc(uint32_t number)
{
    struct outcome outcome = {0};
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high), "+S"(outcome.refused) : "c"(number));
    outcome.value = (uint64_t)high << 32 | low;
    return outcome;
}

/*
 * If an administrator forbids rdpmc (0 in /sys/bus/event_source/devices/cpu/rdpmc), the page still offers the counter,
 * but the instruction faults. The handler steps over it and records the refusal. Any other fault kills the process, as
 * it would without the handler.
 */
static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    (void)info;
    if (at >= (uintptr_t)__start_userpage_counter && at < (uintptr_t)__stop_userpage_counter) {
        registers[REG_RIP] += RDPMC_SIZE;
        registers[REG_RSI] = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int x86_prepare(const struct userpage_reader *reader)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    (void)reader;
    return sigaction(SIGSEGV, &action, NULL) < 0 ? -errno : 0;
}

/* rdpmc reads the counter; the time-stamp counter is the clock. */
static int x86_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    (void)reader;
    struct outcome outcome = rdpmc(number);
    if (outcome.refused)
        return -EACCES;
    *ret = outcome.value;
    return 0;
}

static uint64_t x86_clock(const struct userpage_reader *reader)
{
    (void)reader;
    return __builtin_ia32_rdtsc();
}

const struct userpage_reader userpage_reader = {
    .prepare = x86_prepare,
    .counter = x86_counter,
    .clock = x86_clock,
};

#else

/* No instruction to read a counter in user space is known for other CPUs. */
const struct userpage_reader userpage_reader = {.counter = NULL};

#endif

/* --- Thread counter --- */

/* The counter's event on the PMU of one kind of core. */
struct core_counter {
    struct group *group; /* a group of one member */
    void *page;          /* NULL if the event cannot be read in user space */
};

struct thread_counter {
    struct sys *sys;
    const struct userpage_reader *reader;
    size_t page_size;
    bool excludes_kernel;
    uint64_t enabled; /* the highest enabled time that was returned, in nanoseconds */
    size_t n;
    struct core_counter cores[];
};

/*
 * With one kind of core the generic event is used. With several kinds the kernel would bind that event to one of them,
 * so an event is opened on each core PMU, by Intel's or Arm's name for it.
 */
static const struct {
    const char *name;
    uint64_t config;
    const char *own_names[2];
} events[N_THREAD_COUNTER_EVENTS] = {
    [THREAD_COUNTER_CYCLES] = {"cycles", PERF_COUNT_HW_CPU_CYCLES, {"cpu-cycles", "cpu_cycles"}},
    [THREAD_COUNTER_INSTRUCTIONS] = {"instructions", PERF_COUNT_HW_INSTRUCTIONS, {"instructions", "inst_retired"}},
};

static const struct group_target own_task = {.pid = 0, .cpu = -1};

DEFINE_CLEANUP(struct thread_counter *, thread_counter_free);

const char *thread_counter_event_name(enum thread_counter_event event)
{
    return events[event].name;
}

struct thread_counter *thread_counter_free(struct thread_counter *counter)
{
    if (!counter)
        return NULL;
    for (size_t i = 0; i < counter->n; i++) {
        if (counter->cores[i].page)
            sys_munmap(counter->sys, counter->cores[i].page, counter->page_size);
        group_free(counter->cores[i].group);
    }
    free(counter);
    return NULL;
}

/* Returns the next core PMU that is present or absent, as asked for, or NULL after the last one. */
static const struct pmu *next_core(const struct machine *machine, bool absent, size_t *at)
{
    while (*at < machine->n_pmus) {
        const struct pmu *pmu = machine->pmus[(*at)++];
        if (pmu->scope == PMU_CORE && pmu->absent == absent)
            return pmu;
    }
    return NULL;
}

static size_t count_cores(const struct machine *machine, bool absent)
{
    size_t n = 0, at = 0;

    while (next_core(machine, absent, &at))
        n++;
    return n;
}

size_t thread_counter_needs(const struct machine *machine)
{
    return count_cores(machine, false);
}

static int build_own(struct sys *sys, const struct machine *machine, const struct pmu *pmu,
                     enum thread_counter_event number, struct attr *ret)
{
    struct event event;
    char text[128];
    size_t i = 0;

    while (i < ARRAY_SIZE(events[number].own_names) && !pmu_find_event(pmu, events[number].own_names[i]))
        i++;
    if (i == ARRAY_SIZE(events[number].own_names))
        return -ENOENT;
    snprintf(text, sizeof(text), "%s/%s/", pmu->name, events[number].own_names[i]);
    int r = event_parse(text, &event, NULL);
    if (r < 0)
        return r;
    r = attr_build(sys, machine, &event, pmu, ret, NULL);
    event_done(&event);
    return r;
}

/* Opens the event with reads in user space (`ask`), or without them if that fails. */
static int open_asking(const struct thread_counter *counter, const struct attr *attr, uint64_t ask, struct group **ret)
{
    struct attr asking = *attr;

    asking.kernel.exclude_kernel = asking.kernel.exclude_hv = counter->excludes_kernel;
    asking.kernel.config1 |= ask;
    int r = group_open(counter->sys, &asking, &own_task, ret);
    if (r == 0 || r == -EACCES || !ask)
        return r;
    asking.kernel.config1 = attr->kernel.config1;
    return group_open(counter->sys, &asking, &own_task, ret);
}

/* Maps the event's page, unless it cannot be used for reads. */
static void map_core(const struct thread_counter *counter, struct core_counter *core)
{
    struct sys *sys = counter->sys;
    void *page;

    if (sys_mmap(sys, group_fd(core->group, 0), counter->page_size, PROT_READ, &page) < 0)
        return;
    if (userpage_offers(page, counter->reader) && counter->reader->prepare(counter->reader) == 0)
        core->page = page;
    else
        sys_munmap(sys, page, counter->page_size);
}

static int open_core(struct thread_counter *counter, const struct attr *attr, uint64_t ask)
{
    struct core_counter *core = &counter->cores[counter->n];
    int r = open_asking(counter, attr, ask, &core->group);

    if (r == -EACCES && !counter->excludes_kernel) {
        counter->excludes_kernel = true;
        r = open_asking(counter, attr, ask, &core->group);
    }
    if (r < 0)
        return r;
    counter->n++;
    map_core(counter, core);
    return group_enable(core->group);
}

/* Returns the config1 that asks for reads in user space, or 0 if that is not allowed, or not needed. */
static uint64_t user_read_config1(struct sys *sys, const struct userpage_reader *reader)
{
    _cleanup_(freep) char *text = NULL;

    if (!reader->allowed_path || sys_read_file(sys, reader->allowed_path, &text) < 0)
        return 0;
    return str_equal(text, "1") ? reader->ask : 0;
}

int thread_counter_open(struct sys *sys, const struct machine *machine, const struct userpage_reader *reader,
                        enum thread_counter_event event, struct thread_counter **ret, const struct pmu **ret_refused)
{
    size_t n_present = count_cores(machine, false), n = n_present ? n_present : count_cores(machine, true), at = 0;
    _cleanup_(thread_counter_freep) struct thread_counter *counter =
        calloc(1, sizeof(*counter) + n * sizeof(struct core_counter));
    uint64_t ask = user_read_config1(sys, reader);

    if (!counter)
        return -ENOMEM;
    counter->sys = sys;
    counter->reader = reader;
    counter->page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i++) {
        const struct pmu *pmu = next_core(machine, n_present == 0, &at);
        struct attr attr = {.kernel = {.type = PERF_TYPE_HARDWARE, .config = events[event].config}, .pmu = pmu};
        int r = n > 1 ? build_own(sys, machine, pmu, event, &attr) : 0;
        if (r == 0)
            r = open_core(counter, &attr, ask);
        if (r < 0) {
            *ret_refused = pmu;
            return r;
        }
    }
    *ret = steal(counter);
    return 0;
}

/*
 * If an event has no counter, its page has the current value and running time, but an old enabled time. So the enabled
 * time is taken from the events that have a counter.
 */
static int read_user_pages(const struct thread_counter *counter, struct thread_counter_reading *reading)
{
    struct userpage_reading core;
    bool active = false;

    for (size_t i = 0; i < counter->n; i++) {
        if (!counter->cores[i].page)
            return -EOPNOTSUPP;
        int r = userpage_read(counter->cores[i].page, counter->reader, &core);
        if (r < 0)
            return r;
        reading->value += core.value;
        reading->running += core.running;
        if (core.active)
            reading->enabled = MAX(reading->enabled, core.enabled);
        active = active || core.active;
    }
    return active ? 0 : -ENODATA;
}

static int read_groups(const struct thread_counter *counter, struct thread_counter_reading *reading)
{
    struct group_reading core;

    for (size_t i = 0; i < counter->n; i++) {
        int r = group_read(counter->cores[i].group, &core);
        if (r < 0)
            return r;
        reading->value += core.values[0];
        reading->running += core.running;
        reading->enabled = MAX(reading->enabled, core.enabled);
    }
    return 0;
}

/*
 * The events of the different kinds of core were opened one after the other, so their enabled times differ a little.
 * Nevertheless, the returned enabled time never decreases.
 */
int thread_counter_read(struct thread_counter *counter, struct thread_counter_reading *ret)
{
    struct thread_counter_reading reading = {.user = true};

    if (read_user_pages(counter, &reading) < 0) {
        reading = (struct thread_counter_reading){.user = false};
        int r = read_groups(counter, &reading);
        if (r < 0)
            return r;
    }
    counter->enabled = reading.enabled = MAX(counter->enabled, reading.enabled);
    *ret = reading;
    return 0;
}

int thread_counter_pause(struct thread_counter *counter, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < counter->n; i++) {
        struct group *group = counter->cores[i].group;
        int error = paused ? group_disable(group) : group_enable(group);
        r = r < 0 ? r : error;
    }
    return r;
}

bool thread_counter_has_kernel(const struct thread_counter *counter)
{
    return !counter->excludes_kernel;
}
