/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the groups of all CPUs from one thread, as the daemon does, beside a thread on each CPU that reads that
 * CPU's. A group that is counting on another CPU is read there by the kernel, which interrupts it (perf_event_read() in
 * kernel/events/core.c); a thread there has to be woken. Time until all is read, and CPU time of all threads.
 *
 * usage: bench-threads [GROUPS-PER-CPU]
 */
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "bench/bare-groups.h"

#define DEFAULT_GROUPS 4
#define MEMBERS 4
#define ROUNDS 7
#define READINGS 300
#define PAUSE_NS 1000000 /* between readings, so that threads sleep as they would between scrapes */

struct reader {
    pthread_t thread;
    int cpu;
    struct bare_groups groups;
    sem_t go;
    sem_t *done;
    bool end;
};

static uint64_t now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void open_groups(struct reader *reader, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bare_groups_add(&reader->groups, -1, reader->cpu);
    if (reader->groups.n_leaders < n)
        errx(1, "CPU %d is offline", reader->cpu);
}

static void *work(void *userdata)
{
    struct reader *reader = userdata;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)reader->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    for (;;) {
        sem_wait(&reader->go);
        if (reader->end)
            return NULL;
        bare_groups_read(&reader->groups);
        sem_post(reader->done);
    }
}

static void read_across(struct reader *readers, size_t n, sem_t *done)
{
    (void)done;
    for (size_t i = 0; i < n; i++)
        bare_groups_read(&readers[i].groups);
}

static void read_by_threads(struct reader *readers, size_t n, sem_t *done)
{
    for (size_t i = 0; i < n; i++)
        sem_post(&readers[i].go);
    for (size_t i = 0; i < n; i++)
        sem_wait(done);
}

/* One thread that goes to where it reads. */
static void read_by_moving(struct reader *readers, size_t n, sem_t *done)
{
    cpu_set_t set, before;

    (void)done;
    sched_getaffinity(0, sizeof(before), &before);
    for (size_t i = 0; i < n; i++) {
        CPU_ZERO(&set);
        CPU_SET((size_t)readers[i].cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
        bare_groups_read(&readers[i].groups);
    }
    sched_setaffinity(0, sizeof(before), &before);
}

struct figure {
    double latency_us, cpu_us;
};

static struct figure measure(void (*read_all)(struct reader *, size_t, sem_t *), struct reader *readers, size_t n,
                             sem_t *done)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct figure best = {1e9, 1e9};

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), latency = 0;
        for (int i = 0; i < READINGS; i++) {
            nanosleep(&pause, NULL);
            uint64_t start = now(CLOCK_MONOTONIC);
            read_all(readers, n, done);
            latency += now(CLOCK_MONOTONIC) - start;
        }
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        best.latency_us = MIN(best.latency_us, (double)latency / READINGS / 1e3);
        best.cpu_us = MIN(best.cpu_us, (double)cpu / READINGS / 1e3);
    }
    return best;
}

static void print(const char *how, const struct figure *figure, const struct figure *across,
                  const struct figure *nothing)
{
    printf("    %-20s %7.1f us, %7.1f us CPU, ratios %.2f and %.2f\n", how, figure->latency_us,
           figure->cpu_us - nothing->cpu_us, figure->latency_us / across->latency_us,
           (figure->cpu_us - nothing->cpu_us) / (across->cpu_us - nothing->cpu_us));
}

int main(int argc, char **argv)
{
    uint64_t n_groups = DEFAULT_GROUPS;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    struct reader *readers = calloc((size_t)n, sizeof(*readers));
    sem_t done;

    if (!readers || argc > 2 || (argc == 2 && (number_parse_u64(argv[1], &n_groups) < 0 || n_groups == 0)))
        errx(2, "usage: bench-threads [GROUPS-PER-CPU]");
    sem_init(&done, 0, 0);
    for (int i = 0; i < n; i++) {
        readers[i] = (struct reader){.cpu = i, .groups = {.n_events = MEMBERS}, .done = &done};
        sem_init(&readers[i].go, 0, 0);
        open_groups(&readers[i], n_groups);
        if (pthread_create(&readers[i].thread, NULL, work, &readers[i]) != 0)
            errx(1, "pthread_create");
    }
    struct figure nothing = measure(read_across, readers, 0, &done);
    struct figure across = measure(read_across, readers, (size_t)n, &done);
    printf("reading %" PRIu64 " groups of %d on each of %ld CPUs, beyond an empty round of %.1f us CPU:\n", n_groups,
           MEMBERS, n, nothing.cpu_us);
    printf("    one thread:          %7.1f us, %7.1f us CPU\n", across.latency_us, across.cpu_us - nothing.cpu_us);
    struct figure moving = measure(read_by_moving, readers, (size_t)n, &done);
    print("one thread, moving:", &moving, &across, &nothing);
    struct figure threads = measure(read_by_threads, readers, (size_t)n, &done);
    print("a thread each CPU:", &threads, &across, &nothing);
    for (int i = 0; i < n; i++) {
        readers[i].end = true;
        sem_post(&readers[i].go);
        pthread_join(readers[i].thread, NULL);
        bare_groups_done(&readers[i].groups);
    }
    free(readers);
    return 0;
}
