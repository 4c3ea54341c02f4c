/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a tally: which row a part is added up in, and what the rows show together. */
#ifndef COLLECTORS_GROUP_ROWS_H
#define COLLECTORS_GROUP_ROWS_H

#include "collectors/sum.h"

struct sums {
    struct sum *items;
    uint32_t n;
    bool summed; /* a row is of all CPUs of a PMU; else each is of one CPU */
    bool spans;  /* summed, and the rows are of several kinds of CPU */
    bool quiet;  /* they show what there is, and nothing has happened since */
};

/* No rows yet. */
void sums_init(struct sums *sums, const struct machine *machine, const struct config_group *group, bool summed);
/* Removes the rows. */
void sums_done(struct sums *sums, struct snapshot *snapshot);

/*
 * Adds a part that was opened at `place` to its row, which is made where there is none. `binding` is that of the place;
 * `parts` are all up to this one. -ENOMEM.
 */
int sums_add_part(struct sums *sums, const struct collector_context *context, const struct binding *binding,
                  const struct place *place, struct part *parts, uint32_t part);

/* Puts what was read last into the rows; `quiet` where nothing has happened since the reading before. */
static inline void sums_update(struct sums *sums, const struct part *parts, bool quiet)
{
    /* Most of many cgroups sleep most of the time. */
    if (!quiet || !sums->quiet)
        for (size_t i = 0; i < sums->n; i++)
            sum_update(&sums->items[i], parts);
    sums->quiet = quiet;
}
/* Parts were closed or opened: a row of a CPU that is away is served nowhere. */
void sums_check(struct sums *sums, const struct part *parts);

/* Whether a row of `cpu` (-1: of all) has a counter of this event of the configured group, on the PMU of that name. */
bool sums_have(const struct sums *sums, size_t event, int cpu, const char *pmu);
/* Adds the rows that are served to the number in each state. */
void sums_count(const struct sums *sums, size_t counts[N_ROW_STATES]);

#endif
