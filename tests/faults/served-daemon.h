/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon on a machine that is played (played-daemon.h), and clients of it over real sockets.
 */
#ifndef TESTS_FAULTS_SERVED_DAEMON_H
#define TESTS_FAULTS_SERVED_DAEMON_H

#include <gnutls/gnutls.h>
#include <systemd/sd-event.h>

#include "base/util.h"
#include "tests/faults/played-daemon.h"

/* The longest answer. */
#define CLIENT_ROOM (8 << 20)
#define CLIENTS_MAX 8

enum outcome { CLIENT_WAITS, CLIENT_ANSWERED, CLIENT_CLOSED, CLIENT_MALFORMED };

struct client {
    int fd;               /* -1: it is not connected */
    gnutls_session_t tls; /* NULL: plain HTTP */
    bool shaken;          /* the handshake is done */
    unsigned serial;      /* of its certificate */
    char request[1024];   /* that is not sent yet */
    bool head;            /* an answer to HEAD has no body */
    char *in;             /* what has come, CLIENT_ROOM bytes */
    size_t size;
    enum outcome outcome;
    /* Of an answer: `head_size` bytes of head, then the body in one piece, as it was before it was cut into chunks. */
    unsigned status;
    size_t head_size, body_size;
    bool gzip;
};

/* Memory and credentials are got here, once. */
void client_init(struct client *client);
void client_done(struct client *client);
/* Connects to a URL as server_url() has it; by TLS where it begins with https. */
void client_connect(struct client *client, const char *url);
void client_disconnect(struct client *client);
/* Sends a request, "GET /metrics"; `headers` are "" or lines that end in CR LF. Connects first where it is not. */
void client_ask(struct client *client, const char *url, const char *request, const char *headers);
/* Takes what has come, without waiting. */
void client_step(struct client *client);

/* The body, decompressed in place and terminated by NUL; NULL if it is corrupt. */
const char *client_text(struct client *client);
/* The same of a body that is compressed by itself, as a profile is. */
const char *client_unpack(struct client *client, size_t *ret_size);
/* A header's value, without its end; NULL: there is none. */
const char *client_header(const struct client *client, const char *name);

/* An event that has not come by then never comes. */
#define EVENT_SECONDS 60
/* Where everything fails from some point on, there may be no answer until that is over. */
#define LAST_ANSWER_SECONDS 2

struct served_daemon {
    struct played *played;
    char web_config_file[64];
    struct client clients[CLIENTS_MAX];
    size_t n_clients;
};

/*
 * Starts nothing yet; the machine is freed by served_daemon_stop(). `web` are more members of the key `web`, "" or
 * ", KEY: ..."; `secure`: there is a web configuration, too; `config` is the rest.
 */
void served_daemon_init(struct served_daemon *served, struct fake_sys *fake, size_t n_clients);
void served_daemon_set_config(struct served_daemon *served, const char *web, bool secure, const char *config);
void served_daemon_set_web(struct served_daemon *served, const char *text);
void served_daemon_start(struct served_daemon *served);
void served_daemon_stop(struct served_daemon *served);

struct daemon *served_daemon_of(const struct served_daemon *served);
const char *served_daemon_url(const struct served_daemon *served);
/* The i-th client asks, without waiting for the answer. */
void served_daemon_ask(struct served_daemon *served, size_t i, const char *request, const char *headers);
/*
 * Turns the loop until no client waits. A client that hangs is a failure, unless faults_last(), and so is a malformed
 * answer.
 */
void served_daemon_wait(struct served_daemon *served);
/*
 * Turns the loop, and lets all clients take what has come, until the condition is met; at most for `seconds` of real
 * time. Returns whether it is met.
 */
bool served_daemon_until(struct served_daemon *served, bool (*is_met)(const void *userdata), const void *userdata,
                         double seconds);
/* The same until no client waits; one that hangs is no failure. */
bool served_daemon_until_idle(struct served_daemon *served, double seconds);
/* Turns the loop `n` times, without waiting for anything in it. */
void served_daemon_turn(struct served_daemon *served, unsigned n);
/* Both. Returns the client. */
struct client *served_daemon_get(struct served_daemon *served, size_t i, const char *request, const char *headers);

#endif
