/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of this program: started, named, measured and reaped.
 *
 * A process as /proc/PID/stat describes it: its time, its memory, its threads.
 *
 * The file stays readable through a descriptor that was opened early, whatever the process has become since: the
 * kernel checks who reads it only for the addresses in it (fs/proc/array.c, do_task_stat(), Linux 5.10 to today).
 *
 * The program file of this process, as a person may name it in a command; the name that the process goes by.
 *
 * A process that this one starts, perhaps again and again: how to read what it takes, and what all of them took that
 * have ended.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <sys/types.h>

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

/* No path that is given has more characters: perf/reason.c has messages of 512 with it. */
#define PROGRAM_PATH_MAX 150

/*
 * Writes the path, where a shell takes it as it is; else "$(command -v perfcountd)". `size` must be more than
 * PROGRAM_PATH_MAX.
 */
void program_path(char *text, size_t size);
/* Sets the name of this process, and its arguments where there is room for it in them, as `ps` shows both. */
void program_set_name(const char *name);

struct child {
    pid_t pid;             /* 0: none runs */
    int stat_fd;           /* of its /proc/PID/stat; -1: none */
    uint64_t ended_cpu_ns; /* of all that have ended */
};
#define CHILD_NONE ((struct child){.stat_fd = -1})

/* Reaps it if it has ended, without waiting; whether nothing is left to reap. *ret_status is that of wait4(2). */
bool child_reap(struct child *child, int *ret_status);
/* How a process ended, of the status of wait4(2): "process 123 was ended by signal 9 (Killed)". */
void child_describe_end(pid_t pid, int status, char *text, size_t size);
/* Forgets it without reaping; its parent is then whoever inherits it. */
void child_forget(struct child *child);
/*
 * Of the one that runs, with the time of its own children that have ended, and of those that have ended before it.
 * -ESRCH where none runs; errors of process_stat_read().
 */
int child_read(const struct child *child, struct process_stat *ret);

#endif
