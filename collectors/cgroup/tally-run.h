/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tally that was started, by its readers' side: its shape, where its words come from on each CPU, and the reader. And
 * the test that it agrees with the counters.
 */
#ifndef COLLECTORS_CGROUP_TALLY_RUN_H
#define COLLECTORS_CGROUP_TALLY_RUN_H

#include "bpf/reader.h"
#include "collectors/cgroup/bpf-groups.h"

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
