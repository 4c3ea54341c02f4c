/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The BPF program of the engine bpf, which the kernel runs at each switch between tasks. When the cgroup that runs on a
 * CPU changes, the advance of the CPU's counters goes to the slot of the cgroup that leaves.
 *
 * Nothing is summed up: an entry is set to the counter's value minus the offset that was taken when the cgroup came. So
 * the sum over all slots is exactly what the CPU's counters have advanced.
 *
 * It reads kernel structs through BTF, and does not need the headers of a kernel.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h> /* must precede the other two */

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/layout.h"

/*
 * How many levels are searched for a slot. The search needs a bound, because it may hold the lock of the CPU's
 * runqueue, and the owner of a cgroup may nest others in it to any depth.
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

/* A single struct, because the compiler may reorder separate constants. */
const volatile struct bpf_shape shape = {.cpus = 1, .slots = 2, .events = 1, .groups = 1};

/* A slot that was found for a cgroup; valid for one generation of slots. */
struct found {
    __u64 id;
    __u32 slot;
    __u32 generation;
};

/* State of a CPU, used by the program alone. */
struct work {
    __u64 task; /* address of the task that came at the last switch; 0: unknown */
    __u32 busy; /* between two stores of the program: a run in an interrupt must do nothing */
    /* 0: nothing is counted on this CPU, because the program has not begun, or has handed over to its successor. */
    __u32 counts;
    __u32 generation;
    __u64 now[BPF_WORDS_MAX];
    struct found found[FOUND_MAX]; /* index: id modulo FOUND_MAX */
};

/* Key: cpu * events + event. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __uint(max_entries, 1);
} events SEC(".maps");

/* Key: the id of a cgroup. The root has its slot without an element here. */
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

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct work);
    __uint(max_entries, 1);
} work SEC(".maps");

/* Element 0: cgroup_look of the program that replaces this one, which cgroup_hand_over calls. */
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

/* The first word of the times of an event's group. 64 bits, so that the verifier sees the bound where it is used. */
static __always_inline __u64 times_of(const struct bpf_event *event)
{
    __u64 times = shape.events + 2ULL * event->group;

    return times <= BPF_WORDS_MAX - 2 ? times : BPF_WORDS_MAX - 2;
}

