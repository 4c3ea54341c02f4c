/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, names, measures (CPU time and memory) and terminates perfcountd's processes.
 *
 * CPU time and memory are read from /proc/PID/stat. A descriptor of this file that was opened early stays readable even
 * after the process has changed its user or become undumpable, because the kernel checks the reader's permission only
 * for the addresses in the file (fs/proc/array.c, do_task_stat(), in Linux 5.10 and later).
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <sys/types.h>

#include "base/error.h"
#include "process/fdpass.h"

/* Values from /proc/PID/stat. The times are multiples of a clock tick. */
struct process_stat {
    uint64_t cpu_ns;    /* user and system time of all threads */
    uint64_t waited_ns; /* CPU time of reaped children and of their reaped children */
    uint64_t start_ns;  /* when the process was started, counted from boot */
    uint64_t threads, virtual_bytes, resident_bytes;
};

/* Parses the content of /proc/PID/stat. Returns -EBADMSG if the content is malformed, or -ESRCH for a zombie. */
int process_stat_parse(const char *text, struct process_stat *ret);
/*
 * Reads and parses the open file /proc/PID/stat. Returns the errors of process_stat_parse() and of pread(2), which
 * fails with -ESRCH if the process is gone.
 */
int process_stat_read(int fd, struct process_stat *ret);
/*
 * Reads the boot time in nanoseconds since the epoch. The boot time comes from btime in /proc/stat, which is in whole
 * seconds. Returns -errno.
 */
int process_stat_read_boot(uint64_t *ret);

/* Maximum length of the program's path in messages, because perf/reason.c puts the path into messages of 512 bytes. */
#define PROGRAM_PATH_MAX 150

/*
 * Writes how a shell command can refer to this program: the program's path, or "$(command -v perfcountd)" if the path
 * needs quotes or is longer than PROGRAM_PATH_MAX. `size` must be greater than PROGRAM_PATH_MAX.
 */
void program_path(char *text, size_t size);
/*
 * Sets the names that ps(1) shows: the thread name and, if the new name fits into the old command line, the command
 * line. The strings of argv are overwritten.
 */
void program_set_name(const char *name);

/* A child process that may be restarted. */
struct child {
    pid_t pid;             /* 0 if the child is not running */
    int stat_fd;           /* descriptor of the child's /proc/PID/stat; -1 if there is none */
    uint64_t ended_cpu_ns; /* CPU time of all reaped instances */
};
#define CHILD_NONE ((struct child){.stat_fd = -1})

/*
 * Reaps the child if it has exited; never waits. Returns false while the child is running. Sets *ret_status to the wait
 * status from wait4(2), but only if the child was reaped.
 */
bool child_reap(struct child *child, int *ret_status);
/*
 * Waits at most `ns` nanoseconds until the child has exited, and reaps it. Returns the same as child_reap(). A killed
 * child may still exist afterwards, because the kernel may block it for any length of time.
 */
bool child_wait(struct child *child, uint64_t ns, int *ret_status);
/*
 * Gives the child a moment to exit by itself, and then kills it. A child that hangs in the kernel, or that this process
 * may no longer kill, is forgotten and left to the process that inherits it. The function waits at most about a second.
 */
void child_end(struct child *child, int *ret_status);
/* Describes a wait status from wait4(2), as in "process 123 was killed by signal 9 (Killed)". */
void child_describe_end(pid_t pid, int status, char *text, size_t size);
/*
 * Closes stat_fd and forgets the child without reaping it. The child's CPU time is not added to ended_cpu_ns, and once
 * it has exited, the child stays a zombie until another process inherits it.
 */
void child_forget(struct child *child);
/*
 * Reads the statistics of the running child. ret->cpu_ns includes the CPU time of the child's reaped children and of
 * all its earlier instances. Returns -ESRCH if the child is not running, or an error of process_stat_read().
 */
int child_read(const struct child *child, struct process_stat *ret);

/* What a child reports about itself to its parent once it has started. */
struct child_hello {
    struct fd_list fds;    /* descriptors that the child opened for its parent */
    uint64_t capabilities; /* mask of the child's capabilities */
    bool filtered;         /* a seccomp filter limits the child's system calls */
};

struct child_plan {
    const char *name;    /* name of the process in ps(1) */
    const char *failure; /* start of error messages: "the opener did not start" */
    const char *remedy;  /* end of error messages: "; --no-opener runs without it", or "" */
    unsigned patience_s; /* how long the child may take to start */
    struct fd_list kept; /* descriptors that stay open in the child, besides the standard streams */
    void *userdata;
    /* begin() and serve() run in the child, on its copy of the parent's memory. begin() fills *ret. */
    int (*begin)(void *userdata, int socket, struct child_hello *ret, struct error *error);
    int (*serve)(void *userdata, int socket); /* the child's work after begin(), or NULL to exit after begin() */
};

/*
 * Forks a child, which exits when this process does, and waits until begin() has returned in the child. A child with
 * serve() keeps running, and ret->stat_fd is set; a child without serve() has already exited. *ret_socket is set to
 * this process's end of a SOCK_SEQPACKET socket pair, whose other end is passed to begin() and serve(). The caller owns
 * this socket and the descriptors in *ret_hello.
 *
 * On failure the child is terminated. Returns the error of begin() with its message, or one of these errors with a
 * message that starts with plan->failure: -ETIMEDOUT; -EPIPE if the child exited before begin() returned; -EMFILE if
 * this process has no room for the descriptors; an error from socketpair(2) or fork(2).
 */
int child_start(const struct child_plan *plan, struct child *ret, int *ret_socket, struct child_hello *ret_hello,
                struct error *error);
/*
 * Must be called in a process that was just forked. Makes this process exit when its parent exits, sets its name, and
 * closes all descriptors except the standard streams and `kept`. If the process `parent` has already exited, this
 * process exits immediately.
 */
void child_settle(pid_t parent, const char *name, const int *kept, size_t n);

#endif
