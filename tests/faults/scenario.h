/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario is something that the daemon does, tested under every fault. It runs once without a fault to count its
 * points, then once for each point, in its own process:
 *
 *     prepare    creates the state, without faults
 *     act        the daemon's work, under faults; between faults_hold() and faults_release() nothing is counted and
 *                nothing fails, for the test's own code, such as a client or a simulated machine
 *     recover    after the faults: lets time pass (faults_pass()), and retries what was reported as failed
 *     describe   writes the final state, which must be the same as in the run without faults
 *     finish     frees the state; then no memory, descriptor or mapping may be left
 *
 * A new scenario is a row in the table of a file in scenario/. It fails with fault_expect() (faults.h) at any stage.
 * The daemon's messages are read from standard error: see said_add() in run.h.
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
    unsigned asks;      /* how often `act` repeats a request, and so may cause the same message; 0: once */
    bool may_be_silent; /* what the fault prevented may recover without a message */
};

/* Each file in scenario/ has one table. */
extern const struct scenario scenarios_of_daemon[];
extern const struct scenario scenarios_of_http[];
extern const struct scenario scenarios_of_secure[];
extern const struct scenario scenarios_of_streams[];
extern const struct scenario scenarios_of_ending[];

#endif
