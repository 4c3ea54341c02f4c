/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/number.h"

/* --- small files --- */

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

int file_reread(int fd, size_t max, struct buffer *text)
{
    buffer_clear(text);
    for (;;) {
        char *room = buffer_reserve(text, text->size ? 2 : CHUNK);
        if (!room)
            return -ENOMEM;
        size_t wanted = text->capacity - text->size - 1; /* leaves room for the NUL */
        ssize_t n = pread(fd, room, wanted, (off_t)text->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        buffer_advance(text, (size_t)n);
        if (text->size > max)
            return -EFBIG;
        if ((size_t)n < wanted) { /* a short read is the end of a file in /proc or /sys */
            text->data[text->size] = '\0';
            return 0;
        }
    }
}

/* --- descriptors --- */

#define DIRECTORY "/proc/self/fd"
#define OPEN_MAX_OLD 1024 /* highest descriptor to close before Linux 5.9, which lacks close_range(2) */

int fd_count_open(int directory, uint64_t *ret)
{
    struct stat status;
    int r = directory < 0 ? stat(DIRECTORY, &status) : fstat(directory, &status);

    if (r < 0)
        return -errno;
    /* Since Linux 6.2, the directory's size is the number of descriptors; before that, it is 0. */
    if (status.st_size > 0) {
        *ret = (uint64_t)status.st_size;
        return 0;
    }
    DIR *entries = opendir(DIRECTORY);
    if (!entries)
        return -errno;
    uint64_t n = 0;
    errno = 0;
    while (readdir(entries))
        n++;
    r = -errno;
    closedir(entries);
    if (r == 0)
        *ret = n - 3; /* does not count ".", ".." and the descriptor of `entries` */
    return r;
}

int fd_join(const int *fds, size_t n)
{
    _cleanup_(closep) int joined = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};

    if (joined < 0)
        return -errno;
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0 && epoll_ctl(joined, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return -errno;
    return steal_fd(&joined);
}

static int replace_standard_streams(void)
{
    _cleanup_(closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return -errno;
    return dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ? -errno : 0;
}

static bool fd_is_in(int fd, const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] == fd)
            return true;
    return false;
}

static int close_others(const int *kept, size_t n)
{
    _cleanup_(closedirp) DIR *directory = opendir(DIRECTORY);
    uint64_t fd;

    if (!directory)
        return -errno;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return -errno; /* after a truncated listing, descriptors would stay open */
        if (number_parse_u64(entry->d_name, &fd) == 0 && fd > STDERR_FILENO && fd != (uint64_t)dirfd(directory) &&
            !fd_is_in((int)fd, kept, n))
            close((int)fd);
    }
}

int fd_keep_only(const int *kept, size_t n)
{
    int r = replace_standard_streams();

    return r < 0 ? r : close_others(kept, n);
}

static void close_between(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    for (unsigned fd = first; fd <= MIN(last, OPEN_MAX_OLD); fd++)
        close((int)fd);
}

/* Returns the lowest descriptor in `kept` that is at least `first`, or ~0U if there is none. */
static unsigned next_kept(const int *kept, size_t n, unsigned first)
{
    unsigned next = ~0U;

    for (size_t i = 0; i < n; i++)
        if (kept[i] >= 0 && (unsigned)kept[i] >= first)
            next = MIN(next, (unsigned)kept[i]);
    return next;
}

void fd_close_all_but(const int *kept, size_t n)
{
    unsigned first = STDERR_FILENO + 1, next;

    while ((next = next_kept(kept, n, first)) != ~0U) {
        close_between(first, next - 1);
        first = next + 1;
    }
    close_between(first, ~0U);
}
