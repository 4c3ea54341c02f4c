/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of the emulated board. The loop is two instructions, in assembly, so that what is counted is known.
 *
 *   spin CPU MILLIONS            executes that many million instructions on the CPU
 *   spin CPU steady SECONDS      works all the time
 *   spin CPU changing SECONDS    works in every second second, sleeps in the others
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Executes 2 * `rounds` instructions, and a handful more. */
static void loop(uint64_t rounds)
{
    __asm__ volatile(".balign 64\n"
                     "1: subs %0, %0, #1\n"
                     "b.ne 1b\n"
                     : "+r"(rounds)
                     :
                     : "cc");
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(double seconds, int changing)
{
    double start = now();

    for (double t = 0; t < seconds; t = now() - start)
        if (changing && (long)t % 2)
            usleep(1000);
        else
            loop(100000);
}

int main(int argc, char **argv)
{
    cpu_set_t set;

    if (argc < 3)
        return 2;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        perror("sched_setaffinity");
        return 1;
    }
    /* The program that started this must be at rest: QEMU's counters see the instructions of all CPUs. */
    usleep(300000);
    if (argc == 3)
        loop((uint64_t)atoll(argv[2]) * 500000);
    else
        work(atof(argv[3]), !strcmp(argv[2], "changing"));
    return 0;
}
