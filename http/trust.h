/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that the header Host names (RFC 9110, section 7.2). Pure.
 *
 * The headers of requests that come through a proxy. Pure.
 *
 * How far the client of a request is trusted (config/standing.h), from what is known of its connection and what its
 * headers claim. Pure.
 */
#ifndef HTTP_TRUST_H
#define HTTP_TRUST_H

#include "base/util.h"
#include "config/standing.h"
#include "http/peer.h"

/* The names of this machine, besides "localhost". Borrowed. */
struct host_names {
    const char *machine; /* as gethostname(2) has it, with its domain or without */
    char *const *others; /* as configured */
    size_t n_others;
};

/*
 * Whether a browser that was sent to this host was sent to this machine and no other: the host is an IP address,
 * "localhost" or below it, this machine's name with or without its domain, or one of the others. Any other name may be
 * an attacker's, made to lead here by DNS or, without a dot, by LLMNR or mDNS, and so may the pages under that name. A
 * port is ignored.
 */
bool host_is_own(const char *host, const struct host_names *names);

/* Whether proxies, load balancers and content networks add a header of this name to the requests that they pass on. */
bool forwarding_is(const char *name);

/* The table, for tests: names as they are usually written; "*" at the end stands for any rest. */
extern const char *const forwarding_names[];
extern const size_t n_forwarding_names;

/* The clients that the server trusts, as configured. */
struct standing_rules {
    char **hosts; /* names of this machine, besides its own */
    size_t n_hosts;
    enum standing operates; /* the lowest that may reload and pause */
};

/* Copies the names. -ENOMEM; standing_rules_done() in either case. */
int standing_rules_init(struct standing_rules *rules, enum standing operates, char *const *hosts, size_t n_hosts);
void standing_rules_done(struct standing_rules *rules);

/* The claims of the headers about the origin of a request; zeroed before the first. Borrows values. */
struct standing_claims {
    const char *host; /* NULL: there is none, as in HTTP/1.0 */
    bool forwarded;   /* a proxy has passed it on */
    bool browser;     /* a browser sends it, so that a page may have caused it */
    bool foreign;     /* the browser says that a page of another origin has caused it */
    bool same_origin; /* the browser says that no such page has, or only a script of the same origin can have sent it */
};

void standing_claim(struct standing_claims *claims, const char *name, const char *value);

/*
 * An operator has shown a right password, or a certificate by which it is known, or is a trusted peer of a unix socket.
 * A local client is any other client of loopback or a unix socket that asks for a name of this machine. Behind a proxy,
 * only a password or certificate makes an operator, and no client is local. A request from a browser is a page's,
 * unless it has a proof that no page of another owner has caused it: see STANDING_PROOF.
 */
enum standing standing_of(bool authenticated, const struct peer *peer, const struct standing_claims *claims,
                          const struct host_names *names);

/* The header and the value by which a page of this daemon identifies itself. */
#define STANDING_PROOF "X-Requested-With"
#define STANDING_PROOF_VALUE "perfcountd"

#endif
