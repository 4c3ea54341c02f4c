/* SPDX-License-Identifier: Apache-2.0 */
#include "http/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "config/address.h"

static const struct {
    int code;
    const char *name, *remedy;
} remedies[] = {
    {EADDRNOTAVAIL, "EADDRNOTAVAIL", "no interface of this machine has this address"},
    {EACCES, "EACCES", "ports below 1024 need CAP_NET_BIND_SERVICE, and a unix socket needs a writable directory"},
    {EPERM, "EPERM", "a security policy of this machine forbids it"},
    {ENOENT, "ENOENT", "the directory of the unix socket does not exist"},
    {ENOTDIR, "ENOTDIR", "a part of the path is not a directory"},
    {ENOTSOCK, "ENOTSOCK", "there is a file at this path, and it is not a socket"},
    {EROFS, "EROFS", "the file system is read-only"},
    {EAFNOSUPPORT, "EAFNOSUPPORT",
     "this kernel does not support this address family, or the unit forbids it (RestrictAddressFamilies=)"},
    {EMFILE, "EMFILE", "the limit of open files is reached (RLIMIT_NOFILE)"},
};

static in_port_t port_of(const struct address *address)
{
    if (address->socket.ss_family == AF_INET6)
        return ((const struct sockaddr_in6 *)&address->socket)->sin6_port;
    return ((const struct sockaddr_in *)&address->socket)->sin_port;
}

/*
 * Sets an error message that tells the operator how to find the process that uses the address, which this process may
 * not be allowed to find itself.
 */
static int busy_error(struct error *error, const char *text, const struct address *address)
{
    _cleanup_(buffer_done) struct buffer command = {0};
    bool local = address->socket.ss_family == AF_UNIX;

    if (local)
        buffer_appendf(&command, "ss -lxp src %s", ((const struct sockaddr_un *)&address->socket)->sun_path);
    else
        buffer_appendf(&command, "ss -ltnp sport = :%u", ntohs(port_of(address)));
    _cleanup_(freep) char *shown = buffer_string(&command);
    return error_set(error, -EADDRINUSE,
                     "cannot listen on \"%.128s\": %s (EADDRINUSE): another process listens there, and \"%.128s\" "
                     "shows which; stop it or choose another %s",
                     text, strerror(EADDRINUSE), shown ? shown : "ss -lp", local ? "path" : "port");
}

static int listen_error(struct error *error, const char *text, const struct address *address, int code)
{
    if (code == EADDRINUSE)
        return busy_error(error, text, address);
    for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
        if (remedies[i].code == code)
            return error_set(error, -code, "cannot listen on \"%.128s\": %s (%s): %s", text, strerror(code),
                             remedies[i].name, remedies[i].remedy);
    return error_set(error, -code, "cannot listen on \"%.128s\": %s", text, strerror(code));
}

/*
 * Removes a socket file that a dead process has left behind. Returns -EADDRINUSE if a process answers on the socket,
 * and -ENOTSOCK if the file is not a socket.
 */
static int remove_stale(const struct address *address, const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(status.st_mode))
        return -ENOTSOCK;
    _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address->socket, address->size) == 0 || errno == EAGAIN)
        return -EADDRINUSE;
    if (errno != ECONNREFUSED)
        return -errno;
    return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int bind_unix(int fd, const struct address *address)
{
    int r = remove_stale(address, ((const struct sockaddr_un *)&address->socket)->sun_path);

    if (r < 0)
        return r;
    /*
     * Because of the umask, the socket file has the right mode from the start. With chmod(2) after bind(2), any user
     * could connect in between.
     */
    mode_t mask = umask(0117);
    r = bind(fd, (const struct sockaddr *)&address->socket, address->size) < 0 ? -errno : 0;
    umask(mask);
    return r;
}

static int bind_ip(int fd, const struct address *address)
{
    int on = 1, only_v6 = !address->any;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    if (address->socket.ss_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6)) < 0)
        return -errno;
    return bind(fd, (const struct sockaddr *)&address->socket, address->size) < 0 ? -errno : 0;
}

