/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts itself on the board, and reads each counter in user space between two read(2) calls.
 *
 *   selfcount CPU...            reads a hundred times on each of these CPUs in turn
 *   selfcount forbid            sets kernel.perf_user_access=0 between two readings, without giving up the CPU
 *
 * Prints a line for each CPU and event: the number of readings without a system call, the number of readings whose
 * count or time is not between those of the two read(2) calls, the smallest difference between the two counts, and the
 * last count.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf/user-read.h"

#define READINGS 100

/* A userpage_reader that can be switched off: the same counter is then read with read(2). */
struct switched {
    struct userpage_reader reader;
    bool refuses;
};

static int switched_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    if (((const struct switched *)reader)->refuses)
        return -EACCES;
    return userpage_reader.counter(&userpage_reader, number, ret);
}

static void work(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}

static struct thread_counter_reading read_one(struct thread_counter *counter, struct switched *switched, bool user)
{
    struct thread_counter_reading reading = {0};

    switched->refuses = !user;
    if (thread_counter_read(counter, &reading) < 0)
        perror("thread_counter_read");
    return reading;
}

static bool is_between(const struct thread_counter_reading *a, const struct thread_counter_reading *b,
                       const struct thread_counter_reading *c)
{
    return a->value <= b->value && b->value <= c->value && a->enabled <= b->enabled && b->enabled <= c->enabled &&
           a->running <= b->running && b->running <= c->running;
}

static void read_on(int cpu, enum thread_counter_event event, struct thread_counter *counter, struct switched *switched)
{
    unsigned user = 0, wrong = 0;
    uint64_t slack = UINT64_MAX, value = 0;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        perror("sched_setaffinity");
    for (int i = 0; i < READINGS; i++) {
        work();
        struct thread_counter_reading before = read_one(counter, switched, false);
        struct thread_counter_reading between = read_one(counter, switched, true);
        struct thread_counter_reading after = read_one(counter, switched, false);
        user += between.user;
        wrong += before.user || after.user || !is_between(&before, &between, &after);
        slack = MIN(slack, after.value - before.value);
        value = after.value;
    }
    printf("%s cpu=%d user=%u wrong=%u slack=%llu value=%llu\n", thread_counter_event_name(event), cpu, user, wrong,
           (unsigned long long)slack, (unsigned long long)value);
}

static void read_forbidden(enum thread_counter_event event, struct thread_counter *counter, struct switched *switched)
{
    int fd = open("/proc/sys/kernel/perf_user_access", O_WRONLY | O_CLOEXEC);
    bool user = read_one(counter, switched, true).user;

    if (write(fd, "0", 1) != 1)
        perror("perf_user_access");
    struct thread_counter_reading a = read_one(counter, switched, true), b;
    work();
    b = read_one(counter, switched, true);
    printf("%s before=%d after=%d,%d grew=%d\n", thread_counter_event_name(event), user, a.user, b.user,
           b.value > a.value);
    if (pwrite(fd, "1", 1, 0) != 1)
        perror("perf_user_access");
    close(fd);
    usleep(10000); /* user-space access is permitted again the next time the task is switched in */
}

int main(int argc, char **argv)
{
    struct switched switched = {.reader = userpage_reader};
    struct thread_counter *counters[N_THREAD_COUNTER_EVENTS] = {NULL};
    struct machine *machine;
    const struct pmu *refused;
    struct error error;
    struct sys sys;

    if (userpage_reader.counter)
        switched.reader.counter = switched_counter;
    sys_init(&sys);
    if (machine_load(&sys, &machine, &error) < 0)
        return 1;
    for (int i = 0; i < N_THREAD_COUNTER_EVENTS; i++) {
        int r =
            thread_counter_open(&sys, machine, &switched.reader, (enum thread_counter_event)i, &counters[i], &refused);
        if (r < 0)
            printf("%s on %s: %s\n", thread_counter_event_name((enum thread_counter_event)i), refused->name,
                   strerror(-r));
    }
    for (int i = 0; i < N_THREAD_COUNTER_EVENTS; i++)
        for (int k = 1; counters[i] && k < argc; k++)
            if (str_equal(argv[k], "forbid"))
                read_forbidden((enum thread_counter_event)i, counters[i], &switched);
            else
                read_on(atoi(argv[k]), (enum thread_counter_event)i, counters[i], &switched);
    return 0;
}
