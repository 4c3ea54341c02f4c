/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates the BPF program's slots. Makes no system calls.
 *
 * When a cgroup is removed, some of its tasks may still run on its slot. The slot of a removed cgroup is therefore
 * first given up, and the counts that the slot still accrues are attributed to the cgroup above. The slot becomes free
 * once the cgroup's id is withdrawn, every CPU has looked up the slot of its current task again, and no CPU still runs
 * a task of the slot.
 */
#ifndef COLLECTORS_CGROUP_BPF_SLOTS_H
#define COLLECTORS_CGROUP_BPF_SLOTS_H

#include "base/util.h"
#include "bpf/layout.h"

struct cgroup_counts;

#define SLOTS_MIN 256

enum slot_state {
    SLOT_FREE,
    SLOT_USED,
    SLOT_GIVEN_UP, /* the slot's owner is gone, but a CPU may still run a task of the slot */
    SLOT_DRAINING, /* the cgroup's id is withdrawn, and every CPU has looked up its current slot again */
};

struct slot {
    enum slot_state state;
    struct cgroup_counts *counts; /* counts that the slot is attributed to, or NULL */
    uint64_t id;                  /* the kernel's id of the cgroup, from bpf_calls.assign() */
};

/* Must be zeroed before the first use. */
struct slots {
    struct slot *items;
    uint32_t n, next; /* number of slots, and the index where the search for a free slot starts */
    uint32_t room;    /* number of allocated items */
    uint32_t n_used, n_given_up;
};

/*
 * Returns how many slots to allocate for `n` cgroups: a power of two that is at least twice `n`, but no more than `max`
 * cgroups can use. Powers of two are used so that the number rarely changes.
 */
uint32_t slots_for(uint64_t n, uint64_t max);

void slots_done(struct slots *slots);
/* Allocates memory for `n` slots. Returns -ENOMEM on failure. */
int slots_reserve(struct slots *slots, uint32_t n);
/*
 * Makes the first `n` slots usable, including BPF_SLOT_UNKNOWN and BPF_SLOT_ROOT. Memory for the slots must have been
 * reserved.
 */
void slots_use(struct slots *slots, uint32_t n);

/* Assigns a free slot to `counts`. Returns BPF_SLOT_NONE if no slot is free. */
uint32_t slots_take(struct slots *slots, struct cgroup_counts *counts);
/*
 * Gives up a slot. Counts that still accrue in the slot are attributed to `parent`, which may be NULL. Slots given up
 * earlier that are attributed to the same counts are attributed to `parent` as well.
 */
void slots_end(struct slots *slots, uint32_t slot, struct cgroup_counts *parent);
/* Frees a slot at once, although a CPU may still run a task of the slot. */
void slots_free(struct slots *slots, uint32_t slot);
/* Stops attributing slots to `counts`, which are about to be freed. */
void slots_forget(struct slots *slots, const struct cgroup_counts *counts);
/* Must be called after the ids of slots that were given up are withdrawn and every CPU has looked up its slot again. */
void slots_settle(struct slots *slots);
/* Frees the draining slots whose tasks no CPU runs any more, according to `is_idle`. */
void slots_sweep(struct slots *slots, bool (*is_idle)(const void *userdata, uint32_t slot), const void *userdata);

#endif
