/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides RLIMIT_NOFILE, before any counter is opened. The daemon's own needs come first, then its clients, then the
 * sampler; counters get what is left.
 *
 * A table in daemon/fd-budget.c adds up the daemon's needs. Clients get web.limits.connections descriptors, but at most
 * a quarter of the limit and at most half of what the daemon leaves, and at least FD_BUDGET_CLIENTS_MIN. Pure.
 */
#ifndef DAEMON_FD_BUDGET_H
#define DAEMON_FD_BUDGET_H

#include "config/config.h"
#include "perf/sys.h"

/*
 * The daemon does not start without descriptors for this many clients: one to scrape, and one to investigate a problem.
 */
#define FD_BUDGET_CLIENTS_MIN 2
/*
 * The daemon does not start without this many free descriptors, because with fewer it could not even find out why it
 * fails.
 */
#define FD_BUDGET_START_MIN 8

/* The inputs of a budget. All numbers are numbers of descriptors unless stated otherwise. */
struct fd_budget_terms {
    const struct config *config;
    uint64_t limit;     /* the soft limit RLIMIT_NOFILE */
    uint64_t inherited; /* descriptors that were open at the start: standard streams, sockets of the service manager */
    uint64_t handed_over;        /* number of listening sockets among the inherited descriptors */
    uint64_t counting, sampling; /* descriptors that counters and rings hold now; a new budget cannot take them back */
    unsigned cpus;               /* number of possible CPUs */
    bool serves;                 /* this process serves clients, or is `plan`, which describes a daemon that does */
    bool has_opener, has_reader, has_watchdog, has_journal;
};

/*
 * How many descriptors are set aside for what. The shares `daemon`, `clients`, `sampler` and `limits.counting` add up
 * to `limit`, unless counters still hold more from an earlier budget.
 */
struct fd_budget {
    uint64_t limit, daemon, clients, sampler;
    struct descriptor_limits limits; /* limits for struct sys, where `sampling` is the part of `sampler` for rings */
};

/*
 * Computes the budget of descriptors. Returns -EMFILE with a message if the limit is too low to serve a client, but
 * never if `serves` is false.
 */
int fd_budget_make(const struct fd_budget_terms *terms, struct fd_budget *ret, struct error *error);

#endif
