/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries the operations in tests/impostor/descriptor-powers.h, in a process without filters, on a descriptor of each
 * kind that the configuration uses.
 */
#include <fcntl.h>
#include <linux/bpf.h>
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
#include "bpf/calls.h"
#include "bpf/layout.h"
#include "cgroups/cgroupfs.h"
#include "perf/event-parse.h"
#include "perf/group.h"
#include "tests/impostor/impostor.h"

/* BPF maps */

/* In 64-bit words; larger than a value in any of the maps. */
#define VALUE_WORDS 128

static long bpf_try(enum bpf_cmd command, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

    return r < 0 ? -errno : r;
}

static long map_try(int fd, enum descriptor_operation operation)
{
    size_t size = (size_t)getpagesize();
    int flags = operation == OPERATION_MAP_PRIVATE ? MAP_PRIVATE : MAP_SHARED;
    void *page = mmap(NULL, size, PROT_READ, flags, fd, 0);
    long got = 0;

    if (page == MAP_FAILED)
        return -errno;
    if (operation == OPERATION_MAP_PROTECT && mprotect(page, size, PROT_READ | PROT_WRITE) < 0)
        got = -errno;
    munmap(page, size);
    return got;
}

static long element_try(int fd, enum bpf_cmd command)
{
    uint64_t value[VALUE_WORDS] = {0};
    uint32_t key = 0;
    union bpf_attr attr = {.map_fd = (uint32_t)fd, .key = (uintptr_t)&key};

    if (command != BPF_MAP_DELETE_ELEM)
        attr.value = (uintptr_t)value;
    return bpf_try(command, &attr);
}

static long elements_try(int fd)
{
    uint64_t value[VALUE_WORDS] = {0};
    uint32_t key = 0;
    union bpf_attr attr = {
        .batch = {.keys = (uintptr_t)&key, .values = (uintptr_t)value, .count = 1, .map_fd = (uint32_t)fd}};

    return bpf_try(BPF_MAP_UPDATE_BATCH, &attr);
}

static long freeze_try(int fd)
{
    union bpf_attr attr = {.map_fd = (uint32_t)fd};

    return bpf_try(BPF_MAP_FREEZE, &attr);
}

static long inform_try(int fd)
{
    struct bpf_map_info info = {0};
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info}};

    return bpf_try(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* Everybody who has the descriptor can read the map's id in fdinfo. */
static long find_try(int fd)
{
    union bpf_attr attr = {0};
    char path[64], line[256];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    _cleanup_(fclosep) FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        (void)!sscanf(line, "map_id: %u", &attr.map_id);
    _cleanup_(closep) int found = (int)bpf_try(BPF_MAP_GET_FD_BY_ID, &attr);
    return found;
}

static long pin_try(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/fs/bpf/impostor-%d", (int)getpid());
    union bpf_attr attr = {.pathname = (uintptr_t)path, .bpf_fd = (uint32_t)fd};
    long got = bpf_try(BPF_OBJ_PIN, &attr);
    if (got >= 0)
        unlink(path);
    return got;
}

/* Loads a program that looks up the first element and writes 0 to it. Its type is the only one that an unprivileged
 * process may load. */
static long program_try(int fd)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd},
        {.code = 0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2},
        {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                           .insns = (uintptr_t)program,
                           .insn_cnt = ARRAY_SIZE(program),
                           .license = (uintptr_t) "Dual BSD/GPL"};
    _cleanup_(closep) int loaded = (int)bpf_try(BPF_PROG_LOAD, &attr);

    return loaded;
}

long map_power_try(enum descriptor_operation operation, int fd)
{
    switch (operation) {
    case OPERATION_MAP_READABLE:
    case OPERATION_MAP_PROTECT:
    case OPERATION_MAP_PRIVATE:
        return map_try(fd, operation);
    case OPERATION_ELEMENT_LOOK_UP:
        return element_try(fd, BPF_MAP_LOOKUP_ELEM);
    case OPERATION_ELEMENT_UPDATE:
        return element_try(fd, BPF_MAP_UPDATE_ELEM);
    case OPERATION_ELEMENTS_UPDATE:
        return elements_try(fd);
    case OPERATION_ELEMENT_DELETE:
        return element_try(fd, BPF_MAP_DELETE_ELEM);
    case OPERATION_FREEZE:
        return freeze_try(fd);
    case OPERATION_INFORM:
        return inform_try(fd);
    case OPERATION_FIND:
        return find_try(fd);
    case OPERATION_PIN:
        return pin_try(fd);
    case OPERATION_PROGRAM:
        return program_try(fd);
    default:
        return -ENOSYS;
    }
}

