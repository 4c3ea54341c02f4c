/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many events may be open on each CPU. The kernel goes through those of whole CPUs and of cgroups when tasks switch
 * there, whoever's tasks they are: with thousands of them, every program on the CPU is slow. Events of a thread cost
 * that thread alone, so each has a limit of its own; threads are told apart by a few bits of their numbers.
 */
#ifndef OPENER_EVENT_QUOTA_H
#define OPENER_EVENT_QUOTA_H

#include "opener/quota.h"
#include "opener/request.h"

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
