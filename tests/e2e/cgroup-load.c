/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load of known size in a cgroup: an exact number of page faults, a CPU kept busy for a known time, or some of each.
 *
 * usage: cgroup-load CGROUP-DIRECTORY faults PAGES
 *        cgroup-load CGROUP-DIRECTORY spin MILLISECONDS
 *        cgroup-load CGROUP-DIRECTORY work MILLISECONDS
 *
 * "work" writes a line once it is in the cgroup, starts to work when it reads a line, writes another line when it is
 * done, and waits to be killed.
 *
 * The program prepares everything before it joins the cgroup, so that hardly anything but the load is counted there.
 * The scripts build it without sanitizers, whose shadow memory would cause more page faults.
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

static volatile char *map_pages(size_t pages)
{
    size_t size = pages * (size_t)sysconf(_SC_PAGESIZE);
    void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        err(1, "mmap");
    /* A kernel without huge pages returns EINVAL, which does not matter here. */
    (void)madvise(area, size, MADV_NOHUGEPAGE);
    return area;
}

static void touch(volatile char *area, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < pages; i++)
        area[i * page] = 1;
}

static void fault(const char *directory, size_t pages)
{
    volatile char *area = map_pages(pages);

    join_cgroup(directory);
    touch(area, pages);
}

static void spin(const char *directory, uint64_t duration)
{
    uint64_t end;

    join_cgroup(directory);
    end = milliseconds() + duration;
    while (milliseconds() < end)
        ;
}

static void say(void)
{
    if (write(STDOUT_FILENO, "\n", 1) != 1)
        err(1, "standard output");
}

/* Each round causes 50 faults, computes for a millisecond, and sleeps. */
static void work(const char *directory, uint64_t duration)
{
    volatile char *area = map_pages(50);
    char line;

    join_cgroup(directory);
    say();
    if (read(STDIN_FILENO, &line, 1) != 1)
        err(1, "standard input");
    for (uint64_t end = milliseconds() + duration, now; (now = milliseconds()) < end;) {
        touch(area, 50);
        (void)madvise((void *)(uintptr_t)area, 50 * (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED);
        while (milliseconds() == now)
            ;
        usleep(200);
    }
    say();
    pause();
}

int main(int argc, char **argv)
{
    unsigned long number;

    if (argc != 4 || (number = strtoul(argv[3], NULL, 10)) == 0)
        errx(2, "usage: cgroup-load CGROUP-DIRECTORY faults PAGES | spin MILLISECONDS | work MILLISECONDS");
    if (strcmp(argv[2], "faults") == 0)
        fault(argv[1], number);
    else if (strcmp(argv[2], "work") == 0)
        work(argv[1], number);
    else
        spin(argv[1], number);
    _exit(0);
}
