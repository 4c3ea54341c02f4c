/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an arm64 CPU reads a counter in user space: mrs, and the virtual counter as the clock. See userpage.h and
 * Documentation/arch/arm64/perf.rst of the kernel.
 *
 * When kernel.perf_user_access becomes 0, the page still offers it until the next switch of tasks, and the instruction
 * is undefined. So that this does not end the process, a signal handler steps over the instruction and records the
 * refusal.
 */
#include <signal.h>
#include <ucontext.h>

#include "perf/userpage.h"

#define MRS_SIZE 4

/*
 * config1 of the PMU: bit 1 is `rdpmc`. Without `long` (bit 0): before PMUv3p5 that binds cycles to the cycle counter,
 * which a CPU's own cycles hold, and the event would never run. 32 bits suffice, since the kernel adds up overflows.
 */
#define ASK_USER 2

/* The linker's names for where the section below begins and ends. */
extern const char __start_userpage_counter[], __stop_userpage_counter[];

struct outcome {
    uint64_t value, refused;
};

/* The number of a register is part of the instruction. */
#define READ(number, name)                                                                                             \
    case number:                                                                                                       \
        __asm__ volatile("mrs %0, " name : "=r"(value), "+r"(refused));                                                \
        break;
#define READ_EVENT(number) READ(number, "pmevcntr" #number "_el0")
#define EVENT_COUNTERS(f)                                                                                              \
    f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19)      \
        f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30)

/* Alone in its section, so that the handler knows the instructions by their address. The handler sets x9 to refuse. */
__attribute__((section("userpage_counter"), noinline)) static struct outcome read_register(unsigned number)
{
    register uint64_t refused __asm__("x9") = 0;
    uint64_t value = 0;

    switch (number) {
        EVENT_COUNTERS(READ_EVENT)
        READ(31, "pmccntr_el0")
    default:
        refused = 1;
    }
    return (struct outcome){value, refused};
}

/* Another fault ends the process, as it would without the handler. */
static void on_undefined(int number, siginfo_t *info, void *context)
{
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;

    (void)info;
    if (registers->pc >= (uintptr_t)__start_userpage_counter && registers->pc < (uintptr_t)__stop_userpage_counter) {
        registers->pc += MRS_SIZE;
        registers->regs[9] = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int arm64_prepare(const struct userpage_reader *reader)
{
    struct sigaction action = {.sa_sigaction = on_undefined, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    (void)reader;
    return sigaction(SIGILL, &action, NULL) < 0 ? -errno : 0;
}

static int arm64_counter(const struct userpage_reader *reader, unsigned number, uint64_t *ret)
{
    (void)reader;
    struct outcome outcome = read_register(number);
    if (outcome.refused)
        return -EACCES;
    *ret = outcome.value;
    return 0;
}

/* With a barrier, since the CPU may read the counter before earlier instructions are done. */
static uint64_t arm64_clock(const struct userpage_reader *reader)
{
    uint64_t now;

    (void)reader;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
    return now;
}

const struct userpage_reader userpage_reader = {
    .prepare = arm64_prepare,
    .counter = arm64_counter,
    .clock = arm64_clock,
    .allowed_path = "/proc/sys/kernel/perf_user_access",
    .ask = ASK_USER,
};
