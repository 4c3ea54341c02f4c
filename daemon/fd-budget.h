/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the limit of open files is divided, before any counter is opened: first the daemon's own needs, then its clients,
 * then the sampler; counters have the rest.
 *
 * The daemon's needs are a sum over the table in fd-budget.c. Clients have as many as web.limits.connections, but at
 * most a quarter of the limit and half of what the daemon leaves, and at least FD_BUDGET_CLIENTS_MIN. Pure.
 */
#ifndef DAEMON_FD_BUDGET_H
#define DAEMON_FD_BUDGET_H

#include "config/config.h"
#include "perf/sys.h"

/* With fewer the daemon does not start: one client scrapes, and one looks into a problem. */
#define FD_BUDGET_CLIENTS_MIN 2
/* With fewer free descriptors the daemon does not start: it could not even find out why it fails. */
#define FD_BUDGET_START_MIN 8

/* The inputs of a budget. Numbers are of descriptors, unless something else is said. */
struct fd_budget_terms {
    const struct config *config;
    uint64_t limit;              /* RLIMIT_NOFILE, the soft one */
    uint64_t inherited;          /* open when the process started: standard streams, sockets that were handed over */
    uint64_t handed_over;        /* sockets among them, to listen on */
    uint64_t counting, sampling; /* that count and sample now: a new budget takes nothing back */
    unsigned cpus;               /* possible ones */
    bool serves;                 /* for the daemon, or for `plan`; other commands have no clients */
    bool has_opener, has_reader, has_watchdog, has_journal;
};

/* Numbers of descriptors. Their sum is the limit, unless counters hold more of an earlier budget. */
struct fd_budget {
    uint64_t limit, daemon, clients, sampler, counters;
    uint64_t rings; /* of the sampler's */
};

/* -EMFILE with a sentence where the limit is too low to serve a client; never where `serves` is false. */
int fd_budget_make(const struct fd_budget_terms *terms, struct fd_budget *ret, struct error *error);
/* The shares that struct sys enforces. */
struct descriptor_limits fd_budget_limits(const struct fd_budget *budget);

#endif
