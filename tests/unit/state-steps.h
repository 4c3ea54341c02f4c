/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a row, whichever engine counts the cgroup: two CPUs were idle, ran for 10 or starved before a reading.
 * Each CPU that was not idle had its group enabled for 10.
 */
#ifndef TESTS_UNIT_STATE_STEPS_H
#define TESTS_UNIT_STATE_STEPS_H

#include "tests/unit/find-series.h"

static const struct state_step {
    enum { IDLE, RAN, STARVED } in[2]; /* of two CPUs */
    enum row_state out;
    uint64_t out_value; /* NOT_SHOWN: left out */
} state_steps[] = {
    {{IDLE, IDLE}, ROW_COUNTING, 0},
    {{STARVED, IDLE}, ROW_STARVED, NOT_SHOWN}, /* the one that was enabled did not run */
    {{RAN, IDLE}, ROW_MULTIPLEXED, 20},        /* half of the time since the baseline */
    {{RAN, RAN}, ROW_COUNTING, 40},
    {{IDLE, IDLE}, ROW_COUNTING, 40},
    {{RAN, STARVED}, ROW_MULTIPLEXED, 50},
    {{STARVED, IDLE}, ROW_STARVED, NOT_SHOWN},
    {{IDLE, RAN}, ROW_MULTIPLEXED, 70}, /* 0 is still in the dark, 1 has caught up */
    {{RAN, RAN}, ROW_MULTIPLEXED, 100},
    {{RAN, RAN}, ROW_COUNTING, 120},
};

#endif
