/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that sets CLOCK_REALTIME a year ahead for programs that read it through libc. faketime does
 * not work here: it moves CLOCK_MONOTONIC too, which the kernel uses to timestamp perf records.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define YEAR (365 * 86400) /* s */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret);

    if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += YEAR;
    return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    int r = (int)syscall(SYS_gettimeofday, ret, zone);

    if (r == 0)
        ret->tv_sec += YEAR;
    return r;
}

time_t time(time_t *ret)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
