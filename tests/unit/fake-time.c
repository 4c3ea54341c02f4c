/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a machine to play: what its events count in it, and the pages that show it. See fake-sys.h. */
#undef NDEBUG
#include <assert.h>

#include "base/muldiv.h"
#include "tests/unit/fake-event.h"

void fake_update_page(const struct fake_sys *fake, const struct fake_event *event)
{
    struct perf_event_mmap_page *page = event->page;
    uint64_t counter = fake_user_counter(fake, (unsigned)(event->fd - FAKE_FD_FIRST));

    page->lock += 2;
    page->cap_user_rdpmc = page->cap_user_time = fake->user_reads;
    page->pmc_width = 32;
    page->time_mult = 1;
    page->index = fake->user_reads && !event->off_counter ? (uint32_t)(event->fd - FAKE_FD_FIRST) + 1 : 0;
    page->offset = (int64_t)(event->count - (page->index ? (uint64_t)(int64_t)(int32_t)counter : 0));
    page->time_enabled = event->time_enabled;
    page->time_running = event->time_running;
    page->time_offset = -fake->monotonic_ns;
}

void fake_user_reads(struct fake_sys *fake)
{
    fake->user_reads = true;
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->page)
            fake_update_page(fake, fake->events[i]);
}

uint64_t fake_user_counter(const struct fake_sys *fake, unsigned number)
{
    assert(number < fake->n_events && fake->events[number]);
    return (uint32_t)(fake->events[number]->count - 1000);
}

void fake_set_off_counter(struct fake_sys *fake, int fd, bool off)
{
    struct fake_event *event = fake_find_event(fake, fd);

    assert(event);
    event->off_counter = off;
    if (event->page)
        fake_update_page(fake, event);
}

void fake_rate(struct fake_sys *fake, struct fake_rate rate)
{
    assert(fake->n_rates < ARRAY_SIZE(fake->rates) && rate.ns);
    fake->rates[fake->n_rates++] = rate;
}

void fake_count_event(const struct fake_sys *fake, struct fake_event *event, uint64_t running)
{
    struct fake_rate rate = {.count = 1, .ns = 1};

    for (size_t i = 0; i < fake->n_rates; i++)
        if (fake->rates[i].type == event->attr.type && fake->rates[i].config == event->attr.config)
            rate = fake->rates[i];
    uint64_t whole = muldiv(running, rate.count, rate.ns).whole;
    /* The remainder is below rate.ns, so that of the product the low 64 bits suffice for it. */
    event->remainder += running * rate.count - whole * rate.ns;
    event->count += whole + event->remainder / rate.ns;
    event->remainder %= rate.ns;
}

static bool group_counts(const struct fake_event *leader)
{
    return leader->enabled && !leader->dead;
}

/*
 * How much of `ns` the group has the counters of its PMU. All groups that need them share them evenly; those of cgroups
 * that do not run need none.
 */
static uint64_t running_time(const struct fake_sys *fake, const struct fake_event *leader, uint64_t ns)
{
    const struct fake_pmu *pmu = fake_group_pmu(fake, leader);
    uint64_t wanted = 0;

    if (!pmu || pmu->counters == FAKE_UNLIMITED)
        return ns;
    for (size_t i = 0; i < fake->n_events; i++) {
        const struct fake_event *other = fake->events[i];
        if (other && other->leader == other && other->cpu == leader->cpu && group_counts(other) &&
            (other->cgroup == -1 || other->cgroup == leader->cgroup) && fake_group_pmu(fake, other) == pmu)
            wanted += fake_group_needs(fake, other);
    }
    return wanted <= pmu->counters ? ns : muldiv(ns, pmu->counters, wanted).whole;
}

static void event_run(const struct fake_sys *fake, struct fake_event *event, uint64_t ns)
{
    if (!event->enabled || event->dead || !group_counts(event->leader))
        return;
    uint64_t running = event->off_counter ? 0 : running_time(fake, event->leader, ns);
    event->time_enabled += ns;
    event->time_running += running;
    fake_count_event(fake, event, running);
}

void fake_cgroup_run(struct fake_sys *fake, int fd, unsigned cpu, uint64_t ns)
{
    for (size_t i = 0; fd >= 0 && i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == fd && fake->events[i]->cpu == (int)cpu)
            event_run(fake, fake->events[i], ns);
    if (fake->run_cgroup)
        fake->run_cgroup(fake, fd, cpu, ns);
}

void fake_run_cpu(struct fake_sys *fake, unsigned cpu, uint64_t ns)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == -1 && fake->events[i]->cpu == (int)cpu)
            event_run(fake, fake->events[i], ns);
}

void fake_advance(struct fake_sys *fake, uint64_t ns)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i] && fake->events[i]->cgroup == -1)
            event_run(fake, fake->events[i], ns);
    fake->monotonic_ns += ns;
    fake->realtime_ns += ns;
}

uint64_t fake_now(struct sys *sys, clockid_t clock)
{
    const struct fake_sys *fake = fake_of(sys);
    return clock == CLOCK_REALTIME ? fake->realtime_ns : fake->monotonic_ns;
}
