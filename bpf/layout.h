/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout of the maps that the BPF program (bpf/cgroup.bpf.c) shares with the loader and the reader. This header
 * uses only types from kernel headers, because the program has no libc.
 *
 * The program counts cgroups without perf events of their own: at a task switch, it attributes the increase of the
 * CPU's counters to the slot of the cgroup that leaves the CPU. A slot belongs to a watched cgroup; the counts of other
 * cgroups go to the nearest ancestor that has a slot.
 */
#ifndef BPF_LAYOUT_H
#define BPF_LAYOUT_H

#include <linux/types.h>

#define BPF_EVENTS_MAX 24
#define BPF_GROUPS_MAX 8
#define BPF_WORDS_MAX (BPF_EVENTS_MAX + 2 * BPF_GROUPS_MAX)

/* Alignment that keeps the data that a CPU writes at task switches out of other CPUs' cache lines. */
#define BPF_CPU_ALIGNMENT 128

#define BPF_SLOT_UNKNOWN 0 /* counts that cannot be attributed to a cgroup */
#define BPF_SLOT_ROOT 1    /* tasks that no other slot covers */
#define BPF_SLOT_FIRST 2
#define BPF_SLOT_NONE 0xffffffffU

/* The constants of a loaded program. An entry has `events` values, then time_enabled and time_running of each group. */
struct bpf_shape {
    __u32 cpus;           /* number of possible CPUs: the highest CPU number plus 1 */
    __u32 slots;          /* number of slots, including BPF_SLOT_UNKNOWN and BPF_SLOT_ROOT */
    __u32 events, groups; /* events of a group share their times; `groups`: the maximum on any CPU */
};

/*
 * Byte offsets of fields in kernel structs, for the program without BTF: task_struct.cgroups, css_set.dfl_cgrp,
 * cgroup.kn, kernfs_node.id, cgroup.self.parent.
 */
struct bpf_offsets {
    __u32 cgroups, dfl_cgrp, kn, id, parent;
};

/* The constants that the loader sets before it loads the object. */
struct bpf_constants {
    struct bpf_shape shape;
    struct bpf_offsets offsets;
};

/* Source of an event's value on a CPU. */
enum word_source {
    SOURCE_NONE,     /* none: the event is not counted on this CPU */
    SOURCE_READ,     /* the event's perf counter */
    SOURCE_RUNNING,  /* time_running of the event's group, which is what task-clock counts */
    SOURCE_SWITCHES, /* the number of switches that the program sees, like context-switches */
};

struct bpf_event {
    __u8 source;      /* enum word_source */
    __u8 group;       /* the group, on this CPU, whose times apply to the event */
    __u8 gives_times; /* reading it also gives the group's times; set for one SOURCE_READ event of each group */
    __u8 zero;
};

/* One read of a counter, with the byte offsets at which its value and its group's times are stored. */
struct bpf_read {
    __u32 key;   /* key in the map `events` */
    __u16 word;  /* byte offset of the value: 8 * the event's index */
    __u16 times; /* byte offset of time_enabled, which time_running follows; 0: the times are not stored */
};

/* The task-clock of a group is the group's time_running: that word is copied. */
struct bpf_copy {
    __u8 to, from;
};

#define BPF_WORD_NONE 0xff

/*
 * What the program reads on a CPU at each switch. The loader precomputes this plan, so that the program does not have
 * to examine each event. A record with another epoch is outdated. A change of the map `events` takes two epochs: one
 * without reads during the change, then one with the new reads.
 */
struct bpf_control {
    __u32 epoch;
    __u8 n_reads, n_copies;
    __u8 switches; /* the word that counts switches, or BPF_WORD_NONE */
    __u8 zero;
    __u64 valid; /* has a bit for each word that gets a value if all reads succeed */
    struct bpf_read reads[BPF_EVENTS_MAX];
    struct bpf_copy copies[BPF_EVENTS_MAX];
};

/* Makes the plan for the `n` events of a CPU; `epoch` is not changed. */
static inline void bpf_control_plan(struct bpf_control *control, __u32 cpu, const struct bpf_event *events, __u32 n)
{
    control->n_reads = control->n_copies = 0;
    control->switches = BPF_WORD_NONE;
    control->valid = 0;
    for (__u32 i = 0; i < n; i++) {
        __u8 times = (__u8)(n + 2 * events[i].group);

        switch (events[i].source) {
        case SOURCE_READ:
            control->reads[control->n_reads++] =
                (struct bpf_read){cpu * n + i, (__u16)(8 * i), (__u16)(events[i].gives_times ? 8 * times : 0)};
            control->valid |= 1ULL << i | (events[i].gives_times ? 3ULL << times : 0);
            break;
        case SOURCE_RUNNING:
            control->copies[control->n_copies++] = (struct bpf_copy){(__u8)i, (__u8)(times + 1)};
            control->valid |= 1ULL << i;
            break;
        case SOURCE_SWITCHES:
            control->switches = (__u8)i;
            control->valid |= 1ULL << i;
            break;
        default:
            break;
        }
    }
}

/*
 * The state of a CPU, written by the program. Every process with a descriptor of the map can read the record, so it
 * contains no kernel addresses. The total of word w of the running slot is the value in its entry, plus the counter's
 * increase over base[w]; the totals of all other slots are in their entries. If bit w of `valid` is clear, the word
 * could not be read, and its total is the value in the entry.
 */
struct bpf_record {
    __u64 check;  /* bpf_check_begin(), followed by bpf_check_step() of each word of `base` */
    __u64 seq;    /* advances whenever an interval of a slot begins */
    __u64 cgroup; /* id of the running cgroup; not covered by `check` */
    __u32 slot;   /* the running slot; BPF_SLOT_NONE: unknown */
    __u32 epoch;
    __u64 valid;    /* one bit for each word that was read */
    __u64 switches; /* the value of SOURCE_SWITCHES; advances at each switch; not covered by `check` */
    /*
     * Number of times that a task on this CPU has moved tasks to another cgroup; not covered by `check`. If a moved
     * task is running on another CPU, that CPU attributes its counts to the old cgroup until it switches or looks
     * again.
     */
    __u64 moves;
    __u64 base[BPF_WORDS_MAX]; /* the counters' values when the interval began */
} __attribute__((aligned(BPF_CPU_ALIGNMENT)));

/*
 * The entry of a slot on a CPU is counts[cpu * slots + slot]. The words of an entry never decrease, even if the slot is
 * given to another cgroup.
 */

#define BPF_CHECK_SEED 0x9e3779b97f4a7c15ULL
#define BPF_CHECK_FACTOR 0xbf58476d1ce4e5b9ULL /* odd, so that changing any single word changes the checksum */

/*
 * The check of a record covers seq, slot, epoch, valid, and as many words of `base` as an entry has, so a reader does
 * not depend on the order of the stores. A record with BPF_SLOT_NONE has a valid check too.
 */
static inline __attribute__((always_inline)) __u64 bpf_check_step(__u64 check, __u64 word)
{
    return (check ^ word) * BPF_CHECK_FACTOR;
}

static inline __attribute__((always_inline)) __u64 bpf_check_begin(__u64 seq, __u32 slot, __u32 epoch, __u64 valid)
{
    __u64 check = bpf_check_step(BPF_CHECK_SEED, seq);

    check = bpf_check_step(check, (__u64)epoch << 32 | slot);
    return bpf_check_step(check, valid);
}

#endif
