/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines how far the client of a request is trusted (config/trust.h). Trust is derived from the connection and from
 * what the request's headers claim: Host, the headers of proxies, and those of browsers. Pure.
 */
#ifndef HTTP_TRUST_H
#define HTTP_TRUST_H

#include "base/util.h"
#include "config/trust.h"
#include "http/peer.h"

/* The names of this machine, besides "localhost". Borrowed. */
struct host_names {
    const char *machine; /* as from gethostname(2), with or without a domain */
    char *const *others; /* as configured */
    size_t n_others;
};

/*
 * Whether a browser that connects to this host can only reach this machine: the host is an IP address, "localhost" or a
 * name below it, this machine's name with or without its domain, or one of `others`. Any other name may belong to an
 * attacker, who directs it to this machine by DNS or, for a name without a dot, by LLMNR or mDNS; pages under that name
 * would be the attacker's. A port in `host` is ignored.
 */
bool host_is_own(const char *host, const struct host_names *names);

/* Whether proxies, load balancers and CDNs add a header of this name to requests that they forward. */
bool is_proxy_header(const char *name);

/* Which clients the server trusts, as configured. */
struct trust_rules {
    char **hosts; /* names of this machine, besides its own */
    size_t n_hosts;
    enum trust operates; /* the lowest trust that may reload and pause */
};

/* Copies the names. Returns -ENOMEM on failure. Call trust_rules_done() in either case. */
int trust_rules_init(struct trust_rules *rules, enum trust operates, char *const *hosts, size_t n_hosts);
void trust_rules_done(struct trust_rules *rules);

/*
 * What the headers claim about the origin of a request. Zero-initialize it before the first header. Values are
 * borrowed.
 */
struct origin_headers {
    const char *host; /* NULL: no Host header, as in HTTP/1.0 */
    bool forwarded;   /* a proxy forwarded the request */
    bool browser;     /* sent by a browser, so a web page may have caused it */
    bool foreign;     /* the browser says that a page of another origin caused it */
    bool same_origin; /* no page of another origin can have caused it */
};

/* Adds one header. */
void origin_header_add(struct origin_headers *claims, const char *name, const char *value);

/*
 * An operator has shown a right password, is known by its certificate, or has a role on a unix socket. A local
 * client is any other client on loopback or a unix socket that uses a name of this machine. If a proxy forwarded the
 * request, only a password or certificate makes an operator, and no client is local. A request from a browser is
 * attributed to a web page, unless it carries proof that no page of another owner caused it: see TRUST_PROOF.
 */
enum trust trust_of(bool authenticated, const struct peer *peer, const struct origin_headers *claims,
                    const struct host_names *names);
/*
 * Whether the client is admitted without a password although one is required: root or the daemon's own user, on a unix
 * socket, if any client with these headers on that socket would be a local client. Members of the socket's group are
 * not admitted, because a proxy may be one, and some proxies send no header by which they can be recognized.
 */
bool trust_needs_no_password(const struct peer *peer, const struct origin_headers *claims,
                             const struct host_names *names);

/* The header with which the daemon's own web page identifies itself, and its value. */
#define TRUST_PROOF "X-Requested-With"
#define TRUST_PROOF_VALUE "perfcountd"

#endif
