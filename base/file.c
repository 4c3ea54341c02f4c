/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files: see file.h. */
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"

#define CHUNK 4096

int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_size)
{
    _cleanup_(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return fd < 0 ? -errno : file_read_fd(fd, max, ret_text, ret_size);
}

int file_open(const struct file_opener *opener, const char *path)
{
    if (opener && opener->open)
        return opener->open(opener->userdata, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

const char *file_remedy(const struct file_opener *opener, int error, char *text, size_t size)
{
    bool has = error == -EACCES && opener && opener->remedy;

    snprintf(text, size, "%s%s", has ? ": " : "", has ? opener->remedy : "");
    return text;
}

int file_read_by(const struct file_opener *opener, const char *path, size_t max, char **ret_text, size_t *ret_size)
{
    _cleanup_(closep) int fd = file_open(opener, path);

    return fd < 0 ? fd : file_read_fd(fd, max, ret_text, ret_size);
}

int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_size)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (S_ISFIFO(status.st_mode)) /* a FIFO without a writer reads as empty */
        return -ESPIPE;
    buffer_reserve(&content, CHUNK);
    for (;;) {
        char *room = buffer_reserve(&content, 1);
        if (!room)
            return -ENOMEM;
        ssize_t n = read(fd, room, content.capacity - content.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        buffer_advance(&content, (size_t)n);
        if (content.size > max)
            return -EFBIG;
    }
    size_t size = content.size;
    char *text = buffer_string(&content);
    if (!text)
        return -ENOMEM;
    *ret_text = text;
    if (ret_size)
        *ret_size = size;
    return 0;
}
