/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listener.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "http/socket.h"

/* How many clients are accepted in a row before connected clients are served. */
#define ACCEPTS_MAX 10
/* Time until the next attempt if no client can be accepted. */
#define PAUSE_USEC 100000
#define REPORT_USEC (60 * USEC_PER_SEC)

struct listener {
    struct listeners *all;
    char *address, *url; /* `address` as configured, or the URL for a socket that was passed in */
    struct mhd_terms terms;
    struct socket_file file;
    bool unix_socket;
    int fd;                      /* nonblocking socket; -1 if the listener is retired */
    sd_event_source *io, *timer; /* `io` accepts clients, and `timer` retries after a pause */
    uint64_t reported_usec;      /* time of the last report of failed accepts; 0 if there was none */
    struct mhd_loop *loop;
};

static struct listener *listener_free(struct listener *listener);

/* --- accepting --- */

/* Advice to the operator for errors from accept(2). */
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
        if (remedies[i].error == error)
            return remedies[i].remedy;
    return "";
}

/*
 * Handles an error that prevents accepting clients: there are no descriptors or memory, a security policy forbids it
 * (EACCES, EPERM), or the socket was shut down (EINVAL). Retries after a pause, and reports the error at most once a
 * minute.
 */
static void listener_starve(struct listener *listener, int error)
{
    const struct service *service = listener->all->site->service;
    char sentence[512];
    uint64_t now = 0;

    sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
    timer_arm_in(listener->timer, PAUSE_USEC);
    sd_event_now(listener->all->site->event, CLOCK_MONOTONIC, &now);
    if (!service->complain || (listener->reported_usec && now - listener->reported_usec < REPORT_USEC))
        return;
    listener->reported_usec = now;
    snprintf(sentence, sizeof(sentence), "clients of %.200s are waiting to be accepted: %s (%s)%s", listener->url,
             strerror(error), error_name(-error), starve_remedy(error));
    service->complain(service->userdata, sentence);
}

/*
 * Returns whether the error concerns a single client, which is gone (accept(2)). After any other error, the client is
 * still waiting.
 */
static bool is_error_of_client(int error)
{
    static const int errors[] = {EINTR,     ECONNABORTED, EPROTO,       ENETDOWN,   ENOPROTOOPT,
                                 EHOSTDOWN, ENONET,       EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH};

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i] == error)
            return true;
    return false;
}

/* Accepts one client. Returns whether another client may be waiting. */
static bool listener_accept(struct listener *listener)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int fd = accept4(listener->fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int error = fd < 0 ? errno : 0;

    if (fd >= 0)
        mhd_loop_take(listener->loop, fd, (const struct sockaddr *)&address, size);
    else if (error != EAGAIN && !is_error_of_client(error))
        listener_starve(listener, error);
    return fd >= 0 || is_error_of_client(error);
}

static int listener_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    for (unsigned i = 0; i < ACCEPTS_MAX && listener_accept(userdata); i++)
        continue;
    return 0;
}

static int listener_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct listener *listener = userdata;

    (void)source;
    (void)usec;
    sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
    return 0;
}

/* --- listener --- */

DEFINE_CLEANUP(struct listener *, listener_free);

static struct listener *listener_new(struct listeners *all, const struct mhd_terms *terms)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener)
        *listener = (struct listener){.all = all, .terms = *terms, .fd = -1};
    return listener;
}

/* Sets the scheme of listener->url to http or https, depending on TLS. */
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

/*
 * Records whether the listener has a unix socket and, if so, the group of the socket's file. The group is not updated
 * if the file is replaced later.
 */
static void listener_inspect_socket(struct listener *listener)
{
    int r = socket_group(listener->fd, &listener->terms.group);

    listener->unix_socket = r != -EAFNOSUPPORT;
    if (r < 0)
        listener->terms.group = PEER_ID_NOBODY;
}

/* Unix sockets use plain HTTP: their data stays on this machine, and the kernel says who the client is. */
static bool listener_uses_tls(const struct listener *listener, const struct mhd_terms *terms)
{
    return terms->tls && !listener->unix_socket;
}

static int listener_attach(struct listener *listener)
{
    sd_event *event = listener->all->site->event;
    int r = sd_event_add_io(event, &listener->io, listener->fd, EPOLLIN, listener_on_io, listener);

    return r < 0 ? r : timer_init(event, CLOCK_MONOTONIC, 1000, listener_on_timer, listener, &listener->timer);
}

/* Starts serving a listener whose socket, address and URL are set. */
static int listener_serve(struct listener *listener, struct error *error)
{
    struct listeners *all = listener->all;

    listener->terms.tls = listener_uses_tls(listener, &listener->terms);
    if (listener_fix_scheme(listener) < 0)
        return error_oom(error);
    int r = mhd_loop_new(all->site, all->connections, &listener->terms, &listener->loop);
    if (r == -EOPNOTSUPP)
        return error_set(error, r, "this libmicrohttpd was built without TLS");
    if (r == -EIO)
        return error_set(error, r, "cannot listen on \"%.128s\": libmicrohttpd did not start", listener->address);
    if (r == 0)
        r = listener_attach(listener);
    return r < 0 ? error_set(error, r, "cannot listen on \"%.128s\": %s", listener->address, strerror(-r)) : 0;
}

