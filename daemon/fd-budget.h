/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How RLIMIT_NOFILE is divided, before any counter is opened: the daemon's own needs come first, then its clients, then
 * the sampler; counters get the rest.
 *
 * The daemon's needs are the sum of a table in daemon/fd-budget.c. Clients get web.limits.connections descriptors, but
 * at most a quarter of the limit and half of what the daemon leaves, and at least FD_BUDGET_CLIENTS_MIN. Pure.
 */
#ifndef DAEMON_FD_BUDGET_H
#define DAEMON_FD_BUDGET_H

#include "config/config.h"
#include "perf/sys.h"

/* The daemon does not start with fewer clients: one scrapes, and one investigates a problem. */
#define FD_BUDGET_CLIENTS_MIN 2
/* The daemon does not start with fewer free descriptors, because it could not even find out why it fails. */
#define FD_BUDGET_START_MIN 8

/* The inputs of a budget. All numbers count descriptors unless the comment says otherwise. */
struct fd_budget_terms {
    const struct config *config;
    uint64_t limit;              /* the soft RLIMIT_NOFILE */
    uint64_t inherited;          /* open when the process started: standard streams, sockets of the service manager */
    uint64_t handed_over;        /* how many of these are sockets to listen on */
    uint64_t counting, sampling; /* descriptors held by counters and by rings now: a new budget cannot take them back */
    unsigned cpus;               /* number of possible CPUs */
    bool serves;                 /* true for the daemon and for `plan`; other commands have no clients */
    bool has_opener, has_reader, has_watchdog, has_journal;
};

/*
 * Numbers of descriptors. The shares `daemon`, `clients`, `sampler` and `limits.counting` add up to `limit`, unless
 * counters still hold more from an earlier budget.
 */
struct fd_budget {
    uint64_t limit, daemon, clients, sampler;
    struct descriptor_limits limits; /* struct sys enforces them; `sampling` is the part of `sampler` for rings */
};

/* Returns -EMFILE with a sentence if the limit is too low to serve a client; never if `serves` is false. */
int fd_budget_make(const struct fd_budget_terms *terms, struct fd_budget *ret, struct error *error);

#endif
