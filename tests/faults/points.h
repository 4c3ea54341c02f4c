/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a scenario: each fault that it can be run under, by its name. */
#ifndef TESTS_FAULTS_POINTS_H
#define TESTS_FAULTS_POINTS_H

#include "tests/faults/faults.h"

struct points {
    struct fault *faults;
    size_t n;
};

/* All of what a run without faults counted. The process ends where there is no memory. */
struct points points_make(const struct fault_counts *counts);
void points_done(struct points *points);

/* "call:17:read-EIO", "calls-from:17", "allocation:230", "allocations-from:230" */
#define POINT_NAME_MAX 64
void point_name(const struct fault *fault, const struct fault_counts *counts, char name[POINT_NAME_MAX]);
const char *fault_kind_name(enum fault_kind kind);

/* Keeps `n` points, chosen by a text: another text chooses others. */
void points_choose(struct points *points, const char *text, size_t n);
/* Keeps the one of this name. */
void points_find(struct points *points, const struct fault_counts *counts, const char *name);

#endif
