/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's work: receives a request, checks it, opens, hands out the descriptors and keeps none of them. */
#ifndef OPENER_OPENER_SERVER_H
#define OPENER_OPENER_SERVER_H

#include "opener/event-quota.h"
#include "opener/finders.h"
#include "process/stragglers.h"

struct opener_server {
    struct sys *sys;
    int socket;
    struct opener_rules rules;
    int reader;          /* the socket to which state files go (state-file.h); -1: nobody reads them */
    const char *cgroups; /* the directory of the hierarchy of cgroups, "" where there is none */
    struct event_quota *events;
    struct quota *tallies; /* of the maps of tallies: tally-server.h */
    struct finders *finders;
    struct stragglers *stragglers; /* over state files */
    struct stragglers *programs;   /* children that open uprobes; may be NULL: open-events.h */
};

/*
 * Replies until the daemon closes its end (0), or a reply cannot be sent (-errno). Where only the descriptors cannot be
 * sent, that error is the reply.
 */
int opener_server_run(const struct opener_server *server);

#endif
