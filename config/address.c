/* SPDX-License-Identifier: Apache-2.0 */
#include "config/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/number.h"

#define UNIX_PREFIX "unix:"

static int address_parse_unix(const char *text, const char *path, struct address *ret, struct error *error)
{
    struct address address = {0};
    struct sockaddr_un *name = (struct sockaddr_un *)&address.socket;
    size_t size = strlen(path);

    if (path[0] != '/')
        return error_set(error, -EINVAL, "\"%s\": the path of a unix socket must be absolute, as in unix:/run/x.sock",
                         text);
    if (size >= sizeof(name->sun_path))
        return error_set(error, -EINVAL,
                         "\"%s\": the path of a unix socket can have at most %zu bytes, but this one has %zu", text,
                         sizeof(name->sun_path) - 1, size);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, size + 1);
    address.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    *ret = address;
    return 0;
}

static int address_parse_port(const char *text, const char *digits, in_port_t *ret, struct error *error)
{
    uint64_t port;

    /* The digits of the port are checked here, because number_parse_u64() would also accept 0x50. */
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return error_set(error, -EINVAL, "\"%s\": \"%s\" is not a port number (0 to 65535)", text, digits);
    if (number_parse_u64(digits, &port) < 0 || port > UINT16_MAX)
        return error_set(error, -EINVAL, "\"%s\": port %s is out of range (0 to 65535)", text, digits);
    *ret = htons((in_port_t)port);
    return 0;
}

/* Refuses an address without a colon, because it is usually a bare port. */
static int address_refuse_portless(const char *text, struct error *error)
{
    in_port_t port;

    if (address_parse_port(text, text, &port, NULL) == 0)
        return error_set(error, -EINVAL,
                         "\"%s\" has no colon: write :%s for all addresses of this machine, or 127.0.0.1:%s for this "
                         "machine alone",
                         text, text, text);
    return error_set(error, -EINVAL, "\"%s\" has no port: expected :PORT, HOST:PORT, [IPv6]:PORT or unix:/PATH", text);
}

/* Parses the zone after the "%" in fe80::1%eth0: the name or number of an interface. */
static int address_parse_zone(const char *text, const char *zone, const struct in6_addr *host, uint32_t *ret,
                              struct error *error)
{
    uint64_t number;

    if (!IN6_IS_ADDR_LINKLOCAL(host))
        return error_set(error, -EINVAL, "\"%s\": only link-local addresses (fe80::) can have a zone, such as \"%%%s\"",
                         text, zone);
    if (number_parse_u64(zone, &number) < 0)
        number = if_nametoindex(zone);
    if (number == 0 || number > UINT32_MAX)
        return error_set(error, -EINVAL, "\"%s\": there is no network interface \"%s\"", text, zone);
    *ret = (uint32_t)number;
    return 0;
}

static int address_parse_ipv6(const char *text, char *host, in_port_t port, struct address *ret, struct error *error)
{
    struct address address = {.size = sizeof(struct sockaddr_in6)};
    struct sockaddr_in6 *name = (struct sockaddr_in6 *)&address.socket;
    char *zone = strchr(host, '%');
    int r;

    if (zone)
        *zone++ = '\0';
    name->sin6_family = AF_INET6;
    name->sin6_port = port;
    if (inet_pton(AF_INET6, host, &name->sin6_addr) != 1)
        return error_set(error, -EINVAL, "\"%s\": \"%s\" is not an IPv6 address", text, host);
    if (zone) {
        r = address_parse_zone(text, zone, &name->sin6_addr, &name->sin6_scope_id, error);
        if (r < 0)
            return r;
    }
    *ret = address;
    return 0;
}

static int address_parse_ipv4(const char *text, const char *host, in_port_t port, struct address *ret,
                              struct error *error)
{
    struct address address = {.size = sizeof(struct sockaddr_in)};
    struct sockaddr_in *name = (struct sockaddr_in *)&address.socket;