/* Opens a listener on the address. On failure the error message names the address. */
static int listener_open(struct listeners *all, const char *address, const struct mhd_terms *terms,
                         struct listener **ret, struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(all, terms);

    if (!listener || !(listener->address = strdup(address)))
        return error_oom(error);
    int r = socket_listen(address, &listener->fd, &listener->url, &listener->file, error);
    if (r < 0)
        return r;
    listener_inspect_socket(listener);
    r = listener_serve(listener, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

/*
 * Listens on a socket that a service manager passed in. The caller still owns the descriptor, and closes it on success.
 * The socket's file, if any, is never removed.
 */
static int listener_adopt(struct listeners *all, int fd, const struct mhd_terms *terms, struct listener **ret,
                          struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(all, terms);

    if (!listener)
        return error_oom(error);
    int r = socket_adopt(fd, &listener->fd, &listener->url, error);
    if (r < 0)
        return r;
    listener_inspect_socket(listener);
    listener->address = strdup(listener->url);
    r = listener->address ? listener_serve(listener, error) : error_oom(error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

/*
 * Listens on another listener's socket with new terms, so that no clients are refused in between. The listener `before`
 * must be retired afterwards.
 */
static int listener_succeed(const struct listener *before, const struct mhd_terms *terms, struct listener **ret,
                            struct error *error)
{
    _cleanup_(listener_freep) struct listener *listener = listener_new(before->all, terms);

    if (!listener || !(listener->address = strdup(before->address)) || !(listener->url = strdup(before->url)))
        return error_oom(error);
    listener->fd = fcntl(before->fd, F_DUPFD_CLOEXEC, 0);
    if (listener->fd < 0)
        return error_set(error, -errno, "cannot listen on \"%.128s\": %s", before->address, strerror(errno));
    listener->unix_socket = before->unix_socket;
    listener->terms.group = before->terms.group;
    int r = listener_serve(listener, error);
    if (r < 0)
        return r;
    *ret = steal(listener);
    return 0;
}

/*
 * Takes over the unix socket's file from the listener `before`. Must only be called when `before` will certainly be
 * retired.
 */
static void listener_inherit(struct listener *listener, struct listener *before)
{
    listener->file = before->file;
    before->file = (struct socket_file){0};
}

/* Returns whether the listener already uses these terms. */
static bool listener_is_on(const struct listener *listener, const struct mhd_terms *terms)
{
    return listener->terms.tls == listener_uses_tls(listener, terms) &&
           listener->terms.connections == terms->connections &&
           listener->terms.memory_per_connection == terms->memory_per_connection;
}

/* Closes the socket. Clients in the socket's backlog are refused, unless there is a duplicate of the descriptor. */
static void listener_close(struct listener *listener)
{
    listener->io = sd_event_source_disable_unref(listener->io);
    listener->timer = sd_event_source_disable_unref(listener->timer);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    socket_file_done(&listener->file);
}

/* Frees the listener, and ends its connections at once. */
static struct listener *listener_free(struct listener *listener)
{
    if (!listener)
        return NULL;
    listener_close(listener);
    mhd_loop_free(listener->loop);
    free(listener->address);
    free(listener->url);
    free(listener);
    return NULL;
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
    enum socket_reach reach = socket_reach(listener->fd);
    bool open = reach != SOCKET_REACH_MACHINE && security_is_open(listener->all->site->security);

    snprintf(text, size, "%s%s%s", listener->url, others[reach], open ? ", without a password" : "");
}

static void listener_on_empty(void *userdata)
{
    struct listener *listener = userdata;
    struct listener_list *retired = &listener->all->retired;

    for (size_t i = 0; i < retired->n; i++)
        if (retired->items[i] == listener) {
            retired->items[i] = retired->items[--retired->n];
            listener_free(listener);
            return;
        }
}

/* --- listeners --- */

static void listener_list_done(struct listener_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        listener_free(list->items[i]);
    free(list->items);
    *list = (struct listener_list){0};
}

static struct listener *listener_list_find(const struct listener_list *list, const char *address)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_equal(list->items[i]->address, address))
            return list->items[i];
    return NULL;
}

static bool listener_list_has(const struct listener_list *list, const struct listener *listener)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == listener)
            return true;
    return false;
}