static int listen_on(const struct address *address, int *ret_fd)
{
    int family = address->socket.ss_family;
    _cleanup_(closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    int r = family == AF_UNIX ? bind_unix(fd, address) : bind_ip(fd, address);
    if (r < 0)
        return r;
    if (listen(fd, SOMAXCONN) < 0)
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Returns the IPv4 wildcard address with the same port, for kernels without IPv6. */
static struct address any_ipv4(const struct address *address)
{
    struct address ipv4 = {.size = sizeof(struct sockaddr_in), .any = true};
    struct sockaddr_in *socket = (struct sockaddr_in *)&ipv4.socket;

    socket->sin_family = AF_INET;
    socket->sin_port = port_of(address);
    return ipv4;
}

/*
 * Returns the URL of the bound address. For a wildcard address, the URL has the host localhost, which works on this
 * machine.
 */
static char *bound_url(int fd, const struct address *address)
{
    _cleanup_(buffer_done) struct buffer url = {0};
    struct address bound = {.size = sizeof(bound.socket)};

    if (address->socket.ss_family == AF_UNIX)
        return address_format((const struct sockaddr *)&address->socket, address->size);
    if (getsockname(fd, (struct sockaddr *)&bound.socket, &bound.size) < 0)
        return NULL;
    if (!address->any)
        return address_format((const struct sockaddr *)&bound.socket, bound.size);
    buffer_appendf(&url, "http://localhost:%u/", ntohs(port_of(&bound)));
    return buffer_string(&url);
}

static int describe_file(const struct address *address, struct socket_file *file)
{
    struct stat status;

    if (address->socket.ss_family != AF_UNIX)
        return 0;
    const char *path = ((const struct sockaddr_un *)&address->socket)->sun_path;
    if (lstat(path, &status) < 0)
        return -errno;
    file->path = strdup(path);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return file->path ? 0 : -ENOMEM;
}

int socket_group(int fd, gid_t *ret)
{
    struct sockaddr_un address = {0};
    socklen_t size = sizeof(address) - 1; /* leaves room for a NUL after the path */
    struct stat status;

    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return -errno;
    if (address.sun_family != AF_UNIX)
        return -EAFNOSUPPORT;
    if (address.sun_path[0] != '/')
        return -ENOTSOCK;
    if (lstat(address.sun_path, &status) < 0)
        return -errno;
    if (!S_ISSOCK(status.st_mode))
        return -ENOTSOCK;
    *ret = status.st_gid;
    return 0;
}

int socket_listen(const char *text, int *ret_fd, char **ret_url, struct socket_file *ret_file, struct error *error)
{
    _cleanup_(socket_file_done) struct socket_file file = {0};
    _cleanup_(closep) int fd = -1;
    struct address address;

    int r = address_parse(text, &address, error);
    if (r < 0)
        return r;
    r = listen_on(&address, &fd);
    if (r == -EAFNOSUPPORT && address.any && address.socket.ss_family == AF_INET6) {
        address = any_ipv4(&address);
        r = listen_on(&address, &fd);
    }
    if (r == 0)
        r = describe_file(&address, &file);
    if (r < 0)
        return listen_error(error, text, &address, -r);
    char *url = bound_url(fd, &address);
    if (!url)
        return error_oom(error);
    *ret_fd = steal_fd(&fd);
    *ret_url = url;
    *ret_file = file;
    file = (struct socket_file){0};
    return 0;
}

static int socket_option(int fd, int level, int option)
{
    int value = 0;
    socklen_t size = sizeof(value);

    return getsockopt(fd, level, option, &value, &size) < 0 ? -errno : value;
}

static bool is_any(const struct sockaddr_storage *socket)
{
    if (socket->ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)socket)->sin6_addr);
    return socket->ss_family == AF_INET && ((const struct sockaddr_in *)socket)->sin_addr.s_addr == INADDR_ANY;
}

static bool is_loopback(const struct sockaddr_storage *socket)
{
    if (socket->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)socket)->sin6_addr);
    /* 127.0.0.0/8 (RFC 1122, section 3.2.1.3) */
    return ntohl(((const struct sockaddr_in *)socket)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

enum socket_reach socket_reach(int fd)
{
    struct sockaddr_storage socket = {0};
    socklen_t size = sizeof(socket);

    if (getsockname(fd, (struct sockaddr *)&socket, &size) < 0 || socket.ss_family == AF_UNIX || is_loopback(&socket))
        return SOCKET_REACH_MACHINE;
    if (!is_any(&socket))
        return SOCKET_REACH_NETWORK;
    if (socket.ss_family == AF_INET)
        return SOCKET_REACH_IPV4;
    return socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0 ? SOCKET_REACH_ALL : SOCKET_REACH_IPV6;
}

int socket_adopt(int fd, int *ret_fd, char **ret_url, struct error *error)
{
    struct address address = {.size = sizeof(address.socket)};

    int type = socket_option(fd, SOL_SOCKET, SO_TYPE);
    if (type < 0)
        return error_set(error, type, "descriptor %d, passed as a listening socket, is not a socket: %s", fd,
                         strerror(-type));
    if (type != SOCK_STREAM || socket_option(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1)
        return error_set(error, -EINVAL,
                         "the socket passed as descriptor %d is not a listening stream socket: its .socket unit needs "
                         "ListenStream= and Accept=no",
                         fd);
    if (getsockname(fd, (struct sockaddr *)&address.socket, &address.size) < 0)
        return error_set(error, -errno, "the socket passed as descriptor %d has no name: %s", fd, strerror(errno));
    int family = address.socket.ss_family;
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
        return error_set(error, -EAFNOSUPPORT, "the socket passed as descriptor %d is of address family %d", fd,
                         family);
    _cleanup_(closep) int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK) < 0)
        return error_set(error, -errno, "cannot take over descriptor %d: %s", fd, strerror(errno));
    address.any = is_any(&address.socket);
    char *url = bound_url(own, &address);
    if (!url)
        return error_oom(error);
    *ret_fd = steal_fd(&own);
    *ret_url = url;
    return 0;
}

void socket_file_done(struct socket_file *file)
{
    struct stat status;

    if (file->path && lstat(file->path, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode)
        unlink(file->path);
    free(file->path);
    *file = (struct socket_file){0};
}
