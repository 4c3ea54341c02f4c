/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the opener: a `struct sys` that asks it for what needs privileges, and is otherwise as it was.
 *
 * One that does not answer is given up: from then on each request fails by -EPIPE, and what is open stays open.
 * What it refuses fails by -EBADRQC, by -EUNATCH or -ENOPKG where it would not if it had been started for sampling
 * or for probes, a directory that is no cgroup of the hierarchy by -EXDEV; see perf/reason.c.
 */
#ifndef OPENER_CLIENT_H
#define OPENER_CLIENT_H

#include "opener/opener-request.h"

struct opener_client {
    int socket;
    struct opener_rules rules;
    struct buffer packet;
    bool lost;
};

/* From now on `sys` asks; the client must outlive it. */
void opener_client_attach(struct opener_client *client, struct sys *sys);
void opener_client_done(struct opener_client *client);

#endif
