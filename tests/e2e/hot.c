/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known profile: hot_seventy() takes 70 % of its time, hot_thirty() 30 %.
 *
 * usage: hot SECONDS
 *
 * Prints its name and process id, runs for that time or until SIGTERM, and prints the CPU time of each function in
 * nanoseconds, so that samples can be compared with the true shares. Each turn has a random length and runs a randomly
 * chosen function, so that every part of the run has the same shares, and neither a sampler nor another program's
 * interrupts can be in step with the turns. Build it with -O1 -fno-omit-frame-pointer and without sanitizers.
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

/* The two functions must differ, or the compiler merges them. */
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

/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). */
static unsigned draw(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (unsigned)(*random * 2685821657736338717ULL >> 32);
}

/*
 * The turns of one function may take longer than those of the other. The probability compensates for this slowly, based
 * on the whole run: if it were based on the last turn only, whatever interrupted that turn would affect the next one.
 */
static bool is_turn_of_first(uint64_t *random, uint64_t seventy, uint64_t thirty)
{
    double share = seventy + thirty ? (double)seventy / (double)(seventy + thirty) : 0.7;

    return draw(random) / 4294967296.0 < 0.7 + 8 * (0.7 - share);
}

static unsigned run_until(uint64_t until, uint64_t *seventy, uint64_t *thirty)
{
    uint64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
    unsigned seed = 1;
    uint64_t random = 1;

    while (!ended && now(CLOCK_MONOTONIC) < until) {
        bool first = is_turn_of_first(&random, *seventy, *thirty);
        unsigned steps = 1 + draw(&random) % 131072;
        seed = first ? hot_seventy(seed, steps) : hot_thirty(seed, steps);
        uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID);
        *(first ? seventy : thirty) += end - start;
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
