/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf groups of the bpf engine, and the BPF program that divides their counts among slots.
 *
 * Each configured group is opened once on each CPU, without rows. If one group of the `cpu` collector counts the same
 * events on that CPU, the descriptors of that group are shared (group_subgroup()). A clock event need not be a member
 * of the shared group, because a clock counts the group's running time.
 *
 * The BPF program stores words. A configured group has the same words on all CPUs: one for each event that any CPU
 * counts, and an enabled and a running time for each of its perf groups. CPUs may split the configured group into
 * different numbers of perf groups; the largest number determines the number of times.
 *
 * A run is the reading side of one started BPF program: the program's shape, the source of each word on each CPU, and
 * the reader (`bpf/reader.h`). A test checks that the BPF program agrees with the counters.
 */
#ifndef COLLECTORS_CGROUP_BPF_GROUPS_H
#define COLLECTORS_CGROUP_BPF_GROUPS_H

#include "bpf/layout.h"
#include "bpf/reader.h"
#include "collectors/group-counts.h"

/* The words of a configured group. */
struct bpf_span {
    /*
     * The configured group; only valid during bpf_groups_configure(), because a reload that fails later frees the
     * configuration.
     */
    const struct config_group *group;
    uint64_t events;              /* mask of the configured events that have a word */
    uint64_t clocks, switches;    /* masks of the configured events that count time or context switches */
    uint8_t first_event;          /* word of the first event in `events`; the words of the other events follow */
    uint8_t first_times, n_times; /* index of the first perf group's times; maximum number of perf groups per CPU */
    uint8_t *times;               /* for each open group (group_counts_view()), the index of its times */
};

/* Must be zeroed before the first use. */
struct bpf_groups {
    struct group_set set;    /* group set with a single target: all CPUs */
    struct bpf_span *spans;  /* parallel to set.items */
    uint32_t events, groups; /* numbers of events and groups, as in struct bpf_shape */
};

/*
 * Opens the groups of env->config->cgroup.groups. Groups that are already open continue to count. A group is shared if
 * env->shared counts the same events, even if the group was opened separately before. Returns -ENOMEM, or -E2BIG with a
 * message in `error` if a BPF program cannot hold that many events or groups. bpf_groups_done() must be called in
 * either case.
 */
int bpf_groups_configure(struct bpf_groups *groups, const struct collector_env *env, struct error *error);
void bpf_groups_done(struct bpf_groups *groups, const struct collector_env *env);

/* The source of each event on one CPU: how the BPF program obtains its value. */
struct cpu_source {
    struct bpf_event events[BPF_EVENTS_MAX];
    int fds[BPF_EVENTS_MAX];      /* borrowed descriptors of SOURCE_READ events; -1 for other events */
    uint64_t ids[BPF_EVENTS_MAX]; /* kernel ids of SOURCE_READ events, which are never reused; 0 for other events */
};

/* Fills *ret for one CPU. All sources are SOURCE_NONE if no group is open on the CPU. */
void bpf_groups_describe(const struct bpf_groups *groups, unsigned cpu, struct cpu_source *ret);

/*
 * Reads each perf group of a CPU with one read(2), as bpf_read_now (`bpf/reader.h`) requires. Stores the times and the
 * values of SOURCE_READ events in `words`, and sets the bits of the stored words in *ret_valid. Returns 0 if at least
 * one group could be read, -ENODEV if no group is open, else the first error.
 */
int bpf_groups_read(struct bpf_groups *groups, struct sys *sys, unsigned cpu, uint64_t *words, uint64_t *ret_valid);
/*
 * Returns whether the last reading found a stale group: a group whose CPU was offline since the group was opened.
 * bpf_groups_configure() opens stale groups again.
 */
bool bpf_groups_are_stale(const struct bpf_groups *groups);

/* Returns the index of the word that counts `event`, whose bit must be set in span->events. */
static inline unsigned bpf_span_word(const struct bpf_span *span, size_t event)
{
    return span->first_event + (unsigned)event_count(span->events & (event_bit(event) - 1));
}

/* Returns the index of the word that holds enabled time number `times`. The running time is the next word. */
static inline unsigned bpf_groups_enabled(const struct bpf_groups *groups, unsigned times)
{
    return groups->events + 2 * times;
}

struct bpf_run {
    struct sys *sys;
    const struct bpf_calls *calls;
    struct bpf_shape shape;
    struct bpf_reader *reader;
    struct cpu_source *sources; /* indexed by CPU number */
};

/*
 * Receives the increment that a slot accrued on a CPU since the previous reading. `delta` is laid out like an entry
 * (struct bpf_shape).
 */
typedef void (*bpf_attribute)(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta);

/*
 * Starts a BPF program. The program counts nothing until bpf_calls.attach(). Returns -ENOMEM, or the errors of
 * bpf_calls.start(), mmap(2) and bpf_calls.set_cpu(), with a message in `error`. *ret must be NULL before the call. If
 * *ret is not NULL afterwards, a program was started and *ret must be freed, even on errors.
 */
int bpf_run_new(struct sys *sys, const struct bpf_calls *calls, const struct bpf_shape *shape,
                const struct bpf_groups *groups, struct bpf_run **ret, struct error *error);
struct bpf_run *bpf_run_free(struct bpf_run *run);

/*
 * Passes changed sources of CPUs to the BPF program. Returns 1 if the sources of any CPU changed, else 0, or an error
 * of bpf_calls.set_cpu() with a message in `error`. A CPU that failed is not read until a later call succeeds for that
 * CPU.
 */
int bpf_run_set_cpus(struct bpf_run *run, const struct bpf_groups *groups, struct error *error);

/*
 * Removes all sources from the BPF program. Its counts can still be read, but no longer increase. Errors are ignored.
 */
void bpf_run_clear_cpus(struct bpf_run *run);

/*
 * Reads all CPUs that have groups, and attributes the increments of the slots from `first` to `last`. Returns how many
 * CPUs could be read.
 */
size_t bpf_run_read(struct bpf_run *run, struct bpf_groups *groups, uint32_t first, uint32_t last,
                    bpf_attribute attribute, void *userdata);
/*
 * Reads a run for the last time after another run has replaced it. The last reading needs no counters, so the groups of
 * the run may be closed already.
 */
void bpf_run_read_last(struct bpf_run *run, bpf_attribute attribute, void *userdata);
/* Returns whether no CPU was running a task of the slot at the CPU's last reading. */
bool bpf_run_is_idle(const struct bpf_run *run, uint32_t slot);

/*
 * Tests an attached BPF program. Every CPU must report the slot that runs on it, and the increments of all slots
 * between two readings must add up to exactly the increments of the CPU's counters. The increments are attributed as in
 * bpf_run_read(). Returns -EBADE with a message in `error` if the test fails.
 */
int bpf_run_test(struct bpf_run *run, struct bpf_groups *groups, bpf_attribute attribute, void *userdata,
                 struct error *error);

#endif
