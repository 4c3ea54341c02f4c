/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/quota.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- Events --- */

/*
 * Number of thread accounts per CPU, if other processes are sampled. A capture usually has one event per thread and
 * CPU. An account's limit is high enough for many threads that share it (daemon/session.c).
 */
#define THREAD_ACCOUNTS 512

/*
 * The accounts of one CPU, or those for thread events that are not bound to a CPU. The first account of a row is for
 * per-CPU and cgroup events, the others are for threads.
 */
struct row {
    struct quota *quota;
    size_t first;
};

static struct row find_row(struct event_quota *quota, int cpu)
{
    unsigned number = (unsigned)(cpu + 1);

    return (struct row){.quota = &quota->quotas[number % EVENT_QUOTAS],
                        .first = number / EVENT_QUOTAS * (1 + quota->n_threads)};
}

static bool is_of_thread(const struct opener_group_packet *group)
{
    return group->pid > 0;
}

static size_t account_of(const struct event_quota *quota, const struct row *row,
                         const struct opener_group_packet *group)
{
    return row->first + (is_of_thread(group) ? 1 + (size_t)group->pid % quota->n_threads : 0);
}

int event_quota_open(struct event_quota *quota, const struct opener_rules *rules)
{
    size_t n_rows = (size_t)rules->n_cpus + 1, n = MIN(n_rows, EVENT_QUOTAS);
    int r = 0;

    *quota = EVENT_QUOTA_CLOSED;
    quota->limits = rules->permissions.limits;
    quota->n_cpus = rules->n_cpus;
    quota->n_threads = rules->permissions.sampling ? THREAD_ACCOUNTS : 1;
    for (size_t i = 0; i < n && r == 0; i++)
        r = quota_open(&quota->quotas[i], (n_rows + n - 1) / n * (1 + quota->n_threads));
    if (r < 0)
        event_quota_close(quota);
    return r;
}

void event_quota_close(struct event_quota *quota)
{
    for (size_t i = 0; i < EVENT_QUOTAS; i++)
        quota_close(&quota->quotas[i]);
}

static int check_thread(struct event_quota *quota, const struct row *row, const struct opener_group_packet *group)
{
    int r = quota_check(row->quota, account_of(quota, row, group), 1, group->n_events, quota->limits.thread);

    return r < 0 ? r
                 : quota_check(row->quota, row->first + 1, quota->n_threads, group->n_events, quota->limits.threads);
}

int event_quota_check(struct event_quota *quota, const struct opener_group_packet *group)
{
    struct row row = find_row(quota, group->cpu);

    if (group->cpu >= 0 && (unsigned)group->cpu >= quota->n_cpus)
        return -ENXIO;
    if (is_of_thread(group))
        return check_thread(quota, &row, group);
    return quota_check(row.quota, account_of(quota, &row, group), 1, group->n_events,
                       quota->bpf ? quota->limits.cpu_of_bpf : quota->limits.cpu);
}

int event_quota_add(struct event_quota *quota, const struct opener_group_packet *group, const int *fds)
{
    struct row row = find_row(quota, group->cpu);
    int r = 0;

    for (size_t i = 0; i < group->n_events && r == 0; i++)
        if (fds[i] >= 0)
            r = quota_add(row.quota, account_of(quota, &row, group), fds[i]);
    return r;
}

void event_quota_use_bpf(struct event_quota *quota)
{
    quota->bpf = true;
}

/* --- Files --- */

void quota_close(struct quota *quota)
{
    closep(&quota->epoll);
    closep(&quota->list);
    free(quota->bounds);
    free(quota->fresh);
    *quota = QUOTA_CLOSED;
}

/*
 * Counts one registered file, which the kernel lists in a line such as "tfd: 5 events: 18 data: 3 pos:0 ino:71 sdev:f"
 * (fs/eventpoll.c, ep_show_fdinfo()). The "data" field is the file's account in hexadecimal.
 */
