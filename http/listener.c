/* SPDX-License-Identifier: Apache-2.0 */
/* One address that is listened on: see listener.h. */
#include "http/listener.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "http/acceptor.h"
#include "http/socket.h"

struct listener {
    struct site *site;
    struct connections *all;
    char *address, *url;
    struct mhd_terms terms;
    struct socket_file file;
    struct acceptor *acceptor; /* NULL: it is retired */
    struct mhd_loop *loop;
    void (*on_empty)(struct listener *listener, void *userdata);
    void *on_empty_userdata;
};

static void listener_take(void *userdata, int fd, const struct sockaddr *address, socklen_t size)
{
    struct listener *listener = userdata;

    mhd_loop_take(listener->loop, fd, address, size);
}

/* For an operator, by the error of accept(2). */
static const struct {
    int error;
    const char *remedy;
} remedies[] = {
    {EMFILE, ": raise the limit of open files (LimitNOFILE= of the unit)"},
    {ENFILE, ": raise the limit of open files of this machine (sysctl fs.file-max)"},
    {ENOBUFS, ": this machine has no memory for sockets"},
    {ENOMEM, ": this machine, or the service (MemoryMax= of the unit), has no memory for sockets"},
};

static const char *starve_remedy(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
        if (remedies[i].error == -error)
            return remedies[i].remedy;
    return "";
}

static void listener_starve(void *userdata, int error)
{
    const struct listener *listener = userdata;
    const struct service *service = listener->site->service;
    char sentence[512];

    snprintf(sentence, sizeof(sentence), "clients of %.200s wait to be accepted: %s (%s)%s", listener->url,
             strerror(-error), error_name(error), starve_remedy(error));
    if (service->complain)
        service->complain(service->userdata, sentence);
}

DEFINE_CLEANUP(struct listener *, listener_free);

static struct listener *listener_new(struct site *site, struct connections *all, const struct mhd_terms *terms)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener)
        *listener = (struct listener){.site = site, .all = all, .terms = *terms};
    return listener;
}

/* A URL with the scheme that is spoken here. */
static int listener_fix_scheme(struct listener *listener)
{
    const char *rest = strstr(listener->url, "://");
    char *url;

    if (!rest)
        return 0;
    if (asprintf(&url, "http%s%s", listener->terms.tls ? "s" : "", rest) < 0)
        return -ENOMEM;
    free(listener->url);
    listener->url = url;
    return 0;
}

/* The group of its file as it was bound: a file that replaces it later does not matter. */
static void listener_find_group(struct listener *listener, int fd)
{
    if (socket_group(fd, &listener->terms.group) < 0)
        listener->terms.group = PEER_ID_NOBODY;
}

/* For a listener that has its address and URL; takes the socket over on success. */
static int listener_serve(struct listener *listener, int *fd, struct error *error)
{
    const struct acceptor_calls calls = {.take = listener_take, .starve = listener_starve, .userdata = listener};

    if (listener_fix_scheme(listener) < 0)
        return error_oom(error);
    int r = mhd_loop_new(listener->site, listener->all, &listener->terms, &listener->loop);
    if (r == -EOPNOTSUPP)
        return error_set(error, r, "this libmicrohttpd was built without TLS");
    if (r == -EIO)
        return error_set(error, r, "cannot listen on \"%.128s\": libmicrohttpd did not start", listener->address);
    if (r == 0)
        r = acceptor_new(listener->site->event, *fd, &calls, &listener->acceptor);
    if (r < 0)
        return error_set(error, r, "cannot listen on \"%.128s\": %s", listener->address, strerror(-r));
    steal_fd(fd);
    return 0;
}

int listener_open(struct site *site, struct connections *all, const char *address, const struct mhd_terms *terms,
                  struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(site, all, terms);
    _cleanup_(closep) int fd = -1;

    if (!listener || !(listener->address = strdup(address)))
        return error_oom(error);
    int r = socket_listen(address, &fd, &listener->url, &listener->file, error);
    if (r < 0)
        return r;
    listener_find_group(listener, fd);
    r = listener_serve(listener, &fd, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

int listener_adopt(struct site *site, struct connections *all, int fd, const struct mhd_terms *terms,
                   struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(site, all, terms);
    _cleanup_(closep) int own = -1;

    if (!listener)
        return error_oom(error);
    int r = socket_adopt(fd, &own, &listener->url, error);
    if (r < 0)
        return r;
    listener_find_group(listener, own);
    listener->address = strdup(listener->url);
    r = listener->address ? listener_serve(listener, &own, error) : error_oom(error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

int listener_succeed(const struct listener *before, const struct mhd_terms *terms, struct listener **ret,
                     struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(before->site, before->all, terms);
    _cleanup_(closep) int fd = fcntl(acceptor_fd(before->acceptor), F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return error_set(error, -errno, "cannot listen on \"%.128s\": %s", before->address, strerror(errno));
    if (!listener || !(listener->address = strdup(before->address)) || !(listener->url = strdup(before->url)))
        return error_oom(error);
    listener->terms.group = before->terms.group;
    int r = listener_serve(listener, &fd, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

void listener_inherit(struct listener *listener, struct listener *before)
{
    listener->file = before->file;
    before->file = (struct socket_file){0};
}

bool listener_is_on(const struct listener *listener, const struct mhd_terms *terms)
{
    return listener->terms.tls == terms->tls && listener->terms.connections == terms->connections &&
           listener->terms.memory_per_connection == terms->memory_per_connection;
}

struct listener *listener_free(struct listener *listener)
{
    if (!listener)
        return NULL;
    acceptor_free(listener->acceptor);
    mhd_loop_free(listener->loop);
    socket_file_done(&listener->file);
    free(listener->address);
    free(listener->url);
    free(listener);
    return NULL;
}

const char *listener_address(const struct listener *listener)
{
    return listener->address;
}

const char *listener_url(const struct listener *listener)
{
    return listener->url;
}

void listener_describe(const struct listener *listener, char *text, size_t size)
{
    static const char *const others[] = {
        [SOCKET_REACH_MACHINE] = "",
        [SOCKET_REACH_NETWORK] = "",
        [SOCKET_REACH_IPV4] = " and all other IPv4 addresses of this machine",
        [SOCKET_REACH_IPV6] = " and all other IPv6 addresses of this machine",
        [SOCKET_REACH_ALL] = " and all other addresses of this machine",
    };
    enum socket_reach reach = socket_reach(acceptor_fd(listener->acceptor));
    bool open = reach != SOCKET_REACH_MACHINE && security_is_open(listener->site->security);

    snprintf(text, size, "%s%s%s", listener->url, others[reach], open ? ", without a password" : "");
}

void listener_leave(struct listener *listener)
{
    acceptor_stop(listener->acceptor);
}

static void listener_on_loop_empty(void *userdata)
{
    struct listener *listener = userdata;

    listener->on_empty(listener, listener->on_empty_userdata);
}

void listener_retire(struct listener *listener, void (*on_empty)(struct listener *listener, void *userdata),
                     void *userdata)
{
    listener->on_empty = on_empty;
    listener->on_empty_userdata = userdata;
    listener->acceptor = acceptor_free(listener->acceptor);
    socket_file_done(&listener->file);
    mhd_loop_retire(listener->loop, listener_on_loop_empty, listener);
}
