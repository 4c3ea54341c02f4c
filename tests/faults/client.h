/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of an HTTP server that runs in this process: they turn its event loop while they wait. Only the turns of the
 * loop are part of the injection, and not the clients.
 *
 * A client is strict: an answer is whole only if it is well-formed and says where it ends. An answer that is cut
 * short before that end is a closed connection; a client that gets nothing for its seconds hangs.
 */
#ifndef TESTS_FAULTS_CLIENT_H
#define TESTS_FAULTS_CLIENT_H

#include <gnutls/gnutls.h>
#include <systemd/sd-event.h>

#include "base/util.h"

/* The longest answer. */
#define CLIENT_ROOM (8 << 20)
#define CLIENTS_MAX 8

enum outcome { CLIENT_WAITS, CLIENT_ANSWERED, CLIENT_CLOSED, CLIENT_MALFORMED };

struct client {
    int fd;                 /* -1: it is not connected */
    gnutls_session_t tls;   /* NULL: plain HTTP */
    bool shaken;            /* the handshake is done */
    int alert;              /* that the server sent; -1: none */
    unsigned serial;        /* of its certificate */
    char request[1024];     /* that is not sent yet */
    bool head;              /* an answer to HEAD has no body */
    char *in;               /* what has come, CLIENT_ROOM bytes */
    size_t size, n_answers; /* n_answers: on this connection */
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
/* Turns the loop until none waits any more, at most for a time. Returns whether none does. */
bool clients_wait(sd_event *event, struct client *clients, size_t n, double seconds);

/* The body as a text; it ends with NUL. Compressed ones are decoded, in place. NULL: the content is damaged. */
const char *client_text(struct client *client);
/* The same of a body that is compressed by itself, as a profile is. */
const char *client_unpack(struct client *client, size_t *ret_size);
/* A header's value, without its end; NULL: there is none. */
const char *client_header(const struct client *client, const char *name);
/* For messages: "200, 1234 bytes", "closed", "hangs". */
const char *client_describe(const struct client *client, char *text, size_t size);

#endif
