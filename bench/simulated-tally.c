/* SPDX-License-Identifier: Apache-2.0 */
/* The program that counts cgroups, on a simulated machine: see simulated-tally.h. */
#include "bench/simulated-tally.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "bpf/calls.h"

#define FD_COUNTS 900000
#define FD_RECORDS 900001

/* The tally that was started last; who has mapped its maps unmaps them. */
struct simulated_tally {
    struct simulated *simulated;
    struct tally_calls calls;
    struct tally_shape shape;
    uint64_t *counts;
    struct tally_record *records;
    uint64_t (*rates)[TALLY_WORDS_MAX]; /* by CPU: what a word grows in a second */
    bool *watched;                      /* by slot */
    unsigned each;
    uint64_t seconds;
};

static struct simulated_tally *tally_of(struct sys *sys)
{
    return sys->userdata;
}

static uint64_t *entry_of(const struct simulated_tally *tally, unsigned cpu, uint32_t slot)
{
    return &tally->counts[((size_t)cpu * tally->shape.slots + slot) * tally_words(&tally->shape)];
}

static void forget(struct simulated_tally *tally)
{
    free(tally->rates);
    free(tally->watched);
    tally->rates = NULL;
    tally->watched = NULL;
}

size_t simulated_tally_size(const struct simulated_tally *tally)
{
    return (size_t)tally->shape.cpus * tally->shape.slots * tally_words(&tally->shape) * sizeof(uint64_t);
}

static int tally_start(struct sys *sys, const struct tally_shape *shape, struct tally_maps *ret, struct error *error)
{
    struct simulated_tally *tally = tally_of(sys);

    forget(tally);
    tally->shape = *shape;
    tally->counts = simulated_map(simulated_tally_size(tally));
    tally->records = simulated_map(shape->cpus * sizeof(struct tally_record));
    tally->rates = calloc(shape->cpus, sizeof(tally->rates[0]));
    tally->watched = calloc(shape->slots, sizeof(bool));
    if (!tally->counts || !tally->records || !tally->rates || !tally->watched)
        return error_oom(error);
    *ret = (struct tally_maps){FD_COUNTS, FD_RECORDS};
    return 0;
}

static void record_check(const struct simulated_tally *tally, struct tally_record *record)
{
    record->seq++;
    record->check = tally_check_begin(record->seq, record->slot, record->epoch, record->valid);
    for (uint32_t i = 0; i < tally_words(&tally->shape); i++)
        record->check = tally_check_step(record->check, record->offset[i]);
}

static int tally_set_cpu(struct sys *sys, unsigned cpu, const struct tally_event *events, const int *fds)
{
    struct simulated_tally *tally = tally_of(sys);
    struct tally_record *record = &tally->records[cpu];
    uint64_t *rates = tally->rates[cpu];

    record->slot = TALLY_SLOT_ROOT;
    record->valid = 0;
    for (uint32_t i = 0; i < tally->shape.events; i++) {
        uint32_t times = tally->shape.events + 2U * events[i].group;
        if (events[i].source != TALLY_READ)
            continue;
        rates[i] = simulated_rate(tally->simulated, fds[i]);
        rates[times] = rates[times + 1] = NSEC_PER_SEC;
        record->valid |= UINT64_C(1) << i | UINT64_C(3) << times;
    }
    for (uint32_t i = 0; i < tally_words(&tally->shape); i++)
        record->offset[i] = tally->seconds * rates[i] - entry_of(tally, cpu, TALLY_SLOT_ROOT)[i];
    return 0;
}

static int tally_flush(struct sys *sys)
{
    struct simulated_tally *tally = tally_of(sys);

    for (uint32_t cpu = 0; cpu < tally->shape.cpus; cpu++)
        record_check(tally, &tally->records[cpu]);
    return 0;
}

static int tally_attach(struct sys *sys, bool attached)
{
    return attached ? tally_flush(sys) : 0;
}

/* The identity of a cgroup is its slot. */
static int tally_assign(struct sys *sys, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    (void)cgroup_fd;
    tally_of(sys)->watched[slot] = true;
    *ret_id = slot;
    return 0;
}

static int tally_withdraw(struct sys *sys, uint64_t id)
{
    tally_of(sys)->watched[id] = false;
    return 0;
}

static void tally_stop(struct sys *sys)
{
    (void)sys;
}

static int tally_map(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    struct simulated_tally *tally = tally_of(sys);

    (void)size;
    (void)protection;
    *ret = fd == FD_COUNTS ? (void *)tally->counts : (void *)tally->records;
    return 0;
}

static int tally_unmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    return munmap(address, size) < 0 ? -errno : 0;
}

struct simulated_tally *simulated_tally_new(struct simulated *simulated, unsigned each)
{
    struct simulated_tally *tally = calloc(1, sizeof(*tally));
    struct sys *sys = simulated_sys(simulated);

    if (!tally)
        return NULL;
    *tally = (struct simulated_tally){
        .simulated = simulated,
        .each = each,
        .calls = {.start = tally_start,
                  .set_cpu = tally_set_cpu,
                  .attach = tally_attach,
                  .assign = tally_assign,
                  .withdraw = tally_withdraw,
                  .flush = tally_flush,
                  .stop = tally_stop},
    };
    sys->tally = &tally->calls;
    sys->userdata = tally;
    sys->mmap = tally_map;
    sys->munmap = tally_unmap;
    return tally;
}

struct simulated_tally *simulated_tally_free(struct simulated_tally *tally)
{
    if (!tally)
        return NULL;
    forget(tally);
    free(tally);
    return NULL;
}

/* The slot had this part of the CPU's second. */
static void run_slot(const struct simulated_tally *tally, unsigned cpu, uint32_t slot, unsigned part)
{
    uint64_t *entry = entry_of(tally, cpu, slot);

    for (uint32_t i = 0; i < tally_words(&tally->shape); i++) {
        uint64_t grown = tally->rates[cpu][i] / part;
        entry[i] += grown;
        tally->records[cpu].offset[i] += grown;
    }
}

void simulated_tally_advance(struct simulated_tally *tally)
{
    simulated_advance(tally->simulated);
    tally->seconds++;
    for (uint32_t cpu = 0; cpu < tally->shape.cpus; cpu++) {
        for (uint32_t slot = TALLY_SLOT_FIRST; slot < tally->shape.slots; slot++)
            if (tally->watched[slot] && (slot + cpu + tally->seconds) % tally->each == 0)
                run_slot(tally, cpu, slot, tally->shape.slots);
        record_check(tally, &tally->records[cpu]);
    }
}
