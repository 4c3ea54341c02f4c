/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout of the maps that the program at the kernel's switches between tasks (tally.bpf.c) shares with those who
 * load and read it. Only types of the kernel's headers, since the program has no libc.
 *
 * A tally counts cgroups without an event of their own: the program adds what the counters of a CPU advanced to the
 * slot of the cgroup that leaves it. A slot is a cgroup that is watched; tasks of others count for the nearest ancestor
 * that has a slot.
 */
#ifndef BPF_LAYOUT_H
#define BPF_LAYOUT_H

#include <linux/types.h>

#define TALLY_EVENTS_MAX 24
#define TALLY_GROUPS_MAX 8
#define TALLY_WORDS_MAX (TALLY_EVENTS_MAX + 2 * TALLY_GROUPS_MAX)

#define TALLY_SLOT_UNKNOWN 0 /* time of an unknown cgroup */
#define TALLY_SLOT_ROOT 1    /* of all that no other slot has */
#define TALLY_SLOT_FIRST 2
#define TALLY_SLOT_NONE 0xffffffffU

/* Constants of a program once it is loaded. An entry has `events` values, then enabled and running of each group. */
struct tally_shape {
    __u32 cpus;           /* possible ones: the largest number and 1 */
    __u32 slots;          /* the unknown and the root among them */
    __u32 events, groups; /* groups: of events that have their times together, at most on one CPU */
};

/* Where the value of an event comes from, on a CPU. */
enum tally_source {
    TALLY_NONE,     /* the CPU does not count it */
    TALLY_READ,     /* the counter */
    TALLY_RUNNING,  /* the running time of its group, as task-clock in it counts */
    TALLY_SWITCHES, /* the program counts the switches that it sees, as context-switches does */
};

struct tally_event {
    __u8 source;      /* enum tally_source */
    __u8 group;       /* of its times on this CPU */
    __u8 gives_times; /* the times of the group are read with this event: one TALLY_READ event of each group */
    __u8 zero;
};

/*
 * Of a CPU, by the loader. Another epoch than that of the record: what the record says is over. To change what is in
 * the map `events` it takes two epochs: one with all TALLY_NONE before, and one with the new events after.
 */
struct tally_control {
    __u32 epoch;
    struct tally_event events[TALLY_EVENTS_MAX];
};

/*
 * Of a CPU, by the program: what runs there; whoever has the map's descriptor reads it, so it has no address of the
 * kernel's. The total of word w of the slot that runs is the counter's value now minus
 * offset[w]; those of all other slots are in their entries. Where a bit of `valid` is off, the word could not be read,
 * and the entry is what there is.
 */
struct tally_record {
    __u64 check;  /* tally_check_begin() and then tally_check_step() of each offset */
    __u64 seq;    /* advances at each change of the slot */
    __u64 cgroup; /* its id */
    __u32 slot;   /* TALLY_SLOT_NONE: nothing is known */
    __u32 epoch;
    __u64 valid;    /* a bit for each word */
    __u64 switches; /* the value of TALLY_SWITCHES; advances at each switch, and is not in `check` */
    /*
     * How often a task on this CPU moved tasks to another cgroup; not in `check`. A moved task that runs on another CPU
     * counts for its old cgroup there until that CPU switches or looks again.
     */
    __u64 moves;
    __u64 offset[TALLY_WORDS_MAX];
};

/* The entry of a slot on a CPU is counts[cpu * slots + slot]. It only ever grows, also when the slot changes hands. */

#define TALLY_CHECK_SEED 0x9e3779b97f4a7c15ULL
#define TALLY_CHECK_FACTOR 0xbf58476d1ce4e5b9ULL /* odd: a word that differs always shows */

/*
 * The check of a record covers its seq, slot and epoch, valid, and then its offsets, as many as an entry has words: so
 * a reader needs no order of the stores. A record of TALLY_SLOT_NONE has its check, too.
 */
static inline __attribute__((always_inline)) __u64 tally_check_step(__u64 check, __u64 word)
{
    return (check ^ word) * TALLY_CHECK_FACTOR;
}

static inline __attribute__((always_inline)) __u64 tally_check_begin(__u64 seq, __u32 slot, __u32 epoch, __u64 valid)
{
    __u64 check = tally_check_step(TALLY_CHECK_SEED, seq);

    check = tally_check_step(check, (__u64)epoch << 32 | slot);
    return tally_check_step(check, valid);
}

#endif
