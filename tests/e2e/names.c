/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose functions have the names that compilers of C++ and of Rust give, for a sampler to make readable.
 *
 * usage: names SECONDS
 *
 * Prints its name and process id, then runs. Build it with -O1 -fno-omit-frame-pointer, and without sanitizers.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

unsigned spin(unsigned seed) __asm__("_ZN3app5valueIiE4spinEj");
unsigned turn(unsigned seed) __asm__("_ZN3app4turn17h0123456789abcdefE");

/* Two functions that differ, or a compiler makes one of them. */
__attribute__((noinline)) unsigned spin(unsigned seed)
{
    for (volatile unsigned i = 0; i < 10000; i++)
        seed = seed * 1664525 + 1013904223;
    return seed;
}

__attribute__((noinline)) unsigned turn(unsigned seed)
{
    for (volatile unsigned i = 0; i < 10000; i++)
        seed = (seed ^ seed >> 7) * 22695477 + 1;
    return seed;
}

int main(int argc, char **argv)
{
    double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
    unsigned seed = 1;

    if (!(seconds > 0 && seconds < 1e6))
        errx(2, "usage: names SECONDS");
    printf("names %d\n", (int)getpid());
    fflush(stdout);
    for (time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;)
        seed = turn(spin(seed));
    return seed == 0;
}
