/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the client of a request is trusted (config/standing.h), from what is known of its connection and what its
 * headers claim. Pure.
 */
#ifndef HTTP_AUTH_STANDING_H
#define HTTP_AUTH_STANDING_H

#include "config/standing.h"
#include "http/auth/host.h"
#include "http/peer.h"

/* What the headers say of where a request comes from; zeroed before the first. Borrows values. */
struct standing_claims {
    const char *host; /* NULL: there is none, as in HTTP/1.0 */
    bool forwarded;   /* a proxy has passed it on */
    bool browser;     /* a browser sends it, so that a page may be behind it */
    bool foreign;     /* the browser says that a page of another origin has it sent */
    bool same_origin; /* the browser says that no such page has, or only a script of the same origin can have sent it */
};

void standing_claim(struct standing_claims *claims, const char *name, const char *value);

/*
 * An operator has shown a right password or a verified certificate, or is a trusted peer of a unix socket; a local
 * client is another one of loopback or a unix socket that asks for a name of this machine. What a proxy has passed on
 * is neither without a password or certificate. A page is what comes from a browser without a proof that nobody else's
 * page has it sent: see STANDING_PROOF.
 */
enum standing standing_of(bool authenticated, const struct peer *peer, const struct standing_claims *claims,
                          const struct host_names *names);

/* The header and the value by which a page of this daemon shows that it is one. */
#define STANDING_PROOF "X-Requested-With"
#define STANDING_PROOF_VALUE "perfcountd"

#endif
