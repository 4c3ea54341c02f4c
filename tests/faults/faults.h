/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault of a run: one call or allocation fails, or one and all later ones. Calls through the sys interface
 * (faulty-sys.h) and allocations (allocator.c) are counted from faults_begin() to faults_end(), in the thread that
 * called faults_begin(). Between faults_hold() and faults_release() they are neither counted nor made to fail:
 *
 *     faults_hold();
 *     ... the test's own code: a client, a mkdir(), the simulated machine ...
 *     faults_release();
 */
#ifndef TESTS_FAULTS_FAULTS_H
#define TESTS_FAULTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* Attribute of functions that a sanitizer's start-up code may call. */
#define UNSANITIZED __attribute__((no_sanitize("address", "undefined")))

enum fault_kind {
    FAULT_NONE,
    FAULT_CALL,             /* the k-th call of the sys interface fails */
    FAULT_CALLS_FROM,       /* the k-th and all later calls fail, until faults_end() */
    FAULT_ALLOCATION,       /* the k-th allocation fails */
    FAULT_ALLOCATIONS_FROM, /* the k-th and all later allocations fail */
};
#define N_FAULT_KINDS 5

/* The functions of the sys interface. faulty-sys.c has a row for each, with its possible failures. */
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
    unsigned variant; /* an index into the call's row in faulty-sys.c; 0 for allocations */
};

#define FAULT_POINTS_MAX 20000

/*
 * The calls and allocations of a run without faults. A place is a hash of the call stack: calls that the same functions
 * make repeatedly, such as for each event of each CPU, have the same place.
 */
struct fault_counts {
    size_t n_allocations, n_calls;
    uint8_t calls[FAULT_POINTS_MAX]; /* enum seam_call */
    uint64_t call_places[FAULT_POINTS_MAX], allocation_places[FAULT_POINTS_MAX];
};

/* `counts` (may be NULL) is filled in as calls are made. */
void faults_plan(const struct fault *fault, struct fault_counts *counts);
/* Returns whether the fault makes allocations fail, not calls. */
bool faults_are_of_memory(void);
/*
 * Returns whether all calls or allocations fail from some point on: a client may then get no response until the fault
 * is over.
 */
bool faults_last(void);
/* In a build with sanitizers, the first call or allocation that fails prints its stack. */
void faults_show_place(void);
void faults_begin(void);
/* Ends the fault. Returns whether the fault was reached. */
bool faults_end(void);
/* Calls may be nested, and are counted per thread. */
void faults_hold(void);
void faults_release(void);

/* Finds the libraries whose allocations must not fail. Must be called before any of them allocates. */
void faults_find_libraries(void);

/* Counts a call of the sys interface. Returns -1 if the call is to be made, otherwise which failure to simulate. */
int faults_fail_call(enum seam_call call);
/* Counts an allocation. Returns whether it must fail. */
bool faults_fail_allocation(void);
void faults_count_allocation(int more);
/* Number of allocations, by all threads, that have not been freed. */
long faults_outstanding(void);

/* Advances the clocks of clock_gettime(). Event loop timers that have expired by then fire in the next iteration. */
void faults_pass(uint64_t ns);

/* Fails the point with this message, and ends the process. */
void fault_failed(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
#define fault_expect(condition, ...)                                                                                   \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fault_failed(__VA_ARGS__);                                                                                 \
    } while (0)

#endif
