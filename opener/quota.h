/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on what the daemon may have open: events and BPF maps, counted by the opener.
 *
 * The daemon, and everybody to whom it passes a descriptor, closes files without telling the opener. So the opener
 * registers each file with an epoll instance that nobody ever waits for. A registration does not keep the file open,
 * and ends with the last descriptor of the file, wherever that is, in a process or in flight between two (epoll(7); the
 * kernel's eventpoll_release() in __fput()). /proc/self/fdinfo lists the registered files.
 *
 * Every file is charged to an account. An account has an upper bound on its open files: the last count plus the files
 * added since. Files are recounted only if a request would exceed the limit by that bound.
 *
 * Events are limited per CPU. Whenever tasks switch on a CPU, the kernel iterates over the per-CPU and cgroup events
 * there: thousands of them slow down every program on the CPU. Events of a thread slow down only that thread, so they
 * have separate limits; threads are assigned to accounts by a few bits of their thread ids.
 */
#ifndef OPENER_QUOTA_H
#define OPENER_QUOTA_H

#include "base/util.h"
#include "opener/protocol.h"

/* A closed quota is zeroed, with descriptors of -1. */
struct quota {
    int epoll, list; /* `list`: the file of the instance in /proc/self/fdinfo */
    size_t n_accounts;
    uint32_t *bounds; /* upper bound on the open files of each account */
    uint32_t *fresh;  /* scratch space for a recount */
};
#define QUOTA_CLOSED ((struct quota){.epoll = -1, .list = -1})

/*
 * Returns -ENOMEM; errors of epoll_create1(2) and open(2); -ENOSYS if the kernel does not list registered files. The
 * process may become dumpable for a moment; it is not dumpable afterwards in that case.
 */
int quota_open(struct quota *quota, size_t n_accounts);
void quota_close(struct quota *quota);

/*
 * Checks whether the `n_accounts` accounts from `first` on may together get `n` more files without exceeding `most`.
 * Returns 0 or -EDQUOT, or an error of pread(2) if the files had to be counted.
 */
int quota_check(struct quota *quota, size_t first, size_t n_accounts, uint64_t n, uint64_t most);
/*
 * Charges the file to the account. On failure it is charged to none: -EUSERS if fs.epoll.max_user_watches is reached,
 * other errors of epoll_ctl(2).
 */
int quota_add(struct quota *quota, size_t account, int fd);

/* CPUs share quotas, because each quota needs two descriptors, and a recount iterates over all files of one quota. */
#define EVENT_QUOTAS 4

struct event_quota {
    struct opener_event_limits limits;
    unsigned n_cpus;
    size_t n_threads; /* number of accounts for threads on each CPU */
    bool bpf;         /* limits.cpu_of_bpf applies instead of limits.cpu */
    struct quota quotas[EVENT_QUOTAS];
};
#define EVENT_QUOTA_CLOSED ((struct event_quota){.quotas = {QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED}})

/* Returns the errors of quota_open(). */
int event_quota_open(struct event_quota *quota, const struct opener_rules *rules);
void event_quota_close(struct event_quota *quota);

/*
 * Checks whether all events of the group may be opened. Returns 0; -EDQUOT; -ENXIO for a CPU that is not possible;
 * errors of pread(2).
 */
int event_quota_check(struct event_quota *quota, const struct opener_group_packet *group);
/*
 * Counts opened events: fds[i] is the descriptor of the i-th event, or negative. Returns the errors of quota_add();
 * then the caller must close them all.
 */
int event_quota_add(struct event_quota *quota, const struct opener_group_packet *group, const int *fds);
/*
 * Lowers the limit of each CPU when a BPF program counts cgroups, because perf events of cgroups are then no longer
 * needed.
 */
void event_quota_use_bpf(struct event_quota *quota);

#endif
