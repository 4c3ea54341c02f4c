/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The program of a tally (layout.h), which the kernel runs at its switches between tasks: when another cgroup runs on a
 * CPU than before, what the counters of the CPU advanced goes to the slot of the cgroup that leaves.
 *
 * Nothing is added up: an entry is stored as the counter's value minus the offset that was taken when the cgroup came.
 * So the sum over all slots is what the CPU's counter advanced, exactly.
 *
 * It reads the kernel's structs by their BTF, and needs no headers of a kernel.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h> /* before the others */

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/layout.h"

/*
 * How many levels are searched for a slot. The search needs a bound: it may hold the lock of the CPU's runqueue, and
 * the owner of a cgroup may nest others in it to any depth.
 */
#define LEVELS_MAX 256
#define FOUND_MAX 64

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

/* One struct, since the compiler orders single constants as it likes. */
const volatile struct tally_shape shape = {.cpus = 1, .slots = 2, .events = 1, .groups = 1};

/* The slot that was found for a cgroup, in this generation of slots. */
struct found {
    __u64 id;
    __u32 slot;
    __u32 generation;
};

/* Of a CPU, for the program alone. */
struct work {
    __u64 task; /* the address of the one that came at the last switch; 0: it is not known */
    __u32 busy; /* between two of its stores: an interrupt must not come here */
    __u32 generation;
    __u64 now[TALLY_WORDS_MAX];
    struct found found[FOUND_MAX]; /* by the last digits of the id */
};

/* By cpu * events + event. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __uint(max_entries, 1);
} events SEC(".maps");

/* From the id of a cgroup. The root has its slot without being here. */
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
    __uint(value_size, sizeof(__u64) * TALLY_WORDS_MAX);
    __uint(max_entries, 1);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct tally_record);
    __uint(max_entries, 1);
} records SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct tally_control);
    __uint(max_entries, 1);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct work);
    __uint(max_entries, 1);
} work SEC(".maps");

/* Where a CPU is in the maps. */
struct cpu {
    __u32 number;
    __u32 epoch;
    const struct tally_control *control;
    struct tally_record *record;
    struct work *work;
};

/* The first word of the times of an event's group. Of 64 bits, so that the verifier sees the bound where it is used. */
static __always_inline __u64 times_of(const struct tally_event *event)
{
    __u64 times = shape.events + 2ULL * event->group;

    return times <= TALLY_WORDS_MAX - 2 ? times : TALLY_WORDS_MAX - 2;
}

/* Puts an event's value into its word, and the times of its group into theirs. Returns the words that it could read. */
static __always_inline __u64 read_event(const struct cpu *cpu, const struct tally_event *event, __u32 word)
{
    struct bpf_perf_event_value value;
    __u64 times;

    if (event->source == TALLY_SWITCHES) {
        cpu->work->now[word] = cpu->record->switches;
        return 1ULL << word;
    }
    if (event->source != TALLY_READ ||
        bpf_perf_event_read_value(&events, cpu->number * shape.events + word, &value, sizeof(value)))
        return 0;
    cpu->work->now[word] = value.counter;
    if (!event->gives_times)
        return 1ULL << word;
    times = times_of(event);
    cpu->work->now[times] = value.enabled;
    cpu->work->now[times + 1] = value.running;
    return 1ULL << word | 3ULL << times;
}

static __always_inline __u64 read_words(const struct cpu *cpu)
{
    __u32 n = shape.events;
    __u64 valid = 0;

    for (__u32 i = 0; i < TALLY_EVENTS_MAX && i < n; i++)
        valid |= read_event(cpu, &cpu->control->events[i], i);
    for (__u32 i = 0; i < TALLY_EVENTS_MAX && i < n; i++) {
        __u64 times;

        if (cpu->control->events[i].source != TALLY_RUNNING)
            continue;
        times = times_of(&cpu->control->events[i]);
        cpu->work->now[i] = cpu->work->now[times + 1];
        valid |= (valid >> times & 1) << i;
    }
    return valid;
}

