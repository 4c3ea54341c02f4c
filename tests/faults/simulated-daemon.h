/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon on a simulated machine whose system calls and allocations fail as planned (faulty-sys.h). It runs all of
 * `perfcountd run` in this process, except for the opener, the symboliser, the state file reader and signal handling.
 * The event loop runs only when the test runs it.
 */
#ifndef TESTS_FAULTS_PLAYED_DAEMON_H
#define TESTS_FAULTS_PLAYED_DAEMON_H

#include "base/buffer.h"
#include "daemon/daemon.h"
#include "tests/faults/truth.h"

/*
 * The simulated clock is a hundred years ahead of any real one, so that a kernel timer armed with a simulated time
 * never fires, whatever the machine's uptime.
 */
#define SIMULATED_BEGIN_NS (UINT64_C(100) * 365 * 86400 * NSEC_PER_SEC)

struct simulated {
    struct fake_sys *fake;
    struct truth truth;
    struct options options;
    struct daemon daemon;
    bool runs;
    uint64_t n_descriptors; /* descriptors that were open in this process before the daemon started */
};

/* A configuration with these collectors. The daemon listens on a port of 127.0.0.1 that the kernel chooses. */
#define SIMULATED_CONFIG(collectors) "{web: {listen: ['127.0.0.1:0']}, collectors: {" collectors "}}"

/* Writes the configuration file but does not start the daemon. */
struct simulated *simulated_new(struct fake_sys *fake, const char *config);
void simulated_free(void *simulated);
/* Replaces the configuration file. The daemon reads it when it starts and reloads. */
void simulated_write_config(struct simulated *simulated, const char *config);

/* Returns whether the daemon started. If not, it has reported the error. */
bool simulated_start(struct simulated *simulated);
void simulated_stop(void *state);

/* Runs the event loop until nothing is pending. */
void simulated_turn(struct simulated *simulated);
/* Advances the clocks of the daemon and of the machine, then runs the event loop. */
void simulated_pass(struct simulated *simulated, uint64_t seconds);
/* Reads all collectors, checks the totals against the truth (truth.h), and renders the exposition for Prometheus. */
void simulated_scrape(struct simulated *simulated);

/*
 * This function, simulated_describe() and simulated_free() are stages of a scenario (scenario.h) whose state is a
 * struct simulated. It starts the daemon if it is not running, waits until all retries are due, and reloads if failures
 * are still reported, as an operator would.
 */
void simulated_recover(void *state);
/*
 * Writes every series without its value; how much each row grows in one more round, in which the CPUs and the cgroups
 * "/c1" to "/c4" run; and the number of open events, pages, descriptors and watches.
 */
void simulated_describe(void *state, struct buffer *out);

#endif
