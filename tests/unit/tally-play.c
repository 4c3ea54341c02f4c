/* SPDX-License-Identifier: Apache-2.0 */
/* A tally whose program the test plays: see tally-play.h. */
#include "tests/unit/tally-play.h"

#include <errno.h>

#include "tests/unit/test.h"

const struct tally_shape played_shape = {.cpus = CPUS, .slots = SLOTS, .events = 4, .groups = 2};
const struct tally_event played_events[] = {
    {.source = TALLY_READ, .group = 0, .gives_times = 1},
    {.source = TALLY_RUNNING, .group = 0},
    {.source = TALLY_READ, .group = 1, .gives_times = 1},
    {.source = TALLY_SWITCHES, .group = 1},
};

static int played_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct played *p = (struct played *)sys;

    assert_int_equal(protection, 1);
    assert_int_equal(size, fd == 3 ? sizeof(p->counts) : sizeof(p->records));
    if (fd == p->refused)
        return -EPERM;
    *ret = fd == 3 ? (void *)p->seen : (void *)p->seen_records;
    return 0;
}

static int played_munmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    (void)address;
    (void)size;
    return 0;
}

void played_settle(struct played *p)
{
    memcpy(p->seen, p->counts, sizeof(p->seen));
    memcpy(p->seen_records, p->records, sizeof(p->seen_records));
    p->n_stores = 0;
}

static void store(struct played *p, void *own, void *seen, uint64_t value)
{
    memcpy(own, &value, sizeof(value));
    assert_true(p->n_stores < STORES_MAX);
    p->stores[p->n_stores++] = (struct played_store){seen, value};
}

void played_enter(struct played *p, unsigned cpu, uint32_t slot, uint64_t valid)
{
    struct tally_record *r = &p->records[cpu], *seen = &p->seen_records[cpu];
    uint64_t check;

    p->now[cpu][SWITCHES]++;
    if (r->slot < SLOTS)
        p->truth[r->slot][SWITCHES]++;
    for (size_t i = 0; r->slot < SLOTS && r->check && i < WORDS; i++)
        if (r->valid & valid & 1U << i)
            store(p, &p->counts[cpu][r->slot][i], &p->seen[cpu][r->slot][i], p->now[cpu][i] - r->offset[i]);
    store(p, &r->seq, &seen->seq, r->seq + 1);
    store(p, &r->valid, &seen->valid, valid);
    store(p, &r->switches, &seen->switches, p->now[cpu][SWITCHES]);
    uint64_t both = (uint64_t)r->epoch << 32 | slot;
    store(p, &r->slot, &seen->slot, both);
    check = tally_check_begin(r->seq, slot, r->epoch, valid);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t entry = slot < SLOTS ? p->counts[cpu][slot][i] : 0;
        store(p, &r->offset[i], &seen->offset[i], p->now[cpu][i] - entry);
        check = tally_check_step(check, r->offset[i]);
    }
    store(p, &r->check, &seen->check, check);
}

void played_run(struct played *p, unsigned cpu, uint64_t ns, uint64_t ran)
{
    uint64_t grown[WORDS] = {[CYCLES] = 3 * ran, [CLOCK] = ran,    [FAULTS] = ns / 10, [ENABLED] = ns,
                             [RUNNING] = ran,    [ENABLED_2] = ns, [RUNNING_2] = ns};
    uint32_t slot = p->records[cpu].slot;

    for (size_t i = 0; i < WORDS; i++) {
        p->now[cpu][i] += grown[i];
        if (slot < SLOTS)
            p->truth[slot][i] += grown[i];
    }
}

int played_now(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid)
{
    struct played *p = userdata;
    static const uint64_t given = ALL & ~(1U << CLOCK | 1U << SWITCHES);

    p->calls++;
    if (p->error)
        return -p->error;
    played_settle(p);
    for (size_t i = 0; i < WORDS; i++)
        words[i] = given & p->valid & 1U << i ? p->now[cpu][i] : 12345;
    *ret_valid = p->valid & given;
    if (p->meanwhile)
        p->meanwhile(p, cpu);
    return 0;
}

void played_init(struct played *p)
{
    *p = (struct played){.sys = {.mmap = played_mmap, .munmap = played_munmap}, .valid = ALL, .random = 17};
    assert_int_equal(tally_reader_new(&p->sys, &played_shape, &(struct tally_maps){3, 4}, &p->reader), 0);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        for (size_t i = 0; i < WORDS; i++)
            p->now[cpu][i] = 1000 * (i + 1); /* the collector cpu has counted before */
        p->now[cpu][CLOCK] = p->now[cpu][RUNNING];
        p->records[cpu].slot = TALLY_SLOT_NONE;
        p->records[cpu].epoch = 1;
        tally_reader_set_cpu(p->reader, cpu, played_events);
        played_enter(p, cpu, TALLY_SLOT_ROOT, ALL);
    }
    played_settle(p);
}

void played_done(struct played *p)
{
    tally_reader_free(p->reader);
}

static void played_take(struct played *p, unsigned cpu)
{
    uint64_t delta[WORDS];
    uint32_t slot = 0;

    while ((slot = tally_reader_take(p->reader, cpu, slot, SLOTS, delta)) != TALLY_SLOT_NONE)
        for (size_t i = 0; i < WORDS; i++)
            p->taken[slot][i] += delta[i];
}

int played_read(struct played *p, unsigned cpu)
{
    p->calls = 0;
    int r = tally_reader_read(p->reader, cpu, played_now, p);
    played_take(p, cpu);
    return r;
}
