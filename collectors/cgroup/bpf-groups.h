/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf groups of the engine bpf, and the BPF program that divides their counts among slots.
 *
 * Each configured group is opened once on each CPU, without rows. If the collector `cpu` has one group on that CPU that
 * counts the same events, its descriptors are shared (group_subgroup()). A clock event need not be a member of that
 * group, because it counts the group's running time.
 *
 * The BPF program stores words. A configured group has the same words on all CPUs: one for each event that any CPU
 * counts, and an enabled and a running time for each perf group into which it is split, on the CPU with the most such
 * groups.
 *
 * A run is the reading side of one started BPF program: its shape, the source of each word on each CPU, and the reader
 * (`bpf/reader.h`). A test checks that the BPF program agrees with the counters.
 */
#ifndef COLLECTORS_CGROUP_BPF_GROUPS_H
#define COLLECTORS_CGROUP_BPF_GROUPS_H

#include "bpf/layout.h"
#include "bpf/reader.h"
#include "collectors/group-counts.h"

/* The words of a configured group. */
struct bpf_span {
    /* Only while bpf_groups_configure() and what follows from it run: a reload that fails later frees it. */
    const struct config_group *group;
    uint64_t events;              /* events that have a word */
    uint64_t clocks, switches;    /* masks of the configured events that count time, and that count context switches */
    uint8_t first_event;          /* word of the first event that has one; the others follow */
    uint8_t first_times, n_times; /* first index and number of the times of its perf groups on a CPU */
    uint8_t *times;               /* for each open group (group_counts_view()): index of its times */
};

/* Must be zeroed before the first use. */
struct bpf_groups {
    struct group_set set;    /* set of the one target, which is all CPUs */
    struct bpf_span *spans;  /* parallel to set.items */
    uint32_t events, groups; /* as in struct bpf_shape */
};

/*
 * Opens the groups of env->config->cgroup.groups. Groups that are already open continue. Groups that env->shared also
 * counts are shared with it, even if they were open here before. Returns -ENOMEM, or -E2BIG with a sentence in `error`
 * if a BPF program cannot hold that many events or groups. bpf_groups_done() must be called in either case.
 */
int bpf_groups_configure(struct bpf_groups *groups, const struct collector_env *env, struct error *error);
void bpf_groups_done(struct bpf_groups *groups, const struct collector_env *env);

/* The source of each event's word on a CPU. */
struct cpu_source {
    struct bpf_event events[BPF_EVENTS_MAX];
    int fds[BPF_EVENTS_MAX];      /* borrowed counters of SOURCE_READ events; otherwise -1 */
    uint64_t ids[BPF_EVENTS_MAX]; /* kernel ids of these counters, which are never reused; otherwise 0 */
};

/* Fills *ret for one CPU. All sources are SOURCE_NONE if nothing is open there. */
void bpf_groups_describe(const struct bpf_groups *groups, unsigned cpu, struct cpu_source *ret);

/*
 * Reads each perf group of a CPU with one read(2), as bpf_read_now (`bpf/reader.h`) requires. Stores the times and the
 * values of SOURCE_READ events in `words`, and sets their bits in *ret_valid. Returns 0 if at least one group could be
 * read, -ENODEV if no group is open, else the first error.
 */
int bpf_groups_read(struct bpf_groups *groups, struct sys *sys, unsigned cpu, uint64_t *words, uint64_t *ret_valid);
/*
 * Returns whether the last reading found a stale group, one whose CPU was offline since it was opened.
 * bpf_groups_configure() opens it again.
 */
bool bpf_groups_are_stale(const struct bpf_groups *groups);

/* Returns the word of an event whose bit is set in span->events. */
static inline unsigned bpf_span_word(const struct bpf_span *span, size_t event)
{
    return span->first_event + (unsigned)event_count(span->events & (event_bit(event) - 1));
}

/* Returns the word of the enabled time with index `times`. The running time is the next word. */
static inline unsigned bpf_groups_enabled(const struct bpf_groups *groups, unsigned times)
{
    return groups->events + 2 * times;
}

struct bpf_run {
    struct sys *sys;
    const struct bpf_calls *calls;
    struct bpf_shape shape;
    struct bpf_reader *reader;
    struct cpu_source *sources; /* by CPU */
};

/*
 * Receives what a slot accrued on a CPU since the previous reading. `delta` is laid out like an entry (struct
 * bpf_shape).
 */
typedef void (*bpf_attribute)(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta);

/*
 * Starts a BPF program. It counts nothing until bpf_calls.attach(). Returns -ENOMEM, or the errors of
 * bpf_calls.start(), mmap(2) and bpf_calls.set_cpu(), with a sentence in `error`. *ret must be
 * NULL before the call. If it is not NULL afterwards, a program was started and *ret must be freed, also on errors.
 */
int bpf_run_new(struct sys *sys, const struct bpf_calls *calls, const struct bpf_shape *shape,
                const struct bpf_groups *groups, struct bpf_run **ret, struct error *error);
struct bpf_run *bpf_run_free(struct bpf_run *run);

/*
 * Passes the sources to the program, for CPUs whose sources changed. Returns 1 if there were such CPUs, else 0. On
 * errors of bpf_calls.set_cpu(), with a sentence in `error`, the CPUs that failed are not read until a later call
 * succeeds for them.
 */
int bpf_run_set_cpus(struct bpf_run *run, const struct bpf_groups *groups, struct error *error);

/* Takes all sources away: what has been counted can be read, and nothing more is counted. Errors are ignored. */
void bpf_run_clear_cpus(struct bpf_run *run);

/*
 * Reads all CPUs that have groups, and attributes what the slots from `first` to `last` accrued. Returns how many CPUs
 * could be read.
 */
size_t bpf_run_read(struct bpf_run *run, struct bpf_groups *groups, uint32_t first, uint32_t last,
                    bpf_attribute attribute, void *userdata);
/* Reads a run that was replaced by another one for the last time. Needs no counters, so its groups may be closed. */
void bpf_run_read_last(struct bpf_run *run, bpf_attribute attribute, void *userdata);
/* Returns whether no CPU was running the slot at its last reading. */
bool bpf_run_is_idle(const struct bpf_run *run, uint32_t slot);

/*
 * Tests an attached BPF program: every CPU must report what runs there, and the sum over all slots between two readings
 * must be exactly what the CPU's counters advanced. The readings are attributed. Returns -EBADE with a sentence in
 * `error` if the test fails.
 */
int bpf_run_test(struct bpf_run *run, struct bpf_groups *groups, bpf_attribute attribute, void *userdata,
                 struct error *error);

#endif
