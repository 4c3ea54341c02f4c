/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose profile is known: hot_seventy() has 70 % of its time, hot_thirty() 30 %, for a sampler to find.
 *
 * usage: hot SECONDS
 *
 * Prints its name and process id, then runs until then or until SIGTERM, and prints the CPU time of each function, in
 * nanoseconds, so that a sampler's findings can be compared with the truth. The split is by the clock of its own CPU
 * time and not by work, so it holds on any machine and under any load; the turns are short and random, so that any part
 * of the time has it. Build it with -O1 -fno-omit-frame-pointer, and without sanitizers.
 */
#define _GNU_SOURCE
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

unsigned hot_seventy(unsigned seed, unsigned steps);
unsigned hot_thirty(unsigned seed, unsigned steps);

static volatile sig_atomic_t ended;

static void on_term(int signal)
{
    (void)signal;
    ended = 1;
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Two functions that differ, or a compiler makes one of them. */
__attribute__((noinline)) unsigned hot_seventy(unsigned seed, unsigned steps)
{
    for (volatile unsigned i = 0; i < steps; i++)
        seed = seed * 1664525 + 1013904223;
    return seed;
}

__attribute__((noinline)) unsigned hot_thirty(unsigned seed, unsigned steps)
{
    for (volatile unsigned i = 0; i < steps; i++)
        seed = (seed ^ seed >> 7) * 22695477 + 1;
    return seed;
}

/*
 * Whichever is behind its share runs, so what one call takes too long is made good by the next. For a random time, or
 * the turns would keep step with a sampler, and have other shares there.
 */
static unsigned run_until(uint64_t until, uint64_t *seventy, uint64_t *thirty)
{
    uint64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
    unsigned seed = 1;
    uint32_t random = 1;

    while (!ended && now(CLOCK_MONOTONIC) < until) {
        bool behind = *seventy * 3 <= *thirty * 7;
        random = random * 1103515245 + 12345;
        unsigned steps = 1 + random / 65536 * 2;
        seed = behind ? hot_seventy(seed, steps) : hot_thirty(seed, steps);
        uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID);
        *(behind ? seventy : thirty) += end - start;
        start = end;
    }
    return seed;
}

int main(int argc, char **argv)
{
    uint64_t seventy = 0, thirty = 0;
    double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;

    if (!(seconds > 0 && seconds < 1e6))
        errx(2, "usage: hot SECONDS");
    printf("hot %d\n", (int)getpid());
    fflush(stdout);
    signal(SIGTERM, on_term);
    unsigned seed = run_until(now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), &seventy, &thirty);
    printf("%" PRIu64 " hot_seventy\n%" PRIu64 " hot_thirty\n", seventy, thirty);
    return seed == 0;
}
