/* SPDX-License-Identifier: Apache-2.0 */
#include "process/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* --- /proc/PID/stat --- */

/* Field numbers as in proc(5). */
enum {
    STATE = 3,
    USER_TICKS = 14,
    SYSTEM_TICKS,
    WAITED_USER_TICKS,
    WAITED_SYSTEM_TICKS,
    THREADS = 20,
    START_TICKS = 22,
    VIRTUAL_BYTES,
    RESIDENT_PAGES,
    END
};

static uint64_t ticks_to_ns(uint64_t ticks)
{
    return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

int process_stat_parse(const char *text, struct process_stat *ret)
{
    /* The name is in parentheses, and may itself contain parentheses and spaces. */
    const char *at = strrchr(text, ')');
    uint64_t fields[END] = {0};
    char *end;

    if (!at || at[1] != ' ' || !at[2])
        return -EBADMSG;
    if (at[2] == 'Z' || at[2] == 'X')
        return -ESRCH;
    at += 3;
    for (int field = STATE + 1; field < END; field++, at = end) {
        if (*at != ' ')
            return -EBADMSG;
        fields[field] = strtoull(at + 1, &end, 10);
        if (end == at + 1)
            return -EBADMSG;
    }
    *ret = (struct process_stat){
        .cpu_ns = ticks_to_ns(fields[USER_TICKS] + fields[SYSTEM_TICKS]),
        .waited_ns = ticks_to_ns(fields[WAITED_USER_TICKS] + fields[WAITED_SYSTEM_TICKS]),
        .start_ns = ticks_to_ns(fields[START_TICKS]),
        .threads = fields[THREADS],
        .virtual_bytes = fields[VIRTUAL_BYTES],
        .resident_bytes = fields[RESIDENT_PAGES] * (uint64_t)sysconf(_SC_PAGESIZE),
    };
    return 0;
}

int process_stat_read(int fd, struct process_stat *ret)
{
    char text[1024];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    return process_stat_parse(text, ret);
}

int process_stat_read_boot(uint64_t *ret)
{
    _cleanup_(freep) char *text = NULL;
    unsigned long long seconds;
    int r = file_read(AT_FDCWD, "/proc/stat", 16 * 1024 * 1024, &text, NULL);

    if (r < 0)
        return r;
    const char *btime = strstr(text, "\nbtime ");
    if (!btime || sscanf(btime, " btime %llu", &seconds) != 1)
        return -EBADMSG;
    *ret = seconds * NSEC_PER_SEC;
    return 0;
}

/* --- names --- */

/* Characters that a shell does not interpret. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

void program_path(char *text, size_t size)
{
    char path[PROGRAM_PATH_MAX + 2];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[n > 0 ? n : 0] = '\0';
    /* The link is "PATH (deleted)" if the file has been replaced, for example by an upgrade. */
    bool is_plain = n > 0 && n <= PROGRAM_PATH_MAX && strspn(path, plain) == (size_t)n;
    snprintf(text, size, "%s", is_plain ? path : "$(command -v perfcountd)");
}

void program_set_name(const char *name)
{
    _cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char line[4096];
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));

    prctl(PR_SET_NAME, name, 0, 0, 0);
    /*
     * The arguments are adjacent in memory from argv[0] on, which is program_invocation_name, and are no longer used.
     * /proc/self/cmdline gives their total size.
     */
    if (n <= (ssize_t)strlen(name) || memcmp(line, program_invocation_name, strlen(program_invocation_name) + 1) != 0)
        return;
    memset(program_invocation_name, 0, (size_t)n);
    strcpy(program_invocation_name, name);
}

/* --- children --- */

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
