/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: libmicrohttpd in an sd-event loop, with one MHD daemon per listening socket and limits on all
 * sockets together.
 *
 * All functions of this module must be called in the event loop's thread.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <systemd/sd-event.h>

#include "config/trust.h"
#include "http/service.h"

struct server;

/* The settings that a reload can change. */
struct server_settings {
    char *const *addresses;
    size_t n_addresses;
    const char *telemetry_path;
    const char *web_config; /* path of the web configuration file; "" or NULL: none */
    char *const *hosts;     /* additional names of this machine */
    size_t n_hosts;
    enum trust operates; /* lowest trust of clients that may reload and pause */
    struct server_limits limits;
};

/*
 * `service` must outlive the server. `telemetry_path` is copied. `limits` may be NULL, which means the default limits.
 */
int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error);
/* Closes all sockets immediately, including connections of clients that wait for a reply. */
struct server *server_free(struct server *server);

/*
 * Listens on exactly these addresses (for the syntax, see config/address.h). Opens the new addresses first, and then
 * retires those that are no longer wanted: they are closed once their open requests are answered. On failure nothing
 * changes, and the error names the address: -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, -EINVAL...
 */
int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error);
/*
 * Listens on stream sockets (TCP or unix) that a service manager passed in. On success the server owns these sockets,
 * and configured addresses are ignored from then on. On failure nothing changes.
 */
int server_adopt(struct server *server, const int *fds, size_t n, struct error *error);
/*
 * Applies a web configuration (config/web-config.h) to connections and requests. A path of "" or NULL means plain HTTP
 * that is open to all. TLS is switched on or off on the same sockets, and connections stay open. From then on, the web
 * configuration file and the files that it names are checked for changes whenever a client arrives, but at most once a
 * second. If the files cannot be loaded, the error is reported to the service and the previous settings stay in effect.
 */
int server_secure(struct server *server, const char *web_config, struct error *error);
/* Does the work of server_secure(), server_listen() and the setters in one step; on failure nothing changes. */
int server_configure(struct server *server, const struct server_settings *settings, struct error *error);
/* Changes the URL path of the metrics. `path` is copied. Returns -ENOMEM on failure. */
int server_set_telemetry_path(struct server *server, const char *path);
/*
 * Sets which clients may reload and pause, and the additional names of this machine, as described in struct
 * server_settings. Before the first call, only operators may reload and pause. `hosts` is copied. Returns -ENOMEM on
 * failure.
 */
int server_trust(struct server *server, enum trust operates, char *const *hosts, size_t n_hosts);

/* Returns whether any client is waiting for a reply, or has connected and may be sending its first request. */
bool server_is_answering(const struct server *server);
/*
 * Prepares for shutdown. Stops accepting clients on sockets that were passed in, so that new clients wait for the next
 * process. Answers pending rate requests immediately, with the rates so far.
 */
void server_hurry(struct server *server);

/*
 * Returns the URL of the n-th address, with the actual port if port 0 was configured, or NULL past the last address.
 * Borrowed.
 */
const char *server_url(const struct server *server, size_t n);
/* Describes the n-th address for the log, as listener_describe() does. Returns false past the last address. */
bool server_describe(const struct server *server, size_t n, char *text, size_t size);

#endif
