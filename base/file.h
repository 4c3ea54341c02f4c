/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files. */
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

#endif
