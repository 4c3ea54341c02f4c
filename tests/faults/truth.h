/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The true counts of a simulated machine, which no total may exceed. Each event has its own rate, a prime number, so a
 * total that includes counts of another event is not a multiple of it.
 */
#ifndef TESTS_FAULTS_TRUTH_H
#define TESTS_FAULTS_TRUTH_H

#include "collectors/snapshot.h"
#include "tests/unit/fake-sys.h"

#define TRUTH_CPUS_MAX 8
#define TRUTH_CGROUPS_MAX 8

/* The last value of a total that the daemon served. */
struct truth_total {
    char key[160];
    uint64_t value, row; /* `row` is row.id plus 1, or 0 for any row */
};

struct truth_cgroup {
    char path[32];
    int inode;
    uint64_t ns[TRUTH_CPUS_MAX];
};

struct truth {
    struct fake_sys *fake;
    const char *comes_and_goes; /* a configured group whose totals may restart at 0 at any time; may be NULL */
    bool cgroups_restart;       /* totals of cgroups may restart at 0 */
    uint64_t cpu_ns[TRUTH_CPUS_MAX];
    struct truth_cgroup cgroups[TRUTH_CGROUPS_MAX];
    size_t n_cgroups;
    struct truth_total *totals;
    size_t n_totals;
};

/* Sets the rate of each event. */
void truth_init(struct truth *truth, struct fake_sys *fake);
void truth_done(struct truth *truth);

/* Must be called when the daemon starts: all totals restart at 0. */
void truth_restart(struct truth *truth);

/* Advances the time on all CPUs. */
void truth_advance(struct truth *truth, uint64_t ns);
/* Runs the cgroup with this directory for `ns` on a CPU; does nothing if the directory is missing. */
void truth_run(struct truth *truth, const char *path, unsigned cpu, uint64_t ns);

/* Fails the point if a CPU (-1: all) cannot have counted that much of an event since the start. */
void truth_check_growth(const struct truth *truth, const char *event, int cpu, uint64_t growth);

/* Fails the point if a total has decreased or exceeds the machine's count. */
void truth_check(struct truth *truth, const struct snapshot *snapshot);

#endif
