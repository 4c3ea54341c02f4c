/* SPDX-License-Identifier: Apache-2.0 */
/* The clients that the server trusts, as configured. */
#ifndef HTTP_AUTH_TRUST_H
#define HTTP_AUTH_TRUST_H

#include "config/standing.h"
#include "http/auth/host.h"

struct trust {
    char **hosts; /* names of this machine, besides its own */
    size_t n_hosts;
    enum standing operates; /* the lowest that may reload and pause */
};

/* Copies the names. -ENOMEM; trust_done() in either case. */
int trust_init(struct trust *trust, enum standing operates, char *const *hosts, size_t n_hosts);
void trust_done(struct trust *trust);

#endif
