/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that waits in known functions, and measures how long each of them was off CPU: the elapsed time minus the
 * thread's CPU time. The function that computes measures how long the thread waited for a CPU instead: the time that
 * the host or interrupts take from a computing thread is not in its CPU time, but is no wait either.
 *
 * usage: waits SECONDS [FILE]
 *
 * It prints "pid PID" first, and "FUNCTION MICROSECONDS" for each function at the end. sleep_part() sleeps, lock_part()
 * waits for a lock, run_part() shares a CPU with others, and disk_part() writes to FILE and waits for the disk.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPINNERS 2
#define NS_PER_S 1000000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t end_ns;

static uint64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void sleep_for(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)}, NULL);
}

/* Prevents tail calls, which would leave the calling function out of stacks. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define FUNCTION static __attribute__((noinline)) void

/*
 * Each part calls a function that waits. The C library has no frame pointers, so the function that calls the library is
 * missing from the stack, but the part, one level up, is not.
 */
FUNCTION sleep_wait(int fd)
{
    (void)fd;
    sleep_for(20000000);
    KEEP_FRAME();
}

FUNCTION lock_wait(int fd)
{
    (void)fd;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    KEEP_FRAME();
}

FUNCTION disk_wait(int fd)
{
    static const char block[1 << 20]; /* large enough to make fdatasync() slow */

    if (pwrite(fd, block, sizeof(block), 0) == sizeof(block))
        fdatasync(fd);
    KEEP_FRAME();
}

FUNCTION run_wait(int fd)
{
    (void)fd;
    while (now(CLOCK_MONOTONIC) < end_ns)
        KEEP_FRAME();
}

FUNCTION sleep_part(int fd)
{
    sleep_wait(fd);
    KEEP_FRAME();
}

FUNCTION lock_part(int fd)
{
    lock_wait(fd);
    KEEP_FRAME();
}

FUNCTION disk_part(int fd)
{
    disk_wait(fd);
    KEEP_FRAME();
}

FUNCTION run_part(int fd)
{
    run_wait(fd);
    KEEP_FRAME();
}

/* A function that threads call until the end. */
struct part {
    const char *name;
    void (*run)(int fd);
    int fd;
    pthread_mutex_t adding;
    uint64_t off_cpu_ns;
};

/*
 * Reading the thread's CPU time is a system call, after which the thread may be preempted. Such a preemption is not a
 * wait of the part, so the elapsed time excludes these calls.
 */
static void part_run(struct part *part)
{
    uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID), start = now(CLOCK_MONOTONIC);

    part->run(part->fd);
    uint64_t passed = now(CLOCK_MONOTONIC) - start;
    cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    pthread_mutex_lock(&part->adding);
    part->off_cpu_ns += passed > cpu ? passed - cpu : 0;
    pthread_mutex_unlock(&part->adding);
}

static void *run(void *part)
{
    while (now(CLOCK_MONOTONIC) < end_ns)
        part_run(part);
    return NULL;
}

/* Holds the lock most of the time. */
static void *hold(void *unused)
{
    while (now(CLOCK_MONOTONIC) < end_ns) {
        pthread_mutex_lock(&lock);
        sleep_for(30000000);
        pthread_mutex_unlock(&lock);
        sleep_for(1000000);
    }
    return unused;
}

/* Returns how long this thread was ready to run, but was not running. */
static uint64_t waited_ns(void)
{
    uint64_t cpu, waited;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");

    if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &cpu, &waited) != 2)
        errx(1, "cannot read /proc/thread-self/schedstat");
    fclose(file);
    return waited;
}

static void *share_cpu(void *of_part)
{
    struct part *part = of_part;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    uint64_t before = waited_ns();
    part->run(part->fd);
    uint64_t waited = waited_ns() - before;
    pthread_mutex_lock(&part->adding);
    part->off_cpu_ns += waited;
    pthread_mutex_unlock(&part->adding);
    return NULL;
}

int main(int argc, char **argv)
{
    struct part parts[] = {{.name = "sleep_part", .run = sleep_part},
                           {.name = "lock_part", .run = lock_part},
                           {.name = "run_part", .run = run_part},
                           {.name = "disk_part", .run = disk_part, .fd = -1}};
    pthread_t threads[SPINNERS + 4];
    int n = 0;

    if (argc < 2)
        return 2;
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    end_ns = now(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * NS_PER_S);
    if (argc > 2)
        parts[3].fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        pthread_mutex_init(&parts[i].adding, NULL);
    pthread_create(&threads[n++], NULL, run, &parts[0]);
    pthread_create(&threads[n++], NULL, hold, NULL);
    pthread_create(&threads[n++], NULL, run, &parts[1]);
    if (parts[3].fd >= 0)
        pthread_create(&threads[n++], NULL, run, &parts[3]);
    for (int i = 0; i < SPINNERS; i++)
        pthread_create(&threads[n++], NULL, share_cpu, &parts[2]);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        printf("%s %" PRIu64 "\n", parts[i].name, parts[i].off_cpu_ns / 1000);
    return 0;
}
