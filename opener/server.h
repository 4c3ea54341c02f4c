/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's work: takes a request, checks it, opens, passes the descriptors on and keeps none. */
#ifndef OPENER_SERVER_H
#define OPENER_SERVER_H

#include "opener/request.h"

struct opener_server {
    struct sys *sys;
    int socket;
    struct opener_rules rules;
    const char *cgroups; /* the directory below which cgroups are, "" where there are none */
};

/*
 * Answers until the other end is closed, or cannot be answered: -errno, or 0. Where only the descriptors cannot be
 * sent, that error is the answer.
 */
int opener_server_run(const struct opener_server *server);

#endif
