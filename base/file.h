/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole small files, and descriptors: counting, duplicating and closing them.
 *
 * Whole small files.
 *
 * The descriptors of this process.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/util.h"

/*
 * Reads all of `path` (below `dir_fd` where it is relative) into a NUL-terminated string that the caller frees. Does
 * not block. Errors of openat(2) and read(2); -EFBIG above `max` bytes; -EISDIR for a directory; -ESPIPE for a FIFO.
 */
int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_size);
/*
 * How files of the configuration are opened. Where it is NULL or has no function, this process opens them; else open()
 * asks a process that may have more privileges, and returns a descriptor for reading, which the caller closes, or
 * -errno.
 */
struct file_opener {
    int (*open)(void *userdata, const char *path);
    void *userdata;
    const char *remedy; /* what to do where access is denied, for the end of a sentence; NULL: nothing */
};
/* The remedy with ": " before it, or "". */
const char *file_remedy(const struct file_opener *opener, int error, char *text, size_t size);
int file_open(const struct file_opener *opener, const char *path);
/* file_read() of a file that it opens. */
int file_read_by(const struct file_opener *opener, const char *path, size_t max, char **ret_text, size_t *ret_size);
/* The same for an open file, which stays open. */
int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_size);

/* The number of open descriptors. `directory` is a descriptor of /proc/self/fd that the caller keeps, or -1. -errno. */
int fd_count_open(int directory, uint64_t *ret);
/* An epoll descriptor that is readable while one of the `n` is; those that are negative are left out. -errno. */
int fd_join(const int *fds, size_t n);
/*
 * Closes all but standard error and those of `kept`. Standard input and output keep their numbers, and are /dev/null.
 * -errno.
 */
int fd_keep_only(const int *kept, size_t n);
/* Closes all descriptors except 0, 1, 2 and those in `kept`. Opens no file, so it also works in a jail. */
void fd_close_all_but(const int *kept, size_t n);

#endif
