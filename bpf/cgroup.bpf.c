/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The BPF program of the bpf engine. The kernel runs it at each task switch. When another cgroup begins to run on a
 * CPU, the counts since the previous change are added to the slot of the cgroup that leaves.
 *
 * Each interval begins with the counter values at which the previous one ended. The sum over all slots is therefore
 * exactly the increase of the CPU's counters.
 *
 * This file is compiled twice. One program reads kernel structs through BTF. The other, WITHOUT_TYPES, is for kernels
 * without BTF: it reads them at offsets that bpf/offsets.c has found, with a helper that costs some 200 instructions on
 * Linux 5.10. It avoids that helper where possible. The cgroup id that it reads is compared with the id that the kernel
 * returns for the running task; if they differ, the interval is attributed to the unknown slot. Neither program needs
 * kernel headers, takes a lock, or writes to memory that other CPUs write to at a switch.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h> /* the two headers below need it */

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/layout.h"

/*
 * Maximum number of ancestors that are searched for a slot. The search is bounded because it may run with the CPU's
 * runqueue locked, and users may nest cgroups to any depth.
 */
#define LEVELS_MAX 256
#define FOUND_MAX 64

#ifndef WITHOUT_TYPES
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
    __u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
};
struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
};
struct css_set {
    struct cgroup *dfl_cgrp;
};
struct task_struct {
    int tgid;
    struct css_set *cgroups;
};
#pragma clang attribute pop
#else
struct cgroup; /* never dereferenced, so it needs no members */
struct task_struct;
#endif

/* A single struct, because the compiler may reorder separate constants. */
const volatile struct bpf_constants constants = {.shape = {.cpus = 1, .slots = 2, .events = 1, .groups = 1}};
#define shape constants.shape

/* The verifier sees `shape` as constant and removes the iterations that never run. */
#define UNROLLED _Pragma("clang loop unroll(full)")
/* Linux verifies bounded loops since 5.3. */
#define ROLLED _Pragma("clang loop unroll(disable)")

/* The id and the slot of a cgroup; valid for one generation of slots. */
struct found {
    __u64 key; /* the cgroup's id; WITHOUT_TYPES, its address, which only a new cgroup can reuse */
    __u64 id;
    __u32 slot;
    __u32 generation;
};

/* At least BPF_WORDS_MAX; a power of two, so that a mask shows the verifier that an index is within bounds. */
#define NOW_MAX 64

/* State of a CPU, used only by the program. */
struct work {
    __u64 task; /* address of the last task that was switched to; 0: unknown */
    __u32 busy; /* 1 while the program updates the record; a run that interrupts it then does nothing */
    /*
     * 0: nothing is counted on this CPU, because the program has not started there or has handed over to its successor.
     */
    __u32 counts;
    __u32 generation;
    __u32 made;    /* WITHOUT_TYPES: the value of cgroups_made when this generation of slots began */
    __u64 cgroups; /* WITHOUT_TYPES: the css_set of the last task that was switched to; 0: unknown */
    __u64 now[NOW_MAX + 1];
    struct found found[FOUND_MAX];
} __attribute__((aligned(BPF_CPU_ALIGNMENT)));

/* Key: cpu * events + event. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __uint(max_entries, 1);
} events SEC(".maps");

/* Key: cgroup id. The root has a fixed slot and no element here. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, __u64);
    __type(value, __u32);
    __uint(max_entries, 1);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u64) * BPF_WORDS_MAX);
    __uint(max_entries, 1);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct bpf_record);
    __uint(max_entries, 1);
} records SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct bpf_control);
    __uint(max_entries, 1);
} control SEC(".maps");

/* The flag is set only because it aligns the elements; this map is never mapped. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct work);
    __uint(max_entries, 1);
} work SEC(".maps");

/* Element 0: cgroup_look of the program that replaces this one. cgroup_hand_over calls it. */
struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __uint(max_entries, 1);
} successor SEC(".maps");

/* One CPU's elements in the maps. */
struct cpu {
    __u32 number;
    __u32 epoch;
    const struct bpf_control *control;
    struct bpf_record *record;
    struct work *work;
};

/* The verifier sees `shape` as constant and removes the iterations that never run. */
#define UNROLLED _Pragma("clang loop unroll(full)")
/* Linux verifies bounded loops since 5.3. */
#define ROLLED _Pragma("clang loop unroll(disable)")

/* The word at a byte offset of the plan. The mask shows the verifier that this word and the next are within bounds. */
static __always_inline __u64 *word_at(const struct cpu *cpu, __u64 at)
{
    return (__u64 *)((char *)cpu->work->now + (at & 8 * (NOW_MAX - 1)));
}

