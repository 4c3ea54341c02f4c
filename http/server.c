/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: its listeners, and what their requests are answered from. See server.h. */
#include "http/server.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "http/listener.h"

struct listeners {
    struct listener **items;
    size_t n;
};

struct server {
    struct site site;
    struct connections connections;
    struct listeners active;  /* in the order in which they were asked for */
    struct listeners retired; /* answering what was asked before */
};

static void listeners_done(struct listeners *listeners)
{
    for (size_t i = 0; i < listeners->n; i++)
        listener_free(listeners->items[i]);
    free(listeners->items);
    *listeners = (struct listeners){0};
}

static struct listener *listeners_find(const struct listeners *listeners, const char *address)
{
    for (size_t i = 0; i < listeners->n; i++)
        if (str_equal(listener_address(listeners->items[i]), address))
            return listeners->items[i];
    return NULL;
}

static bool listeners_have(const struct listeners *listeners, const struct listener *listener)
{
    for (size_t i = 0; i < listeners->n; i++)
        if (listeners->items[i] == listener)
            return true;
    return false;
}

DEFINE_CLEANUP(struct server *, server_free);

int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error)
{
    _cleanup_(server_freep) struct server *server = calloc(1, sizeof(*server));

    if (!server)
        return error_oom(error);
    server->site.service = service;
    server->site.event = sd_event_ref(event);
    if (server_set_telemetry_path(server, telemetry_path) < 0)
        return error_oom(error);
    int r = connections_init(&server->connections, event, service, limits);
    if (r < 0)
        return error_set(error, r, "cannot add a timer to the event loop: %s", strerror(-r));
    *ret = steal(server);
    return 0;
}

struct server *server_free(struct server *server)
{
    if (!server)
        return NULL;
    listeners_done(&server->active);
    listeners_done(&server->retired);
    connections_done(&server->connections);
    pages_done(&server->site.pages);
    free(server->site.telemetry_path);
    sd_event_unref(server->site.event);
    free(server);
    return NULL;
}

int server_set_telemetry_path(struct server *server, const char *path)
{
    char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    free(server->site.telemetry_path);
    server->site.telemetry_path = copy;
    return 0;
}

/* `wanted` has the listener of each address, those that were there before and new ones; on failure it is incomplete. */
static int open_wanted(struct server *server, char *const *addresses, size_t n, struct listeners *wanted,
                       struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (listeners_find(wanted, addresses[i]))
            continue;
        struct listener *listener = listeners_find(&server->active, addresses[i]);
        int r = listener ? 0 : listener_open(&server->site, &server->connections, addresses[i], &listener, error);
        if (r < 0)
            return r;
        wanted->items[wanted->n++] = listener;
    }
    return 0;
}

static void on_empty(struct listener *listener, void *userdata)
{
    struct listeners *retired = &((struct server *)userdata)->retired;

    for (size_t i = 0; i < retired->n; i++)
        if (retired->items[i] == listener) {
            retired->items[i] = retired->items[--retired->n];
            listener_free(listener);
            return;
        }
}

static int make_room(struct listeners *listeners, size_t n)
{
    struct listener **larger = reallocarray(listeners->items, listeners->n + n + 1, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    listeners->items = larger;
    return 0;
}

/* Keeps what `wanted` has of the old ones from being freed with it. */
static void drop_new(const struct server *server, struct listeners *wanted)
{
    size_t n = 0;

    for (size_t i = 0; i < wanted->n; i++)
        if (!listeners_have(&server->active, wanted->items[i]))
            wanted->items[n++] = wanted->items[i];
    wanted->n = n;
    listeners_done(wanted);
}

int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error)
{
    struct listeners wanted = {0};

    if (make_room(&wanted, n) < 0 || make_room(&server->retired, server->active.n) < 0) {
        free(wanted.items);
        return error_oom(error);
    }
    int r = open_wanted(server, addresses, n, &wanted, error);
    if (r < 0) {
        drop_new(server, &wanted);
        return r;
    }
    for (size_t i = 0; i < server->active.n; i++) {
        struct listener *old = server->active.items[i];
        if (listeners_have(&wanted, old))
            continue;
        server->retired.items[server->retired.n++] = old;
        listener_retire(old, on_empty, server);
    }
    free(server->active.items);
    server->active = wanted;
    return 0;
}

int server_adopt(struct server *server, int *fds, size_t n, struct error *error)
{
    int r = make_room(&server->active, n) < 0 ? error_oom(error) : 0;

    for (size_t i = 0; i < n; i++) {
        if (r < 0) {
            close(fds[i]);
            continue;
        }
        r = listener_adopt(&server->site, &server->connections, fds[i], &server->active.items[server->active.n], error);
        server->active.n += r == 0;
    }
    return r;
}

const char *server_url(const struct server *server, size_t n)
{
    return n < server->active.n ? listener_url(server->active.items[n]) : NULL;
}
