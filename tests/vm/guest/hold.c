/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold CPU NUMBER
 *
 * Acts as another user of perf: until it is killed, holds this many counters of the CPU with pinned events, which have
 * priority over others. Prints how many it got.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INSTRUCTIONS = 0x08 }; /* PMUv3's INST_RETIRED; each event needs a programmable counter */

static int open_pinned(int cpu, const struct perf_event_attr *attr)
{
    return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Reading a pinned event without a counter returns end of file. */
static int has_counter(int fd)
{
    uint64_t value;

    return read(fd, &value, sizeof(value)) == sizeof(value);
}

int main(int argc, char **argv)
{
    struct perf_event_attr raw = {.size = sizeof(raw), .type = PERF_TYPE_RAW, .config = INSTRUCTIONS, .pinned = 1};
    struct perf_event_attr cycles = {
        .size = sizeof(cycles), .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .pinned = 1};
    int held = 0;

    if (argc != 3)
        return 2;
    for (int i = 0; i < atoi(argv[2]); i++) {
        /* The first event uses the cycle counter. */
        int fd = open_pinned(atoi(argv[1]), i == 0 ? &cycles : &raw);

        if (fd < 0) {
            perror("perf_event_open");
            return 1;
        }
        held += has_counter(fd);
    }
    printf("%d\n", held);
    fflush(stdout);
    pause();
    return 0;
}
