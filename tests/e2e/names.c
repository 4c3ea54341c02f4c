/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose functions have mangled C++ and Rust names, for a sampler to demangle. It also generates functions at
 * run time and lists them in /tmp/perf-PID.map, the second one when it receives SIGUSR1.
 *
 * usage: names SECONDS
 *
 * Prints its name and process id, then runs. Build it with -O1 -fno-omit-frame-pointer, and without sanitizers.
 */
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

unsigned spin(unsigned seed) __asm__("_ZN3app5valueIiE4spinEj");
unsigned turn(unsigned seed) __asm__("_ZN3app4turn17h0123456789abcdefE");

/* The two functions must differ, or the compiler merges them. */
__attribute__((noinline)) unsigned spin(unsigned seed)
{
    for (volatile unsigned i = 0; i < 10000; i++)
        seed = seed * 1664525 + 1013904223;
    return seed;
}

__attribute__((noinline)) unsigned turn(unsigned seed)
{
    for (volatile unsigned i = 0; i < 10000; i++)
        seed = (seed ^ seed >> 7) * 22695477 + 1;
    return seed;
}

/* Position-independent machine code that counts down from 65,535. */
#if defined(__x86_64__)
static const uint8_t code[] = {0xb9, 0xff, 0xff, 0x00, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
static const uint32_t code[] = {0x529fffe0, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
#error "which instructions?"
#endif

static void (*make_function(const char *name))(void)
{
    char path[64];
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        err(1, "mmap");
    memcpy(memory, code, sizeof(code));
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0)
        err(1, "mprotect");
    __builtin___clear_cache(memory, (char *)memory + sizeof(code));
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "a");
    if (!file || fprintf(file, "%lx %zx %s\n", (unsigned long)memory, sizeof(code), name) < 0 || fclose(file) != 0)
        err(1, "%s", path);
    void (*function)(void);
    memcpy(&function, &memory, sizeof(function));
    return function;
}

static volatile sig_atomic_t is_late;

static void be_late(int signal)
{
    is_late = signal;
}

int main(int argc, char **argv)
{
    double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
    unsigned seed = 1;

    if (!(seconds > 0 && seconds < 1e6))
        errx(2, "usage: names SECONDS");
    time_t start = time(NULL);
    signal(SIGUSR1, be_late);
    void (*early)(void) = make_function("early function:1"), (*late)(void) = NULL;
    printf("names %d\n", (int)getpid());
    fflush(stdout);
    while (time(NULL) < start + (time_t)seconds) {
        seed = turn(spin(seed));
        early();
        if (!late && is_late)
            late = make_function("late;function");
        if (late)
            late();
    }
    return seed == 0;
}
