/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that the header Host names: see host.h. */
#include "http/host.h"

#include <arpa/inet.h>

/* Longer than any name of DNS and any address. */
#define NAME_MAX_SIZE 256

/* A name that is compared without regard to case, and to a dot at its end. */
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

/* Nothing, or a colon and digits. */
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
