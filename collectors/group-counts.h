/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configured group counted on one target, which is a CPU, a PMU on a CPU, or a cgroup on all CPUs: the perf groups
 * that it became at each place of the target (opened-group.h), the rows that these fill (sum.h), and what is missing.
 */
#ifndef COLLECTORS_GROUP_COUNTS_H
#define COLLECTORS_GROUP_COUNTS_H

#include "collectors/place.h"

struct tally;

/*
 * Opens `group` at the `n` places of a target. `summed`: a row is of all CPUs of a PMU, not of one CPU. What could not
 * be opened is in the tally's report. Fails only with -ENOMEM. Gives NULL, which is no failure, where none of the
 * events is of these places.
 */
int tally_open(const struct collector_context *context, const struct config_group *group, const struct place *places,
               size_t n, bool summed, struct tally **ret);
/* Closes the descriptors and removes the rows. */
struct tally *tally_free(struct tally *tally, struct snapshot *snapshot);

/* Reads each part by one read(2) and updates the rows. Returns how many parts could be read. */
size_t tally_collect(struct tally *tally, struct sys *sys);

/* Disables what is open, or enables it again. Errors of ioctl(2): the first, and the others are tried. */
int tally_pause(struct tally *tally, bool paused);

/* Whether what was read last is no longer what was opened: tally_resume() mends it. */
bool tally_is_stale(const struct tally *tally);
/* Closes the descriptors; rows and totals stay as they are. */
void tally_end(struct tally *tally);
/*
 * Closes what is at places that are away or were (context->left), and opens anew what is closed or stale at the others;
 * totals go on. What could not be opened it tries once more, as a further part of the group. `group` is the one it was
 * opened with, or its equal. -ENOMEM.
 */
int tally_resume(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                 const struct place *places, size_t n);

/* Only closes what is at places that are away or were: for who cannot resume it yet. */
void tally_leave(struct tally *tally, const struct collector_context *context);

/* Adds what could not be opened, each with its CPUs. -ENOMEM. */
int tally_report(const struct tally *tally, const struct collector_context *context, struct failures *failures);

/* Whether it counts what has this signature. */
bool tally_counts(const struct tally *tally, const char *signature);
/* The same, at a single place, and at least a part of it was opened: then a reload keeps it. */
bool tally_goes_on(const struct tally *tally, const char *signature, const struct place *place);

/* Adds its rows to the number of groups in each state; one that opened nothing counts once, as unavailable. */
void tally_count(const struct tally *tally, size_t counts[N_ROW_STATES]);
/* Open descriptors. */
size_t tally_descriptors(const struct tally *tally);

#endif
