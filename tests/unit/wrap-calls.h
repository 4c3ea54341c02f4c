/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a test intercept the calls of struct sys (perf/sys.h). */
#ifndef TESTS_UNIT_WRAP_CALLS_H
#define TESTS_UNIT_WRAP_CALLS_H

#include "perf/sys.h"

/*
 * Replaces the calls that `own` sets and keeps the others. Returns all previous calls, so that the new functions can
 * call them.
 */
static inline struct sys_calls wrap_calls(struct sys *sys, struct sys_calls own)
{
    struct sys_calls before = sys->calls, calls = before;

#define WRAP(call) calls.call = own.call ? own.call : before.call
    WRAP(perf_event_open);
    WRAP(open_group);
    WRAP(open_file);
    WRAP(read);
    WRAP(ioctl);
    WRAP(close);
    WRAP(mmap);
    WRAP(munmap);
    WRAP(now);
    WRAP(start_finder);
    WRAP(mount_tracefs);
#undef WRAP
    sys->calls = calls;
    return before;
}

#endif
