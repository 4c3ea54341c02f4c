/* SPDX-License-Identifier: Apache-2.0 */
/* How many events may be open on each CPU: see event-quota.h. */
#include "opener/event-quota.h"

/*
 * Where other processes are sampled. A capture has one event of each thread on a CPU, mostly; where many threads share
 * an account it still has room for them (daemon/permissions.c).
 */
#define THREAD_ACCOUNTS 512

/* The accounts of a CPU, or of events of threads that are on no certain CPU: first that of whole CPUs and cgroups. */
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
                       quota->tallied ? quota->limits.cpu_tallied : quota->limits.cpu);
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

void event_quota_use_tally(struct event_quota *quota)
{
    quota->tallied = true;
}
