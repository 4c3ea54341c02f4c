/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/fd-budget.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "sampler/hindsight.h"
#include "symbols/symboliser.h"

/*
 * Descriptors for the symboliser and its finders (symbols/symboliser.h): six sockets while they start, plus two more
 * sockets or two pidfds; two files yet to be read (the kernel's symbols and the vdso); and pidfds of abandoned
 * processes, up to SYMBOLISER_ABANDONED plus one, because a chain has two processes.
 */
#define SYMBOLISER_FDS (8 + 2 + SYMBOLISER_ABANDONED + 1)

static uint64_t always(const struct fd_budget_terms *terms)
{
    (void)terms;
    return 1;
}

static uint64_t when_serving(const struct fd_budget_terms *terms)
{
    return terms->serves;
}

static uint64_t with_opener(const struct fd_budget_terms *terms)
{
    return terms->has_opener;
}

static uint64_t with_reader(const struct fd_budget_terms *terms)
{
    return terms->has_reader;
}

static uint64_t with_watchdog(const struct fd_budget_terms *terms)
{
    return terms->has_watchdog;
}

static uint64_t with_journal(const struct fd_budget_terms *terms)
{
    return terms->has_journal;
}

static uint64_t with_cgroups(const struct fd_budget_terms *terms)
{
    return terms->config->cgroup.enabled;
}

static uint64_t with_self(const struct fd_budget_terms *terms)
{
    return terms->config->self_enabled;
}

static uint64_t inherited(const struct fd_budget_terms *terms)
{
    return terms->inherited;
}

static uint64_t listeners(const struct fd_budget_terms *terms)
{
    return terms->serves ? MAX(terms->config->web.n_listen, terms->handed_over) : 0;
}

/*
 * The maximum number of descriptors that the daemon holds at once, not counting those of clients, counters and rings.
 */
static const struct {
    unsigned each;
    uint64_t (*times)(const struct fd_budget_terms *terms);
} needs[] = {
    {1, inherited},     /* standard streams, sockets of the service manager, descriptors that the parent left open */
    {4, when_serving},  /* the event loop: epoll, signalfd, a timerfd for each of two clocks */
    {1, with_watchdog}, /* the event loop's timerfd for the watchdog */
    {1, with_journal},  /* socket to the journal */
    {2, with_opener},   /* the opener's socket and /proc/PID/stat; descriptors sent by the opener count as counters */
    {6, with_reader},   /* the reader: two sockets, /proc/PID/stat, pidfd; the timer of its requests; an epoll */
    {1, when_serving},  /* uevents */
    {6, with_cgroups},  /* hierarchy root; inotify for the tree, vacant cgroups, Kubernetes links and systemd units; an
                           epoll */
    {2, with_self},     /* /proc/self/stat, /proc/self/fd */
    {2, listeners},     /* a listening socket and libmicrohttpd's epoll */
    {2, listeners},     /* again, because a reload opens the new listeners before it closes the old ones */
    {3, always}, /* used briefly: a file and its directory, a probed event, the service manager, a refused client */
};

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a - MIN(a, b);
}

static uint64_t daemon_needs(const struct fd_budget_terms *terms)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        n += needs[i].each * needs[i].times(terms);
    return n;
}

/* Returns the clients' share of the descriptors. `rest` is the limit minus the daemon's own needs. */
static uint64_t clients_share(const struct fd_budget_terms *terms, uint64_t rest)
{
    uint64_t connections = terms->config->web.limits.connections;
    uint64_t most = MIN(MIN(terms->limit / 4, rest / 2), minus(rest, terms->counting + terms->sampling));

    return terms->serves ? MIN(MAX(most, FD_BUDGET_CLIENTS_MIN), connections) : 0;
}

/*
 * Returns how many descriptors the sampler needs in addition to rings: for the symboliser, and for each client's cgroup
 * directory.
 */
static uint64_t sampler_overhead(const struct config_sampler *config)
{
    return SYMBOLISER_FDS + config->max_clients;
}

/*
 * Returns the sampler's share of the descriptors: its overhead, a ring for each CPU and client, and the hindsight
 * rings. `rest` is what the daemon and its clients leave; the sampler gets at most half of it, and nothing that
 * counters hold. Returns 0 if the share would be too small for one client.
 */
static uint64_t sampler_share(const struct fd_budget_terms *terms, uint64_t rest)
{
    const struct config_sampler *config = &terms->config->sampler;
    uint64_t overhead = sampler_overhead(config);
    uint64_t rings = config->max_clients + (config->hindsight.enabled ? HINDSIGHT_EVENTS : 0);
    uint64_t n = MIN(overhead + rings * terms->cpus, MIN(rest / 2, minus(rest, terms->counting)));

    return terms->serves && config->enabled && n >= overhead + terms->cpus ? n : 0;
}

int fd_budget_make(const struct fd_budget_terms *terms, struct fd_budget *ret, struct error *error)
{
    uint64_t daemon = daemon_needs(terms), rest = minus(terms->limit, daemon);
    struct fd_budget budget = {.limit = terms->limit, .daemon = MIN(daemon, terms->limit)};

    if (terms->serves && rest < FD_BUDGET_CLIENTS_MIN)
        return error_set(error, -EMFILE,
                         "the limit of open files is %" PRIu64 ", and perfcountd needs %" PRIu64
                         " before it opens any counter: raise it (LimitNOFILE= of the unit, ulimit -n)",
                         terms->limit, daemon + FD_BUDGET_CLIENTS_MIN);
    budget.clients = clients_share(terms, rest);
    budget.sampler = sampler_share(terms, rest - budget.clients);
    budget.limits.counting = rest - budget.clients - budget.sampler;
    if (budget.sampler)
        budget.limits.sampling = budget.sampler - sampler_overhead(&terms->config->sampler);
    *ret = budget;
    return 0;
}
