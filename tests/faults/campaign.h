/* SPDX-License-Identifier: Apache-2.0 */
/* Runs many points of a scenario, some at a time, and counts how they end. */
#ifndef TESTS_FAULTS_CAMPAIGN_H
#define TESTS_FAULTS_CAMPAIGN_H

#include "tests/faults/points.h"
#include "tests/faults/run.h"

struct campaign {
    unsigned jobs;
    bool verbose; /* shows the output of each run, and the place of its fault */
    const struct scenario *scenario;
    struct observed *observed;
    size_t tried[N_FAULT_KINDS], failed, unreached;
    char **failures; /* the names of the points, of all scenarios */
    size_t n_failures;
};

/* The run without faults. Whether it was as it must be. */
bool campaign_observe(struct campaign *campaign, const struct scenario *scenario);
/* Runs them. Points that fail are shown with what they said. */
void campaign_run(struct campaign *campaign, const struct points *points);
void campaign_done(struct campaign *campaign);

#endif
