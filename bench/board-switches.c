/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a context switch on the emulated board: two tasks on one CPU pass a byte back and forth. Each task is in its
 * own cgroup, or both are in the same one. Prints the nanoseconds per switch.
 *
 *   board-switches MILLISECONDS CPU CGROUP-DIRECTORY CGROUP-DIRECTORY
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 100

static double milliseconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void join_cgroup(const char *directory)
{
    int cgroup = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int procs = cgroup < 0 ? -1 : openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    if (procs < 0 || write(procs, "0", 1) != 1)
        err(1, "%s", directory);
    close(procs);
    close(cgroup);
}

static int hand(int from, int to, int first)
{
    char byte = 0;

    if (!first && read(from, &byte, 1) != 1)
        err(1, "read");
    if (write(to, &byte, 1) != 1)
        err(1, "write");
    if (first && read(from, &byte, 1) != 1)
        err(1, "read");
    return 1;
}

int main(int argc, char **argv)
{
    int there[2], back[2];
    double begin, end;
    long rounds = 0;
    cpu_set_t cpus;
    pid_t pid;

    if (argc != 5 || pipe(there) || pipe(back))
        errx(1, "usage: board-switches MILLISECONDS CPU CGROUP-DIRECTORY CGROUP-DIRECTORY");
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[2]), &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus))
        err(1, "CPU %s", argv[2]);
    pid = fork();
    if (pid < 0)
        err(1, "fork");
    join_cgroup(argv[pid ? 3 : 4]);
    while (pid == 0 && hand(there[0], back[1], 0))
        ;
    for (; rounds < ROUNDS; rounds++) /* warm-up, so that both tasks are running and all code has been executed once */
        hand(back[0], there[1], 1);
    begin = milliseconds();
    for (rounds = 0, end = begin; end - begin < atof(argv[1]); end = milliseconds())
        for (int i = 0; i < ROUNDS; i++, rounds++)
            hand(back[0], there[1], 1);
    kill(pid, SIGKILL);
    printf("%.0f\n", (end - begin) * 1e6 / (2.0 * (double)rounds));
    return 0;
}
