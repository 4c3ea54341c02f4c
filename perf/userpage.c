/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter of the own task, read without a system call: see userpage.h.
 *
 * The kernel writes the page only on the CPU on which the task runs. So a reader sees a change that interrupted it, and
 * never a change under way: program order and a barrier for the compiler suffice.
 */
#include "perf/userpage.h"

#define TRIES_MAX 64
#define barrier() __asm__ volatile("" ::: "memory")

/* The result of one pass over the page, which is valid if the page did not change meanwhile. */
struct pass {
    struct userpage_reading reading;
    uint64_t cycles, offset, base_cycles, mask;
    uint32_t mult;
    uint16_t shift;
};

/* The hardware's counter may be narrower than the count; the kernel's offset is relative to the extended value. */
static uint64_t sign_extend(uint64_t value, unsigned width)
{
    return (uint64_t)((int64_t)(value << (64 - width)) >> (64 - width));
}

bool userpage_offers(const volatile struct perf_event_mmap_page *page, const struct userpage_reader *reader)
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
    /* A clock of fewer than 64 bits wraps: the bits above the mask come from the kernel. */
    pass->base_cycles = page->cap_user_time_short ? page->time_cycles : 0;
    pass->mask = page->cap_user_time_short ? page->time_mask : UINT64_MAX;
    int r = reader->counter(reader, index - 1, &hardware);
    if (r == 0)
        pass->reading.value += sign_extend(hardware, width);
    return r;
}

/* Nanoseconds since the times of the page were written. */
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
