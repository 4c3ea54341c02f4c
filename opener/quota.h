/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, enforced by the opener, on the number of events and BPF maps that the daemon may have open.
 *
 * The daemon, and every process to which the daemon passes a descriptor, closes files without telling the opener. To
 * count open files nevertheless, the opener registers each file with an epoll instance that nobody ever waits for. A
 * registration does not keep the file open, and ends when the file's last descriptor is closed, in a process or in
 * flight between two processes (epoll(7); the kernel's eventpoll_release() in __fput()). /proc/self/fdinfo lists the
 * registered files.
 *
 * Every file is charged to an account. For each account, the opener keeps an upper bound on the number of open files:
 * the last count plus the files added since. Files are recounted only if a request would exceed the limit by this
 * bound.
 *
 * The number of events is limited for each CPU. At every context switch, the kernel iterates over the CPU's per-CPU and
 * cgroup events, so thousands of them slow down every program there. Thread events slow down only their own thread, so
 * they have separate limits; threads are assigned to accounts by a few bits of their thread ids.
 */
#ifndef OPENER_QUOTA_H
#define OPENER_QUOTA_H

#include "base/util.h"
#include "opener/protocol.h"

/* A closed quota is zeroed, except for its descriptors, which are -1. */
struct quota {
    int epoll, list; /* an epoll instance, and its file in /proc/self/fdinfo */
    size_t n_accounts;
    uint32_t *bounds; /* upper bound on each account's number of open files */
    uint32_t *fresh;  /* scratch space for a recount */
};
#define QUOTA_CLOSED ((struct quota){.epoll = -1, .list = -1})

/*
 * Returns -ENOMEM; errors from epoll_create1(2) and open(2); -ENOSYS if the kernel does not list registered files. If
 * the process has to be made dumpable to open that list, it is made undumpable again.
 */
int quota_open(struct quota *quota, size_t n_accounts);
void quota_close(struct quota *quota);

/*
 * Checks whether the `n_accounts` accounts from `first` on may together have `n` more files without exceeding `most`.
 * Returns 0 or -EDQUOT, or an error from pread(2) if the files had to be recounted.
 */
int quota_check(struct quota *quota, size_t first, size_t n_accounts, uint64_t n, uint64_t most);
/*
 * Charges the file to the account. On failure returns -EUSERS if fs.epoll.max_user_watches is reached, or another error
 * from epoll_ctl(2).
 */
int quota_add(struct quota *quota, size_t account, int fd);

/*
 * Number of quotas, each of which serves several CPUs. Fewer quotas need fewer descriptors (two each), but a recount
 * visits all files of a quota.
 */
#define EVENT_QUOTAS 4

struct event_quota {
    struct opener_event_limits limits;
    unsigned n_cpus;
    size_t n_threads; /* number of thread accounts per CPU */
    bool bpf;         /* limits.cpu_of_bpf applies instead of limits.cpu */
    struct quota quotas[EVENT_QUOTAS];
};
#define EVENT_QUOTA_CLOSED ((struct event_quota){.quotas = {QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED}})

/* Opens the quotas of all CPUs. Returns the errors of quota_open(). */
int event_quota_open(struct event_quota *quota, const struct opener_rules *rules);
void event_quota_close(struct event_quota *quota);

/*
 * Checks whether all events of the group may be opened. Returns 0; -EDQUOT; -ENXIO for an impossible CPU; or an error
 * from pread(2).
 */
int event_quota_check(struct event_quota *quota, const struct opener_group_packet *group);
/*
 * Charges events that were opened: fds[i] is the descriptor of the i-th event, or negative. Returns the errors of
 * quota_add(); after an error, the caller must close all descriptors in `fds`.
 */
int event_quota_add(struct event_quota *quota, const struct opener_group_packet *group, const int *fds);
/* Lowers each CPU's limit when a BPF program counts cgroups, because cgroup perf events are then no longer needed. */
void event_quota_use_bpf(struct event_quota *quota);

#endif
