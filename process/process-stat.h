/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as /proc/PID/stat describes it: its time, its memory, its threads.
 *
 * The file stays readable through a descriptor that was opened early, whatever the process has become since: the
 * kernel checks who reads it only for the addresses in it (fs/proc/array.c, do_task_stat(), Linux 5.10 to today).
 */
#ifndef PROCESS_PROCESS_STAT_H
#define PROCESS_PROCESS_STAT_H

#include "base/util.h"

struct process_stat {
    uint64_t cpu_ns;    /* user and system, of all threads; a multiple of a clock tick */
    uint64_t waited_ns; /* the same of its own children that it has waited for, and of theirs */
    uint64_t start_ns;  /* since boot; a multiple of a clock tick */
    uint64_t threads, virtual_bytes, resident_bytes;
};

/* -EBADMSG for another text; -ESRCH where the process has ended and waits for its parent. */
int process_stat_parse(const char *text, struct process_stat *ret);
/* `fd` is a descriptor of /proc/PID/stat. Also errors of pread(2); -ESRCH where the process is gone. */
int process_stat_read(int fd, struct process_stat *ret);
/* When the machine was booted, since the epoch in nanoseconds, as /proc/stat has it (whole seconds). -errno. */
int process_stat_read_boot(uint64_t *ret);

#endif
