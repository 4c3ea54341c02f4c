/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario is something that the daemon does, such as a reload. It runs once without a fault to count the points at
 * which a fault may occur, then once under each fault, always in a process of its own. Its stages:
 *
 *     prepare    creates the state, without faults
 *     act        does the daemon's work, under faults, except for the test's own code (such as a client or a simulated
 *                machine), which runs between faults_hold() and faults_release()
 *     recover    lets time pass after the faults (faults_pass()), and retries what was reported as failed
 *     describe   writes the final state, which must be the same as in the run without faults
 *     finish     frees the state; afterwards no memory, descriptor or mapping may be left
 *
 * To add a scenario, add a row to the table in a file in scenario/. Any stage may call fault_expect() (faults.h) to
 * fail. The daemon's messages are read from standard error: see said_add() in run.h.
 */
#ifndef TESTS_FAULTS_SCENARIO_H
#define TESTS_FAULTS_SCENARIO_H

#include "base/buffer.h"
#include "tests/faults/faults.h"

struct scenario {
    const char *name; /* NULL: the end of a table */
    void *(*prepare)(void);
    void (*act)(void *state);
    void (*recover)(void *state);
    void (*describe)(void *state, struct buffer *out);
    void (*finish)(void *state);
    unsigned asks;      /* how often `act` repeats a request, which may log the same message each time; 0: once */
    bool may_be_silent; /* the daemon may recover from a failure without logging it */
};

/* Each file in scenario/ has one table. */
extern const struct scenario scenarios_of_daemon[];
extern const struct scenario scenarios_of_http[];
extern const struct scenario scenarios_of_secure[];
extern const struct scenario scenarios_of_streams[];
extern const struct scenario scenarios_of_ending[];

#endif
