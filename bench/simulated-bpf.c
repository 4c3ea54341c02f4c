/* SPDX-License-Identifier: Apache-2.0 */
/* The maps are anonymous memory; every second that passes adds to the words of each CPU and each cgroup. */
#include "bench/simulated-bpf.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "bpf/calls.h"
#include "tests/unit/wrap-calls.h"

#define FD_COUNTS 900000
#define FD_RECORDS 900001

/* The BPF program that was started last. The caller that maps its maps must unmap them. */
struct simulated_bpf {
    struct simulated *simulated;
    struct bpf_calls calls;
    struct bpf_shape shape;
    uint64_t *counts;
    struct bpf_record *records;
    uint64_t (*rates)[BPF_WORDS_MAX]; /* for each CPU: how much each word grows per second */
    bool *watched;                    /* for each slot: whether a cgroup is counted in it */
    unsigned each;
    uint64_t seconds;
};

static uint64_t *entry_of(const struct simulated_bpf *bpf, unsigned cpu, uint32_t slot)
{
    return &bpf->counts[((size_t)cpu * bpf->shape.slots + slot) * bpf_words(&bpf->shape)];
}

static void forget(struct simulated_bpf *bpf)
{
    free(bpf->rates);
    free(bpf->watched);
    bpf->rates = NULL;
    bpf->watched = NULL;
}

size_t simulated_bpf_size(const struct simulated_bpf *bpf)
{
    return (size_t)bpf->shape.cpus * bpf->shape.slots * bpf_words(&bpf->shape) * sizeof(uint64_t);
}

static int engine_start(void *owner, const struct bpf_shape *shape, struct bpf_maps *ret, struct error *error)
{
    struct simulated_bpf *bpf = owner;

    forget(bpf);
    bpf->shape = *shape;
    bpf->counts = simulated_map(simulated_bpf_size(bpf));
    bpf->records = simulated_map(shape->cpus * sizeof(struct bpf_record));
    bpf->rates = calloc(shape->cpus, sizeof(bpf->rates[0]));
    bpf->watched = calloc(shape->slots, sizeof(bool));
    if (!bpf->counts || !bpf->records || !bpf->rates || !bpf->watched)
        return error_oom(error);
    *ret = (struct bpf_maps){FD_COUNTS, FD_RECORDS};
    return 0;
}

static void record_check(const struct simulated_bpf *bpf, struct bpf_record *record)
{
    record->seq++;
    record->check = bpf_check_begin(record->seq, record->slot, record->epoch, record->valid);
    for (uint32_t i = 0; i < bpf_words(&bpf->shape); i++)
        record->check = bpf_check_step(record->check, record->base[i]);
}

static int bpf_set_cpu(void *owner, unsigned cpu, const struct bpf_event *events, const int *fds)
{
    struct simulated_bpf *bpf = owner;
    struct bpf_record *record = &bpf->records[cpu];
    uint64_t *rates = bpf->rates[cpu];

    record->slot = BPF_SLOT_ROOT;
    record->valid = 0;
    for (uint32_t i = 0; i < bpf->shape.events; i++) {
        uint32_t times = bpf->shape.events + 2U * events[i].group;
        if (events[i].source != SOURCE_READ)
            continue;
        rates[i] = simulated_rate(bpf->simulated, fds[i]);
        rates[times] = rates[times + 1] = NSEC_PER_SEC;
        record->valid |= UINT64_C(1) << i | UINT64_C(3) << times;
    }
    for (uint32_t i = 0; i < bpf_words(&bpf->shape); i++)
        record->base[i] = bpf->seconds * rates[i];
    return 0;
}

static int bpf_flush(void *owner)
{
    struct simulated_bpf *bpf = owner;

    for (uint32_t cpu = 0; cpu < bpf->shape.cpus; cpu++)
        record_check(bpf, &bpf->records[cpu]);
    return 0;
}

static int bpf_attach(void *owner, bool attached)
{
    return attached ? bpf_flush(owner) : 0;
}

/* The ID of a cgroup is its slot. */
static int bpf_assign(void *owner, int cgroup_fd, uint32_t slot, uint64_t *ret_id)
{
    const struct simulated_bpf *bpf = owner;

    (void)cgroup_fd;
    bpf->watched[slot] = true;
    *ret_id = slot;
    return 0;
}

static int bpf_withdraw(void *owner, uint64_t id)
{
    const struct simulated_bpf *bpf = owner;

    bpf->watched[id] = false;
    return 0;
}

static void bpf_stop(void *owner)
{
    (void)owner;
}

static int bpf_map(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    const struct simulated_bpf *bpf = sys->owner;

    (void)size;
    (void)protection;
    *ret = fd == FD_COUNTS ? (void *)bpf->counts : (void *)bpf->records;
    return 0;
}

static int bpf_unmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    return munmap(address, size) < 0 ? -errno : 0;
}

struct simulated_bpf *simulated_bpf_new(struct simulated *simulated, unsigned each)
{
    struct simulated_bpf *bpf = calloc(1, sizeof(*bpf));
    struct sys *sys = simulated_sys(simulated);

    if (!bpf)
        return NULL;
    *bpf = (struct simulated_bpf){
        .simulated = simulated,
        .each = each,
        .calls = {.owner = bpf,
                  .start = engine_start,
                  .set_cpu = bpf_set_cpu,
                  .attach = bpf_attach,
                  .assign = bpf_assign,
                  .withdraw = bpf_withdraw,
                  .flush = bpf_flush,
                  .stop = bpf_stop},
    };
    sys->owner = bpf;
    wrap_calls(sys, (struct sys_calls){.mmap = bpf_map, .munmap = bpf_unmap});
    return bpf;
}

const struct bpf_calls *simulated_bpf_calls(const struct simulated_bpf *bpf)
{
    return bpf ? &bpf->calls : NULL;
}

struct simulated_bpf *simulated_bpf_free(struct simulated_bpf *bpf)
{
    if (!bpf)
        return NULL;
    forget(bpf);
    free(bpf);
    return NULL;
}

/* Adds 1/`part` of the CPU's counts per second to the slot. */
static void run_slot(const struct simulated_bpf *bpf, unsigned cpu, uint32_t slot, unsigned part)
{
    uint64_t *entry = entry_of(bpf, cpu, slot);

    for (uint32_t i = 0; i < bpf_words(&bpf->shape); i++) {
        uint64_t grown = bpf->rates[cpu][i] / part;
        entry[i] += grown;
        bpf->records[cpu].base[i] += grown;
    }
}

void simulated_bpf_advance(struct simulated_bpf *bpf)
{
    simulated_advance(bpf->simulated);
    bpf->seconds++;
    for (uint32_t cpu = 0; cpu < bpf->shape.cpus; cpu++) {
        for (uint32_t slot = BPF_SLOT_FIRST; slot < bpf->shape.slots; slot++)
            if (bpf->watched[slot] && (slot + cpu + bpf->seconds) % bpf->each == 0)
                run_slot(bpf, cpu, slot, bpf->shape.slots);
        record_check(bpf, &bpf->records[cpu]);
    }
}