/*
 * Looks for a kernel address in the BPF program's records of `n` CPUs, that is, a word whose upper 16 bits are all set,
 * as in kernel addresses of all 64-bit architectures. The field `check` is left out, since it can have any value.
 */
long map_find_address(int fd, uint32_t n)
{
    size_t size = n * sizeof(struct bpf_record);
    const struct bpf_record *records = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    long found = 0;

    if (records == MAP_FAILED)
        return -errno;
    for (uint32_t cpu = 0; cpu < n; cpu++) {
        const volatile uint64_t *words = (const volatile uint64_t *)&records[cpu];
        for (size_t i = 0; i < sizeof(*records) / sizeof(*words); i++)
            if (i != offsetof(struct bpf_record, check) / sizeof(*words) && words[i] >> 48 == 0xffff)
                found = -EFAULT;
    }
    munmap((void *)(uintptr_t)records, size);
    return found;
}

/* Descriptors of perf events */

static long result(long r)
{
    return r < 0 ? -errno : 0;
}

static long command(int fd, unsigned long request, const void *argument)
{
    return result(ioctl(fd, request, argument));
}

/* Opens an event that every user may open: of this process, in user space, on the CPU of the descriptor's event. */
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

/* Tries both clocks, since both events must use the same clock. */
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

/* Loads the smallest program, "return 0", of each type that events accept, and then of the type that an unprivileged
 * process may load. */
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

/* Laid out as struct perf_event_query_bpf: the number of ids that fit, the number of programs, and the ids. */
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

/* Changes only the address of a breakpoint. The second try is for the leader of a cgroup's group: the opener opens it
 * disabled (perf/sys.h). */
