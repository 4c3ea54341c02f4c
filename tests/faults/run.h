/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a scenario, in its own process, without faults or under one of them. */
#ifndef TESTS_FAULTS_RUN_H
#define TESTS_FAULTS_RUN_H

#include <sys/types.h>

#include "tests/faults/scenario.h"

#define DESCRIPTION_MAX (512 * 1024)

/* The results of the run without faults, in shared memory. */
struct observed {
    struct fault_counts counts;
    long outstanding;                /* allocations that are never freed, such as by libraries */
    char after_act[DESCRIPTION_MAX]; /* the output of scenario.describe() after `act` */
    char after_recover[DESCRIPTION_MAX];
};

/* Returned zeroed. */
struct observed *observed_new(void);
void observed_free(struct observed *observed);

/*
 * Starts the run, whose output goes to `out_fd`. If `fault` is NULL it fills in `observed`; otherwise its results are
 * compared with `observed`. Exit status: 0 for success, 1 for a failed check, 2 if the fault was not reached; others,
 * and signals, mean a crash (SIGALRM: a hang).
 */
pid_t run_start(const struct scenario *scenario, const struct fault *fault, struct observed *observed, int out_fd);

#define RUN_UNREACHED 2

/*
 * Adds a message to the output of the run, which already has the daemon's log. A test calls this for messages that the
 * daemon returns instead of logging, such as the text of an error response.
 */
void said_add(const char *sentence);

/* If the texts differ, fails the point and shows the first line that differs. */
void compare_texts(const char *what, const char *before, const char *now);

/* The resources that the process of a run holds. */
struct residue {
    long allocations;
    uint64_t descriptors;
    unsigned mappings; /* shared mappings, such as those of ring buffers and BPF maps */
};
struct residue residue_now(void);
/* Counts the watches of these inodes in all inotify descriptors of this process: proc_pid_fdinfo(5). */
size_t residue_count_watches(const ino_t *inodes, size_t n_inodes);

#endif
