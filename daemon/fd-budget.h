/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the limit of open files is divided, before any counter is opened: what the daemon needs itself comes first, then
 * its clients, then what samples, and counters have the rest.
 *
 * What the daemon needs is a sum over the table in fd-budget.c. Clients have as many as web.limits.connections, but at
 * most a quarter of the limit and half of what the daemon leaves, and at least DIVISION_CLIENTS_MIN. Pure.
 */
#ifndef DAEMON_FD_BUDGET_H
#define DAEMON_FD_BUDGET_H

#include "config/config.h"
#include "perf/descriptors.h"

/* With fewer the daemon does not start: one that scrapes, and one that looks why. */
#define DIVISION_CLIENTS_MIN 2
/* The daemon does not start without so many that are free: it could not even read why it fails. */
#define DIVISION_START_MIN 8

/* What the budget rests on. Numbers of descriptors where nothing else is said. */
struct fd_budget_terms {
    const struct config *config;
    uint64_t limit;       /* RLIMIT_NOFILE, the soft one */
    uint64_t inherited;   /* that were open when the process started: standard streams, sockets that were handed over */
    uint64_t handed_over; /* sockets among them, to listen on */
    uint64_t counting, sampling; /* that count and sample now: what is divided anew takes nothing back */
    unsigned cpus;               /* that this machine can have */
    bool serves;                 /* it is the daemon, or says what the daemon would do; else it only prints */
    bool has_opener, has_watchdog, has_journal;
};

/* Numbers of descriptors. Their sum is the limit, unless counters hold more of an earlier budget. */
struct fd_budget {
    uint64_t limit, daemon, clients, sampler, counters;
    uint64_t rings, files; /* of the sampler's: what samples; programs that may wait to be read */
};

/* -EMFILE with a sentence where the limit is too low to serve anybody; one that only prints has no such limit. */
int fd_budget_make(const struct fd_budget_terms *terms, struct fd_budget *ret, struct error *error);
/* What of it is for the seam. */
struct descriptor_limits fd_budget_limits(const struct fd_budget *budget);

#endif
