/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many addresses become symbols in a second once their tables are there: callchains of ten as a profile has them,
 * three of the kernel and seven of this program and its libraries, spread over many functions.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symboliser.h"
#include "symbols/symbols.h"

#define N_USER 7000
#define N_KERNEL 3000
#define ROUNDS 300

struct addresses {
    uint64_t user[N_USER], kernel[N_KERNEL];
    size_t n_user, n_kernel;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void set(void *userdata)
{
    *(bool *)userdata = true;
}

static void wait_for(sd_event *event, const bool *flag)
{
    while (!*flag && sd_event_run(event, UINT64_MAX) >= 0)
        continue;
}

static void collect(void *userdata, uint32_t pid, uint32_t tid, const char *comm, const struct mapping *mapping)
{
    struct addresses *addresses = userdata;

    (void)tid;
    (void)comm;
    if (!mapping || pid != (uint32_t)getpid() || mapping->file[0] == '[')
        return;
    uint64_t step = (mapping->end - mapping->start) / 1000;
    for (uint64_t at = mapping->start; step && at < mapping->end && addresses->n_user < N_USER; at += step)
        addresses->user[addresses->n_user++] = at;
}

static void collect_kernel(struct addresses *addresses)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
    unsigned long long address;
    char line[512], type;

    for (unsigned i = 0; file && addresses->n_kernel < N_KERNEL && fgets(line, sizeof(line), file); i++)
        if (i % 31 == 0 && sscanf(line, "%llx %c", &address, &type) == 2 && address && (type == 't' || type == 'T'))
            addresses->kernel[addresses->n_kernel++] = address + 4;
}

static size_t resolve_all(struct symbols *symbols, const struct addresses *addresses, uint64_t random, size_t *n)
{
    uint32_t pid = (uint32_t)getpid();
    size_t known = 0;
    struct frame frame;

    for (size_t i = 0; i < N_USER + N_KERNEL; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t at = (size_t)(random >> 33);
        bool kernel = i % 10 < 3 && addresses->n_kernel;
        symbols_resolve(symbols, pid, kernel,
                        kernel ? addresses->kernel[at % addresses->n_kernel] : addresses->user[at % addresses->n_user],
                        &frame);
        known += frame.symbol != NULL;
    }
    *n += N_USER + N_KERNEL;
    return known;
}

static int measure(struct symbols *symbols, sd_event *event)
{
    static struct addresses addresses;
    bool learned = false, idle = false;
    size_t n = 0, known = 0;

    double start = now();
    if (symbols_scan(symbols, 0, set, &learned) < 0)
        return 1;
    wait_for(event, &learned);
    printf("symbols: learned all processes and the kernel's table in %.0f ms\n", (now() - start) * 1e3);
    symbols_each(symbols, collect, &addresses);
    collect_kernel(&addresses);
    if (!addresses.n_user)
        return 1;
    start = now();
    resolve_all(symbols, &addresses, 1, &n);
    if (symbols_when_idle(symbols, set, &idle) < 0)
        return 1;
    wait_for(event, &idle);
    printf("symbols: tables of its files made in %.0f ms\n", (now() - start) * 1e3);
    n = 0;
    start = now();
    for (uint64_t i = 0; i < ROUNDS; i++)
        known += resolve_all(symbols, &addresses, i, &n);
    double seconds = now() - start;
    printf("symbols: %.1f million resolved a second, %.0f ns each, %.0f %% known; %.0f callchains of ten a second\n",
           (double)n / seconds / 1e6, seconds / (double)n * 1e9, 100.0 * (double)known / (double)n,
           (double)n / seconds / 10);
    return 0;
}

int main(int argc, char **argv)
{
    struct sys sys;
    sd_event *event;
    struct symbols *symbols;

    if (argc > 1 && str_equal(argv[1], SYMBOLISER_COMMAND))
        return symboliser_serve();
    sys_init(&sys);
    if (sd_event_new(&event) < 0 || symbols_new(&sys, event, &symbols) < 0)
        return 1;
    int status = measure(symbols, event);
    symbols_free(symbols);
    sd_event_unref(event);
    return status;
}
