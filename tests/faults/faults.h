/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault of a run: one call or allocation, or all from one on. Calls of the seam (faulty-sys.h) and allocations
 * (allocator.c) are counted from faults_begin() to faults_end(), in the thread that called it, but not while they are
 * held:
 *
 *     faults_hold();
 *     ... the test's own code: a client, a mkdir(), the machine that it plays ...
 *     faults_release();
 */
#ifndef TESTS_FAULTS_FAULTS_H
#define TESTS_FAULTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* A function that the start of a sanitizer calls. */
#define UNSANITIZED __attribute__((no_sanitize("address", "undefined")))

enum fault_kind {
    FAULT_NONE,
    FAULT_CALL,             /* the k-th call of the seam fails */
    FAULT_CALLS_FROM,       /* it and all after it do, until faults_end() */
    FAULT_ALLOCATION,       /* the same of allocations */
    FAULT_ALLOCATIONS_FROM, /* the same */
};
#define N_FAULT_KINDS 5

/* The functions of the seam, and how each of them may fail: one row each in faulty-sys.c. */
enum seam_call {
    SEAM_OPEN,
    SEAM_OPEN_FILE,
    SEAM_READ,
    SEAM_IOCTL,
    SEAM_CLOSE,
    SEAM_MMAP,
    SEAM_MUNMAP,
    SEAM_MOUNT,
    SEAM_BPF,
};

struct fault {
    enum fault_kind kind;
    size_t k;         /* from 0 */
    unsigned variant; /* an index in the row of the call that it is; 0 for allocations */
};

#define FAULT_POINTS_MAX 20000

/*
 * The calls and allocations of a run without faults. A place is a hash of the functions that lead to it: what the same
 * functions do many times, for each event of each CPU, has one place.
 */
struct fault_counts {
    size_t n_allocations, n_calls;
    uint8_t calls[FAULT_POINTS_MAX]; /* enum seam_call */
    uint64_t call_places[FAULT_POINTS_MAX], allocation_places[FAULT_POINTS_MAX];
};

/* `counts` (may be NULL) is filled in as calls come. */
void faults_plan(const struct fault *fault, struct fault_counts *counts);
/* Whether allocations fail, and no calls. */
bool faults_are_of_memory(void);
/* Whether everything fails from one point on: then a client may have to wait until that is over. */
bool faults_last(void);
/* From now on, the first call or allocation that fails shows where it is, in a build with sanitizers. */
void faults_show_place(void);
void faults_begin(void);
/* The fault is over. Returns whether it was reached at all. */
bool faults_end(void);
/* Nestable, for each thread. */
void faults_hold(void);
void faults_release(void);

/* Finds libraries whose allocations may not fail, before any of them allocates. */
void faults_find_libraries(void);

/* Counts a call of the seam: -1, or how it is to fail. */
int faults_fail_call(enum seam_call call);
/* Counts an allocation; whether it is to fail. */
bool faults_fail_allocation(void);
void faults_count_allocation(int more);
/* Allocations that are not freed, of all threads. */
long faults_outstanding(void);

/* Time passes for all that asks clock_gettime(): what waits for it in an event loop is due at its next turn. */
void faults_pass(uint64_t ns);

/* Fails the point, with the sentence, and ends its process. */
void fault_failed(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
#define fault_expect(condition, ...)                                                                                   \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fault_failed(__VA_ARGS__);                                                                                 \
    } while (0)

#endif
