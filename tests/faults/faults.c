/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/faults/faults.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

static struct fault planned;
static struct fault_counts *counted;
static size_t n_calls, n_allocations;
static bool reached, shown = true;
static atomic_long outstanding;
static _Atomic uint64_t passed_ns;
static __thread bool watched;
static __thread unsigned held;

void faults_plan(const struct fault *fault, struct fault_counts *counts)
{
    planned = *fault;
    counted = counts;
}

bool faults_last(void)
{
    return planned.kind == FAULT_CALLS_FROM || planned.kind == FAULT_ALLOCATIONS_FROM;
}

bool faults_are_of_memory(void)
{
    return planned.kind == FAULT_ALLOCATION || planned.kind == FAULT_ALLOCATIONS_FROM;
}

void faults_begin(void)
{
    n_calls = n_allocations = 0;
    reached = false;
    watched = true;
}

bool faults_end(void)
{
    watched = false;
    if (counted) {
        fault_expect(MAX(n_calls, n_allocations) <= FAULT_POINTS_MAX, "FAULT_POINTS_MAX is too small");
        counted->n_calls = n_calls;
        counted->n_allocations = n_allocations;
    }
    return reached;
}

void faults_hold(void)
{
    held++;
}

void faults_release(void)
{
    held--;
}

/* Only defined in builds with sanitizers. */
void __sanitizer_print_stack_trace(void) __attribute__((weak));

void faults_show_place(void)
{
    shown = false;
}

/* Prints the stack of the first call or allocation that fails. */
UNSANITIZED static void show_place(void)
{
    held++;
    shown = true;
    if (__sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    held--;
}

UNSANITIZED static bool is_due(size_t k, enum fault_kind once, enum fault_kind from)
{
    bool due = (planned.kind == once && k == planned.k) || (planned.kind == from && k >= planned.k);

    reached |= due;
    if (due && !shown)
        show_place();
    return due;
}

/* FNV-1a over the return addresses. */
UNSANITIZED static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *userdata)
{
    uint64_t *hash = userdata;

    *hash = (*hash ^ _Unwind_GetIP(context)) * UINT64_C(0x100000001b3);
    return _URC_NO_REASON;
}

UNSANITIZED static uint64_t place_now(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    held++;
    _Unwind_Backtrace(add_frame, &hash);
    held--;
    return hash;
}

int faults_fail_call(enum seam_call call)
{
    if (!watched || held)
        return -1;
    size_t k = n_calls++;
    if (counted && k < FAULT_POINTS_MAX) {
        counted->calls[k] = (uint8_t)call;
        counted->call_places[k] = place_now();
    }
    if (!is_due(k, FAULT_CALL, FAULT_CALLS_FROM))
        return -1;
    return planned.kind == FAULT_CALL ? (int)planned.variant : 0;
}

UNSANITIZED bool faults_fail_allocation(void)
{
    if (!watched || held)
        return false;
    size_t k = n_allocations++;
    if (counted && k < FAULT_POINTS_MAX)
        counted->allocation_places[k] = place_now();
    return is_due(k, FAULT_ALLOCATION, FAULT_ALLOCATIONS_FROM);
}

UNSANITIZED void faults_count_allocation(int more)
{
    atomic_fetch_add_explicit(&outstanding, more, memory_order_relaxed);
}

long faults_outstanding(void)
{
    return atomic_load(&outstanding);
}

void faults_pass(uint64_t ns)
{
    passed_ns += ns;
}

/* Replaces libc's function for the whole process, including the event loop. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret);
    uint64_t ns = (uint64_t)ret->tv_nsec + passed_ns;

    if (r < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return r;
    ret->tv_sec += (time_t)(ns / NSEC_PER_SEC);
    ret->tv_nsec = (long)(ns % NSEC_PER_SEC);
    return 0;
}

void fault_failed(const char *format, ...)
{
    va_list args;

    watched = false;
    va_start(args, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(1);
}
