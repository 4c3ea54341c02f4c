/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of the emulated board. The loop is two instructions, in assembly, so that what is counted is known.
 *
 *   spin CPU MILLIONS            executes that many million instructions on the CPU
 *   spin CPU mixed MILLIONS      the same in user space, and after each million the kernel clears a megabyte
 *   spin CPU calls NUMBER        calls getppid(2) that many times
 *   spin CPU steady SECONDS      works all the time
 *   spin CPU changing SECONDS    works in every second second, sleeps in the others
 *   spin CPU yield SECONDS       is on the CPU all the time, and leaves the emulator's time to the other CPUs
 *   spin CPU rest MILLIONS       the kernel clears that many megabytes, while nothing else wants the CPU
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

static void mix(long long millions, uint64_t rounds)
{
    static char megabyte[1 << 20];
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    for (; millions > 0; millions--) {
        loop(rounds);
        if (read(zero, megabyte, sizeof(megabyte)) != sizeof(megabyte)) {
            perror("/dev/zero");
            exit(1);
        }
    }
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

/* QEMU goes on with the next CPU at each yield. */
static void yield(double seconds)
{
    for (double start = now(); now() - start < seconds;)
        for (int i = 0; i < 1000; i++)
            __asm__ volatile("yield");
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
    else if (!strcmp(argv[2], "mixed"))
        mix(atoll(argv[3]), 500000);
    else if (!strcmp(argv[2], "yield"))
        yield(atof(argv[3]));
    else if (!strcmp(argv[2], "rest")) {
        static const struct sched_param none;
        if (sched_setscheduler(0, SCHED_IDLE, &none) < 0) {
            perror("sched_setscheduler");
            return 1;
        }
        mix(atoll(argv[3]), 1);
    } else if (!strcmp(argv[2], "calls"))
        for (long long n = atoll(argv[3]); n > 0; n--)
            syscall(SYS_getppid);
    else
        work(atof(argv[3]), !strcmp(argv[2], "changing"));
    return 0;
}
