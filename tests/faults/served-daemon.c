/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG
#include "tests/faults/served-daemon.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <libdeflate.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/faults.h"

/* --- clients --- */

#define STEP_SIZE 65536

static gnutls_certificate_credentials_t credentials;

void client_init(struct client *client)
{
    *client = (struct client){.fd = -1};
    client->in = mmap(NULL, CLIENT_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(client->in != MAP_FAILED);
    if (!credentials)
        assert(gnutls_certificate_allocate_credentials(&credentials) == 0);
}

void client_done(struct client *client)
{
    client_disconnect(client);
    munmap(client->in, CLIENT_ROOM);
}

void client_disconnect(struct client *client)
{
    faults_hold();
    if (client->tls)
        gnutls_deinit(client->tls);
    client->tls = NULL;
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    faults_release();
}

static void start_tls(struct client *client)
{
    assert(gnutls_init(&client->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK) == 0);
    assert(gnutls_credentials_set(client->tls, GNUTLS_CRD_CERTIFICATE, credentials) == 0);
    assert(gnutls_set_default_priority(client->tls) == 0);
    gnutls_transport_set_int(client->tls, client->fd);
}

void client_connect(struct client *client, const char *url)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *port = strrchr(url, ':');

    client_disconnect(client);
    faults_hold();
    in.sin_port = htons((in_port_t)atoi(port + 1));
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    client->outcome = connect(client->fd, (struct sockaddr *)&in, sizeof(in)) < 0 ? CLIENT_CLOSED : CLIENT_WAITS;
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    client->shaken = false;
    client->request[0] = '\0';
    if (str_starts(url, "https:"))
        start_tls(client);
    faults_release();
}

/* Returns the serial number of the server's certificate. In this test it is a single byte. */
static unsigned serial_of(gnutls_session_t session)
{
    unsigned n = 0;
    const gnutls_datum_t *certificates = gnutls_certificate_get_peers(session, &n);
    unsigned char serial[32] = {0};
    size_t size = sizeof(serial);
    gnutls_x509_crt_t crt;

    assert(n == 1 && gnutls_x509_crt_init(&crt) == 0);
    assert(gnutls_x509_crt_import(crt, certificates, GNUTLS_X509_FMT_DER) == 0);
    assert(gnutls_x509_crt_get_serial(crt, serial, &size) == 0);
    gnutls_x509_crt_deinit(crt);
    return serial[0];
}

static void shake_hands(struct client *client)
{
    int r = gnutls_handshake(client->tls);

    client->shaken = r == 0;
    if (r == 0)
        client->serial = serial_of(client->tls);
    if (r < 0 && gnutls_error_is_fatal(r))
        client->outcome = CLIENT_CLOSED;
}

/* Sends the request in one piece, since it is short. */
static void send_request(struct client *client)
{
    size_t size = strlen(client->request);
    ssize_t n = client->tls ? gnutls_record_send(client->tls, client->request, size)
                            : send(client->fd, client->request, size, MSG_NOSIGNAL);

    client->request[0] = '\0';
    if (n < 0)
        client->outcome = CLIENT_CLOSED;
}

void client_ask(struct client *client, const char *url, const char *request, const char *headers)
{
    if (client->fd < 0 || client->outcome != CLIENT_ANSWERED)
        client_connect(client, url);
    if (client->fd < 0 || client->outcome == CLIENT_CLOSED)
        return;
    snprintf(client->request, sizeof(client->request), "%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", request, headers);
    client->head = str_starts(request, "HEAD ");
    client->size = 0;
    client->outcome = CLIENT_WAITS;
}

const char *client_header(const struct client *client, const char *name)
{
    size_t n = strlen(name);
    const char *end = client->in + client->head_size;

    for (const char *line = client->in; (line = memmem(line, (size_t)(end - line), "\r\n", 2));) {
        line += 2;
        if ((size_t)(end - line) > n && strncasecmp(line, name, n) == 0 && line[n] == ':')
            return line + n + 2;
    }
    return NULL;
}

/* Joins the chunks of the body once all of them have arrived. */
static void take_chunked(struct client *client)
{
    char *at = client->in + client->head_size, *end = client->in + client->size, *to = at, *rest;

    while (memmem(at, (size_t)(end - at), "\r\n", 2)) {
        size_t n = strtoul(at, &rest, 16);
        if (rest == at || rest[0] != '\r' || rest[1] != '\n') {
            client->outcome = CLIENT_MALFORMED;
            return;
        }
        at = rest + 2;
        if ((size_t)(end - at) < n + 2)
            return;
        if (n == 0)
            break;
        at += n + 2;
    }
    if (at + 2 > end || memcmp(end - 5, "0\r\n\r\n", 5) != 0)
        return;
    for (at = client->in + client->head_size;;) {
        size_t n = strtoul(at, &rest, 16);
        if (n == 0)
            break;
        memmove(to, rest + 2, n);
        to += n;
        at = rest + 2 + n + 2;
    }
    client->body_size = (size_t)(to - client->in) - client->head_size;
    client->outcome = CLIENT_ANSWERED;
}

static void take_answer(struct client *client)
{
    const char *end = memmem(client->in, client->size, "\r\n\r\n", 4);

    if (!end)
        return;
    client->head_size = (size_t)(end + 4 - client->in);
    client->gzip = client_header(client, "Content-Encoding") != NULL;
    const char *length = client_header(client, "Content-Length");
    if (sscanf(client->in, "HTTP/1.1 %u ", &client->status) != 1) {
        client->outcome = CLIENT_MALFORMED;
        return;
    }
    if (!length && !client->head && client_header(client, "Transfer-Encoding")) {
        take_chunked(client);
        return;
    }
    client->body_size = client->head || !length ? 0 : strtoul(length, NULL, 10);
    if (!length && !client->head && client->status != 304)
        client->outcome = CLIENT_MALFORMED;
    else if (client->size >= client->head_size + client->body_size)
        client->outcome = CLIENT_ANSWERED;
}

