/* SPDX-License-Identifier: Apache-2.0 */
/* How far a client is trusted: see standing.h. */
#include "http/auth/standing.h"

#include "http/auth/forwarding.h"

static bool is_header(const char *name, const char *other)
{
    return strcasecmp(name, other) == 0;
}

/*
 * All browsers send the first two. To an address that they do not trust, as http://192.0.2.1/, they send no Sec-Fetch-
 * headers, and with an image no Origin. A script can replace User-Agent in some, but it cannot remove Accept-Language.
 */
static bool is_of_browser(const char *name, const char *value)
{
    return (is_header(name, "User-Agent") && str_starts(value, "Mozilla/")) || is_header(name, "Accept-Language") ||
           is_header(name, "Origin") || strncasecmp(name, "Sec-", 4) == 0;
}

/* A script can set neither for another origin: the one is the browser's, the other asks for leave first (CORS). */
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
    claims->browser |= is_of_browser(name, value);
    claim_origin(claims, name, value);
}

/* Same origin means no more than that the page has the host's name, which may be its owner's (DNS rebinding). */
static bool is_of_page(const struct standing_claims *claims, bool trusted_name)
{
    return claims->foreign || (claims->browser && !(claims->same_origin && trusted_name));
}

enum standing standing_of(bool authenticated, const struct peer *peer, const struct standing_claims *claims,
                          const struct host_names *names)
{
    bool own_name = !claims->host || host_is_own(claims->host, names);

    /* The owner of a name has nobody's password or certificate. */
    if (is_of_page(claims, own_name || authenticated))
        return STANDING_PAGE;
    if (authenticated)
        return STANDING_OPERATOR;
    if (claims->forwarded || !peer->local)
        return STANDING_EVERYBODY;
    if (peer->trusted)
        return STANDING_OPERATOR;
    return own_name ? STANDING_LOCAL : STANDING_EVERYBODY;
}
