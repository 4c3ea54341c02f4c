/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of proxies: see forwarding.h. A row each. */
#include "http/forwarding.h"

/* By the standards (RFC 7239, 8586, 9110), then by usage; after that those of products and content networks. */
const char *const forwarding_names[] = {
    "Forwarded",
    "Forwarded-*",
    "Via",
    "CDN-*",
    "Max-Forwards",
    "Proxy-*", /* Proxy-Client-IP, and Proxy-Connection, which is for proxies alone */
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
    /* servers and gateways that are set up by their owners */
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
    /* content networks and platforms */
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
const size_t n_forwarding_names = ARRAY_SIZE(forwarding_names);

bool forwarding_is(const char *name)
{
    for (size_t i = 0; i < n_forwarding_names; i++) {
        size_t size = strcspn(forwarding_names[i], "*");
        if (strncasecmp(name, forwarding_names[i], size) == 0 && (forwarding_names[i][size] || name[size] == '\0'))
            return true;
    }
    return false;
}
