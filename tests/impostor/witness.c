/* SPDX-License-Identifier: Apache-2.0 */
/* A process of root's that somebody may want to hurt: see witness.h. */
#include "tests/impostor/witness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"

#define ADDED 0x11223344U

/* By assembly, so that the second byte of the function is the middle of an instruction. */
__attribute__((noinline)) unsigned witness_victim(unsigned value)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("addl $0x11223344, %0" : "+r"(value));
    return value;
#else
    __asm__ volatile("" : "+r"(value));
    return value + ADDED;
#endif
}

static struct witness *shared;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

/* PR_SET_PDEATHSIG does not reach it: its parent will be of another user by then (kernel/signal.c). */
static _Noreturn void be_witness(struct witness *witness, pid_t parent)
{
    for (int number = 1; number < NSIG; number++)
        if (number != SIGSEGV && number != SIGILL && number != SIGBUS && number != SIGTRAP)
            signal(number, on_signal);
    for (unsigned i = 0; getppid() == parent; i++) {
        if (witness_victim(i) != i + ADDED)
            atomic_fetch_add(&witness->wrong, 1);
        atomic_fetch_add(&witness->beats, 1);
        usleep(1000);
    }
    _exit(EXIT_SUCCESS);
}

struct witness *witness_start(void)
{
    struct witness *witness = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (witness == MAP_FAILED)
        return NULL;
    shared = witness;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        be_witness(witness, parent);
    witness->pid = pid;
    return pid > 0 ? witness : NULL;
}

bool witness_lives(const struct witness *witness)
{
    unsigned before = atomic_load(&witness->beats);

    for (int i = 0; i < 1000; i++) {
        if (atomic_load(&witness->beats) > before + 3)
            return atomic_load(&witness->wrong) == 0;
        usleep(5000);
    }
    return false;
}
