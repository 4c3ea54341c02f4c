/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario: something that the product does, under every fault. It is run once without any to count its points, then
 * once for each point, in a process of its own:
 *
 *     prepare    without faults: makes the state
 *     act        under faults: what the product does; between faults_hold() and faults_release() nothing is counted,
 *                and nothing fails: that is for the test's own code, such as a client or a machine that is played
 *     recover    the faults are over: lets time pass (faults_pass()), tries again what was reported as failed
 *     describe   writes what is there now: it must be what the run without faults wrote here
 *     finish     frees the state; then nothing may be left: memory, descriptors, mappings
 *
 * A new scenario is a row in the table of a file of scenario/. It fails by fault_expect() (faults.h), at any stage. The
 * sentences of the product are taken from standard error: see said_add() in run.h.
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
    unsigned asks;      /* how often `act` asks for the same, so that the answer may be said as often; 0: once */
    bool may_be_silent; /* what a fault takes away may come back without a word */
};

/* One table for each file of scenario/. */
extern const struct scenario scenarios_of_daemon[];
extern const struct scenario scenarios_of_http[];
extern const struct scenario scenarios_of_secure[];
extern const struct scenario scenarios_of_streams[];
extern const struct scenario scenarios_of_ending[];

#endif
