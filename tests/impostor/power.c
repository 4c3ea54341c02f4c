/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of opener/descriptor-powers.h, made by a process without filters: see helper.h. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "tests/impostor/helper.h"

#define RATE UINT64_C(1000)

static long result(long r)
{
    return r < 0 ? -errno : 0;
}

static long command(int fd, unsigned long request, const void *argument)
{
    return result(ioctl(fd, request, argument));
}

/* An event that anybody may open: of this process, in user space, on the CPU of the descriptor. */
static int own_event(int cpu, int leader, bool monotonic)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 1000000,
        .disabled = leader < 0,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = monotonic,
        .clockid = monotonic ? CLOCK_MONOTONIC : 0,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, cpu, leader, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static void *map(int fd, size_t pages, long offset)
{
    size_t size = (size_t)getpagesize();

    return mmap(NULL, pages * size, offset ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset * (long)size);
}

static void unmap(void *address, size_t pages)
{
    munmap(address, pages * (size_t)getpagesize());
}

/* Of two clocks one is the descriptor's. */
static long set_output(int fd, int cpu)
{
    long got = -EINVAL;

    for (int monotonic = 0; monotonic < 2 && got == -EINVAL; monotonic++) {
        _cleanup_(closep) int own = own_event(cpu, -1, monotonic);
        if (own < 0)
            return own;
        void *ring = map(own, 2, 0);
        if (ring == MAP_FAILED)
            return -errno;
        got = result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, own));
        ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1);
        unmap(ring, 2);
    }
    return got;
}

static long be_output(int fd, int cpu)
{
    _cleanup_(closep) int own = own_event(cpu, -1, false);

    return own < 0 ? own : result(ioctl(own, PERF_EVENT_IOC_SET_OUTPUT, fd));
}

/* The smallest program: "return 0", of the kinds that events take, then of the kind that anybody may load. */
static long set_loaded_bpf(int fd)
{
    static const uint32_t types[] = {BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_PERF_EVENT,
                                     BPF_PROG_TYPE_SOCKET_FILTER};
    const struct bpf_insn program[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
                                       {.code = BPF_JMP | BPF_EXIT}};
    long got = -EPERM;

    for (size_t i = 0; i < ARRAY_SIZE(types) && got < 0; i++) {
        union bpf_attr attr = {.prog_type = types[i],
                               .insns = (uintptr_t)program,
                               .insn_cnt = ARRAY_SIZE(program),
                               .license = (uintptr_t) "Dual BSD/GPL"};
        _cleanup_(closep) int loaded = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
        got = loaded < 0 ? -errno : result(ioctl(fd, PERF_EVENT_IOC_SET_BPF, loaded));
    }
    return got;
}

/* struct perf_event_query_bpf: room for this number of ids, how many there are, the ids. */
static long query_bpf(int fd)
{
    uint32_t query[2 + 8] = {8};

    return command(fd, PERF_EVENT_IOC_QUERY_BPF, query);
}

static long pause_output(int fd)
{
    void *ring = map(fd, 2, 0);

    if (ring == MAP_FAILED)
        return -errno;
    long got = result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
    ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
    unmap(ring, 2);
    return got;
}

/* As it is but for the address, which only breakpoints have. */
static long modify(int fd, const struct order *order, uint64_t address)
{
    struct perf_event_attr attr = order->attr;

    if (attr.type == PERF_TYPE_BREAKPOINT)
        attr.bp_addr = address;
    return command(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

static long modify_type(int fd)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = 0x7fffffff};

    return command(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

static long map_pages(int fd, size_t pages)
{
    void *ring = map(fd, pages, 0);

    if (ring == MAP_FAILED)
        return -errno;
    unmap(ring, pages);
    return 0;
}

/* Where it goes is said in the first page. */
static long map_aux(int fd)
{
    struct perf_event_mmap_page *page = map(fd, 2, 0);

    if (page == MAP_FAILED)
        return -errno;
    page->aux_offset = 4 * (uint64_t)getpagesize();
    page->aux_size = (uint64_t)getpagesize();
    void *area = map(fd, 1, 4);
    long got = area == MAP_FAILED ? -errno : 0;
    if (area != MAP_FAILED)
        unmap(area, 1);
    unmap(page, 2);
    return got;
}

static void work_ms(unsigned ms)
{
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < (long)ms);
}

/* Signals that the other process takes are counted by it. */
static long signal_to(int fd, pid_t pid)
{
    int flags = fcntl(fd, F_GETFL);
    void *ring = map(fd, 2, 0);

    fcntl(fd, F_SETSIG, SIGUSR1);
    long got = result(fcntl(fd, F_SETOWN, pid));
    fcntl(fd, F_SETFL, flags | O_ASYNC);
    ioctl(fd, PERF_EVENT_IOC_REFRESH, 3);
    work_ms(80);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    fcntl(fd, F_SETFL, flags);
    fcntl(fd, F_SETOWN, 0);
    if (ring != MAP_FAILED)
        unmap(ring, 2);
    return got;
}

static long reopen(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    _cleanup_(closep) int again = open(path, O_RDWR | O_CLOEXEC);
    return result(again);
}

static long lead(int fd)
{
    _cleanup_(closep) int own = own_event(-1, fd, false);

    return MIN(own, 0);
}

static long read_count(int fd)
{
    uint64_t values[512];

    return result(read(fd, values, sizeof(values)));
}

static long poll_once(int fd)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    return result(poll(&waited, 1, 0));
}

