/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines how far the client of a request is trusted (config/trust.h). Trust is derived from the connection and from
 * the request's headers: Host, the headers that proxies add, and the headers that browsers send. Pure.
 */
#ifndef HTTP_TRUST_H
#define HTTP_TRUST_H

#include "base/util.h"
#include "config/trust.h"
#include "http/peer.h"

/* The host names of this machine other than "localhost". Borrowed. */
struct host_names {
    const char *machine; /* result of gethostname(2), with or without a domain */
    char *const *others; /* additional names from the configuration */
    size_t n_others;
};

/*
 * Returns whether a browser that connects to this host can only reach this machine: the host is an IP address,
 * "localhost" or a name below it, this machine's name with or without its domain, or one of `others`. Any other name
 * may belong to an attacker, who makes it resolve to this machine by DNS or, if it has no dot, by LLMNR or mDNS; pages
 * under such a name would be the attacker's. A port in `host` is ignored.
 */
bool host_is_own(const char *host, const struct host_names *names);

/* Returns whether proxies, load balancers and CDNs add a header of this name to requests that they forward. */
bool is_proxy_header(const char *name);

/* The configured rules about whom the server trusts. */
struct trust_rules {
    char **hosts; /* additional names of this machine */
    size_t n_hosts;
    enum trust operates; /* lowest trust of clients that may reload and pause */
};

/*
 * Initializes the rules with a copy of `hosts`. Returns -ENOMEM on failure. trust_rules_done() must be called even
 * after a failure.
 */
int trust_rules_init(struct trust_rules *rules, enum trust operates, char *const *hosts, size_t n_hosts);
void trust_rules_done(struct trust_rules *rules);

/*
 * What the headers claim about the origin of a request. The struct must be zero-initialized before the first header is
 * added, and borrows the header values.
 */
struct origin_headers {
    const char *host; /* NULL if there is no Host header, as in HTTP/1.0 */
    bool forwarded;   /* a proxy forwarded the request */
    bool browser;     /* a browser sent the request, so a web page may have caused it */
    bool foreign;     /* the browser says that a page of another origin caused the request */
    bool same_origin; /* no page of another origin can have caused the request */
};

/* Adds the claims of one header. */
void origin_header_add(struct origin_headers *claims, const char *name, const char *value);

/*
 * Returns the trust in a client. An operator is a client that has given the correct password, is known by its
 * certificate, or has a role on a unix socket. A local client is any other client on loopback or a unix socket that
 * uses a name of this machine. If a proxy forwarded the request, only a password or certificate makes an operator, and
 * no client is local. A request from a browser is attributed to an untrusted web page, unless the request proves that
 * no page of another owner caused it (TRUST_PROOF).
 */
enum trust trust_of(bool authenticated, const struct peer *peer, const struct origin_headers *claims,
                    const struct host_names *names);
/*
 * Returns whether the client needs no password or certificate although one is required: root or the daemon's user on a
 * unix socket, if any client with these headers on that socket would be a local client. Members of the socket's group
 * do need one, because a proxy may be a member, and some proxies add no header that gives them away.
 */
bool trust_needs_no_credential(const struct peer *peer, const struct origin_headers *claims,
                               const struct host_names *names);

/* The name and value of the header with which the daemon's own web page identifies itself. */
#define TRUST_PROOF "X-Requested-With"
#define TRUST_PROOF_VALUE "perfcountd"

#endif
