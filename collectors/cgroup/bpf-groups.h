/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf groups whose counts a tally divides among cgroups: each configured group on each CPU, without rows. Where
 * the collector cpu counts the same events in one group of that CPU, its descriptors serve both (group_part()).
 *
 * A configured group has the same words on all CPUs: one for each event that any CPU counts, and the times of as many
 * perf groups as it became on the CPU where it became most.
 *
 * Groups that the collector cpu has open and others count with too: where it counts the same events in one group of a
 * CPU, its descriptors serve both. A clock need not be among them, since it counts the group's running time.
 *
 * A tally that was started, by its readers' side: its shape, where its words come from on each CPU, and the reader. And
 * the test that it agrees with the counters.
 */
#ifndef COLLECTORS_CGROUP_BPF_GROUPS_H
#define COLLECTORS_CGROUP_BPF_GROUPS_H

#include "bpf/layout.h"
#include "bpf/reader.h"
#include "collectors/group-counts.h"

/* The words of a configured group. */
struct tally_span {
    const struct config_group *group; /* borrowed; until the next configure */
    uint64_t events;                  /* those that have a word */
    uint8_t first_event;              /* the word of the first of them; the others follow */
    uint8_t first_times, n_times;     /* of its first perf group on a CPU; those of "cache-2" are the next */
    uint8_t *times;                   /* by opened group (group_counts_opened()): which times are its own */
};

/* All zero at first. */
struct tally_groups {
    struct group_collector collector; /* one target, all CPUs */
    struct tally_span *spans;         /* by item of the collector */
    uint32_t events, groups;          /* as in struct tally_shape */
};

/*
 * Opens the groups of context->config->cgroup.groups; those that were open go on. The collector cpu (context->cpu)
 * lends what it has, also in place of groups that were opened here before. -ENOMEM; -E2BIG, with a sentence, where a
 * tally cannot have as many events or groups. tally_groups_done() in any case.
 */
int tally_groups_configure(struct tally_groups *groups, const struct collector_context *context, struct error *error);
void tally_groups_done(struct tally_groups *groups, const struct collector_context *context);

/* Where the values come from on a CPU. */
struct tally_sources {
    struct tally_event events[TALLY_EVENTS_MAX];
    int fds[TALLY_EVENTS_MAX];      /* the counters of TALLY_READ events, borrowed; else -1 */
    uint64_t ids[TALLY_EVENTS_MAX]; /* the kernel's, of these counters, which are never used twice; else 0 */
};

/* All TALLY_NONE on a CPU where nothing is open. */
void tally_groups_describe(const struct tally_groups *groups, unsigned cpu, struct tally_sources *ret);

/*
 * Reads each perf group of a CPU by one read(2), as tally_now of reader.h wants it: `words` get the times and the
 * values of TALLY_READ events, and the bits of those that were read are on in *ret_valid. The first error where no
 * group could be read; -ENODEV where none is open.
 */
int tally_groups_read(struct tally_groups *groups, struct sys *sys, unsigned cpu, uint64_t *words, uint64_t *ret_valid);
/* Whether a group is no longer the one that was opened, as of its last reading: configure. */
bool tally_groups_are_stale(const struct tally_groups *groups);

/* The word of an event of a configured group, which has its bit in span->events. */
static inline unsigned tally_span_word(const struct tally_span *span, size_t event)
{
    return span->first_event + (unsigned)event_count(span->events & (event_bit(event) - 1));
}

/* The word of the time enabled of `times`; the time running is the next word. */
static inline unsigned tally_groups_enabled(const struct tally_groups *groups, unsigned times)
{
    return groups->events + 2 * times;
}

struct tally_run {
    struct sys *sys;
    struct tally_shape shape;
    struct tally_reader *reader;
    struct tally_sources *sources; /* by CPU */
};

/* Takes what a slot had on a CPU since the reading before: words as in an entry. */
typedef void (*tally_credit)(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta);

/* Starts a tally; it counts nothing before tally_calls.attach(). Errors of tally_calls.start(), with a sentence. */
int tally_run_new(struct sys *sys, const struct tally_shape *shape, const struct tally_groups *groups,
                  struct tally_run **ret, struct error *error);
struct tally_run *tally_run_free(struct tally_run *run);

/*
 * Says where the words come from, on CPUs where that is new. Returns whether there are such; errors of set_cpu(), with
 * a sentence, and then the CPUs that it failed for are not read until another call of this function has set them.
 */
int tally_run_set_cpus(struct tally_run *run, const struct tally_groups *groups, struct error *error);

/*
 * Reads all CPUs that have groups, and credits those slots from `first` to `last` that had something. Returns how many
 * CPUs could be read.
 */
size_t tally_run_read(struct tally_run *run, struct tally_groups *groups, uint32_t first, uint32_t last,
                      tally_credit credit, void *userdata);
/* Whether a slot runs on no CPU, as of the last reading. */
bool tally_run_is_idle(const struct tally_run *run, uint32_t slot);

/*
 * Once it is attached: that every CPU says what runs there, and that what all slots have had between two readings is
 * what the CPU's counters advanced, to the digit. The readings are credited. -EBADE, with a sentence.
 */
int tally_run_test(struct tally_run *run, struct tally_groups *groups, tally_credit credit, void *userdata,
                   struct error *error);

#endif
