/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to have sampled: threads with names, functions of a file, and functions compiled at run time with the list
 * that just-in-time compilers write for perf. Each thread uses some hundredths of a CPU.
 *
 * usage: program MILLISECONDS THREADS NUMBER
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* A loop, as x86-64 and arm64 have it: 100,000 times. */
#if defined(__x86_64__)
static const uint8_t loop[] = {0xb9, 0xa0, 0x86, 0x01, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
static const uint32_t loop[] = {0x5290d400, 0x72a00020, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
#error "this program has no loop for this machine"
#endif

enum { FUNCTIONS = 20, ROOM = 64 };

static char *code;
static uint64_t end_ms;

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void compile(unsigned number)
{
    char path[64];
    FILE *list;

    code = mmap(NULL, FUNCTIONS * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        err(1, "mmap");
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    list = fopen(path, "we");
    for (int i = 0; i < FUNCTIONS; i++) {
        memcpy(code + i * ROOM, loop, sizeof(loop));
        if (list)
            fprintf(list, "%lx %x compiled_%u_%d\n", (unsigned long)(code + i * ROOM), ROOM, number, i);
    }
    if (list)
        fclose(list);
    __builtin___clear_cache(code, code + FUNCTIONS * ROOM);
    if (mprotect(code, FUNCTIONS * ROOM, PROT_READ | PROT_EXEC) < 0)
        err(1, "mprotect");
}

__attribute__((noinline)) static void work_in_file(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void *work(void *number)
{
    char name[16];

    snprintf(name, sizeof(name), "soak-%u", (unsigned)(uintptr_t)number % 1000);
    prctl(PR_SET_NAME, name);
    for (unsigned i = 0; now_ms() < end_ms; i++) {
        void (*function)(void);
        char *address = code + i % FUNCTIONS * ROOM;

        memcpy(&function, &address, sizeof(function));
        function();
        work_in_file(100000);
        usleep(3000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned number = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

    if (n < 1 || n > 100)
        errx(2, "usage: program MILLISECONDS THREADS NUMBER");
    end_ms = now_ms() + strtoul(argv[1], NULL, 10);
    compile(number);
    for (unsigned i = 1; i < n; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)(number + i)) == 0)
            pthread_detach(thread);
    }
    work((void *)(uintptr_t)number);
    return 0;
}
