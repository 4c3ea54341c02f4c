/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a scenario, in a process of its own: without faults, or under one of them. */
#ifndef TESTS_FAULTS_RUN_H
#define TESTS_FAULTS_RUN_H

#include <sys/types.h>

#include "tests/faults/scenario.h"

#define DESCRIPTION_MAX (512 * 1024)

/* The results of the run without faults, in memory that its process shares. */
struct observed {
    struct fault_counts counts;
    long outstanding;                /* allocations that stay, such as those of libraries for the process's life */
    char after_act[DESCRIPTION_MAX]; /* what scenario.describe() wrote behind `act` */
    char after_recover[DESCRIPTION_MAX];
};

/* Zeroed. */
struct observed *observed_new(void);
void observed_free(struct observed *observed);

/*
 * Starts the run, whose output goes to `out_fd`; with `fault` NULL it fills in `observed`, else it is compared with it.
 * Exit status: 0; 1 for what was not as it must be; 2 where the fault was not reached; others, and signals, of a crash
 * (SIGALRM: it hung).
 */
pid_t run_start(const struct scenario *scenario, const struct fault *fault, struct observed *observed, int out_fd);

#define RUN_UNREACHED 2

/*
 * Adds a sentence to the output of the run. All warnings and errors of the product's log are there; sentences that are
 * returned to the test are added by it, as a user would see them.
 */
void said_add(const char *sentence);

/* Fails the point, with the first line that differs. */
void compare_texts(const char *what, const char *before, const char *now);

/* The resources that the process of a run holds. */
struct residue {
    long allocations;
    uint64_t descriptors;
    unsigned mappings; /* shared ones, as those of rings and programs are */
};
struct residue residue_now(void);
/* Of all inotify descriptors of this process, the watches of these inodes: proc_pid_fdinfo(5). */
size_t residue_count_watches(const ino_t *inodes, size_t n_inodes);

#endif
