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
 * A new scenario is a row in the table of check-faults.c and these functions, in a file scenario/NAME.c. It fails by
 * fault_expect() (faults.h), at any stage. The product's sentences are taken from standard error:
 * see said.h.
 */
#ifndef TESTS_FAULTS_SCENARIO_H
#define TESTS_FAULTS_SCENARIO_H

#include "base/buffer.h"
#include "tests/faults/faults.h"

struct scenario {
    const char *name;
    unsigned seconds;   /* a run that takes longer hangs; 0: the default, 20 */
    bool may_be_silent; /* what a fault takes away may come back without a word */
    unsigned asks;      /* how often `act` asks for the same, so that the answer may be said as often; 0: once */
    void *(*prepare)(void);
    void (*act)(void *state);
    void (*recover)(void *state);
    void (*describe)(void *state, struct buffer *out);
    void (*finish)(void *state);
};

/* scenario/daemon.c */
extern const struct scenario scenario_start;
extern const struct scenario scenario_scrapes;
extern const struct scenario scenario_reload;
extern const struct scenario scenario_hotplug;
extern const struct scenario scenario_pause;
extern const struct scenario scenario_end;
/* scenario/cgroups.c */
extern const struct scenario scenario_cgroups_perf;
extern const struct scenario scenario_cgroups_bpf;
extern const struct scenario scenario_cgroups_reload_perf;
extern const struct scenario scenario_cgroups_reload_bpf;
/* scenario/http.c */
extern const struct scenario scenario_http;
/* scenario/streams.c */
extern const struct scenario scenario_streams;
/* scenario/secure.c */
extern const struct scenario scenario_secure;
extern const struct scenario scenario_renewal;
extern const struct scenario scenario_toggle;
extern const struct scenario scenario_relisten;
/* scenario/ending.c */
extern const struct scenario scenario_ending;

#endif
