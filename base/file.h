/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/util.h"

/*
 * Reads all of `path` (below `dir_fd` where it is relative) into a NUL-terminated string that the caller frees.
 * Errors of openat(2) and read(2); -EFBIG above `max` bytes; -EISDIR for a directory; -ESPIPE for a FIFO. Does not
 * block.
 */
int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_size);
/* The same for an open file, which stays open. */
int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_size);

#endif