static __always_inline __u64 *find_entry(const struct cpu *cpu, __u32 slot)
{
    __u32 index = cpu->number * shape.slots + slot;

    return slot < shape.slots ? bpf_map_lookup_elem(&counts, &index) : NULL;
}

/* The verifier knows `shape`, and takes the rounds out that it does not have. */
#define UNROLLED _Pragma("clang loop unroll(full)")
/* Linux verifies bounded loops since 5.3. */
#define ROLLED _Pragma("clang loop unroll(disable)")

static __always_inline __u32 count_words(void)
{
    return shape.events + 2 * shape.groups;
}

/* Nobody knows which slot had the interval until now; or some words cannot be read, now or then. */
static __always_inline void credit_some(const struct cpu *cpu, const volatile __u64 *entry, volatile __u64 *to,
                                        __u64 valid)
{
    for (__u32 i = 0; i < TALLY_WORDS_MAX && i < count_words(); i++)
        if (valid >> i & 1)
            to[i] += cpu->work->now[i] - cpu->record->offset[i] - entry[i];
}

/* The slot of the record had the interval until now. */
static __always_inline void credit(const struct cpu *cpu, __u64 valid, bool missed)
{
    const struct tally_record *record = cpu->record;
    volatile __u64 *entry = find_entry(cpu, record->slot), *unknown = find_entry(cpu, TALLY_SLOT_UNKNOWN);
    __u32 words = count_words();

    if (!entry || !unknown)
        return;
    valid &= record->valid;
    if (missed || valid + 1 != 1ULL << words) {
        credit_some(cpu, entry, missed ? unknown : entry, valid);
        return;
    }
    UNROLLED
    for (__u32 i = 0; i < TALLY_WORDS_MAX; i++) {
        if (i < words)
            entry[i] = cpu->work->now[i] - record->offset[i];
    }
}

/* `slot` runs from now on. */
static __always_inline void begin(const struct cpu *cpu, __u64 valid, __u32 slot)
{
    struct tally_record *record = cpu->record;
    const volatile __u64 *entry = find_entry(cpu, slot);
    __u32 words = count_words();
    __u64 check;

    if (!entry) /* no loader assigns such a slot; the one before goes on */
        return;
    record->seq++;
    check = tally_check_begin(record->seq, slot, cpu->epoch, valid);
    UNROLLED
    for (__u32 i = 0; i < TALLY_WORDS_MAX; i++) {
        if (i >= words)
            continue;
        record->offset[i] = cpu->work->now[i] - entry[i];
        check = tally_check_step(check, record->offset[i]);
    }
    record->valid = valid;
    record->slot = slot;
    record->epoch = cpu->epoch;
    record->check = check;
}

/* The CPU that runs this; its control is found where it is needed. */
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

/* The slot of a cgroup, or of the nearest ancestor that has one; `typed`: the verifier knows what the pointer is. */
static __always_inline __u32 search_slot(struct cgroup *cgroup, __u64 id, bool typed)
{
    ROLLED
    for (int i = 0; i < LEVELS_MAX; i++) {
        struct cgroup_subsys_state *parent = typed ? cgroup->self.parent : BPF_CORE_READ(cgroup, self.parent);
        __u32 *slot;

        if (!parent)
            return TALLY_SLOT_ROOT;
        slot = bpf_map_lookup_elem(&slots, &id);
        if (slot)
            return *slot;
        cgroup = typed ? parent->cgroup : BPF_CORE_READ(parent, cgroup);
        id = typed ? cgroup->kn->id : BPF_CORE_READ(cgroup, kn, id);
    }
    return TALLY_SLOT_UNKNOWN;
}

static __always_inline __u32 find_slot(const struct cpu *cpu, struct cgroup *cgroup, __u64 id, bool typed)
{
    struct found *found = &cpu->work->found[id % FOUND_MAX];
    __u32 generation = cpu->work->generation;

    if (found->id != id || found->generation != generation) {
        found->slot = search_slot(cgroup, id, typed);
        found->generation = generation;
        found->id = id;
    }
    return found->slot;
}

