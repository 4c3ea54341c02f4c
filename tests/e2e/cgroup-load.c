/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load of known size in a cgroup: an exact number of page faults, or a CPU kept busy for a known time.
 *
 * usage: cgroup-load CGROUP-DIRECTORY faults PAGES
 *        cgroup-load CGROUP-DIRECTORY spin MILLISECONDS
 *
 * Everything is made ready before it joins the cgroup, so that next to nothing but the load is counted there. Built by
 * the scripts without sanitizers, whose shadow pages would be faults as well.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void join_cgroup(const char *directory)
{
    int cgroup = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int procs = cgroup < 0 ? -1 : openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    if (procs < 0 || write(procs, "0", 1) != 1)
        err(1, "%s", directory);
}

static uint64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void fault(const char *directory, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *area = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        err(1, "mmap");
    /* A kernel without huge pages says EINVAL, and is right. */
    (void)madvise((void *)(uintptr_t)area, pages * page, MADV_NOHUGEPAGE);
    join_cgroup(directory);
    for (size_t i = 0; i < pages; i++)
        area[i * page] = 1;
}

static void spin(const char *directory, uint64_t duration)
{
    uint64_t end;

    join_cgroup(directory);
    end = milliseconds() + duration;
    while (milliseconds() < end)
        ;
}

int main(int argc, char **argv)
{
    unsigned long number;

    if (argc != 4 || (number = strtoul(argv[3], NULL, 10)) == 0)
        errx(2, "usage: cgroup-load CGROUP-DIRECTORY faults PAGES | spin MILLISECONDS");
    if (strcmp(argv[2], "faults") == 0)
        fault(argv[1], number);
    else
        spin(argv[1], number);
    _exit(0);
}
