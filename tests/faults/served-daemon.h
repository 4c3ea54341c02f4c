/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon on a machine that is played (played-daemon.h), and clients of it over real sockets.
 */
#ifndef TESTS_FAULTS_SERVED_DAEMON_H
#define TESTS_FAULTS_SERVED_DAEMON_H

#include "tests/faults/client.h"
#include "tests/faults/played-daemon.h"

/* The most real time that an answer may take under a fault, in seconds: above all times of the daemon's own. */
#define ANSWER_SECONDS 8

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
/* Turns the loop until no client waits. A client that then still waits hangs, and a malformed answer is a failure. */
void served_daemon_wait(struct served_daemon *served);
/* Turns the loop `n` times, without waiting for anything in it. */
void served_daemon_turn(struct served_daemon *served, unsigned n);
/* Both. Returns the client. */
struct client *served_daemon_get(struct served_daemon *served, size_t i, const char *request, const char *headers);

#endif
