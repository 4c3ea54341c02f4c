/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, names, measures (CPU time and memory) and ends the processes of perfcountd.
 *
 * CPU time and memory are read from /proc/PID/stat. A descriptor that was opened early stays readable even if the
 * process changes its user or becomes undumpable: the kernel checks the reader only for the addresses in the file
 * (fs/proc/array.c, do_task_stat(), in Linux 5.10 and later).
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <sys/types.h>

#include "base/error.h"
#include "process/fdpass.h"

/* From /proc/PID/stat. Times are multiples of a clock tick. */
struct process_stat {
    uint64_t cpu_ns;    /* user and system time of all threads */
    uint64_t waited_ns; /* the same of its reaped children and of their reaped children */
    uint64_t start_ns;  /* since boot */
    uint64_t threads, virtual_bytes, resident_bytes;
};

/* Parses the content of /proc/PID/stat. Returns -EBADMSG if it is malformed, or -ESRCH for a zombie. */
int process_stat_parse(const char *text, struct process_stat *ret);
/* Reads and parses the open file /proc/PID/stat. Also returns errors of pread(2): -ESRCH if the process is gone. */
int process_stat_read(int fd, struct process_stat *ret);
/* The boot time in nanoseconds since the epoch: btime of /proc/stat, which is in whole seconds. Returns -errno. */
int process_stat_read_boot(uint64_t *ret);

/* Limits the path, since perf/reason.c puts it into messages of 512 bytes. */
#define PROGRAM_PATH_MAX 150

/*
 * Writes how to refer to this program in a shell command: its path, or "$(command -v perfcountd)" if the path needs
 * quotes or is longer than PROGRAM_PATH_MAX. `size` must be greater than PROGRAM_PATH_MAX.
 */
void program_path(char *text, size_t size);
/*
 * Sets the names that `ps` shows: the thread name, and the command line if the new name fits into it. The strings of
 * argv are overwritten.
 */
void program_set_name(const char *name);

/* A child process that may be restarted. */
struct child {
    pid_t pid;             /* 0: not running */
    int stat_fd;           /* of its /proc/PID/stat; -1: none */
    uint64_t ended_cpu_ns; /* CPU time of all reaped instances */
};
#define CHILD_NONE ((struct child){.stat_fd = -1})

/*
 * Reaps the child if it has ended; never waits. Returns false while it runs. *ret_status is set only if a child was
 * reaped, as by wait4(2).
 */
bool child_reap(struct child *child, int *ret_status);
/*
 * Waits until the child has ended, at most `ns` nanoseconds, and reaps it. Returns as child_reap() does. A killed child
 * may still run: the kernel may block it for any time.
 */
bool child_wait(struct child *child, uint64_t ns, int *ret_status);
/*
 * Gives the child a moment to end by itself, then kills it. A child that hangs in the kernel, or that this process may
 * no longer kill, is forgotten and left to the process that inherits it. Waits about a second at most.
 */
void child_end(struct child *child, int *ret_status);
/* Describes a status of wait4(2): "process 123 was ended by signal 9 (Killed)". */
void child_describe_end(pid_t pid, int status, char *text, size_t size);
/*
 * Closes stat_fd and forgets the child without reaping it: its CPU time is not added, and it stays a zombie until
 * another process inherits it.
 */
void child_forget(struct child *child);
/*
 * Reads the running child. cpu_ns includes the time of its reaped children and of all earlier instances. Returns -ESRCH
 * if none runs, or an error of process_stat_read().
 */
int child_read(const struct child *child, struct process_stat *ret);

/* The properties of a started child, which it reports to its parent. */
struct child_hello {
    struct fd_list fds;    /* descriptors that it opened for its parent */
    uint64_t capabilities; /* a bit each */
    bool filtered;         /* a seccomp filter limits its system calls */
};

struct child_plan {
    const char *name;    /* for ps(1) */
    const char *failure; /* start of the error message: "the opener of counters does not start" */
    const char *remedy;  /* end of the error message: "; --no-opener runs without it", or "" */
    unsigned patience_s; /* how long the child may take to start */
    struct fd_list kept; /* stay open in the child, besides standard streams and its socket; the caller's */
    void *userdata;
    /* Both run in the child, on its copy of the parent's memory. begin() fills *ret. */
    int (*begin)(void *userdata, int socket, struct child_hello *ret, struct error *error);
    int (*serve)(void *userdata, int socket); /* its work after begin(); NULL: it ends at once */
};

/*
 * Forks a child, which ends with this process, and waits until begin() has returned in it. A child with serve() keeps
 * running, and ret->stat_fd is set; a child without has ended. *ret_socket is the other end of the child's
 * SOCK_SEQPACKET socket. The caller owns it and the descriptors of the hello.
 *
 * On failure the child has ended. Returns the error of begin() with its message, or with a message that starts with
 * `failure`: -ETIMEDOUT; -EPIPE if the child ended before it had begun; -EMFILE if this process has no room for the
 * descriptors; an error of socketpair(2) or fork(2).
 */
int child_start(const struct child_plan *plan, struct child *ret, int *ret_socket, struct child_hello *ret_hello,
                struct error *error);
/*
 * For a process that was just forked: lets it end with its parent, names it, and closes all descriptors but standard
 * streams and `kept`. Ends the process if its parent, `parent`, has ended already.
 */
void child_settle(pid_t parent, const char *name, const int *kept, size_t n);

#endif
