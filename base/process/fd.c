/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of this process: see fd.h. */
#include "base/process/fd.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define DIRECTORY "/proc/self/fd"

int fd_count_open(int directory, uint64_t *ret)
{
    struct stat status;
    int r = directory < 0 ? stat(DIRECTORY, &status) : fstat(directory, &status);

    if (r < 0)
        return -errno;
    /* Before Linux 6.2 the size of the directory is 0, so it is listed. */
    if (status.st_size > 0) {
        *ret = (uint64_t)status.st_size;
        return 0;
    }
    DIR *entries = opendir(DIRECTORY);
    if (!entries)
        return -errno;
    uint64_t n = 0;
    while (readdir(entries))
        n++;
    closedir(entries);
    *ret = n - 3; /* ".", ".." and the descriptor of the listing */
    return 0;
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