/* That an event counts on one CPU has this process go there. */
static void go_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)MAX(cpu, 0), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static uint64_t own_address(void)
{
    static uint64_t watched;

    return (uintptr_t)&watched;
}

static long command_try(const struct order *order, int fd)
{
    uint64_t rate = RATE, id = 0;

    switch ((enum descriptor_operation)order->number) {
    case OPERATION_ENABLE:
        return command(fd, PERF_EVENT_IOC_ENABLE, 0);
    case OPERATION_DISABLE:
        return command(fd, PERF_EVENT_IOC_DISABLE, 0);
    case OPERATION_RESET:
        return command(fd, PERF_EVENT_IOC_RESET, 0);
    case OPERATION_REFRESH:
        return result(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
    case OPERATION_PERIOD:
        return command(fd, PERF_EVENT_IOC_PERIOD, &rate);
    case OPERATION_SET_FILTER:
        return command(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid == 1");
    case OPERATION_SET_TEXT_FILTER:
        return command(fd, PERF_EVENT_IOC_SET_FILTER, "filename ~ \"/etc/*\"");
    case OPERATION_SET_ADDRESS_FILTER:
        return command(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x0/0x100@/bin/true");
    case OPERATION_ID:
        return command(fd, PERF_EVENT_IOC_ID, &id);
    case OPERATION_SET_BPF:
        return result(ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1));
    case OPERATION_QUERY_BPF:
        return query_bpf(fd);
    default:
        return -ENOSYS;
    }
}

static long file_try(const struct order *order, int fd)
{
    switch ((enum descriptor_operation)order->number) {
    case OPERATION_MAP_PAGE:
        return map_pages(fd, 1);
    case OPERATION_MAP_RING:
        return map_pages(fd, 2);
    case OPERATION_MAP_AUX:
        return map_aux(fd);
    case OPERATION_READ:
        return read_count(fd);
    case OPERATION_WRITE:
        return result(write(fd, "12345678", 8));
    case OPERATION_POLL:
        return poll_once(fd);
    case OPERATION_SIGNAL:
        return signal_to(fd, order->pid);
    case OPERATION_REOPEN:
        return reopen(fd);
    case OPERATION_LEAD:
        return lead(fd);
    default:
        return order->number >= OPERATION_MAP_READABLE ? map_power_try((enum descriptor_operation)order->number, fd)
                                                       : command_try(order, fd);
    }
}

long power_try(const struct order *order, int fd)
{
    go_to(order->cpu);
    switch ((enum descriptor_operation)order->number) {
    case OPERATION_SET_OUTPUT:
        return set_output(fd, order->cpu);
    case OPERATION_BE_OUTPUT:
        return be_output(fd, order->cpu);
    case OPERATION_SET_LOADED_BPF:
        return set_loaded_bpf(fd);
    case OPERATION_PAUSE_OUTPUT:
        return pause_output(fd);
    case OPERATION_MODIFY:
        return modify(fd, order, own_address());
    case OPERATION_MODIFY_TYPE:
        return modify_type(fd);
    case OPERATION_MODIFY_KERNEL:
        return modify(fd, order, order->address);
    default:
        return file_try(order, fd);
    }
}
