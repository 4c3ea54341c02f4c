/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of the BPF program's slots. Makes no system calls.
 *
 * When a cgroup is removed, some of its tasks may still run on its slot. So its slot is given up first, and what still
 * accrues there is attributed to the cgroup above. It is free once its id is withdrawn, every CPU has looked up its
 * slot again, and no CPU runs it any more.
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
    SLOT_GIVEN_UP, /* its owner is gone; a CPU may still run it */
    SLOT_DRAINING, /* its id is withdrawn and every CPU has looked up its slot again */
};

struct slot {
    enum slot_state state;
    struct cgroup_counts *counts; /* the counts to which it is attributed; NULL: none */
    uint64_t id;                  /* kernel's id of the cgroup, from bpf_calls.assign() */
};

/* Must be zeroed before the first use. */
struct slots {
    struct slot *items;
    uint32_t n, next; /* `next`: where the search for a free slot starts */
    uint32_t room;    /* allocated items */
    uint32_t n_used, n_given_up;
};

/*
 * Returns how many slots to allocate for `n` cgroups, in large steps so that it rarely changes: a power of two and at
 * least twice `n`, but not more than `max` cgroups can use.
 */
uint32_t slots_for(uint64_t n, uint64_t max);

void slots_done(struct slots *slots);
/* Allocates memory for `n` slots. Returns -ENOMEM on failure. */
int slots_reserve(struct slots *slots, uint32_t n);
/* Makes the first `n` slots usable, BPF_SLOT_UNKNOWN and BPF_SLOT_ROOT included. They must have been reserved. */
void slots_use(struct slots *slots, uint32_t n);

/* Gives a free slot to `counts`. Returns BPF_SLOT_NONE if none is free. */
uint32_t slots_take(struct slots *slots, struct cgroup_counts *counts);
/*
 * Gives up a slot. What still accrues in it, and in slots given up earlier that are attributed to the same counts, goes
 * to `parent`, which may be NULL.
 */
void slots_end(struct slots *slots, uint32_t slot, struct cgroup_counts *parent);
/* Frees a slot at once, without draining. */
void slots_free(struct slots *slots, uint32_t slot);
/* Stops attributing slots to `counts`, which are about to be freed. */
void slots_forget(struct slots *slots, const struct cgroup_counts *counts);
/* Must be called after the ids of slots that were given up are withdrawn and every CPU has looked up its slot again. */
void slots_settle(struct slots *slots);
/* Frees draining slots that no CPU runs, as reported by `is_idle`. */
void slots_sweep(struct slots *slots, bool (*is_idle)(const void *userdata, uint32_t slot), const void *userdata);

#endif
