/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG
#include "tests/faults/rings.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/simulated-daemon.h"
#include "tests/unit/fake-event.h"
#include "tests/unit/wrap-calls.h"

#define KERNEL_IP UINT64_C(0xffffffff81000040)

/* The simulated machine's functions before rings_simulate() replaced some of them. */
static struct sys_calls before;

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Puts an eventfd at the descriptor number that the machine returned, so that it can be polled. */
static int open_with_file(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                          unsigned long flags)
{
    int fd = before.perf_event_open(sys, attr, pid, cpu, group_fd, flags);

    if (fd < 0 || !attr->sample_period)
        return fd;
    int file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(file >= 0 && dup3(file, fd, O_CLOEXEC) == fd);
    close(file);
    return fd;
}

static int close_with_file(struct sys *sys, int fd)
{
    const struct perf_event_attr *attr = fake_attr((struct fake_sys *)sys, fd);

    if (attr && attr->sample_period)
        close(fd);
    return before.close(sys, fd);
}

/* Advances like the real clock, since the sampler spends real time reading ring buffers. */
static uint64_t simulated_now(struct sys *sys, clockid_t clock)
{
    struct timespec now;

    (void)sys;
    clock_gettime(clock, &now);
    return SIMULATED_BEGIN_NS + (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

void rings_simulate(struct fake_sys *fake)
{
    before = wrap_calls(
        &fake->sys,
        (struct sys_calls){.perf_event_open = open_with_file, .close = close_with_file, .now = simulated_now});
}

static bool is_ring(const struct fake_event *event)
{
    return event && event->attr.sample_period && event->page;
}

static bool is_sampling(const struct fake_event *event)
{
    return is_ring(event) && event->enabled && event->attr.config != PERF_COUNT_SW_DUMMY;
}

size_t rings_count(const struct fake_sys *fake, uint64_t period)
{
    size_t n = 0;

    for (size_t i = 0; i < fake->n_events; i++)
        n += is_sampling(fake->events[i]) && (period == 0 || fake->events[i]->attr.sample_period == period);
    return n;
}

/* The size of the data pages, derived from the watermark, which the sampler derives from sampler.ring_pages. */
static size_t ring_size(const struct fake_event *event)
{
    return (size_t)event->attr.wakeup_watermark * 4;
}

static bool ring_write(struct fake_event *event, const struct perf_event_header *record)
{
    struct perf_event_mmap_page *page = event->page;
    char *data = (char *)page + page_size();
    size_t size = ring_size(event), at = page->data_head % size, first = MIN(size - at, (size_t)record->size);

    if (page->data_head + record->size - __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) > size)
        return false;
    memcpy(data + at, record, first);
    memcpy(data, (const char *)record + first, record->size - first);
    __atomic_store_n(&page->data_head, page->data_head + record->size, __ATOMIC_RELEASE);
    return true;
}

/* The fields are those that sampler/record-options.c requests, in the order of perf_event_open(2). */
static bool write_sample(struct fake_event *event, uint32_t pid, uint64_t ip)
{
    struct {
        struct perf_event_header header;
        uint64_t identifier, ip;
        uint32_t pid, tid;
        uint64_t time;
        uint32_t cpu, reserved;
        uint64_t period, n, kernel, kernel_ip, user, chain[2], cgroup;
    } sample = {
        .header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(sample)},
        .identifier = (uint64_t)event->fd,
        .ip = ip,
        .pid = pid,
        .tid = pid,
        .time = simulated_now(NULL, CLOCK_MONOTONIC),
        .cpu = (uint32_t)event->cpu,
        .period = event->attr.sample_period,
        .n = 5,
        .kernel = PERF_CONTEXT_KERNEL,
        .kernel_ip = KERNEL_IP,
        .user = PERF_CONTEXT_USER,
        .chain = {ip, ip + 0x100},
        .cgroup = 1,
    };

    if (!(event->attr.sample_type & PERF_SAMPLE_CGROUP)) /* the simulated kernel refused this flag */
        sample.header.size -= sizeof(sample.cgroup);

    return ring_write(event, &sample.header);
}

size_t rings_sample(struct fake_sys *fake, uint64_t period, uint32_t pid, uint64_t ip, size_t *ret_user_only)
{
    size_t n = 0, user_only = 0;

    for (size_t i = 0; i < fake->n_events; i++) {
        const struct fake_event *event = fake->events[i];
        if (!is_sampling(event) || event->attr.sample_period != period || !write_sample(fake->events[i], pid, ip))
            continue;
        n++;
        user_only += event->attr.exclude_kernel;
    }
    if (ret_user_only)
        *ret_user_only = user_only;
    return n;
}

void rings_wake(const struct fake_sys *fake)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (is_ring(fake->events[i]))
            (void)!write(fake->events[i]->fd, &(uint64_t){1}, sizeof(uint64_t));
}

void rings_quiet(const struct fake_sys *fake)
{
    uint64_t count;

    for (size_t i = 0; i < fake->n_events; i++)
        if (is_ring(fake->events[i]))
            (void)!read(fake->events[i]->fd, &count, sizeof(count));
}
