/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an x86-64 CPU reads a counter in user space: rdpmc, and the time-stamp counter as the clock. See userpage.h.
 *
 * When an administrator forbids it (0 in /sys/bus/event_source/devices/cpu/rdpmc), the page still offers it, and the
 * instruction faults. So that this does not end the process, a signal handler steps over the instruction and records
 * the refusal.
 */
#include <signal.h>
#include <ucontext.h>

#include "perf/userpage.h"

#define RDPMC_SIZE 2

/* The linker's names for where the section below begins and ends. */
extern const char __start_userpage_counter[], __stop_userpage_counter[];

struct outcome {
    uint64_t value, refused;
};

/* Alone in its section, so that the handler knows the instruction by its address. The handler sets rsi to refuse. */
__attribute__((section("userpage_counter"), noinline)) static struct outcome rdpmc(uint32_t number)
{
    struct outcome outcome = {0};
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high), "+S"(outcome.refused) : "c"(number));
    outcome.value = (uint64_t)high << 32 | low;
    return outcome;
}

/* Another fault ends the process, as it would without the handler. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    (void)info;
    if (at >= (uintptr_t)__start_userpage_counter && at < (uintptr_t)__stop_userpage_counter) {
        registers[REG_RIP] += RDPMC_SIZE;
        registers[REG_RSI] = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int x86_prepare(const struct userpage_reader *reader)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    (void)reader;
    return sigaction(SIGSEGV, &action, NULL) < 0 ? -errno : 0;
}

static int x86_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    (void)reader;
    struct outcome outcome = rdpmc(number);
    if (outcome.refused)
        return -EACCES;
    *ret = outcome.value;
    return 0;
}

static uint64_t x86_clock(const struct userpage_reader *reader)
{
    (void)reader;
    return __builtin_ia32_rdtsc();
}

const struct userpage_reader userpage_reader = {
    .prepare = x86_prepare,
    .counter = x86_counter,
    .clock = x86_clock,
};