    name->sin_family = AF_INET;
    name->sin_port = port;
    if (strchr(host, ':'))
        return error_set(error, -EINVAL, "\"%s\": write an IPv6 address in brackets, as in [::1]:10298", text);
    if (inet_pton(AF_INET, host, &name->sin_addr) != 1)
        return error_set(error, -EINVAL,
                         "\"%s\": \"%s\" is not an IP address, and names are not resolved: write 127.0.0.1:%u or "
                         "[::1]:%u for this machine alone, or :%u for all its addresses",
                         text, host, ntohs(port), ntohs(port), ntohs(port));
    *ret = address;
    return 0;
}

static void address_set_any(in_port_t port, struct address *ret)
{
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_ANY_INIT};

    *ret = (struct address){.size = sizeof(name), .any = true};
    memcpy(&ret->socket, &name, sizeof(name));
}

int address_parse(const char *text, struct address *ret, struct error *error)
{
    in_port_t port = 0;
    int r;

    if (str_starts(text, UNIX_PREFIX))
        return address_parse_unix(text, text + strlen(UNIX_PREFIX), ret, error);
    if (strstr(text, "://"))
        return error_set(error, -EINVAL, "\"%s\" is a URL: expected an address such as :10298", text);
    _cleanup_(freep) char *host = strdup(text);
    if (!host)
        return error_oom(error);
    char *colon = strrchr(host, ':');
    if (!colon)
        return address_refuse_portless(text, error);
    *colon = '\0';
    if (host[0] == '[' && (colon == host + 1 || colon[-1] != ']'))
        return error_set(error, -EINVAL, "\"%s\": expected [IPv6]:PORT, as in [::1]:10298", text);
    r = address_parse_port(text, colon + 1, &port, error);
    if (r < 0)
        return r;
    if (host[0] == '\0') {
        address_set_any(port, ret);
        return 0;
    }
    if (host[0] != '[')
        return address_parse_ipv4(text, host, port, ret, error);
    colon[-1] = '\0';
    return address_parse_ipv6(text, host + 1, port, ret, error);
}

static char *text_printf(const char *format, ...) PRINTF_LIKE(1, 2);
static char *text_printf(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

static char *address_format_unix(const struct sockaddr_un *name, socklen_t size)
{
    size_t length = size > offsetof(struct sockaddr_un, sun_path) ? size - offsetof(struct sockaddr_un, sun_path) : 0;

    if (length && name->sun_path[0] == '\0') /* an abstract socket's name starts with a NUL and is not NUL-terminated */
        return text_printf(UNIX_PREFIX "@%.*s", (int)length - 1, name->sun_path + 1);
    return text_printf(UNIX_PREFIX "%.*s", (int)length, name->sun_path);
}

/* In URLs, "localhost" replaces the wildcard address, to which clients cannot connect. */
static char *address_format_ipv6(const struct sockaddr_in6 *name)
{
    char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE + 3] = "", interface[IF_NAMESIZE];

    if (IN6_IS_ADDR_UNSPECIFIED(&name->sin6_addr))
        return text_printf("http://localhost:%u/", ntohs(name->sin6_port));
    if (name->sin6_scope_id) { /* in a URL, the "%" before a zone is escaped (RFC 6874) */
        if (!if_indextoname(name->sin6_scope_id, interface))
            snprintf(interface, sizeof(interface), "%u", name->sin6_scope_id);
        snprintf(zone, sizeof(zone), "%%25%s", interface);
    }
    inet_ntop(AF_INET6, &name->sin6_addr, host, sizeof(host));
    return text_printf("http://[%s%s]:%u/", host, zone, ntohs(name->sin6_port));
}

static char *address_format_ipv4(const struct sockaddr_in *name)
{
    char host[INET_ADDRSTRLEN] = "localhost";

    if (name->sin_addr.s_addr != htonl(INADDR_ANY))
        inet_ntop(AF_INET, &name->sin_addr, host, sizeof(host));
    return text_printf("http://%s:%u/", host, ntohs(name->sin_port));
}

char *address_format(const struct sockaddr *socket, socklen_t size)
{
    switch (socket->sa_family) {
    case AF_UNIX:
        return address_format_unix((const struct sockaddr_un *)socket, size);
    case AF_INET6:
        return address_format_ipv6((const struct sockaddr_in6 *)socket);
    case AF_INET:
        return address_format_ipv4((const struct sockaddr_in *)socket);
    default:
        return text_printf("address family %d", socket->sa_family);
    }
}
