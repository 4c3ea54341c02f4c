/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configured group counted on one target: the perf groups it became there, their scaled totals, and the rows of the
 * snapshot that they fill.
 */
#ifndef COLLECTORS_TALLY_H
#define COLLECTORS_TALLY_H

#include "collectors/place.h"

struct tally;

/*
 * Opens `group` at `place`. What could not be opened is in the tally's report. Fails only with -ENOMEM. Gives NULL,
 * which is no failure, where none of the events is of that place.
 */
int tally_open(const struct collector_context *context, const struct config_group *group, const struct place *place,
               struct tally **ret);
/* Closes the descriptors and removes the rows. */
struct tally *tally_free(struct tally *tally, struct snapshot *snapshot);

/* Reads each part by one read(2) and updates its row. Returns how many parts could be read. */
size_t tally_collect(struct tally *tally, struct sys *sys);

/* Whether what is open is no longer what was opened: tally_revive() mends it. */
bool tally_is_stale(const struct tally *tally);
/* The place is away: closes the descriptors, keeps the totals, serves nothing. */
void tally_park(struct tally *tally);
/* Opens anew what is parked or stale; what fails stays parked. `group` is the one it was opened with, or its equal. */
void tally_revive(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                  const struct place *place);

int tally_report(const struct tally *tally, const struct collector_context *context, struct failures *failures);

/* Whether it counts `signature` at `place` and at least a part of it was opened: then a reload keeps it. */
bool tally_goes_on(const struct tally *tally, const char *signature, const struct place *place);

/* Adds its parts to the number of groups in each state; one that opened nothing counts once, as unavailable. */
void tally_count(const struct tally *tally, size_t counts[N_ROW_STATES]);

#endif
