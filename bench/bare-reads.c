/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of reading: opens a group of software events for each cgroup on each CPU, or where none is named for
 * each CPU, and does nothing but read them, one read(2) for each group. A scrape needs more: the difference is the
 * price of scaling, text and HTTP. And the yardstick of text: copying as many bytes.
 *
 * usage: bare-reads EVENTS [CGROUP-DIRECTORY...]
 *
 * Each line of standard input is "read ROUNDS" or "copy ROUNDS SIZE"; the answer is the nanoseconds of CPU time and of
 * wall time that one round took.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "bench/bare-groups.h"

static double nanoseconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void copy(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to) : "memory"); /* the copy is used */
}

/* Copies where a size is given, else reads. */
static void measure(struct bare_groups *groups, unsigned long rounds, size_t size)
{
    char *from = calloc(1, size + 1), *to = calloc(1, size + 1);
    if (!from || !to)
        err(1, "calloc");
    double cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall = nanoseconds(CLOCK_MONOTONIC);

    for (unsigned long i = 0; i < rounds; i++)
        if (size > 0)
            copy(to, from, size);
        else
            bare_groups_read(groups);
    printf("%.0f %.0f\n", (nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)rounds,
           (nanoseconds(CLOCK_MONOTONIC) - wall) / (double)rounds);
    fflush(stdout);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    struct bare_groups groups;
    uint64_t n_events = 0;
    char line[64];

    if (argc < 2 || number_parse_u64(argv[1], &n_events) < 0 || n_events == 0 || n_events > BARE_GROUPS_EVENTS_MAX)
        errx(2, "usage: bare-reads EVENTS [CGROUP-DIRECTORY...], with 1 to %d events", BARE_GROUPS_EVENTS_MAX);
    bare_groups_open(&groups, n_events, argv + 2, (size_t)argc - 2);
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long rounds = 0;
        size_t size = 0;
        if (sscanf(line, "read %lu", &rounds) != 1 && sscanf(line, "copy %lu %zu", &rounds, &size) != 2)
            errx(2, "\"read ROUNDS\" or \"copy ROUNDS SIZE\" is expected, not: %s", line);
        if (rounds > 0)
            measure(&groups, rounds, size);
    }
    bare_groups_done(&groups);
    return groups.sum == UINT64_MAX;
}