/* Reserves space for `n` more listeners. */
static int listener_list_reserve(struct listener_list *list, size_t n)
{
    struct listener **larger = reallocarray(list->items, list->n + n + 1, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    list->items = larger;
    return 0;
}

void listeners_done(struct listeners *listeners)
{
    listener_list_done(&listeners->active);
    listener_list_done(&listeners->retired);
}

void listeners_leave(struct listeners *listeners)
{
    for (size_t i = 0; listeners->adopted && i < listeners->active.n; i++) {
        sd_event_source_set_enabled(listeners->active.items[i]->io, SD_EVENT_OFF);
        timer_disarm(listeners->active.items[i]->timer);
    }
}

/* A change in progress: everything is opened before anything takes effect. */
struct listeners_plan {
    struct listeners *listeners;
    const struct mhd_terms *terms;
    struct listener_list wanted; /* existing and new listeners that will be active */
};

static int listeners_plan_init(struct listeners_plan *plan, struct listeners *listeners, const struct mhd_terms *terms,
                               size_t n, struct error *error)
{
    size_t n_active = listeners->active.n;

    *plan = (struct listeners_plan){.listeners = listeners, .terms = terms};
    if (listener_list_reserve(&plan->wanted, MAX(n, n_active)) == 0 &&
        listener_list_reserve(&listeners->retired, n_active) == 0)
        return 0;
    free(plan->wanted.items);
    return error_oom(error);
}

/* Plans the listener for an address: the active listener, its successor on the same socket, or a new listener. */
static int listeners_plan_address(struct listeners_plan *plan, const char *address, struct error *error)
{
    struct listeners *listeners = plan->listeners;
    struct listener *before = listener_list_find(&listeners->active, address), *listener = before;
    int r = 0;

    if (listener_list_find(&plan->wanted, address))
        return 0;
    if (!before)
        r = listener_open(listeners, address, plan->terms, &listener, error);
    else if (!listener_is_on(before, plan->terms))
        r = listener_succeed(before, plan->terms, &listener, error);
    if (r == 0)
        plan->wanted.items[plan->wanted.n++] = listener;
    return r;
}

static int listeners_plan_active(struct listeners_plan *plan, struct error *error)
{
    const struct listener_list *active = &plan->listeners->active;
    int r = 0;

    for (size_t i = 0; i < active->n && r == 0; i++)
        r = listeners_plan_address(plan, active->items[i]->address, error);
    return r;
}

static int listeners_plan_adopted(struct listeners_plan *plan, const int *fds, size_t n, struct error *error)
{
    struct listeners *listeners = plan->listeners;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct listener **place = &plan->wanted.items[plan->wanted.n];
        r = listener_adopt(listeners, fds[i], plan->terms, place, error);
        plan->wanted.n += r == 0;
    }
    return r;
}

/* Frees the new listeners of a plan, but not the active listeners. */
static void listeners_plan_drop(struct listeners_plan *plan)
{
    struct listener_list *wanted = &plan->wanted;
    size_t n = 0;

    for (size_t i = 0; i < wanted->n; i++)
        if (!listener_list_has(&plan->listeners->active, wanted->items[i]))
            wanted->items[n++] = wanted->items[i];
    wanted->n = n;
    listener_list_done(wanted);
}

/*
 * Retires a listener: it stops listening, answers the open requests, and is freed when its last connection has closed.
 */
static void listeners_retire(struct listeners *listeners, struct listener *old, const struct listener_list *wanted)
{
    struct listener *successor = listener_list_find(wanted, old->address);

    if (successor)
        listener_inherit(successor, old);
    listeners->retired.items[listeners->retired.n++] = old;
    listener_close(old);
    mhd_loop_retire(old->loop, listener_on_empty, old);
}

/* Carries out the plan, or abandons it if `r` is an error. */
static int listeners_plan_done(struct listeners_plan *plan, int r)
{
    struct listeners *listeners = plan->listeners;

    if (r < 0) {
        listeners_plan_drop(plan);
        return r;
    }
    for (size_t i = 0; i < listeners->active.n; i++)
        if (!listener_list_has(&plan->wanted, listeners->active.items[i]))
            listeners_retire(listeners, listeners->active.items[i], &plan->wanted);
    free(listeners->active.items);
    listeners->active = plan->wanted;
    return 0;
}

int listeners_change(struct listeners *listeners, const struct mhd_terms *terms, char *const *addresses, size_t n,
                     struct error *error)
{
    struct listeners_plan plan;

    int r = listeners_plan_init(&plan, listeners, terms, n, error);
    if (r < 0)
        return r;
    if (!addresses || listeners->adopted)
        r = listeners_plan_active(&plan, error);
    else
        for (size_t i = 0; i < n && r == 0; i++)
            r = listeners_plan_address(&plan, addresses[i], error);
    return listeners_plan_done(&plan, r);
}

int listeners_adopt(struct listeners *listeners, const struct mhd_terms *terms, const int *fds, size_t n,
                    struct error *error)
{
    struct listeners_plan plan;

    int r = listeners_plan_init(&plan, listeners, terms, n, error);
    if (r < 0)
        return r;
    r = listeners_plan_done(&plan, listeners_plan_adopted(&plan, fds, n, error));
    if (r < 0)
        return r;
    listeners->adopted = true;
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return 0;
}
