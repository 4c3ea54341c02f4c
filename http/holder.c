/* SPDX-License-Identifier: Apache-2.0 */
#include "http/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/number.h"

/* TCP_LISTEN (include/net/tcp_states.h), as shown in /proc/net/tcp. */
#define STATE_LISTEN 0x0a
/* __SO_ACCEPTCON (include/uapi/linux/net.h): the flag of a listening unix socket. */
#define FLAG_LISTENS 0x10000

/* IPv4 addresses are mapped to IPv6. */
static struct in6_addr ip_of(const struct address *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
    struct in6_addr ip = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

    if (address->socket.ss_family == AF_INET6)
        return ((const struct sockaddr_in6 *)&address->socket)->sin6_addr;
    memcpy(&ip.s6_addr[12], &v4->sin_addr, sizeof(v4->sin_addr));
    return ip;
}

static in_port_t port_of(const struct address *address)
{
    return address->socket.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address->socket)->sin6_port
                                                 : ((const struct sockaddr_in *)&address->socket)->sin_port;
}

static bool ip_is_any(const struct in6_addr *ip)
{
    return IN6_IS_ADDR_UNSPECIFIED(ip) ||
           (IN6_IS_ADDR_V4MAPPED(ip) && memcmp(&ip->s6_addr[12], &(struct in_addr){0}, sizeof(struct in_addr)) == 0);
}

/*
 * Parses the words of an address. Each of them is printed in host byte order (net/ipv4/tcp_ipv4.c,
 * net/ipv6/tcp_ipv6.c).
 */
static bool parse_ip(const char *digits, size_t size, struct in6_addr *ret)
{
    struct in6_addr ip = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    size_t at = size == 8 ? 12 : 0;
    unsigned word;

    if (size != 8 && size != 32)
        return false;
    for (; at < sizeof(ip); at += sizeof(word), digits += 8) {
        if (sscanf(digits, "%8x", &word) != 1)
            return false;
        memcpy(&ip.s6_addr[at], &word, sizeof(word));
    }
    *ret = ip;
    return true;
}

/*
 * Returns 2 if the line is a socket that listens on the address, 1 if either address is the wildcard, else 0.
 */
static int match_ip_line(const char *line, const struct address *address, uint64_t *ret_inode)
{
    struct in6_addr ip, own = ip_of(address);
    unsigned port, state;
    char digits[33];

    if (sscanf(line, "%*[^:]: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %" SCNu64, digits, &port, &state, ret_inode) !=
            4 ||
        state != STATE_LISTEN || port != ntohs(port_of(address)) || !parse_ip(digits, strlen(digits), &ip))
        return 0;
    if (IN6_ARE_ADDR_EQUAL(&ip, &own))
        return 2;
    return ip_is_any(&ip) || ip_is_any(&own);
}

static int match_unix_line(const char *line, const struct address *address, uint64_t *ret_inode)
{
    const char *path = ((const struct sockaddr_un *)&address->socket)->sun_path;
    unsigned flags;
    int start = 0;

    if (sscanf(line, "%*[^:]: %*x %*x %x %*x %*x %" SCNu64 " %n", &flags, ret_inode, &start) != 2 || start == 0)
        return 0;
    size_t size = strlen(path);
    return (flags & FLAG_LISTENS) && strncmp(line + start, path, size) == 0 && line[start + (int)size] == '\n' ? 2 : 0;
}

/*
 * Searches a table of /proc/net. A match better than `best` replaces `*ret_inode`. Returns the better of `best` and the
 * best match.
 */
static int search_table(const char *path, const struct address *address, int best, uint64_t *ret_inode)
{
    int (*match)(const char *, const struct address *, uint64_t *) =
        address->socket.ss_family == AF_UNIX ? match_unix_line : match_ip_line;
    _cleanup_(fclosep) FILE *table = fopen(path, "re");
    _cleanup_(freep) char *line = NULL;
    size_t size = 0;
    uint64_t inode;

    while (table && getline(&line, &size, table) > 0) {
        int matched = match(line, address, &inode);
        if (matched <= best)
            continue;
        best = matched;
        *ret_inode = inode;
    }
    return best;
}

/* Whether the process has the socket open. Also false if this user may not see its descriptors. */
static bool process_has_socket(int process, const char *link)
{
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *fds = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    char target[64];

    if (!fds && fd >= 0)
        close(fd);
    while (fds && (entry = readdir(fds))) {
        ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (str_equal(target, link))
            return true;
    }
    return false;
}

static void read_name(int process, char *name, size_t size)
{
    _cleanup_(closep) int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, size - 1) : 0;

    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (char *c = name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static int find_process(const char *link, struct holder *ret)
{
    _cleanup_(closedirp) DIR *processes = opendir("/proc");
    const struct dirent *entry;
    uint64_t pid;

    while (processes && (entry = readdir(processes))) {
        if (number_parse_u64(entry->d_name, &pid) < 0)
            continue;
        _cleanup_(closep) int process = openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0 || !process_has_socket(process, link))
            continue;
        ret->pid = (pid_t)pid;
        read_name(process, ret->name, sizeof(ret->name));
        return 0;
    }
    return -ENOENT;
}

int holder_find(const struct address *address, struct holder *ret)
{
    uint64_t inode = 0;
    char link[64];
    int best;

    if (address->socket.ss_family == AF_UNIX)
        best = search_table("/proc/net/unix", address, 0, &inode);
    else
        best = search_table("/proc/net/tcp6", address, search_table("/proc/net/tcp", address, 0, &inode), &inode);
    if (best == 0)
        return -ENOENT;
    snprintf(link, sizeof(link), "socket:[%" PRIu64 "]", inode);
    return find_process(link, ret);
}
