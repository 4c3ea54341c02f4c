/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of a tally, and the cgroups that have them. A slot that is given up goes on to be credited, to the cgroup
 * above, until no CPU runs it: then it is free. Pure.
 */
#ifndef COLLECTORS_CGROUP_SLOTS_H
#define COLLECTORS_CGROUP_SLOTS_H

#include "base/util.h"
#include "bpf/layout.h"

struct cgroup_counts;

#define SLOTS_MIN 256

enum slot_state {
    SLOT_FREE,
    SLOT_USED,
    SLOT_GIVEN_UP, /* its id is withdrawn, and a CPU may still run it */
    SLOT_DRAINING, /* and every CPU has looked again since */
};

struct slot {
    enum slot_state state;
    struct cgroup_counts *counts; /* that are credited; NULL: nobody is */
    uint64_t id;                  /* of the cgroup, as the tally has it */
    unsigned run;                 /* the number of the tally that it was assigned in */
};

/* All zero at first. */
struct slots {
    struct slot *items;
    uint32_t n, next; /* `next`: where a free one is looked for */
    uint32_t room;    /* in memory */
    uint32_t n_used, n_given_up;
};

/* How many there should be for `n` cgroups, never more than `max`: many changes of `n` are few of this. */
uint32_t slots_for(uint64_t n, uint64_t max);

void slots_done(struct slots *slots);
/* There is memory for `n`. -ENOMEM. */
int slots_reserve(struct slots *slots, uint32_t n);
/* There are at least `n` from now on, as were reserved, with those that no cgroup has: unknown and root. */
void slots_use(struct slots *slots, uint32_t n);

/* Gives a free slot to `counts`; TALLY_SLOT_NONE where none is free. */
uint32_t slots_take(struct slots *slots, struct cgroup_counts *counts);
/* The heir, which may be NULL, gets what is still to come in it, and in slots that are credited to the same counts. */
void slots_end(struct slots *slots, uint32_t slot, struct cgroup_counts *heir);
/* Another tally counts, and `run` is its number: those that were given up in others are free. */
void slots_free_others(struct slots *slots, unsigned run);
/* Nobody needs it any more. */
void slots_free(struct slots *slots, uint32_t slot);
/* Nobody is credited any more where these counts were. */
void slots_forget(struct slots *slots, const struct cgroup_counts *counts);
/* Every CPU has looked again. */
void slots_settle(struct slots *slots);
/* Frees slots that are draining and, as `is_idle` says, run nowhere. */
void slots_sweep(struct slots *slots, bool (*is_idle)(const void *userdata, uint32_t slot), const void *userdata);

#endif
