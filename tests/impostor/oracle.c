/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attack by which a filter on syscalls:sys_enter_openat reads memory: the kernel compares what stands at the
 * address that a program gave as a file's name, and the count says whether it was equal. See helper.h.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "tests/impostor/helper.h"

#define CALLS 20
#define RIGHT "/impostor/no-such-file"
#define WRONG "/impostor/another-file"

/* Of a group's leader: the number of members and two times come first (perf_event_open(2)). */
static uint64_t count(int fd)
{
    uint64_t values[64] = {0};

    return read(fd, values, sizeof(values)) > 0 ? values[3] : 0;
}

static uint64_t count_calls(int fd, const char *name)
{
    uint64_t before = count(fd);

    for (int i = 0; i < CALLS; i++) {
        int opened = open(name, O_RDONLY | O_CLOEXEC);
        if (opened >= 0)
            close(opened);
    }
    return count(fd) - before;
}

/* Texts of user space want ".ustring" since Linux 5.18; before that both were the same. */
long oracle_try(int fd)
{
    static const char *const filters[] = {"filename.ustring ~ \"" RIGHT "\"", "filename ~ \"" RIGHT "\""};
    cpu_set_t set;
    long got = -EINVAL;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof(set), &set);
    for (size_t i = 0; i < ARRAY_SIZE(filters) && got < 0 && got != -EEXIST; i++)
        got = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[i]) < 0 ? -errno : 0;
    if (got < 0)
        return got;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    uint64_t right = count_calls(fd, RIGHT), wrong = count_calls(fd, WRONG);
    return right >= CALLS && wrong < CALLS ? (long)right : -ENODATA;
}
