/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads small files as a whole, and counts, polls and closes the descriptors of this process.
 *
 * Functions that can fail return 0 or a descriptor on success, and -errno on failure.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buffer.h"
#include "base/util.h"

/*
 * Reads all of `path`, which is relative to `dir_fd` as in openat(2), into a NUL-terminated string that the caller
 * frees. `ret_size` may be NULL. Opens with O_NONBLOCK. Returns -EFBIG if the file has more than `max` bytes, -EISDIR
 * for a directory, -ESPIPE for a FIFO, -ENOMEM, or an error of openat(2) or read(2).
 */
int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_size);

/*
 * Opens configuration files. open() may ask a process with more privileges; it returns a descriptor for reading, which
 * the caller closes, or -errno. With a NULL opener or a NULL open(), this process opens the file itself.
 */
struct file_opener {
    int (*open)(void *userdata, const char *path);
    void *userdata;
    const char *remedy; /* advice that ends an error message for -EACCES; NULL: no advice */
};
/* Writes ": REMEDY" into `text` if `error` is -EACCES and the opener has a remedy, else "". Returns `text`. */
const char *file_remedy(const struct file_opener *opener, int error, char *text, size_t size);
/* Opens a file for reading. The caller closes the descriptor. */
int file_open(const struct file_opener *opener, const char *path);
/* Like file_read(), but opens the file with `opener`. */
int file_read_by(const struct file_opener *opener, const char *path, size_t max, char **ret_text, size_t *ret_size);
/* Like file_read(), but reads an open file, which stays open. */
int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_size);
/*
 * Reads an open file of /proc or /sys again from its start, which saves the cost of opening it. Replaces the content of
 * `text`, and adds a NUL that its size does not include. Returns -EFBIG, -ENOMEM, or an error of pread(2).
 */
int file_reread(int fd, size_t max, struct buffer *text);

/*
 * Counts the open descriptors. `directory` is a descriptor of /proc/self/fd that the caller keeps open and that is
 * counted, or -1.
 */
int fd_count_open(int directory, uint64_t *ret);
/* Returns an epoll descriptor that is readable while any of the `n` descriptors is. Skips negative descriptors. */
int fd_join(const int *fds, size_t n);
/* Closes all descriptors except standard error and those in `kept`. Redirects 0 and 1 to /dev/null. */
int fd_keep_only(const int *kept, size_t n);
/* Closes all descriptors except 0, 1, 2 and those in `kept`. Opens no file, so it works inside a jail. */
void fd_close_all_but(const int *kept, size_t n);

#endif
