/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener: a `struct sys` that asks it for what needs privileges, and is otherwise as it was.
 *
 * One that is gone is given up: from then on each request fails by -EPIPE, and what is open stays open. One that does
 * not answer in time is late: requests fail by -ETIMEDOUT, the first after the wait and the others at once, until that
 * answer is there, which nobody waits for any more.
 *
 * What it refuses fails as opener_request_check() says, a directory that is no cgroup of the hierarchy by -EXDEV; see
 * perf/reason.c.
 */
#ifndef OPENER_CLIENT_H
#define OPENER_CLIENT_H

#include "opener/request.h"

/* How long a request is waited for, with what each result adds. The watchdog of the service waits much longer. */
#define OPENER_PATIENCE_MS 2000
#define OPENER_PATIENCE_EACH_MS 100

struct opener_client {
    int socket;
    struct opener_rules rules;
    struct buffer packet;
    bool lost, late;
    unsigned patience_ms; /* that the socket has; 0: not set yet */
};

/* From now on `sys` asks; the client must outlive it. */
void opener_client_attach(struct opener_client *client, struct sys *sys);
/*
 * For when the socket is readable: 1 after a late answer, 0 where there was none, -EPIPE at the end and for what nobody
 * asked for.
 */
int opener_client_take_late_reply(struct opener_client *client);
void opener_client_done(struct opener_client *client);

#endif
