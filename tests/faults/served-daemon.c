/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of a daemon on a machine that is played: see served-daemon.h. */
#undef NDEBUG
#include "tests/faults/served-daemon.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/faults.h"

#define WEB "web: {listen: [\"127.0.0.1:0\"], min_interval: 0s, local_operators: true"

/* The daemon's files are below the root of its machine, and have the same names there. */
static void link_root(const struct fake_sys *fake)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/tmp", fake->root);
    assert(mkdir(path, 0755) == 0);
    snprintf(path, sizeof(path), "%s%s", fake->root, fake->root);
    assert(symlink("..", path) == 0);
}

void served_daemon_init(struct served_daemon *served, struct fake_sys *fake, size_t n_clients)
{
    *served = (struct served_daemon){.played = played_new(fake, ""), .n_clients = n_clients};
    for (size_t i = 0; i < n_clients; i++)
        client_init(&served->clients[i]);
    link_root(fake);
    snprintf(served->web_config_file, sizeof(served->web_config_file), "%s/web.yaml", fake->root);
}

void served_daemon_set_config(struct served_daemon *served, const char *web, bool secure, const char *config)
{
    char text[2048];

    snprintf(text, sizeof(text), WEB "%s%s%s}\n%s", web, secure ? ", config_file: " : "",
             secure ? served->web_config_file : "", config);
    played_write_config(served->played, text);
}

void served_daemon_set_web(struct served_daemon *served, const char *text)
{
    faults_hold();
    fake_file(served->played->fake, "/web.yaml", "%s", text);
    faults_release();
}

void served_daemon_start(struct served_daemon *served)
{
    signal(SIGPIPE, SIG_IGN); /* as daemon/command/run.c */
    fault_expect(played_start(served->played), "the daemon does not start");
}

void served_daemon_stop(struct served_daemon *served)
{
    for (size_t i = 0; i < served->n_clients; i++)
        client_done(&served->clients[i]);
    played_free(served->played);
}

struct daemon *served_daemon_of(const struct served_daemon *served)
{
    return &served->played->daemon;
}

const char *served_daemon_url(const struct served_daemon *served)
{
    return server_url(served_daemon_of(served)->server, 0);
}

void served_daemon_ask(struct served_daemon *served, size_t i, const char *request, const char *headers)
{
    client_ask(&served->clients[i], served_daemon_url(served), request, headers);
}

void served_daemon_wait(struct served_daemon *served)
{
    bool all = clients_wait(served_daemon_of(served)->event, served->clients, served->n_clients, ANSWER_SECONDS);

    for (size_t i = 0; i < served->n_clients; i++) {
        const struct client *client = &served->clients[i];
        fault_expect(client->outcome != CLIENT_MALFORMED, "client %zu has a malformed answer: %.300s", i, client->in);
        fault_expect(all || faults_last() || client->fd < 0 || client->outcome != CLIENT_WAITS,
                     "client %zu hangs: nothing came for %d seconds", i, ANSWER_SECONDS);
    }
}

void served_daemon_turn(struct served_daemon *served, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sd_event_run(served_daemon_of(served)->event, 0);
}

struct client *served_daemon_get(struct served_daemon *served, size_t i, const char *request, const char *headers)
{
    served_daemon_ask(served, i, request, headers);
    served_daemon_wait(served);
    return &served->clients[i];
}