static void quota_count_line(struct quota *quota, const char *line)
{
    const char *data = str_starts(line, "tfd:") ? strstr(line, "data:") : NULL;
    unsigned long long account = data ? strtoull(data + strlen("data:"), NULL, 16) : quota->n_accounts;

    if (account < quota->n_accounts)
        quota->fresh[account]++;
}

/* Counts the files in the text's complete lines, and returns the total size of these lines in bytes. */
static size_t quota_count_lines(struct quota *quota, char *text)
{
    char *line = text, *end;

    for (; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        quota_count_line(quota, line);
    }
    return (size_t)(line - text);
}

/* Recounts the open files of all accounts. On failure, quota->bounds is unchanged. */
static int quota_count(struct quota *quota)
{
    char text[4096];
    size_t size = 0;
    off_t offset = 0;
    ssize_t n;

    memset(quota->fresh, 0, quota->n_accounts * sizeof(quota->fresh[0]));
    while ((n = pread(quota->list, text + size, sizeof(text) - 1 - size, offset)) > 0) {
        offset += n;
        size += (size_t)n;
        text[size] = '\0';
        size_t taken = quota_count_lines(quota, text);
        size -= taken;
        memmove(text, text + taken, size);
    }
    if (n < 0)
        return -errno;
    uint32_t *bounds = quota->bounds;
    quota->bounds = quota->fresh;
    quota->fresh = bounds;
    return 0;
}

static uint64_t quota_sum(const struct quota *quota, size_t first, size_t n_accounts)
{
    uint64_t sum = 0;

    for (size_t i = first; i < first + n_accounts; i++)
        sum += quota->bounds[i];
    return sum;
}

int quota_check(struct quota *quota, size_t first, size_t n_accounts, uint64_t n, uint64_t most)
{
    if (quota_sum(quota, first, n_accounts) + n <= most)
        return 0;
    int r = quota_count(quota);
    if (r < 0)
        return r;
    return quota_sum(quota, first, n_accounts) + n <= most ? 0 : -EDQUOT;
}

int quota_add(struct quota *quota, size_t account, int fd)
{
    struct epoll_event event = {.data.u64 = account};

    if (epoll_ctl(quota->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return errno == ENOSPC ? -EUSERS : -errno;
    quota->bounds[account]++;
    return 0;
}

/*
 * Opens the epoll instance's fdinfo file. Before Linux 5.14, the fdinfo files of a process that is not dumpable, for
 * example because its program file has capabilities (setcap(8)), belong to root, and nobody else may open them.
 */
static int open_list(int epoll)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != EACCES || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return fd < 0 ? -errno : fd;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = errno;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return fd < 0 ? -error : fd;
}

/*
 * Checks with an eventfd that the kernel lists registered files, and no longer lists them once closed. Otherwise, the
 * limits would have no effect.
 */
static int quota_test(struct quota *quota)
{
    _cleanup_(closep) int fd = eventfd(0, EFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    int r = quota_add(quota, quota->n_accounts - 1, fd);
    if (r == 0)
        r = quota_count(quota);
    if (r == 0 && quota->bounds[quota->n_accounts - 1] != 1)
        r = -ENOSYS;
    close(steal_fd(&fd));
    if (r == 0)
        r = quota_count(quota);
    return r == 0 && quota->bounds[quota->n_accounts - 1] != 0 ? -ENOSYS : r;
}

int quota_open(struct quota *quota, size_t n_accounts)
{
    *quota = QUOTA_CLOSED;
    quota->n_accounts = n_accounts;
    quota->bounds = calloc(n_accounts, sizeof(quota->bounds[0]));
    quota->fresh = calloc(n_accounts, sizeof(quota->fresh[0]));
    int r = quota->bounds && quota->fresh ? 0 : -ENOMEM;

    if (r == 0) {
        quota->epoll = epoll_create1(EPOLL_CLOEXEC);
        r = quota->epoll < 0 ? -errno : 0;
    }
    if (r == 0)
        r = quota->list = open_list(quota->epoll);
    if (r >= 0)
        r = quota_test(quota);
    if (r < 0)
        quota_close(quota);
    return r;
}
