/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: libmicrohttpd inside sd-event, with one MHD daemon per listening socket and limits that are counted
 * across all of them.
 *
 * All functions are called in the event loop's thread.
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
    const char *web_config; /* path of the web configuration; "" or NULL: none */
    char *const *hosts;     /* names of this machine, besides its own */
    size_t n_hosts;
    enum trust operates; /* the lowest trust that may reload and pause */
    struct server_limits limits;
};

/* `service` must outlive the server. `telemetry_path` is copied. `limits` may be NULL for the defaults. */
int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error);
/* Closes everything at once, including connections of clients that wait for a reply. */
struct server *server_free(struct server *server);

/*
 * Listens on exactly these addresses (for the syntax, see config/address.h). Opens the new ones, then retires those
 * that are gone, once their open requests are answered. On failure nothing changes; the error names the address:
 * -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, -EINVAL...
 */
int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error);
/*
 * Listens on sockets that a service manager passed in: listening stream sockets, TCP or unix. On success the server
 * owns them, and configured addresses are ignored from then on. On failure nothing changes.
 */
int server_adopt(struct server *server, const int *fds, size_t n, struct error *error);
/*
 * Applies a web configuration (config/web-config.h) to connections and requests. "" or NULL: plain HTTP, open to all.
 * TLS is switched on or off on the same sockets, and open connections stay. From then on the file, and the files that
 * it names, are checked for changes when a client arrives, at most once a second. If they cannot be loaded, the service
 * is told so and the previous settings stay in effect.
 */
int server_secure(struct server *server, const char *web_config, struct error *error);
/* Combines server_secure(), server_listen() and the setters; on failure nothing changes. */
int server_configure(struct server *server, const struct server_settings *settings, struct error *error);
/* Replaces the path of the metrics. `path` is copied. Returns -ENOMEM on failure. */
int server_set_telemetry_path(struct server *server, const char *path);
/*
 * Sets the members of struct server_settings with the same names. Until it is called, only operators may reload and
 * pause. Copies the names. Returns -ENOMEM on failure.
 */
int server_trust(struct server *server, enum trust operates, char *const *hosts, size_t n_hosts);

/* Whether a client waits for a reply, or has connected and may be sending its first request. */
bool server_is_answering(const struct server *server);
/*
 * Prepares for shutdown. Sockets that were passed in accept no more clients, who wait there for the next process.
 * Pending requests for rates are answered now, for the time that has passed.
 */
void server_hurry(struct server *server);

/* The URL of the n-th address, with the port that was bound (for ":0"). NULL past the last. Borrowed. */
const char *server_url(const struct server *server, size_t n);
/* Writes the n-th address for the log, as listener_describe() does. Returns false past the last. */
bool server_describe(const struct server *server, size_t n, char *text, size_t size);

#endif
