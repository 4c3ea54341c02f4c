/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon on a machine that is played, through the faulty seam: all of `perfcountd run` in this process, but without
 * an opener, a symboliser, a reader of state files and signals. Its event loop turns when the test says so.
 */
#ifndef TESTS_FAULTS_PLAYED_DAEMON_H
#define TESTS_FAULTS_PLAYED_DAEMON_H

#include "base/buffer.h"
#include "daemon/daemon.h"
#include "tests/faults/truth.h"

/*
 * The played clock is a hundred years ahead of any real one. A timer of the kernel that was armed from a played point
 * in time would never fire, whatever the uptime of the machine.
 */
#define PLAYED_BEGIN_NS (UINT64_C(100) * 365 * 86400 * NSEC_PER_SEC)

struct played {
    struct fake_sys *fake;
    struct truth truth;
    struct options options;
    struct daemon daemon;
    bool runs;
    uint64_t n_descriptors; /* of the process, before */
};

/* A configuration of the collectors; it listens on a port of 127.0.0.1 that the kernel chooses. */
#define PLAYED_CONFIG(collectors) "{web: {listen: ['127.0.0.1:0']}, collectors: {" collectors "}}"

/* The configuration is written, and nothing runs yet. */
struct played *played_new(struct fake_sys *fake, const char *config);
void played_free(void *played);
/* Replaces the file of the configuration, which is read at a start and a reload. */
void played_write_config(struct played *played, const char *config);

/* Whether it runs; else it said why. */
bool played_start(struct played *played);
void played_stop(void *state);

/* Turns the event loop until nothing is due. */
void played_turn(struct played *played);
/* Time passes for the daemon and the machine; then it turns. */
void played_pass(struct played *played, uint64_t seconds);
/* A reading of all collectors, held against the truth, and as it is served to Prometheus. */
void played_scrape(struct played *played);

/*
 * These are stages of a scenario whose state is such a daemon, as is played_free(). The faults are over: starts it
 * where it does not run, waits for all of its retries, and has it reload, as an operator would, where it still reports
 * failures.
 */
void played_recover(void *state);
/*
 * All that is served, without the values; of each row, what it grows by in a further round in which the CPUs, and the
 * cgroups "/c1" to "/c4", run for a time; what is open.
 */
void played_describe(void *state, struct buffer *out);

#endif
