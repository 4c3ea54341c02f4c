/* SPDX-License-Identifier: Apache-2.0 */
/* The symboliser's jail: see jail.h. */
#include "symbols/symboliser-jail.h"

#include <fcntl.h>

#include "process/sandbox.h"
#include "symbols/symbol-table.h"
#include "symbols/symboliser.h"

static const struct jail_limit limits[] = {
    {RLIMIT_AS, (rlim_t)1 << 30},
    {RLIMIT_CORE, 0},
    {RLIMIT_FSIZE, SYMBOL_TABLE_SIZE_MAX},
    {RLIMIT_NOFILE, 32},
};

/* Tables of symbols are sealed memory, and libelf takes a duplicate of the file. */
static const struct call_rule calls[] = {
    {SCMP_SYS(dup), 0, {{0}}},
    {SCMP_SYS(fcntl), 1, {CALL_EXACTLY(1, F_ADD_SEALS)}},
    {SCMP_SYS(fcntl64), 1, {CALL_EXACTLY(1, F_ADD_SEALS)}},
    {SCMP_SYS(memfd_create), 0, {{0}}},
    {SCMP_SYS(ftruncate), 0, {{0}}},
    {SCMP_SYS(ftruncate64), 0, {{0}}},
    {SCMP_SYS(prlimit64), 2, {CALL_EXACTLY(0, 0), CALL_EXACTLY(1, RLIMIT_DATA)}},
    {SCMP_SYS(sysinfo), 0, {{0}}}, /* qsort(3) asks how much memory there is */
};

int symboliser_jail_enter(void)
{
    static const int sockets[] = {SYMBOLISER_SOCKET, SYMBOLISER_INPUT};

    return jail_enter(&(struct jail){.sockets = sockets,
                                     .n_sockets = ARRAY_SIZE(sockets),
                                     .limits = limits,
                                     .n_limits = ARRAY_SIZE(limits),
                                     .calls = calls,
                                     .n_calls = ARRAY_SIZE(calls)});
}
