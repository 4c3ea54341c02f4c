/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth of a machine that is played: it has counted so much, and no total may say anything else. Each event has a
 * rate of its own, a prime number: a total that has counts of another event is no multiple of it.
 */
#ifndef TESTS_FAULTS_TRUTH_H
#define TESTS_FAULTS_TRUTH_H

#include "collectors/snapshot.h"
#include "tests/unit/fake-sys.h"

#define TRUTH_CPUS_MAX 8
#define TRUTH_CGROUPS_MAX 8

/* A total as it was served last. */
struct truth_total {
    char key[160];
    uint64_t value, row; /* row.id; 0: it may be another */
};

struct truth_cgroup {
    char path[32];
    int inode;
    uint64_t ns[TRUTH_CPUS_MAX];
};

struct truth {
    struct fake_sys *fake;
    const char *comes_and_goes; /* a configured group whose totals may start from 0 at any time; NULL */
    bool cgroups_restart;       /* those of cgroups may */
    uint64_t cpu_ns[TRUTH_CPUS_MAX];
    struct truth_cgroup cgroups[TRUTH_CGROUPS_MAX];
    size_t n_cgroups;
    struct truth_total *totals;
    size_t n_totals;
};

/* Sets the rates. */
void truth_init(struct truth *truth, struct fake_sys *fake);
void truth_done(struct truth *truth);

/* All totals start from 0. */
void truth_restart(struct truth *truth);

/* Time passes on all CPUs. */
void truth_advance(struct truth *truth, uint64_t ns);
/* The cgroup of a directory below the root runs for `ns` on a CPU; nothing where there is no such directory. */
void truth_run(struct truth *truth, const char *path, unsigned cpu, uint64_t ns);

/* Fails the point where a CPU (-1: all) cannot have counted so much of an event since the beginning. */
void truth_check_growth(const struct truth *truth, const char *event, int cpu, uint64_t growth);

/* Fails the point where a total is more than the machine counted, or less than before. */
void truth_check(struct truth *truth, const struct snapshot *snapshot);

#endif
