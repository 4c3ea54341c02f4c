/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon on a simulated machine (simulated-daemon.h), and clients that use real sockets. */
#ifndef TESTS_FAULTS_SERVED_DAEMON_H
#define TESTS_FAULTS_SERVED_DAEMON_H

#include <gnutls/gnutls.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "tests/faults/simulated-daemon.h"

/* Upper bound on a response, in bytes. */
#define CLIENT_ROOM (8 << 20)
#define CLIENTS_MAX 8

enum outcome { CLIENT_WAITS, CLIENT_ANSWERED, CLIENT_CLOSED, CLIENT_MALFORMED };

struct client {
    int fd;               /* -1: not connected */
    gnutls_session_t tls; /* NULL: plain HTTP */
    bool shaken;          /* the TLS handshake is done */
    unsigned serial;      /* serial number of the server's certificate */
    char request[1024];   /* the request to send; "" once it is sent */
    bool head;            /* the request is a HEAD, whose response has no body */
    char *in;             /* received data, CLIENT_ROOM bytes */
    size_t size;
    enum outcome outcome;
    /* A response: `head_size` bytes of head, then the body without its chunk headers. */
    unsigned status;
    size_t head_size, body_size;
    bool gzip;
};

/* Allocates the buffer for responses, and the credentials that all clients share. */
void client_init(struct client *client);
void client_done(struct client *client);
/* Connects to a URL from server_url(), with TLS if it begins with https. */
void client_connect(struct client *client, const char *url);
void client_disconnect(struct client *client);
/* Sends a request such as "GET /metrics"; `headers` are "" or lines that end in CR LF. Connects first if necessary. */
void client_ask(struct client *client, const char *url, const char *request, const char *headers);
/* Reads what has arrived, without waiting. */
void client_step(struct client *client);

/* Returns the body, decompressed in place and NUL-terminated; NULL if it is corrupt. */
const char *client_text(struct client *client);
/* The same, but also decompresses content that is itself compressed, such as a pprof profile. */
const char *client_unpack(struct client *client, size_t *ret_size);
/* Returns the value of this header, as a pointer into the head; NULL if the header is missing. */
const char *client_header(const struct client *client, const char *name);

/* Upper bound for waits: an event that has not occurred by then never will. */
#define EVENT_SECONDS 60
/* Upper bound for waits while faults_last(), since there may be no response until the fault is over. */
#define LAST_ANSWER_SECONDS 2

struct served_daemon {
    struct simulated *simulated;
    char web_config_file[64];
    struct client clients[CLIENTS_MAX];
    size_t n_clients;
};

/*
 * Does not start the daemon; served_daemon_stop() frees the machine. `web` is appended to the members of the
 * configuration key `web`: it is empty or begins with a comma. `secure` sets a web configuration file. `config` is the
 * rest of the configuration.
 */
void served_daemon_init(struct served_daemon *served, struct fake_sys *fake, size_t n_clients);
void served_daemon_set_config(struct served_daemon *served, const char *web, bool secure, const char *config);
void served_daemon_set_web(struct served_daemon *served, const char *text);
void served_daemon_start(struct served_daemon *served);
void served_daemon_stop(struct served_daemon *served);

struct daemon *served_daemon_of(const struct served_daemon *served);
const char *served_daemon_url(const struct served_daemon *served);
/* The i-th client sends a request, without waiting for the response. */
void served_daemon_ask(struct served_daemon *served, size_t i, const char *request, const char *headers);
/*
 * Runs the event loop until no client waits. The test point fails if a response is malformed, or if a client hangs
 * while faults_last() is false.
 */
void served_daemon_wait(struct served_daemon *served);
/*
 * Runs the event loop, and lets all clients read, until the condition is met, for at most `seconds` of real time.
 * Returns whether it is met.
 */
bool served_daemon_until(struct served_daemon *served, bool (*is_met)(const void *userdata), const void *userdata,
                         double seconds);
/* The same, until no client waits for a response; a client that hangs is not a failure. */
bool served_daemon_until_idle(struct served_daemon *served, double seconds);
/* Runs the event loop `n` times without waiting. */
void served_daemon_turn(struct served_daemon *served, unsigned n);
/* Sends a request and waits for the response. Returns the client. */
struct client *served_daemon_get(struct served_daemon *served, size_t i, const char *request, const char *headers);

#endif