/* Reads the counters that the plan names into cpu->work->now. Returns a mask of the words that have a value. */
static __always_inline __u64 read_words(const struct cpu *cpu)
{
    const struct bpf_control *control = cpu->control;
    __u64 lost = 0;

    ROLLED
    for (__u32 i = 0; i < BPF_EVENTS_MAX && i < control->n_reads; i++) {
        const struct bpf_read *read = &control->reads[i];
        struct bpf_perf_event_value value;
        __u64 *times;

        if (bpf_perf_event_read_value(&events, read->key, &value, sizeof(value))) {
            lost |= 1ULL << read->word / 8 | (read->times ? 3ULL << read->times / 8 : 0);
            continue;
        }
        *word_at(cpu, read->word) = value.counter;
        if (!read->times)
            continue;
        times = word_at(cpu, read->times);
        times[0] = value.enabled;
        times[1] = value.running;
    }
    ROLLED
    for (__u32 i = 0; i < BPF_EVENTS_MAX && i < control->n_copies; i++) {
        __u64 to = control->copies[i].to, from = control->copies[i].from;

        *word_at(cpu, 8 * to) = *word_at(cpu, 8 * from);
        lost |= (lost >> from & 1) << to;
    }
    if (control->switches != BPF_WORD_NONE)
        *word_at(cpu, 8 * control->switches) = cpu->record->switches;
    return control->valid & ~lost;
}

static __always_inline __u64 *find_entry(const struct cpu *cpu, __u32 slot)
{
    __u32 index = cpu->number * shape.slots + slot;

    return slot < shape.slots ? bpf_map_lookup_elem(&counts, &index) : NULL;
}

static __always_inline __u64 count_words(void)
{
    return shape.events + 2 * shape.groups;
}

/* Gets the state of the current CPU, except `control`, which is looked up only when needed. */
static __always_inline bool find_cpu(struct cpu *ret)
{
    __u32 number = bpf_get_smp_processor_id();

    ret->number = number;
    ret->record = bpf_map_lookup_elem(&records, &number);
    ret->work = bpf_map_lookup_elem(&work, &number);
    return ret->record && ret->work;
}

static __always_inline bool find_control(struct cpu *cpu)
{
    cpu->control = bpf_map_lookup_elem(&control, &cpu->number);
    if (!cpu->control)
        return false;
    cpu->epoch = cpu->control->epoch;
    return true;
}

/* --- kernel structs --- */

/* `typed`: the verifier knows the pointer's type, so fields are read without a helper. */

#ifndef WITHOUT_TYPES

static __always_inline __u64 id_of(struct cgroup *cgroup, bool typed)
{
    return typed ? cgroup->kn->id : BPF_CORE_READ(cgroup, kn, id);
}

static __always_inline struct cgroup *parent_of(struct cgroup *cgroup, bool typed)
{
    struct cgroup_subsys_state *parent = typed ? cgroup->self.parent : BPF_CORE_READ(cgroup, self.parent);

    return !parent ? NULL : typed ? parent->cgroup : BPF_CORE_READ(parent, cgroup);
}

#else

static __always_inline __u64 read_word(__u64 address)
{
    __u64 word = 0;

    bpf_probe_read_kernel(&word, sizeof(word), (const void *)address);
    return word;
}

static __always_inline __u64 id_of(struct cgroup *cgroup, bool typed)
{
    (void)typed;
    return read_word(read_word((__u64)cgroup + constants.offsets.kn) + constants.offsets.id);
}

/* The address of cgroup.self is that of the cgroup (bpf/offsets.c). */
static __always_inline struct cgroup *parent_of(struct cgroup *cgroup, bool typed)
{
    (void)typed;
    return (struct cgroup *)read_word((__u64)cgroup + constants.offsets.parent);
}

#endif

/* --- slots --- */

/* The slot of a cgroup or of the nearest ancestor that has one. */
static __always_inline __u32 search_slot(struct cgroup *cgroup, __u64 id, bool typed)
{
    ROLLED
    for (int i = 0; i < LEVELS_MAX; i++) {
        struct cgroup *parent = parent_of(cgroup, typed);
        __u32 *slot;

        if (!parent)
            return BPF_SLOT_ROOT;
        slot = bpf_map_lookup_elem(&slots, &id);
        if (slot)
            return *slot;
        cgroup = parent;
        id = id_of(cgroup, typed);
    }
    return BPF_SLOT_UNKNOWN;
}

/* A multiplicative hash: addresses are multiples of a power of two, so their lowest bits are all alike. */
static __always_inline struct found *found_of(const struct cpu *cpu, __u64 key)
{
    return &cpu->work->found[key * 0x9e3779b97f4a7c15ULL >> 58];
}

