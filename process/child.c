/* SPDX-License-Identifier: Apache-2.0 */
/* A process that this one starts: see child.h. */
#include "process/child.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/cleanup.h"

void child_forget(struct child *child)
{
    closep(&child->stat_fd);
    child->stat_fd = -1;
    child->pid = 0;
}

static uint64_t timeval_to_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * 1000;
}

bool child_reap(struct child *child, int *ret_status)
{
    struct rusage usage = {0};
    int status;

    if (child->pid <= 0)
        return true;
    pid_t pid = wait4(child->pid, &status, WNOHANG, &usage);
    if (pid == 0)
        return false;
    if (pid > 0) {
        child->ended_cpu_ns += timeval_to_ns(&usage.ru_utime) + timeval_to_ns(&usage.ru_stime);
        *ret_status = status;
    }
    child_forget(child);
    return true;
}

void child_describe_end(pid_t pid, int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "process %d was ended by signal %d (%s)", (int)pid, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "process %d ended with exit status %d", (int)pid, WEXITSTATUS(status));
}

int child_read(const struct child *child, struct process_stat *ret)
{
    struct process_stat stat;
    int r = child->stat_fd < 0 ? -ESRCH : process_stat_read(child->stat_fd, &stat);

    if (r < 0)
        return r;
    stat.cpu_ns += stat.waited_ns + child->ended_cpu_ns;
    *ret = stat;
    return 0;
}