/* Ends the interval of the slot that the record has, where that is known, and begins one of `slot`. */
static __noinline int change(const struct cpu *cpu, __u32 slot, bool is_new, bool missed)
{
    __u64 valid;

    cpu->work->busy = 1;
    barrier();
    valid = read_words(cpu);
    if (!is_new)
        credit(cpu, valid, missed);
    begin(cpu, valid, slot);
    barrier();
    cpu->work->busy = 0;
    return 0;
}

/*
 * The cgroup `id` of this slot runs from now on, and `was` until now. Where the record says another than `was`, either
 * the task of the record was moved, which counts for where it was until now; or another task runs than the record says,
 * since a switch was not seen: then nobody knows whose the interval was. `always`: the interval ends also where nothing
 * changed. 1: between two stores.
 */
static __always_inline int run(const struct cpu *cpu, __u64 was, __u64 id, __u32 slot, bool is_same_task, bool always)
{
    struct tally_record *record = cpu->record;
    bool is_new = record->epoch != cpu->epoch;

    if (cpu->work->busy)
        return 1;
    if (always || is_new || was != record->cgroup || slot != record->slot)
        change(cpu, slot, is_new, was != record->cgroup && !is_same_task);
    record->cgroup = id;
    return 0;
}

/* Some kernels run no program while a task of this process leaves a CPU (doc/cgroups.md). */
#define UNTRACED_PROCESS 1

/*
 * Where prev and next are of one cgroup, which the record has, nothing else is looked at. When a task comes whose
 * switch away may not be seen, the interval ends, so that only what follows can become unknown.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(tally_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct css_set *prev_cset = prev->cgroups, *next_cset = next->cgroups;
    struct cgroup *cgroup = next_cset->dfl_cgrp;
    __u64 id = cgroup->kn->id, was = id;
    bool is_same_task, is_untraced = next->tgid == UNTRACED_PROCESS;
    struct cpu cpu;

    (void)ctx;
    (void)preempt;
    if (!find_cpu(&cpu))
        return 0;
    cpu.record->switches++; /* of the task that leaves, as context-switches, which is counted after the tracepoint */
    is_same_task = cpu.work->task == (__u64)prev;
    cpu.work->task = (__u64)next;
    /* A css_set is of all hierarchies: it may be another where the cgroup is the same. */
    if (prev_cset != next_cset)
        was = prev_cset->dfl_cgrp->kn->id;
    if (was == cpu.record->cgroup && id == cpu.record->cgroup && !is_untraced)
        return 0;
    if (find_control(&cpu) &&
        run(&cpu, was, id, id == cpu.record->cgroup ? cpu.record->slot : find_slot(&cpu, cgroup, id, true),
            is_same_task, is_untraced))
        cpu.work->task = 0;
    return 0;
}

/*
 * The CPU looks at the task that runs there, which moved itself or others to another cgroup. Also run by
 * BPF_PROG_TEST_RUN on a CPU, with an argument of 0, when slots or epochs changed or will change, or tasks were moved;
 * it returns 1 where it came between two stores: run it again. Slots that were found before are looked up again.
 */
SEC("raw_tp/cgroup_attach_task")
int tally_look(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
    __u64 id = BPF_CORE_READ(cgroup, kn, id);
    struct cpu cpu;
    int r;

    if (!find_cpu(&cpu) || !find_control(&cpu))
        return 0;
    if (ctx->args[0])
        cpu.record->moves++; /* the kernel calls the tracepoint with interrupts disabled */
    else
        cpu.work->generation++;
    r = run(&cpu, id, id, find_slot(&cpu, cgroup, id, false), cpu.work->task == (__u64)task, !ctx->args[0]);
    if (r == 0)
        cpu.work->task = (__u64)task;
    return r;
}

char licence[] SEC("license") = "GPL";
