/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose /proc/PID/maps cannot be read once a write to its file does not return (hang-fs.c). The process and
 * every reader of its maps then wait.
 *
 * usage: hang-maps FILE
 *
 * The first thread writes the mapped page of FILE back. The second stores to the page, and waits in the page fault for
 * the end of the writeback (fs/fuse/file.c, fuse_page_mkwrite()). The third changes the protection of the mapping, and
 * holds the mmap_lock while it waits for that fault. Then all three threads are in state D.
 *
 * Built by: cc -pthread -o hang-maps hang-maps.c
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define PAUSE_USEC 1000

static volatile char *page;

static void *write_back(void *unused)
{
    for (;; usleep(PAUSE_USEC))
        msync((void *)page, PAGE, MS_SYNC);
    return unused;
}

static void *write_page(void *unused)
{
    for (;; usleep(PAUSE_USEC))
        (*page)++;
    return unused;
}

int main(int argc, char *argv[])
{
    pthread_t threads[2];

    if (argc != 2)
        errx(2, "usage: hang-maps FILE");
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        err(1, "%s", argv[1]);
    if (pthread_create(&threads[0], NULL, write_back, NULL) != 0 ||
        pthread_create(&threads[1], NULL, write_page, NULL) != 0)
        errx(1, "cannot start a thread");
    for (int more = 0;; more = PROT_EXEC - more, usleep(PAUSE_USEC))
        mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE | more);
}
