/* SPDX-License-Identifier: Apache-2.0 */
#include "http/trust.h"

#include <arpa/inet.h>

/* --- host --- */

/* Buffer size; longer than any DNS name and any address. */
#define NAME_MAX_SIZE 256

/* A host name; host names are compared ignoring case and a trailing dot. */
struct name {
    const char *text;
    size_t size;
};

static struct name host_name(const char *text, size_t size)
{
    return (struct name){text, size && text[size - 1] == '.' ? size - 1 : size};
}

static bool name_is(struct name name, const char *text, size_t size)
{
    struct name other = host_name(text, size);

    return name.size > 0 && name.size == other.size && strncasecmp(name.text, other.text, name.size) == 0;
}

static bool host_is_below(struct name name, const char *end)
{
    size_t size = strlen(end);

    return name.size > size && strncasecmp(name.text + name.size - size, end, size) == 0;
}

static bool is_address(int family, const char *text, size_t size)
{
    char copy[NAME_MAX_SIZE];
    struct in6_addr address;

    if (size >= sizeof(copy))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return inet_pton(family, copy, &address) == 1;
}

/* Returns whether the text after a host is "", or a colon and digits. */
static bool host_is_port(const char *text)
{
    return text[0] == '\0' || (text[0] == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

bool host_is_own(const char *host, const struct host_names *names)
{
    const char *machine = names->machine;
    size_t size = strcspn(host, host[0] == '[' ? "]" : ":");

    if (host[0] == '[')
        return host[size] && host_is_port(host + size + 1) && is_address(AF_INET6, host + 1, size - 1);
    struct name name = host_name(host, size);
    if (!host_is_port(host + size))
        return false;
    for (size_t i = 0; i < names->n_others; i++)
        if (name_is(name, names->others[i], strlen(names->others[i])))
            return true;
    return is_address(AF_INET, name.text, name.size) || name_is(name, "localhost", strlen("localhost")) ||
           host_is_below(name, ".localhost") || name_is(name, machine, strlen(machine)) ||
           name_is(name, machine, strcspn(machine, "."));
}

/* --- proxies --- */

/*
 * The names of headers that proxies add to requests. A "*" at the end of a name matches any suffix. The names are
 * grouped by origin: standards (RFC 7239, 8586, 9110), de facto standards, products, CDNs.
 */
static const char *const proxy_headers[] = {
    "Forwarded",
    "Forwarded-*",
    "Via",
    "CDN-*",
    "Max-Forwards",
    "Proxy-*", /* Proxy-Client-IP; Proxy-Connection, which clients only send to proxies */
    "Surrogate-Capability",
    "X-Forward*", /* X-Forwarded-For, X-Forwarded, X-Forward-For... */
    "HTTP-X-Forwarded-*",
    "Z-Forwarded-For",
    "X-Via*",
    "X-Real-*",
    "Real-IP",
    "X-Client-*",
    "Client-IP",
    "Source-IP",
    "X-Source-*",
    "X-Remote-*",
    "Remote-*",
    "X-Original-*",
    "X-Originating-*",
    "X-Cluster-*",
    "Cluster-Client-IP",
    "X-Coming-From",
    "Coming-From",
    "X-Host",
    "X-Proxy*", /* X-ProxyUser-Ip */
    "X-Scheme",
    "X-Url-Scheme",
    "X-SSL*",
    "SSL-Client-*",
    "Front-End-Https",
    "True-Client-*",
    "X-True-Client-*",
    /* self-hosted servers and gateways */
    "X-Accel-*",
    "X-Arr-*",
    "X-Auth-Request-*",
    "X-Authentik-*",
    "X-BlueCoat-*",
    "X-Consumer-*",
    "X-Envoy-*",
    "X-Haproxy*",
    "X-Iinfo",
    "X-IMForwards",
    "X-Istio-*",
    "X-Kong-*",
    "X-NginX-Proxy",
    "X-Squid-*",
    "X-Traefik-*",
    "X-Varnish*",
    "X-WebAuth-*",
    "X-WebObjects-*",
    "WL-Proxy-*",
    "Tailscale-*",
    /* CDNs and platforms */
    "Akamai-*",
    "X-Akamai-*",
    "Ali-*",
    "CF-*",
    "CloudFront-*",
    "DO-Connecting-IP",
    "EO-*",
    "Fastly-*",
    "Fly-*",
    "Incap-*",
    "Oxygen-Buyer-IP",
    "QVIA",
    "X-Amz-Cf-*",
    "X-Amzn-*",
    "X-Appengine-*",
    "X-Azure-*",
    "X-Cdn-*",
    "X-Cloud-Trace-Context",
    "X-FD-*",
    "X-Fastly-*",
    "X-Goog-*",
    "X-Google-*",
    "X-GFE-*",
    "X-Heroku-*",
    "X-MS-*",
    "X-Nf-*",
    "X-Railway-*",
    "X-Sucuri-*",
    "X-Tencent-*",
    "X-Vercel-*",
    "X-WAF-*",
};

bool is_proxy_header(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(proxy_headers); i++) {
        size_t size = strcspn(proxy_headers[i], "*");
        if (strncasecmp(name, proxy_headers[i], size) == 0 && (proxy_headers[i][size] || name[size] == '\0'))
            return true;
    }
    return false;
}

/* --- trust --- */

int trust_rules_init(struct trust_rules *rules, enum trust operates, char *const *hosts, size_t n_hosts)
{
    *rules = (struct trust_rules){.operates = operates};
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

void trust_rules_done(struct trust_rules *rules)
{
    for (size_t i = 0; i < rules->n_hosts; i++)
        free(rules->hosts[i]);
    free(rules->hosts);
    *rules = (struct trust_rules){.operates = TRUST_OPERATOR};
}

static bool is_header(const char *name, const char *other)
{
    return strcasecmp(name, other) == 0;
}

/*
 * All browsers send a User-Agent with "Mozilla/" and Accept-Language. Browsers send no Sec-Fetch-* headers to origins
 * that they do not consider trustworthy, such as http://192.0.2.1/, and no Origin with requests for images. In some
 * browsers a script can replace User-Agent, but no script can remove Accept-Language.
 */
static bool comes_from_browser(const char *name, const char *value)
{
    return (is_header(name, "User-Agent") && str_starts(value, "Mozilla/")) || is_header(name, "Accept-Language") ||
           is_header(name, "Origin") || strncasecmp(name, "Sec-", 4) == 0;
}

/*
 * A script cannot set either of these headers in a request to another origin: Sec-Fetch-Site is set by the browser, and
 * before a request with TRUST_PROOF, the browser must first send a CORS preflight request.
 */
static void claim_origin(struct origin_headers *claims, const char *name, const char *value)
{
    if (is_header(name, "Sec-Fetch-Site")) {
        bool own = str_equal(value, "same-origin") || str_equal(value, "none");
        claims->same_origin |= own;
        claims->foreign |= !own;
    }
    if (is_header(name, TRUST_PROOF))
        claims->same_origin |= strcasecmp(value, TRUST_PROOF_VALUE) == 0;
}

void origin_header_add(struct origin_headers *claims, const char *name, const char *value)
{
    if (is_header(name, "Host"))
        claims->host = value;
    claims->forwarded |= is_proxy_header(name);
    claims->browser |= comes_from_browser(name, value);
    claim_origin(claims, name, value);
}

/*
 * A same-origin request only proves that the page and the server have the same host name, and that name may belong to
 * anybody (DNS rebinding).
 */
static bool comes_from_page(const struct origin_headers *claims, bool trusted_name)
{
    return claims->foreign || (claims->browser && !(claims->same_origin && trusted_name));
}

enum trust trust_of(bool authenticated, const struct peer *peer, const struct origin_headers *claims,
                    const struct host_names *names)
{
    bool own_name = !claims->host || host_is_own(claims->host, names);

    /*
     * The owner of a foreign host name (DNS rebinding) has no password or certificate for this server, so a page of
     * that owner cannot send an authenticated request.
     */
    if (comes_from_page(claims, own_name || authenticated))
        return TRUST_PAGE;
    if (authenticated)
        return TRUST_OPERATOR;
    if (claims->forwarded || !peer->local)
        return TRUST_EVERYBODY;
    if (peer->role != PEER_ANYBODY)
        return TRUST_OPERATOR;
    return own_name ? TRUST_LOCAL : TRUST_EVERYBODY;
}

bool trust_needs_no_credential(const struct peer *peer, const struct origin_headers *claims,
                               const struct host_names *names)
{
    struct peer anybody = *peer;

    anybody.role = PEER_ANYBODY;
    return peer->role == PEER_OWNER && trust_of(false, &anybody, claims, names) == TRUST_LOCAL;
}
