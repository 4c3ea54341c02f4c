/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener: a `struct sys` that asks the opener where privileges are needed, and otherwise works
 * as before.
 *
 * An opener that has ended is given up: each later request fails with -EPIPE, and what is open stays open. An opener
 * that does not reply in time is late: the request that waited for it fails with -ETIMEDOUT, and so do later ones, at
 * once, until the late reply has come. Nobody uses that reply.
 *
 * A refused request fails as opener_request_check() says, and with -EXDEV where a directory is not a cgroup of the
 * hierarchy; perf/reason.c explains both.
 */
#ifndef OPENER_CLIENT_H
#define OPENER_CLIENT_H

#include "opener/request.h"

/* How long a request waits for its reply, and what each result adds. The watchdog of the service waits much longer. */
#define OPENER_PATIENCE_MS 2000
#define OPENER_PATIENCE_EACH_MS 100

struct opener_client {
    int socket;
    struct opener_rules rules;
    struct buffer packet;
    bool lost, late;
    uint32_t tally_events; /* of the tally that was started last */
    unsigned patience_ms;  /* of the socket; 0: not set yet */
};

/* From now on `sys` asks the opener; the client must outlive `sys`. */
void opener_client_attach(struct opener_client *client, struct sys *sys);
/*
 * To be called when the socket is readable: 1 after a late reply, 0 where nothing came, -EPIPE when the opener has
 * ended or has sent something that was not asked for.
 */
int opener_client_take_late_reply(struct opener_client *client);
/*
 * Sends client->packet and waits for the reply, which has `n` results. 0, or the error of the request as a whole: that
 * of the reply, or one from before it. `reply` and `opened` are empty at first; there are fewer descriptors than
 * results of 0 where this process had no room for more.
 */
int opener_client_ask(struct opener_client *client, const struct fd_list *given, size_t n, unsigned patience_ms,
                      struct opener_reply *reply, struct fd_list *opened);
/* Whether the opener answers now, which is waited for: 0, -ETIMEDOUT where it is late, -EPIPE where it has ended. */
int opener_client_check(struct opener_client *client);
void opener_client_done(struct opener_client *client);

#endif
