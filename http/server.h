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

/* `service` must outlive the server; `telemetry_path` is copied; `limits` may be NULL for the defaults. */
int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error);
/* Closes everything at once, also connections of clients that wait. */
struct server *server_free(struct server *server);

/*
 * Listens on exactly these addresses (config/address.h has the syntax): opens what is new, then retires what is gone
 * after its open requests were answered. On failure nothing changes. -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, -EINVAL...
 * with a sentence that names the address.
 */
int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error);
/*
 * Listens on sockets that a service manager handed over: TCP or unix, stream, listening. The server owns them then, and
 * listens on addresses no more, now and later. On failure nothing changes.
 */
int server_adopt(struct server *server, const int *fds, size_t n, struct error *error);
/*
 * Holds connections and requests to a web configuration (config/web-config.h); "" or NULL: plain HTTP, open to all.
 * TLS goes on or off on the same sockets, and open connections stay. From then on the file, and the files that it
 * names, are checked when a client comes, at most once a second, and changes take effect. An error in them is reported
 * to the service, and the settings of before stay in force.
 */
int server_secure(struct server *server, const char *web_config, struct error *error);
/* server_secure(), server_listen() and the rest, all or nothing. */
int server_configure(struct server *server, const struct server_settings *settings, struct error *error);
/* Serves the metrics at `path`, which is copied, instead of the path of before. -ENOMEM. */
int server_set_telemetry_path(struct server *server, const char *path);
/* Sets what struct server_settings has; until then only operators operate. Copies the names. -ENOMEM. */
int server_trust(struct server *server, enum standing operates, char *const *hosts, size_t n_hosts);

/* Whether a client waits for an answer, or has connected and may be sending its first request. */
bool server_is_answering(const struct server *server);
/*
 * Before the end: clients that come to sockets which were handed over wait there for the next process, and rates are
 * answered now, over the time that they have had.
 */
void server_hurry(struct server *server);

/* The n-th address as it was bound (":0" has its port by then), as a URL; NULL past the last. Borrowed. */
const char *server_url(const struct server *server, size_t n);
/* The same for the log, as listener_describe() has it. False past the last. */
bool server_describe(const struct server *server, size_t n, char *text, size_t size);

#endif
