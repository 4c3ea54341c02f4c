/* SPDX-License-Identifier: Apache-2.0 */
/* Where a running daemon answers: see top-address.h. */
#include "top/address.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/cleanup.h"

void top_address_done(struct top_address *address)
{
    free(address->path);
    free(address->host);
    free(address->port);
    free(address->authority);
    free(address->prefix);
    *address = (struct top_address){0};
}

static int parse_unix(const char *path, struct top_address *address, struct error *error)
{
    struct sockaddr_un sockaddr;

    if (path[0] != '/' || strlen(path) >= sizeof(sockaddr.sun_path))
        return error_set(error, -EINVAL,
                         "--url: \"unix:\" needs a path from the root of at most %zu bytes, as in "
                         "unix:/run/perfcountd.sock",
                         sizeof(sockaddr.sun_path) - 1);
    address->path = strdup(path);
    address->authority = strdup("localhost");
    address->prefix = strdup("");
    return address->path && address->authority && address->prefix ? 0 : error_oom(error);
}

/* A character that would end the line of a request, or the address in it. */
static bool has_bad_character(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 127 || strchr("\"<>\\^`{|}?#", *text))
            return true;
    return false;
}

/* "HOST", "HOST:PORT", "[IPv6]" or "[IPv6]:PORT". */
static int parse_authority(struct top_address *address)
{
    const char *host = address->authority, *end = host + strcspn(host, ":"), *port = end;

    if (*host == '[') {
        end = strchr(++host, ']');
        port = end ? end + 1 : NULL;
    }
    if (!port || end == host || (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))))
        return -EINVAL;
    address->host = strndup(host, (size_t)(end - host));
    address->port = strdup(port[0] && port[1] ? port + 1 : "80");
    return address->host && address->port ? 0 : -ENOMEM;
}

static int parse_http(const char *rest, struct top_address *address, struct error *error)
{
    size_t size = strcspn(rest, "/"), prefix = strlen(rest) - size;

    while (prefix > 0 && rest[size + prefix - 1] == '/')
        prefix--;
    if (memchr(rest, '@', size))
        return error_set(error, -EPROTONOSUPPORT,
                         "--url: passwords are not supported, since http would send them as "
                         "they are; use the unix socket of that machine: ssh -L "
                         "10298:/run/perfcountd.sock HOST, and --url=http://127.0.0.1:10298");
    address->authority = strndup(rest, size);
    address->prefix = strndup(rest + size, prefix);
    if (!address->authority || !address->prefix)
        return error_oom(error);
    int r = has_bad_character(rest) ? -EINVAL : parse_authority(address);
    if (r == -EINVAL)
        return error_set(error, r, "--url: expected http://HOST:PORT, found \"http://%.128s\"", rest);
    return r < 0 ? error_oom(error) : 0;
}

int top_address_parse(const char *url, struct top_address *ret, struct error *error)
{
    _cleanup_(top_address_done) struct top_address address = {0};
    int r;

    if (str_starts(url, "unix:"))
        r = parse_unix(url + 5, &address, error);
    else if (str_starts(url, "http://"))
        r = parse_http(url + 7, &address, error);
    else if (str_starts(url, "https://"))
        r = error_set(error, -EPROTONOSUPPORT,
                      "--url: https is not supported here; use the unix socket of that "
                      "machine: ssh -L 10298:/run/perfcountd.sock HOST, and "
                      "--url=http://127.0.0.1:10298");
    else
        r = error_set(error, -EINVAL, "--url: expected http://HOST:PORT or unix:/PATH, found \"%.128s\"", url);
    if (r < 0)
        return r;
    *ret = address;
    address = (struct top_address){0};
    return 0;
}

static void resolve_unix(struct top_address *address)
{
    struct sockaddr_un *sockaddr = (struct sockaddr_un *)&address->endpoints[0].address;

    *sockaddr = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(sockaddr->sun_path, sizeof(sockaddr->sun_path), "%s", address->path);
    address->endpoints[0].size = sizeof(*sockaddr);
    address->endpoints[0].family = AF_UNIX;
    address->n_endpoints = 1;
}

int top_address_resolve(struct top_address *address, struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;

    if (address->path) {
        resolve_unix(address);
        return 0;
    }
    int r = getaddrinfo(address->host, address->port, &hints, &list);
    if (r != 0)
        return error_set(error, -EHOSTUNREACH, "--url: %.128s has no address: %s", address->host, gai_strerror(r));
    address->n_endpoints = 0;
    for (const struct addrinfo *at = list; at && address->n_endpoints < TOP_ENDPOINTS_MAX; at = at->ai_next) {
        if (at->ai_addrlen > sizeof(address->endpoints[0].address))
            continue;
        memcpy(&address->endpoints[address->n_endpoints].address, at->ai_addr, at->ai_addrlen);
        address->endpoints[address->n_endpoints].size = at->ai_addrlen;
        address->endpoints[address->n_endpoints++].family = at->ai_family;
    }
    freeaddrinfo(list);
    return 0;
}