static ssize_t receive(struct client *client)
{
    char *room = client->in + client->size;
    size_t size = MIN((size_t)STEP_SIZE, CLIENT_ROOM - 1 - client->size);

    if (!client->tls)
        return recv(client->fd, room, size, MSG_DONTWAIT);
    ssize_t n = gnutls_record_recv(client->tls, room, size);
    errno = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED ? EAGAIN : EIO;
    return n < 0 ? -1 : n;
}

static void client_take(struct client *client)
{
    ssize_t n = 0;

    if (client->tls && !client->shaken)
        shake_hands(client);
    if (client->outcome != CLIENT_WAITS || (client->tls && !client->shaken))
        return;
    if (client->request[0])
        send_request(client);
    while (client->outcome == CLIENT_WAITS && (n = receive(client)) > 0) {
        client->size += (size_t)n;
        client->in[client->size] = '\0';
        take_answer(client);
    }
    if (client->outcome == CLIENT_WAITS && (n == 0 || errno != EAGAIN))
        client->outcome = CLIENT_CLOSED;
}

void client_step(struct client *client)
{
    faults_hold();
    if (client->fd >= 0 && client->outcome == CLIENT_WAITS)
        client_take(client);
    faults_release();
}

/* Decompresses into the free space after the body. */
const char *client_unpack(struct client *client, size_t *ret_size)
{
    char *body = client->in + client->head_size, *text = body + client->body_size;
    size_t room = CLIENT_ROOM - 1 - client->head_size - client->body_size;

    faults_hold();
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    assert(decompressor);
    enum libdeflate_result r = libdeflate_gzip_decompress(decompressor, body, client->body_size, text, room, ret_size);
    libdeflate_free_decompressor(decompressor);
    faults_release();
    if (r != LIBDEFLATE_SUCCESS)
        return NULL;
    text[*ret_size] = '\0';
    return text;
}

const char *client_text(struct client *client)
{
    size_t size;

    if (client->gzip)
        return client_unpack(client, &size);
    client->in[client->head_size + client->body_size] = '\0';
    return client->in + client->head_size;
}

/* --- the daemon --- */

#define WEB "web: {listen: [\"127.0.0.1:0\"], min_interval: 0s, local_operators: true"
#define TURN_USEC 5000

/*
 * Makes absolute paths of files below the simulated root directory, /tmp/NAME, valid inside it too: /tmp/NAME/tmp/NAME
 * is a link to /tmp/NAME, so /tmp/NAME/web.yaml is the same file for the simulated machine and for real calls.
 */
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
    *served = (struct served_daemon){.simulated = simulated_new(fake, ""), .n_clients = n_clients};
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
    simulated_write_config(served->simulated, text);
}

void served_daemon_set_web(struct served_daemon *served, const char *text)
{
    faults_hold();
    fake_file(served->simulated->fake, "/web.yaml", "%s", text);
    faults_release();
}

void served_daemon_start(struct served_daemon *served)
{
    signal(SIGPIPE, SIG_IGN); /* perfcountd does the same in daemon/run.c */
    fault_expect(simulated_start(served->simulated), "the daemon does not start");
}

void served_daemon_stop(struct served_daemon *served)
{
    for (size_t i = 0; i < served->n_clients; i++)
        client_done(&served->clients[i]);
    simulated_free(served->simulated);
}

struct daemon *served_daemon_of(const struct served_daemon *served)
{
    return &served->simulated->daemon;
}

const char *served_daemon_url(const struct served_daemon *served)
{
    return server_url(served_daemon_of(served)->server, 0);
}

void served_daemon_ask(struct served_daemon *served, size_t i, const char *request, const char *headers)
{
    client_ask(&served->clients[i], served_daemon_url(served), request, headers);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool served_daemon_until(struct served_daemon *served, bool (*is_met)(const void *userdata), const void *userdata,
                         double seconds)
{
    double end = seconds_now() + seconds;
    bool met = false;

    while (!met && seconds_now() < end) {
        sd_event_run(served_daemon_of(served)->event, TURN_USEC);
        for (size_t i = 0; i < served->n_clients; i++)
            client_step(&served->clients[i]);
        met = is_met(userdata);
    }
    return met;
}

static bool client_hangs(const struct client *client)
{
    return client->fd >= 0 && client->outcome == CLIENT_WAITS;
}

static bool no_client_waits(const void *userdata)
{
    const struct served_daemon *served = userdata;

    for (size_t i = 0; i < served->n_clients; i++)
        if (client_hangs(&served->clients[i]))
            return false;
    return true;
}

bool served_daemon_until_idle(struct served_daemon *served, double seconds)
{
    return served_daemon_until(served, no_client_waits, served, seconds);
}

void served_daemon_wait(struct served_daemon *served)
{
    served_daemon_until(served, no_client_waits, served, faults_last() ? LAST_ANSWER_SECONDS : EVENT_SECONDS);
    for (size_t i = 0; i < served->n_clients; i++) {
        const struct client *client = &served->clients[i];
        fault_expect(client->outcome != CLIENT_MALFORMED, "client %zu got a malformed response: %.300s", i, client->in);
        fault_expect(faults_last() || !client_hangs(client), "client %zu got no response within %d seconds", i,
                     EVENT_SECONDS);
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
