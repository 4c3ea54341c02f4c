/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The impostor: a process that has taken the daemon's place after the split, with the real opener and the real filters,
 * and tries what a stranger would try. Each attempt has a verdict: its result against the result that it must have.
 */
#ifndef TESTS_IMPOSTOR_IMPOSTOR_H
#define TESTS_IMPOSTOR_IMPOSTOR_H

#include <limits.h>

#include "config/config.h"
#include "daemon/options.h"
#include "daemon/split.h"
#include "opener/client.h"
#include "tests/impostor/witness.h"

/* Facts from before the split, while this process may still look at them. */
struct knowledge {
    uint64_t kernel_function; /* the address of a function of the kernel's, or one that is as good */
    int64_t switch_id, openat_id, kprobe_type, uprobe_type, breakpoint_type;
    char scratch[PATH_MAX / 2]; /* a directory of this run, which anybody may enter */
    char gain[PATH_MAX];        /* a setuid copy of this program, "" where there is none */
    char program[PATH_MAX];     /* of this process */
    uint64_t victim_offset;     /* of the function that the witness runs, in that file */
};

struct impostor {
    struct options options;
    struct config *config;
    struct sys sys;
    struct split *split;
    bool has_reader;
    struct name_reader reader; /* of state files */
    const struct opener_client *client;
    struct machine *machine;
    struct knowledge known;
    struct witness *witness; /* NULL: there is none */
    pid_t opener;
    int accomplice, twin; /* sockets; -1: there is none */
    bool on_terminal;     /* standard input is one that controls this session */
    unsigned passed, failed, skipped;
    char reason[256]; /* of the last that was skipped */
};

/* An attempt that cannot be made here returns this, after impostor_skip(). */
#define ATTEMPT_SKIPPED LONG_MIN
#define ATTEMPT_ERRORS_MAX 7

/* Errors in any order; without one the attempt must succeed. */
struct must {
    int errors[ATTEMPT_ERRORS_MAX];
};
#define MUST(...)                                                                                                      \
    {                                                                                                                  \
        .errors = { __VA_ARGS__ }                                                                                      \
    }
#define MUST_WORK                                                                                                      \
    {                                                                                                                  \
        .errors = { 0 }                                                                                                \
    }

struct attempt {
    const char *name;
    /* 0 or more: it worked; -errno; ATTEMPT_SKIPPED. */
    long (*try)(struct impostor *impostor, const struct attempt *attempt);
    struct must must;
    const char *text;
    uint64_t number;
};

long impostor_skip(struct impostor *impostor, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints a line for an attempt and counts it. */
void impostor_judge(struct impostor *impostor, const char *name, long got, const struct must *must);
/* Makes each attempt in this process, or in a child each, whose end by a signal of the filter's is -EPERM. */
void impostor_try(struct impostor *impostor, const struct attempt *attempts, size_t n);
void impostor_try_apart(struct impostor *impostor, const struct attempt *attempts, size_t n);

/* The chapters, each in the file of its name, strangers in own-processes.c. */
void state_run(struct impostor *impostor);
void own_files_run(struct impostor *impostor);
void own_calls_run(struct impostor *impostor);
void own_abi_run(struct impostor *impostor);
void own_processes_run(struct impostor *impostor);
void own_ioctls_run(struct impostor *impostor);
void strangers_run(struct impostor *impostor);
void requests_run(struct impostor *impostor);
void probe_requests_run(struct impostor *impostor);
void file_requests_run(struct impostor *impostor);
void state_requests_run(struct impostor *impostor);
void tally_requests_run(struct impostor *impostor);
void garbage_run(struct impostor *impostor);
void powers_run(struct impostor *impostor);

#endif