static __always_inline const struct found *find(const struct cpu *cpu, struct cgroup *cgroup, __u64 key, bool typed)
{
    struct found *found = found_of(cpu, key);
    __u32 generation = cpu->work->generation;

    if (found->key != key || found->generation != generation) {
        found->id = id_of(cgroup, typed);
        found->slot = search_slot(cgroup, found->id, typed);
        found->generation = generation;
        found->key = key;
    }
    return found;
}

/* --- intervals --- */

/*
 * Ends the interval of the record's slot and begins an interval of `slot`. The counts of the ended interval are added
 * to the slot that ran, or to the unknown slot if a switch was missed. With `last`, no word of the new interval is
 * valid, so that the entries alone give the totals of all slots.
 */
static __always_inline void end_and_begin(const struct cpu *cpu, __u32 slot, bool missed, bool last)
{
    struct bpf_record *record = cpu->record;
    volatile __u64 *entry = find_entry(cpu, missed ? BPF_SLOT_UNKNOWN : record->slot);
    const __u64 *now = cpu->work->now;
    __u64 words = count_words(), valid, added, check;

    cpu->work->busy = 1;
    barrier();
    valid = read_words(cpu);
    added = entry && record->epoch == cpu->epoch ? valid & record->valid : 0;
    if (last)
        valid = 0;
    record->seq++;
    check = bpf_check_begin(record->seq, slot, cpu->epoch, valid);
    if (entry && !last && added + 1 == 1ULL << words) {
        UNROLLED
        for (__u64 i = 0; i < BPF_WORDS_MAX; i++) {
            __u64 word;

            if (i >= words)
                continue;
            word = now[i];
            entry[i] += word - record->base[i];
            record->base[i] = word;
            check = bpf_check_step(check, word);
        }
    } else {
        ROLLED
        for (__u64 i = 0; i < BPF_WORDS_MAX && i < words; i++) {
            __u64 word = now[i];

            if (entry && added >> i & 1)
                entry[i] += word - record->base[i];
            record->base[i] = word;
            check = bpf_check_step(check, word);
        }
    }
    record->valid = valid;
    record->slot = slot;
    record->epoch = cpu->epoch;
    record->check = check;
    barrier();
    cpu->work->busy = 0;
}

/*
 * Called when a task of cgroup `id`, which has this slot, begins to run on the CPU. Until now, a task of cgroup `was`
 * ran there. If the record has a cgroup other than `was`, there are two possibilities. Either its task was moved, and
 * the interval is attributed to the old cgroup; or a switch was missed, so that a task other than the recorded one ran,
 * and the interval's cgroup is unknown. With `always`, the interval ends even if nothing has changed. Does nothing and
 * returns 1 if it interrupted another run of the program that was updating the record.
 */
static __always_inline int run(const struct cpu *cpu, __u64 was, __u64 id, __u32 slot, bool is_same_task, bool always)
{
    struct bpf_record *record = cpu->record;

    if (cpu->work->busy)
        return 1;
    if (always || record->epoch != cpu->epoch || was != record->cgroup || slot != record->slot)
        end_and_begin(cpu, slot, was != record->cgroup && !is_same_task, false);
    record->cgroup = id;
    return 0;
}

/* --- hooks --- */

#ifndef WITHOUT_TYPES

/* Some kernels do not run the program when a task of this process leaves a CPU (doc/cgroups.md). */
#define UNTRACED_PROCESS 1

/*
 * If prev and next are both in the record's cgroup, nothing else is examined. If the program may miss the switch away
 * from the next task, the interval ends here, so that only the time after it can become unknown.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(cgroup_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct css_set *prev_cset = prev->cgroups, *next_cset = next->cgroups;
    struct cgroup *cgroup = next_cset->dfl_cgrp;
    __u64 id = cgroup->kn->id, was = id;
    bool is_same_task, is_untraced = next->tgid == UNTRACED_PROCESS;
    struct cpu cpu;

    (void)ctx;
    (void)preempt;
    if (!find_cpu(&cpu) || !cpu.work->counts)
        return 0;
    cpu.record->switches++; /* the kernel's context-switches counter increases only after this tracepoint */
    is_same_task = cpu.work->task == (__u64)prev;
    cpu.work->task = (__u64)next;
    /* A css_set covers all hierarchies: it may differ while the cgroup is the same. */
    if (prev_cset != next_cset)
        was = prev_cset->dfl_cgrp->kn->id;
    if (was == cpu.record->cgroup && id == cpu.record->cgroup && !is_untraced)
        return 0;
    if (find_control(&cpu) &&
        run(&cpu, was, id, id == cpu.record->cgroup ? cpu.record->slot : find(&cpu, cgroup, id, true)->slot,
            is_same_task, is_untraced))
        cpu.work->task = 0;
    return 0;
}

