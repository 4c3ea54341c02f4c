/* SPDX-License-Identifier: Apache-2.0 */
/* How far a client is trusted: see standing.h. */
#include "http/trust.h"

#include "http/forwarding.h"

int standing_rules_init(struct standing_rules *rules, enum standing operates, char *const *hosts, size_t n_hosts)
{
    *rules = (struct standing_rules){.operates = operates};
    rules->hosts = calloc(n_hosts + 1, sizeof(*rules->hosts));
    if (!rules->hosts)
        return -ENOMEM;
    for (size_t i = 0; i < n_hosts; i++) {
        rules->hosts[i] = strdup(hosts[i]);
        if (!rules->hosts[i])
            return -ENOMEM;
        rules->n_hosts++;
    }
    return 0;
}

void standing_rules_done(struct standing_rules *rules)
{
    for (size_t i = 0; i < rules->n_hosts; i++)
        free(rules->hosts[i]);
    free(rules->hosts);
    *rules = (struct standing_rules){.operates = STANDING_OPERATOR};
}

static bool is_header(const char *name, const char *other)
{
    return strcasecmp(name, other) == 0;
}

/*
 * All browsers send the first two. To an address that they do not trust, as http://192.0.2.1/, they send no Sec-Fetch-
 * headers, and with an image no Origin. A script can replace User-Agent in some, but it cannot remove Accept-Language.
 */
static bool comes_from_browser(const char *name, const char *value)
{
    return (is_header(name, "User-Agent") && str_starts(value, "Mozilla/")) || is_header(name, "Accept-Language") ||
           is_header(name, "Origin") || strncasecmp(name, "Sec-", 4) == 0;
}

/* A script can set neither for another origin: the browser sets the first, and asks us before it sends the other
 * (CORS). */
static void claim_origin(struct standing_claims *claims, const char *name, const char *value)
{
    if (is_header(name, "Sec-Fetch-Site")) {
        bool own = str_equal(value, "same-origin") || str_equal(value, "none");
        claims->same_origin |= own;
        claims->foreign |= !own;
    }
    if (is_header(name, STANDING_PROOF))
        claims->same_origin |= strcasecmp(value, STANDING_PROOF_VALUE) == 0;
}

void standing_claim(struct standing_claims *claims, const char *name, const char *value)
{
    if (is_header(name, "Host"))
        claims->host = value;
    claims->forwarded |= forwarding_is(name);
    claims->browser |= comes_from_browser(name, value);
    claim_origin(claims, name, value);
}

/* Same origin means only that page and server have the same name, and anybody may own that name (DNS rebinding). */
static bool comes_from_page(const struct standing_claims *claims, bool trusted_name)
{
    return claims->foreign || (claims->browser && !(claims->same_origin && trusted_name));
}

enum standing standing_of(bool authenticated, const struct peer *peer, const struct standing_claims *claims,
                          const struct host_names *names)
{
    bool own_name = !claims->host || host_is_own(claims->host, names);

    /* The owner of a foreign name has no password or certificate of ours. */
    if (comes_from_page(claims, own_name || authenticated))
        return STANDING_PAGE;
    if (authenticated)
        return STANDING_OPERATOR;
    if (claims->forwarded || !peer->local)
        return STANDING_EVERYBODY;
    if (peer->trusted)
        return STANDING_OPERATOR;
    return own_name ? STANDING_LOCAL : STANDING_EVERYBODY;
}