/* Stores an event's value in its word, and the times of its group in theirs. Returns a mask of the words it read. */
static __always_inline __u64 read_event(const struct cpu *cpu, const struct bpf_event *event, __u32 word)
{
    struct bpf_perf_event_value value;
    __u64 times;

    if (event->source == SOURCE_SWITCHES) {
        cpu->work->now[word] = cpu->record->switches;
        return 1ULL << word;
    }
    if (event->source != SOURCE_READ ||
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

    for (__u32 i = 0; i < BPF_EVENTS_MAX && i < n; i++)
        valid |= read_event(cpu, &cpu->control->events[i], i);
    for (__u32 i = 0; i < BPF_EVENTS_MAX && i < n; i++) {
        __u64 times;

        if (cpu->control->events[i].source != SOURCE_RUNNING)
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

/* To the verifier `shape` is constant, so it removes the iterations that never run. */
#define UNROLLED _Pragma("clang loop unroll(full)")
/* Linux verifies bounded loops since 5.3. */
#define ROLLED _Pragma("clang loop unroll(disable)")

static __always_inline __u32 count_words(void)
{
    return shape.events + 2 * shape.groups;
}

/* Adds the interval to `to`: its slot is unknown, or some words could not be read when it began or ended. */
static __always_inline void attribute_some(const struct cpu *cpu, const volatile __u64 *entry, volatile __u64 *to,
                                           __u64 valid)
{
    for (__u32 i = 0; i < BPF_WORDS_MAX && i < count_words(); i++)
        if (valid >> i & 1)
            to[i] += cpu->work->now[i] - cpu->record->offset[i] - entry[i];
}

/* Attributes the interval up to now to the slot of the record, or to the unknown slot if a switch was missed. */
static __always_inline void attribute(const struct cpu *cpu, __u64 valid, bool missed)
{
    const struct bpf_record *record = cpu->record;
    volatile __u64 *entry = find_entry(cpu, record->slot), *unknown = find_entry(cpu, BPF_SLOT_UNKNOWN);
    __u32 words = count_words();

    if (!entry || !unknown)
        return;
    valid &= record->valid;
    if (missed || valid + 1 != 1ULL << words) {
        attribute_some(cpu, entry, missed ? unknown : entry, valid);
        return;
    }
    UNROLLED
    for (__u32 i = 0; i < BPF_WORDS_MAX; i++) {
        if (i < words)
            entry[i] = cpu->work->now[i] - record->offset[i];
    }
}

/* Begins an interval of `slot`. */
static __always_inline void begin(const struct cpu *cpu, __u64 valid, __u32 slot)
{
    struct bpf_record *record = cpu->record;
    const volatile __u64 *entry = find_entry(cpu, slot);
    __u32 words = count_words();
    __u64 check;

    if (!entry) /* no loader assigns such a slot; the record stays as it is */
        return;
    record->seq++;
    check = bpf_check_begin(record->seq, slot, cpu->epoch, valid);
    UNROLLED
    for (__u32 i = 0; i < BPF_WORDS_MAX; i++) {
        if (i >= words)
            continue;
        record->offset[i] = cpu->work->now[i] - entry[i];
        check = bpf_check_step(check, record->offset[i]);
    }
    record->valid = valid;
    record->slot = slot;
    record->epoch = cpu->epoch;
    record->check = check;
}

/* Finds the CPU that runs this, without its control, which is only looked up when it is needed. */
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

/* The slot of a cgroup or of the nearest ancestor that has one. `typed`: the verifier knows the pointer's type. */
static __always_inline __u32 search_slot(struct cgroup *cgroup, __u64 id, bool typed)
{
    ROLLED
    for (int i = 0; i < LEVELS_MAX; i++) {
        struct cgroup_subsys_state *parent = typed ? cgroup->self.parent : BPF_CORE_READ(cgroup, self.parent);
        __u32 *slot;

        if (!parent)
            return BPF_SLOT_ROOT;
        slot = bpf_map_lookup_elem(&slots, &id);
        if (slot)
            return *slot;
        cgroup = typed ? parent->cgroup : BPF_CORE_READ(parent, cgroup);
        id = typed ? cgroup->kn->id : BPF_CORE_READ(cgroup, kn, id);
    }
    return BPF_SLOT_UNKNOWN;
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

/* Ends the interval of the record's slot, unless the record is outdated, and begins one of `slot`. */
static __noinline int change(const struct cpu *cpu, __u32 slot, bool is_new, bool missed)
{
    __u64 valid;

    cpu->work->busy = 1;
    barrier();
    valid = read_words(cpu);
    if (!is_new)
        attribute(cpu, valid, missed);
    begin(cpu, valid, slot);
    barrier();
    cpu->work->busy = 0;
    return 0;
}

/* Ends the interval of the record's slot, and begins none: the totals are then what the entries have. */
static __always_inline void end(const struct cpu *cpu, bool missed)
{
    struct bpf_record *record = cpu->record;
    volatile __u64 *entry = find_entry(cpu, record->slot), *unknown = find_entry(cpu, BPF_SLOT_UNKNOWN);
    __u64 check;

    if (!entry || !unknown)
        return;
    if (record->epoch == cpu->epoch)
        attribute_some(cpu, entry, missed ? unknown : entry, read_words(cpu) & record->valid);
    record->seq++;
    record->valid = 0;
    check = bpf_check_begin(record->seq, record->slot, record->epoch, 0);
    ROLLED
    for (__u32 i = 0; i < BPF_WORDS_MAX && i < count_words(); i++)
        check = bpf_check_step(check, record->offset[i]);
    record->check = check;
}

/*
 * Cgroup `id`, which has this slot, runs from now on; `was` ran until now. If the record has a cgroup other than `was`,
 * either its task was moved, and the interval counts for the old cgroup; or another task ran than the record says,
 * because a switch was not seen, and the interval's cgroup is unknown. `always`: the interval ends even if nothing has
 * changed. Returns 1, and does nothing, if it interrupted the program between two stores.
 */
static __always_inline int run(const struct cpu *cpu, __u64 was, __u64 id, __u32 slot, bool is_same_task, bool always)
{
    struct bpf_record *record = cpu->record;
    bool is_new = record->epoch != cpu->epoch;

    if (cpu->work->busy)
        return 1;
    if (always || is_new || was != record->cgroup || slot != record->slot)
        change(cpu, slot, is_new, was != record->cgroup && !is_same_task);
    record->cgroup = id;
    return 0;
}

/* Some kernels do not run the program when a task of this process leaves a CPU (doc/cgroups.md). */
#define UNTRACED_PROCESS 1

/*
 * If prev and next are both in the cgroup of the record, nothing else is examined. When a task comes whose switch away
 * may not be seen, the interval ends, so that only what follows can become unknown.
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
    cpu.record->switches++; /* for the task that leaves; the kernel counts context-switches after the tracepoint */
    is_same_task = cpu.work->task == (__u64)prev;
    cpu.work->task = (__u64)next;
    /* A css_set covers all hierarchies: it may differ while the cgroup is the same. */
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
 * Looks at the task that runs on the CPU, after it has moved itself or others to another cgroup. BPF_PROG_TEST_RUN also
 * runs it on a CPU, with an argument of 0, before and after slots or epochs change, and after tasks were moved: then
 * slots are looked up again, and the CPU is counted from the first such run on. Returns 1 if it came between two
 * stores: run it again.
 */
SEC("raw_tp/cgroup_attach_task")
int cgroup_look(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
    __u64 id = BPF_CORE_READ(cgroup, kn, id);
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
    r = run(&cpu, id, id, find_slot(&cpu, cgroup, id, false), cpu.work->task == (__u64)task, !ctx->args[0]);
    if (r == 0)
        cpu.work->task = (__u64)task;
    return r;
}

/*
 * Ends counting on a CPU, where BPF_PROG_TEST_RUN runs it, and lets the successor begin in the same interrupt, so that
 * nothing runs in between. It may be repeated, and returns 1 if it must be. It contains no function of its own: before
 * Linux 6.0, programs with functions cannot make tail calls on arm64.
 */
SEC("raw_tp/cgroup_hand_over") /* attached to nothing; libbpf 0.3 wants a name after the slash */
int cgroup_hand_over(struct bpf_raw_tracepoint_args *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    __u64 id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
    struct cpu cpu;

    if (!find_cpu(&cpu) || !find_control(&cpu))
        return 0;
    if (cpu.work->counts) {
        if (cpu.work->busy)
            return 1;
        end(&cpu, id != cpu.record->cgroup && cpu.work->task != (__u64)task);
        cpu.work->counts = 0;
    }
    bpf_tail_call(ctx, &successor, 0);
    return 0;
}

char licence[] SEC("license") = "GPL";
