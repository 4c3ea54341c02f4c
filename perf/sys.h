/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to the kernel: every system call and every file of /sys and /proc that counting needs goes through here, so
 * that a unit test can play any machine.
 *
 * All functions return what the system call returns, or -errno. `struct sys` is embedded first in a larger struct by
 * who plays a machine.
 */
#ifndef PERF_SYS_H
#define PERF_SYS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/*
 * Events that are to be one group, in order. Each joins `leader`; where that is -1, the first that opens leads.
 * `disabled`, `pinned` and `exclusive` are said of a whole group and are taken of the leader only.
 */
struct sys_group {
    const struct perf_event_attr *attrs;
    /*
     * texts[i]: the function or file that attrs[i], a probe, is set on; NULL where it has none, and `texts` is NULL
     * where none has. What opens makes it config1, as the kernel wants it: nowhere else does an attribute have a
     * pointer.
     */
    const char *const *texts;
    size_t n;
    pid_t pid;
    int cpu, leader;
    unsigned long flags;
    bool whole; /* after one that fails nothing more is tried */
};

struct descriptors;

struct sys {
    /* What stands before /sys and /proc: "" on the real machine, a directory of fixtures in a test. */
    const char *root;
    int (*perf_event_open)(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                           unsigned long flags);
    /* Opens several at once, and is otherwise as perf_event_open(). ret[i]: a descriptor, -errno, or -ECANCELED. */
    void (*open_group)(struct sys *sys, const struct sys_group *group, int *ret);
    /* Opens a file or directory below the root for reading; `flags` of open(2) are added. */
    int (*open_file)(struct sys *sys, const char *path, int flags);
    ssize_t (*read)(struct sys *sys, int fd, void *buffer, size_t size);
    int (*ioctl)(struct sys *sys, int fd, unsigned long request, unsigned long argument);
    int (*close)(struct sys *sys, int fd);
    /* The first `size` bytes of `fd`, shared. */
    int (*mmap)(struct sys *sys, int fd, size_t size, int protection, void **ret);
    int (*munmap)(struct sys *sys, void *address, size_t size);
    /* Nanoseconds of `clock`; cannot fail for the clocks in use. */
    uint64_t (*now)(struct sys *sys, clockid_t clock);
    /* Mounts tracefs at `path`. */
    int (*mount_tracefs)(struct sys *sys, const char *path);
    struct descriptors *descriptors; /* how many open_group() may open (descriptors.h); NULL: the kernel alone says */
    void *userdata;                  /* of who replaced some of these */
};

/* The machine that the process runs on. */
void sys_init(struct sys *sys);
/* What open_group() and open_file() are where nobody has a better way. */
void sys_open_one_by_one(struct sys *sys, const struct sys_group *group, int *ret);
int sys_open_file(struct sys *sys, const char *path, int flags);

/*
 * The text of a file of at most 64 KiB below the root, without its trailing newlines; the caller frees it. Errors of
 * open(2) and read(2); -EFBIG.
 */
int sys_read_file(struct sys *sys, const char *path, char **ret_text);
/* The same, for a path made by printf; -ENAMETOOLONG. */
int sys_read_filef(struct sys *sys, char **ret_text, const char *format, ...) PRINTF_LIKE(3, 4);
/*
 * The names in a directory below the root, without those that start with a dot, sorted; each and the array are freed by
 * strings_free(). Errors of opendir(3).
 */
int sys_list_directory(struct sys *sys, const char *path, char ***ret_names, size_t *ret_n);
void strings_free(char **strings, size_t n);

#endif
