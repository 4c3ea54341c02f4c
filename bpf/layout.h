/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout of the maps that the BPF program (bpf/cgroup.bpf.c) shares with the loader and the reader. It uses only
 * types of the kernel's headers, because the program has no libc.
 *
 * The program counts cgroups without perf events of their own: at a switch between tasks, it attributes the increase of
 * the CPU's counters to the slot of the cgroup that leaves the CPU. A slot belongs to a watched cgroup; the tasks of
 * other cgroups count for the nearest ancestor that has a slot.
 */
#ifndef BPF_LAYOUT_H
#define BPF_LAYOUT_H

#include <linux/types.h>

#define BPF_EVENTS_MAX 24
#define BPF_GROUPS_MAX 8
#define BPF_WORDS_MAX (BPF_EVENTS_MAX + 2 * BPF_GROUPS_MAX)

/* Data that a CPU writes at its switches shares no cache line with the data of another CPU. */
#define BPF_CPU_ALIGNMENT 128

#define BPF_SLOT_UNKNOWN 0 /* counts that cannot be attributed to a cgroup */
#define BPF_SLOT_ROOT 1    /* tasks that no other slot covers */
#define BPF_SLOT_FIRST 2
#define BPF_SLOT_NONE 0xffffffffU

/* The constants of a loaded program. An entry has `events` values, then time_enabled and time_running of each group. */
struct bpf_shape {
    __u32 cpus;           /* possible CPUs: the highest number plus 1 */
    __u32 slots;          /* including BPF_SLOT_UNKNOWN and BPF_SLOT_ROOT */
    __u32 events, groups; /* the events of a group share their times; `groups` is the most that a CPU has */
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

/* Where the value of an event comes from on a CPU. */
enum word_source {
    SOURCE_NONE,     /* it is not counted on this CPU */
    SOURCE_READ,     /* its perf counter */
    SOURCE_RUNNING,  /* time_running of its group, which is what task-clock counts in it */
    SOURCE_SWITCHES, /* the number of switches that the program sees, like context-switches */
};

struct bpf_event {
    __u8 source;      /* enum word_source */
    __u8 group;       /* the group that its times belong to on this CPU */
    __u8 gives_times; /* its read returns the group's times; set for one SOURCE_READ event of each group */
    __u8 zero;
};

/* One read of a counter, with the byte offsets at which its value and its group's times are stored. */
struct bpf_read {
    __u32 key;   /* of the map `events` */
    __u16 word;  /* 8 * the number of the event */
    __u16 times; /* 8 * the word of time_enabled, before that of time_running; 0: they are not stored */
};

/* The task-clock of a group is the group's time_running: that word is copied. */
struct bpf_copy {
    __u8 to, from;
};

#define BPF_WORD_NONE 0xff

/*
 * The plan of what the program reads on a CPU, precomputed by the loader, so that the program does not have to examine
 * each event at each switch. A record with another epoch is outdated. A change of the map `events` takes two epochs:
 * one without reads before the change, and one with the new ones after it.
 */
struct bpf_control {
    __u32 epoch;
    __u8 n_reads, n_copies;
    __u8 switches; /* the word that is the number of switches; BPF_WORD_NONE: none */
    __u8 zero;
    __u64 valid; /* a bit for each word that has a value if all reads succeed */
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
 * The state of a CPU, written by the program. Every holder of a descriptor of the map can read the record, so it
 * contains no kernel addresses. The total of word w of the running slot is the value in its entry, plus the counter's
 * increase over base[w]; the totals of all other slots are in their entries. If bit w of `valid` is clear, the word
 * could not be read, and its total is the value in the entry.
 */
struct bpf_record {
    __u64 check;  /* bpf_check_begin(), followed by bpf_check_step() of each word of `base` */
    __u64 seq;    /* advances whenever an interval of a slot begins */
    __u64 cgroup; /* the id of the cgroup that runs; not in `check` */
    __u32 slot;   /* BPF_SLOT_NONE: unknown */
    __u32 epoch;
    __u64 valid;    /* one bit for each word */
    __u64 switches; /* the value of SOURCE_SWITCHES; advances at each switch; not in `check` */
    /*
     * How often a task on this CPU has moved tasks to another cgroup; not in `check`. If a moved task runs on another
     * CPU, it counts for its old cgroup there until that CPU switches or looks again.
     */
    __u64 moves;
    __u64 base[BPF_WORDS_MAX]; /* the counters when the interval began */
} __attribute__((aligned(BPF_CPU_ALIGNMENT)));

/*
 * The entry of a slot on a CPU is counts[cpu * slots + slot]. Its words never decrease, even if the slot is given to
 * another cgroup.
 */

#define BPF_CHECK_SEED 0x9e3779b97f4a7c15ULL
#define BPF_CHECK_FACTOR 0xbf58476d1ce4e5b9ULL /* odd, so that a change of any single word changes the check */

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