static long modify(int fd, const struct order *order, uint64_t address)
{
    struct perf_event_attr attr = order->attr;

    if (attr.type == PERF_TYPE_BREAKPOINT)
        attr.bp_addr = address;
    long got = command(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
    if (got != -EINVAL)
        return got;
    attr.disabled = attr.enable_on_exec = 1;
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

/* The first page says where the AUX area is mapped. */
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

/* Process `pid` counts the signals that it receives. */
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

/* Moves this process to the CPU on which the event counts. */
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

/* ioctl(2) requests and their arguments. */
static uint64_t rate = 1000, id;
static const struct {
    unsigned long request;
    const void *argument;
} commands[N_DESCRIPTOR_OPERATIONS] = {
    [OPERATION_ENABLE] = {PERF_EVENT_IOC_ENABLE, NULL},
    [OPERATION_DISABLE] = {PERF_EVENT_IOC_DISABLE, NULL},
    [OPERATION_RESET] = {PERF_EVENT_IOC_RESET, NULL},
    [OPERATION_REFRESH] = {PERF_EVENT_IOC_REFRESH, (const void *)1},
    [OPERATION_PERIOD] = {PERF_EVENT_IOC_PERIOD, &rate},
    [OPERATION_SET_FILTER] = {PERF_EVENT_IOC_SET_FILTER, "common_pid == 1"},
    [OPERATION_SET_TEXT_FILTER] = {PERF_EVENT_IOC_SET_FILTER, "filename ~ \"/etc/*\""},
    [OPERATION_SET_ADDRESS_FILTER] = {PERF_EVENT_IOC_SET_FILTER, "filter 0x0/0x100@/bin/true"},
    [OPERATION_ID] = {PERF_EVENT_IOC_ID, &id},
    [OPERATION_SET_BPF] = {PERF_EVENT_IOC_SET_BPF, (const void *)-1},
};

static long file_try(const struct order *order, int fd)
{
    switch ((enum descriptor_operation)order->number) {
    case OPERATION_QUERY_BPF:
        return query_bpf(fd);
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
        if (order->number >= OPERATION_MAP_READABLE)
            return map_power_try((enum descriptor_operation)order->number, fd);
        return commands[order->number].request
                   ? command(fd, commands[order->number].request, commands[order->number].argument)
                   : -ENOSYS;
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

/* Every row of the table */

struct subject {
    const char *name;
    enum descriptor_kind kind;
    const struct perf_event_attr *attr;
    int fd;
};

static const struct order *order_of(const struct impostor *impostor, const struct subject *subject,
                                    enum descriptor_operation operation, struct order *order)
{
    *order = (struct order){
        .kind = ORDER_POWER,
        .number = operation,
        .pid = impostor->witness ? impostor->witness->pid : 0,
        .attr = *subject->attr,
        .address = impostor->known.kernel_function,
    };
    return order;
}

static long try_operation(struct impostor *impostor, const struct subject *subject, enum descriptor_operation operation)
{
    struct order order;

    order_of(impostor, subject, operation, &order);
    if (operation != OPERATION_SIGNAL)
        return helper_order(impostor->accomplice, &order, subject->fd);
    if (!impostor->witness)
        return impostor_skip(impostor, "no root process was started before the split");
    unsigned before = atomic_load(&impostor->witness->signals);
    long got = helper_order(impostor->accomplice, &order, subject->fd);
    if (atomic_load(&impostor->witness->signals) != before)
        return -EINTR;
    /* A security module may refuse even operations without an effect. */
    return got == -EPERM || got == -EACCES ? 0 : got;
}

static void judge_operation(struct impostor *impostor, const struct subject *subject,
                            enum descriptor_operation operation)
{
    const struct descriptor_power *power = descriptor_power_find(subject->kind, operation);
    long got = try_operation(impostor, subject, operation);
    struct must must = MUST_WORK;
    char name[320];
    bool may_work = false;
    size_t n = 0;

    for (size_t i = 0; i < power->n_errors; i++)
        if (power->errors[i])
            must.errors[n++] = power->errors[i];
        else
            may_work = true;
    if (may_work && got >= 0)
        must = (struct must)MUST_WORK;
    snprintf(name, sizeof(name), "a stranger with %s (%s): %s", subject->name, descriptor_kind_name(subject->kind),
             descriptor_operation_name(operation));
    impostor_judge(impostor, name, got, &must);
}

static void try_subject(struct impostor *impostor, const struct subject *subject)
{
    for (int i = 0; i < N_DESCRIPTOR_OPERATIONS; i++)
        judge_operation(impostor, subject, (enum descriptor_operation)i);
}

static enum descriptor_kind kind_of(const struct event *event)
{
    if (event->kind == EVENT_TRACEPOINT)
        return DESCRIPTOR_TRACEPOINT;
    if (event->kind == EVENT_BREAKPOINT)
        return DESCRIPTOR_BREAKPOINT;
    return event->pmu && (str_equal(event->pmu, "uprobe") || str_equal(event->pmu, "kprobe")) ? DESCRIPTOR_TRACEPOINT
                                                                                              : DESCRIPTOR_COUNTER;
}

static int build(struct impostor *impostor, const struct event *event, struct attr *ret)
{
    const struct pmu *pmu = attr_pmu(impostor->machine, event, 0);

    return pmu ? attr_build(&impostor->sys, impostor->machine, event, pmu, ret, NULL) : -ENODEV;
}

static void skip_subject(struct impostor *impostor, const char *what, int error)
{
    char name[320];

    snprintf(name, sizeof(name), "a stranger with %s", what);
    impostor_skip(impostor, "it cannot be opened (%s)", error_name(error));
    impostor_judge(impostor, name, ATTEMPT_SKIPPED, NULL);
}

/* Returns the attributes that perf/group.c sets for the event, which a stranger can find in the source. */
static struct perf_event_attr guess_attr(const struct attr *attr)
{
    struct perf_event_attr kernel = attr->kernel;

    kernel.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    kernel.disabled = 1;
    return kernel;
}

/* Opens a separate descriptor, since an event that has a filter accepts no other one. */
static void try_oracle(struct impostor *impostor, const struct attr *attr, const struct group_target *target)
{
    static const struct must must = MUST(EEXIST);
    const struct order order = {.kind = ORDER_ORACLE};
    struct group *group;
    int r = group_open(&impostor->sys, attr, target, &group);

    if (r < 0) {
        skip_subject(impostor, "reading memory through a filter", r);
        return;
    }
    impostor_judge(impostor, "another user's process on sys_enter_openat: reading memory through a filter",
                   helper_order(impostor->accomplice, &order, group_fd(group, 0)), &must);
    group_free(group);
}

static void try_counted_at(struct impostor *impostor, const char *name, const struct event *event,
                           const struct group_target *target)
{
    struct group *group = NULL;
    struct attr attr;
    int r = build(impostor, event, &attr);

    if (r == 0 && strstr(name, "sys_enter_openat"))
        try_oracle(impostor, &attr, target);
    if (r == 0)
        r = group_open(&impostor->sys, &attr, target, &group);
    if (r < 0) {
        skip_subject(impostor, name, r);
        return;
    }
    const struct perf_event_attr guessed = guess_attr(&attr);
    const struct subject subject = {name, kind_of(event), &guessed, group_fd(group, 0)};
    try_subject(impostor, &subject);
    group_free(group);
}

static void try_counted(struct impostor *impostor, const struct event *event)
{
    const struct group_target target = {.pid = -1, .cpu = 0};

    try_counted_at(impostor, event->text, event, &target);
}

static void try_groups(struct impostor *impostor, const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++)
            try_counted(impostor, &groups->items[i].events[k].event);
}

/* Sets the attributes as sampler/record-options.c does. */
static void make_sampling(struct perf_event_attr *attr)
{
    attr->freq = 1;
    attr->sample_period = 99;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD;
    attr->disabled = 1;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
}

/* Requests raw data, which for a tracepoint contains what programs pass to the kernel. */
static void try_raw(struct impostor *impostor, const char *what, struct perf_event_attr attr)
{
    static const struct must refused = REFUSED;
    char name[320];

    attr.sample_type |= PERF_SAMPLE_RAW;
    snprintf(name, sizeof(name), "request: %s, with raw data", what);
    impostor_judge(impostor, name, ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL), &refused);
}

static void try_sampled(struct impostor *impostor, const char *text, bool overwritten)
{
    struct attr attr = {0};
    struct event event;
    int fd = -EINVAL;
    char name[160];

    if (event_parse(text, &event, NULL) < 0)
        return;
    int r = build(impostor, &event, &attr);
    if (r == 0) {
        make_sampling(&attr.kernel);
        attr.kernel.write_backward = overwritten;
        fd = r = sys_perf_event_open(&impostor->sys, &attr.kernel, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    }
    snprintf(name, sizeof(name), "%ssamples of %.120s", overwritten ? "overwritten " : "", text);
    if (r < 0) {
        skip_subject(impostor, name, r);
    } else {
        const struct subject subject = {
            name, kind_of(&event) == DESCRIPTOR_TRACEPOINT ? DESCRIPTOR_SAMPLED_TRACEPOINT : DESCRIPTOR_SAMPLER,
            &attr.kernel, fd};
        try_subject(impostor, &subject);
        try_raw(impostor, name, attr.kernel);
        close(fd);
    }
    event_done(&event);
}

static void try_cgroup(struct impostor *impostor)
{
    static const char name[] = "context-switches of a cgroup";
    struct hierarchy hierarchy;
    struct event event;
    int r = hierarchy_find(&impostor->sys, &hierarchy, NULL);

    if (r < 0) {
        skip_subject(impostor, name, r);
        return;
    }
    _cleanup_(closep) int directory = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct group_target target = {.pid = directory, .cpu = 0, .flags = PERF_FLAG_PID_CGROUP};
    if (directory >= 0 && event_parse("context-switches", &event, NULL) == 0) {
        try_counted_at(impostor, name, &event, &target);
        event_done(&event);
    }
    hierarchy_done(&hierarchy);
}

static void try_map(struct impostor *impostor, const char *name, int fd)
{
    static const struct perf_event_attr none;
    const struct subject subject = {name, DESCRIPTOR_BPF, &none, fd};

    try_subject(impostor, &subject);
    close(fd);
}

/* Tries the BPF engine's maps, without counters: the maps exist from the start. */
static void try_bpf(struct impostor *impostor)
{
    const struct bpf_shape shape = {.cpus = impostor->client->rules.n_cpus, .slots = 3, .events = 1, .groups = 1};
    static const struct must no_address = MUST_WORK;
    struct bpf_maps maps;
    struct error error;
    const struct bpf_calls *bpf = &impostor->bpf;

    if (bpf->start(bpf->owner, &shape, &maps, &error) < 0) {
        impostor_skip(impostor, "%s", error.message);
        impostor_judge(impostor, "a stranger with the BPF engine's maps", ATTEMPT_SKIPPED, NULL);
        return;
    }
    const struct order order = {.kind = ORDER_ADDRESS, .number = shape.cpus};
    for (unsigned cpu = 0; cpu < shape.cpus; cpu++)
        bpf->set_cpu(bpf->owner, cpu, &(struct bpf_event){.source = SOURCE_SWITCHES}, &(int){-1});
    bpf->attach(bpf->owner, true);
    impostor_judge(impostor, "a stranger with the BPF engine's records: a kernel address",
                   helper_order(impostor->accomplice, &order, maps.records), &no_address);
    try_map(impostor, "counts of cgroups", maps.counts);
    try_map(impostor, "records of CPUs", maps.records);
    bpf->stop(bpf->owner);
}

/* The daemon has no descriptor for the BPF program that measures off-CPU time, only for the events it writes to. */
static void try_off_cpu(struct impostor *impostor)
{
    static const struct must refused = MUST(EBADF, EINVAL), no_more = MUST(EBUSY);
    const struct bpf_calls *bpf = &impostor->bpf;
    const struct off_cpu_shape shape = {.cpus = impostor->client->rules.n_cpus, .threshold_ns = NSEC_PER_SEC};
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT};
    uint32_t number = 0, last = 0;
    struct error error;

    if (bpf->off_cpu_start(bpf->owner, &shape, &number, &error) < 0) {
        impostor_skip(impostor, "%s", error.message);
        impostor_judge(impostor, "off-CPU time", ATTEMPT_SKIPPED, NULL);
        return;
    }
    make_sampling(&attr);
    attr.size = sizeof(attr);
    attr.freq = 0;
    attr.sample_type |= PERF_SAMPLE_RAW;
    int fd = sys_perf_event_open(&impostor->sys, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        skip_subject(impostor, "samples of off-CPU time", fd);
    } else {
        bpf->off_cpu_set_cpu(bpf->owner, number, 0, fd, fd);
        try_subject(impostor, &(struct subject){"samples of off-CPU time", DESCRIPTOR_SAMPLER, &attr, fd});
        close(fd);
    }
    _cleanup_(closep) int other = memfd_create("other", MFD_CLOEXEC);
    impostor_judge(impostor, "request: off-CPU samples written to a file",
                   bpf->off_cpu_set_cpu(bpf->owner, number, 0, other, other), &refused);
    impostor_judge(impostor, "request: off-CPU samples of a program that does not exist",
                   bpf->off_cpu_set_cpu(bpf->owner, OFF_CPU_PROGRAMS_MAX, 0, other, other), &refused);
    int r = 0;
    for (int i = 0; i <= OFF_CPU_PROGRAMS_MAX && r == 0; i++)
        r = bpf->off_cpu_start(bpf->owner, &shape, &last, &error);
    impostor_judge(impostor, "request: more programs that measure off-CPU time", r, &no_more);
    for (uint32_t i = 0; i < OFF_CPU_PROGRAMS_MAX; i++)
        bpf->off_cpu_stop(bpf->owner, i);
}

void powers_run(struct impostor *impostor)
{
    if (impostor->accomplice < 0) {
        impostor_skip(impostor, "no accomplice to pass descriptors to");
        impostor_judge(impostor, "a stranger with the daemon's descriptors", ATTEMPT_SKIPPED, NULL);
        return;
    }
    try_groups(impostor, &impostor->config->cpu.groups);
    try_groups(impostor, &impostor->config->pmu.groups);
    try_cgroup(impostor);
    try_bpf(impostor);
    if (!impostor->config->sampler.enabled)
        return;
    try_sampled(impostor, "cpu-clock", false);
    try_sampled(impostor, "cycles", false);
    try_off_cpu(impostor);
    if (impostor->config->sampler.hindsight.enabled)
        try_sampled(impostor, "cpu-clock", true);
    if (!str_equal(impostor->config->sampler.event, "auto"))
        try_sampled(impostor, impostor->config->sampler.event, false);
    for (size_t i = 0; i < impostor->config->sampler.n_tracepoints; i++)
        try_sampled(impostor, impostor->config->sampler.tracepoints[i], false);
}
