/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the daemon may have open: events and BPF objects, counted by the opener.
 *
 * How many of the files that the opener hands out are still there. The daemon, and everybody to whom it passes a
 * descriptor, close files without telling the opener. So each file is registered with an epoll instance that nobody
 * ever waits for: a registration keeps no file, and ends with the last descriptor of the file, wherever that is, in a
 * process or on its way between two (epoll(7); the kernel's eventpoll_release() in __fput()). What is registered is in
 * /proc/self/fdinfo.
 *
 * Every file is on an account. An account has an upper bound of its files: how many were counted last, and all that
 * were added since. Files are counted afresh only where the bound says that there may be too many.
 *
 * How many events may be open on each CPU. The kernel goes through those of whole CPUs and of cgroups when tasks switch
 * there, whoever's tasks they are: with thousands of them, every program on the CPU is slow. Events of a thread cost
 * that thread alone, so each has a limit of its own; threads are told apart by a few bits of their numbers.
 */
#ifndef OPENER_QUOTA_H
#define OPENER_QUOTA_H

#include "base/util.h"
#include "opener/protocol.h"

/* Closed, it is zeroed but for the descriptors, which are -1. */
struct quota {
    int epoll, list; /* `list`: the instance's file in /proc/self/fdinfo */
    size_t n_accounts;
    uint32_t *bounds; /* upper bound on the open files of each account */
    uint32_t *fresh;  /* scratch space for a recount */
};
#define QUOTA_CLOSED ((struct quota){.epoll = -1, .list = -1})

/*
 * -ENOMEM; errors of epoll_create1(2) and open(2); -ENOSYS where the kernel does not list what is registered. For a
 * time the process may be dumpable, and then it is not.
 */
int quota_open(struct quota *quota, size_t n_accounts);
void quota_close(struct quota *quota);

/*
 * Whether the `n_accounts` accounts from `first` on may together have `n` files more, and then have at most `most`: 0,
 * or -EDQUOT. Errors of reading, where it had to count.
 */
int quota_check(struct quota *quota, size_t first, size_t n_accounts, uint64_t n, uint64_t most);
/*
 * The file is on the account from now on. -EUSERS where fs.epoll.max_user_watches is reached, other errors of
 * epoll_ctl(2): then it is on none.
 */
int quota_add(struct quota *quota, size_t account, int fd);

/* CPUs share quotas, since each takes two descriptors, and counting goes through all files of one. */
#define EVENT_QUOTAS 4

struct event_quota {
    struct opener_event_limits limits;
    unsigned n_cpus;
    size_t n_threads; /* accounts of threads that each CPU has */
    bool tallied;     /* limits.cpu_tallied holds, and not limits.cpu */
    struct quota quotas[EVENT_QUOTAS];
};
#define EVENT_QUOTA_CLOSED ((struct event_quota){.quotas = {QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED, QUOTA_CLOSED}})

/* Errors of quota_open(). */
int event_quota_open(struct event_quota *quota, const struct opener_rules *rules);
void event_quota_close(struct event_quota *quota);

/* 0 where all events of the group may be open; -EDQUOT; -ENXIO for a CPU that is not possible; errors of reading. */
int event_quota_check(struct event_quota *quota, const struct opener_group_packet *group);
/*
 * They were opened: fds[i] is the descriptor of the i-th event, or negative. Errors of quota_add(), and then the caller
 * must close them.
 */
int event_quota_add(struct event_quota *quota, const struct opener_group_packet *group, const int *fds);
/* From now on a tally counts cgroups, and events of each of them are not needed any more. */
void event_quota_use_tally(struct event_quota *quota);

#endif
