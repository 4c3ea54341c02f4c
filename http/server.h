/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: libmicrohttpd inside sd-event, one MHD daemon per listening socket, limits counted across them.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <systemd/sd-event.h>

#include "config/standing.h"
#include "http/service.h"

struct server;

/*
 * `limits` may be NULL for the defaults. Numbers of connections, bytes, nanoseconds.
 * Deadlines are for the whole of what they name: a client that sends a byte a second does not extend them.
 */
struct server_limits {
    unsigned connections, connections_per_address;
    size_t memory_per_connection; /* request line and headers must fit */
    uint64_t request_ns;          /* from accepting to the end of the first request's headers */
    uint64_t keepalive_ns;        /* from one response to the end of the next request's headers */
    uint64_t response_ns;         /* to take the response */
};

/* All that a reload can change. */
struct server_settings {
    char *const *addresses;
    size_t n_addresses;
    const char *telemetry_path;
    const char *web_config; /* path of the web configuration; "" or NULL for none */
    char *const *hosts;     /* names of this machine, besides its own */
    size_t n_hosts;
    enum standing operates; /* the lowest that may reload and pause */
    struct server_limits limits;
};

/* `service` must outlive the server; `telemetry_path` is copied. */
int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error);
/* Closes everything at once, also connections with a waiting client. */
struct server *server_free(struct server *server);

/*
 * Listens on exactly these addresses (config/address.h has the syntax): opens what is new, then retires what is gone,
 * whose open requests are answered first. On failure nothing changes. -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, -EINVAL...
 * with a sentence that names the address.
 */
int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error);
/*
 * Listens on sockets that a service manager handed over: TCP or unix, stream, listening. They are the server's then;
 * addresses are not listened on any more, here and by what follows. On failure nothing changes.
 */
int server_adopt(struct server *server, const int *fds, size_t n, struct error *error);
/*
 * Has connections and requests satisfy what a web configuration (config/web-config.h) says; "" or NULL for plain HTTP
 * open to all. Turning TLS on or off goes on with the same sockets, and with the connections that are open. From then
 * on the file, and those that it names, are looked at when somebody asks, at most once a second; what has changed takes
 * effect. What is wrong then is a complaint to the service, and what was there goes on.
 */
int server_secure(struct server *server, const char *web_config, struct error *error);
/* server_secure(), server_listen() and the rest, all or nothing. */
int server_configure(struct server *server, const struct server_settings *settings, struct error *error);
/* Serves the metrics at `path`, which is copied, and no more where it was. -ENOMEM. */
int server_set_telemetry_path(struct server *server, const char *path);
/* Has it trust what struct server_settings says; until then only operators operate. Copies the names. -ENOMEM. */
int server_trust(struct server *server, enum standing operates, char *const *hosts, size_t n_hosts);

/* The n-th address as it was bound (":0" has its port by then), as a URL; NULL past the last. Borrowed. */
const char *server_url(const struct server *server, size_t n);

#endif