static __always_inline const struct found *find_current(const struct cpu *cpu, struct task_struct *task)
{
    struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

    return find(cpu, cgroup, id_of(cgroup, false), false);
}

#else

/* Number of cgroups created while the program was attached. */
__u32 cgroups_made;

static __always_inline const struct found *find_in(const struct cpu *cpu, __u64 cgroups)
{
    __u64 cgroup = read_word(cgroups + constants.offsets.dfl_cgrp);

    if (cpu->work->made != cgroups_made) {
        cpu->work->made = cgroups_made;
        cpu->work->generation++;
    }
    return find(cpu, (struct cgroup *)cgroup, cgroup, false);
}

/*
 * If prev is in the cgroup of the record, and next has the css_set for which that cgroup was found, nothing else is
 * examined.
 */
SEC("raw_tp/sched_switch")
int cgroup_switch(struct bpf_raw_tracepoint_args *ctx)
{
    __u64 cgroups = read_word(ctx->args[2] + constants.offsets.cgroups), was = bpf_get_current_cgroup_id();
    const struct found *found;
    bool is_same_task;
    struct cpu cpu;

    if (!find_cpu(&cpu) || !cpu.work->counts)
        return 0;
    cpu.record->switches++; /* the kernel's context-switches counter increases only after this tracepoint */
    is_same_task = cpu.work->task == ctx->args[1];
    cpu.work->task = ctx->args[2];
    if (was == cpu.record->cgroup && cgroups == cpu.work->cgroups)
        return 0;
    if (!find_control(&cpu))
        return 0;
    found = find_in(&cpu, cgroups);
    cpu.work->cgroups = cgroups;
    if (run(&cpu, was, found->id, found->slot, is_same_task, false))
        cpu.work->task = cpu.work->cgroups = 0;
    return 0;
}

static __always_inline const struct found *find_current(const struct cpu *cpu, struct task_struct *task)
{
    cpu->work->cgroups = read_word((__u64)task + constants.offsets.cgroups);
    return find_in(cpu, cpu->work->cgroups);
}

/* A new cgroup may reuse the address of a removed one, so cached lookups by address become invalid. */
SEC("raw_tp/cgroup_mkdir")
int cgroup_made(void *ctx)
{
    (void)ctx;
    __sync_fetch_and_add(&cgroups_made, 1);
    return 0;
}

#endif

/*
 * Looks up the cgroup of the running task, after that task has moved itself or others to another cgroup.
 * BPF_PROG_TEST_RUN also runs this program on a CPU, with an argument of 0, before and after slots or epochs change and
 * after tasks were moved; slots are then looked up again. Counting on the CPU begins with the first such run there.
 * Returns 1, and must be run again, if it interrupted the program between two stores.
 */
SEC("raw_tp/cgroup_attach_task")
int cgroup_look(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    const struct found *found;
    struct cpu cpu;
    int r;

    if (!find_cpu(&cpu) || !find_control(&cpu))
        return 0;
    if (ctx->args[0]) {
        cpu.record->moves++; /* not atomic: the kernel calls the tracepoint with interrupts disabled */
    } else {
        cpu.work->generation++;
        cpu.work->counts = 1;
    }
    if (!cpu.work->counts)
        return 0;
    found = find_current(&cpu, task);
    r = run(&cpu, found->id, found->id, found->slot, cpu.work->task == (__u64)task, !ctx->args[0]);
    if (r == 0)
        cpu.work->task = (__u64)task;
    return r;
}

/*
 * BPF_PROG_TEST_RUN runs this program on each CPU. It stops counting there and starts the successor in the same
 * interrupt, so that nothing runs in between. If it returns 1, it must be run again; running it again is always
 * allowed. (Before Linux 6.0, programs with functions of their own cannot make tail calls on arm64.)
 */
SEC("raw_tp/cgroup_hand_over") /* never attached, only called; libbpf 0.3 requires a name after the slash */
int cgroup_hand_over(struct bpf_raw_tracepoint_args *ctx)
{
    __u64 id = bpf_get_current_cgroup_id();
    struct cpu cpu;

    if (!find_cpu(&cpu) || !find_control(&cpu))
        return 0;
    if (cpu.work->counts) {
        if (cpu.work->busy)
            return 1;
        end_and_begin(&cpu, cpu.record->slot,
                      id != cpu.record->cgroup && cpu.work->task != (__u64)bpf_get_current_task(), true);
        cpu.work->counts = 0;
    }
    bpf_tail_call(ctx, &successor, 0);
    return 0;
}

char licence[] SEC("license") = "GPL";
