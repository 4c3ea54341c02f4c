/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients connect to a server with TLS and passwords, also while the certificate and the password are replaced, or TLS
 * is disabled and enabled again. An unauthorised client must never be served, and a right password must never be
 * rejected as wrong.
 */
#undef NDEBUG
#include <assert.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/faults/run.h"
#include "tests/faults/scenario.h"
#include "tests/faults/served-daemon.h"
#include "tests/unit/fake-machine.h"

#define CONFIG                                                                                                         \
    "collectors: {self: {enabled: false}, cgroup: {enabled: false}, pmu: {groups: []},\n"                              \
    "             cpu: {groups: [{name: core, events: cycles}]}}\n"
#define SALT "abcdefghijklmnopqrstuu"
#define SECRET "$2y$04$" SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define OTHER "$2y$06$" SALT "6FttqYLNXdPO90XO7YlC0uHRd1WxOhm"
#define BASIC(digits) "Authorization: Basic " digits "\r\n"
#define WITH_SECRET BASIC("YWxpY2U6c2VjcmV0") /* alice:secret */
#define WITH_OTHER BASIC("YWxpY2U6b3RoZXI=")  /* alice:other */
#define N_CLIENTS 5

#define DAY 86400

struct secure {
    struct served_daemon served;
    bool changing; /* the password is being replaced: both the old and the new one may be right */
    bool renewed;  /* the new password and certificate apply in the end */
    bool recovered;
};

static void write_pem(const char *directory, const char *name, gnutls_datum_t *pem)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert(file && fwrite(pem->data, 1, pem->size, file) == pem->size && fclose(file) == 0);
    gnutls_free(pem->data);
}

/* Writes DIRECTORY/cert.pem and DIRECTORY/key.pem: a new key, and a certificate with this serial number. */
static void write_certificate(const char *directory, unsigned char serial)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t pem;
    time_t now = time(NULL);

    assert(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
    assert(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) ==
           0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, sizeof(serial));
    gnutls_x509_crt_set_activation_time(crt, now - DAY);
    gnutls_x509_crt_set_expiration_time(crt, now + 365 * DAY);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "a", 1);
    assert(gnutls_x509_crt_set_key(crt, key) == 0);
    assert(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0);
    assert(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem) == 0);
    write_pem(directory, "cert.pem", &pem);
    assert(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) == 0);
    write_pem(directory, "key.pem", &pem);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

static void set_web(struct secure *secure, bool tls, const char *hash)
{
    const char *root = secure->served.simulated->fake->root;
    char text[512], server[256] = "";

    if (tls)
        snprintf(server, sizeof(server), "tls_server_config: {cert_file: %s/cert.pem, key_file: %s/key.pem}\n", root,
                 root);
    snprintf(text, sizeof(text),
             "%sbasic_auth_users: {alice: \"%s\"}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n", server,
             hash);
    served_daemon_set_web(&secure->served, text);
}

static void *secure_prepare(void)
{
    struct secure *secure = calloc(1, sizeof(*secure));

    assert(secure);
    served_daemon_init(&secure->served, fake_machine_two_counters(), N_CLIENTS);
    write_certificate(secure->served.simulated->fake->root, 1);
    set_web(secure, true, SECRET);
    served_daemon_set_config(&secure->served, "", true, CONFIG);
    served_daemon_start(&secure->served);
    return secure;
}

static bool has_outcome(const void *userdata)
{
    return ((const struct client *)userdata)->outcome != CLIENT_WAITS;
}

/* The server delays a 401 response; simulated time is advanced past the delay. */
static struct client *ask(struct secure *secure, size_t i, const char *request, const char *password)
{
    struct served_daemon *served = &secure->served;
    struct client *client = &served->clients[i];

    served_daemon_ask(served, i, request, password);
    served_daemon_until(served, has_outcome, client, 0.02);
    faults_pass(NSEC_PER_SEC);
    served_daemon_wait(served);
    return client;
}

/* Returns the status; 0 if the connection was closed. */
static unsigned get(struct secure *secure, size_t i, const char *password)
{
    struct client *client = ask(secure, i, "GET /metrics", password);
    bool right = str_equal(password, WITH_SECRET) || (secure->changing && str_equal(password, WITH_OTHER));
    bool wrong = !str_equal(password, WITH_SECRET) || secure->changing;

    if (client->outcome != CLIENT_ANSWERED)
        return 0;
    const char *text = client_text(client);
    fault_expect(client->status != 200 || right, "%s: the daemon admits this client", password);
    fault_expect(client->status != 401 || wrong, "%s: the daemon rejects the right password: %s", password, text);
    fault_expect(client->status != 200 || !faults_are_of_memory() || strstr(text, "perf_cpu_cycles_total{"),
                 "nothing is served:\n%s", text);
    const char *header = client_header(client, "X-Frame-Options");
    fault_expect(header && strncmp(header, "deny", 4) == 0, "%u without the configured header", client->status);
    fault_expect(client->status == 200 || client->body_size > 10, "%u without an explanation", client->status);
    fault_expect(client->status == 200 || client->status == 401 || client->status >= 500, "%s: %u: %s", password,
                 client->status, text);
    return client->status;
}

static void secure_act(void *state)
{
    get(state, 0, WITH_SECRET);
    get(state, 1, WITH_OTHER);
    get(state, 2, "");
    get(state, 0, WITH_SECRET);
}

/* The daemon checks the files when a client connects, at most once a second. */
static void visit(struct secure *secure)
{
    faults_pass(2 * NSEC_PER_SEC);
    faults_hold();
    fake_advance(secure->served.simulated->fake, 2 * NSEC_PER_SEC);
    faults_release();
    client_connect(&secure->served.clients[N_CLIENTS - 1], served_daemon_url(&secure->served));
    served_daemon_turn(&secure->served, 10);
    client_disconnect(&secure->served.clients[N_CLIENTS - 1]);
    served_daemon_turn(&secure->served, 10);
}

static void secure_recover(void *state)
{
    struct secure *secure = state;

    for (size_t i = 0; i < N_CLIENTS; i++)
        client_disconnect(&secure->served.clients[i]);
    visit(secure);
    visit(secure);
    secure->recovered = true;
}

/* Describes the server's responses to requests over new connections. */
static void secure_describe(void *state, struct buffer *out)
{
    static const char *const passwords[] = {WITH_SECRET, WITH_OTHER, ""};
    struct secure *secure = state;

    buffer_appendf(out, "%.5s\n", served_daemon_url(&secure->served));
    for (size_t i = 0; i < ARRAY_SIZE(passwords); i++) {
        client_disconnect(&secure->served.clients[i]);
        unsigned status = get(secure, i, passwords[i]);
        fault_expect(!secure->recovered || status == (i == (secure->renewed ? 1 : 0) ? 200 : 401),
                     "%s: %u after the fault", passwords[i], status);
        fault_expect(!secure->recovered || secure->served.clients[i].serial == (secure->renewed ? 2 : 1),
                     "certificate %u after the fault", secure->served.clients[i].serial);
        buffer_appendf(out, "%s: %u, certificate %u\n", passwords[i], status, secure->served.clients[i].serial);
    }
}

static void secure_finish(void *state)
{
    struct secure *secure = state;

    served_daemon_stop(&secure->served);
    free(secure);
}

/* Connects three clients, each of which has received a response. */
static void *changing_prepare(void)
{
    struct secure *secure = secure_prepare();

    for (size_t i = 0; i < 3; i++)
        assert(get(secure, i, WITH_SECRET) == 200);
    secure->changing = true;
    return secure;
}

/* Replaces the certificate and the password: existing connections stay, new ones use the new certificate. */
static void renewal_act(void *state)
{
    struct secure *secure = state;

    secure->renewed = true;
    faults_hold();
    write_certificate(secure->served.simulated->fake->root, 2);
    set_web(secure, true, OTHER);
    faults_release();
    visit(secure);
    get(secure, 3, WITH_OTHER);
    get(secure, 0, WITH_OTHER);
    get(secure, 1, WITH_SECRET);
}

/* Disables TLS and enables it again. */
static void toggle_act(void *state)
{
    struct secure *secure = state;

    set_web(secure, false, SECRET);
    visit(secure);
    get(secure, 3, WITH_SECRET);
    get(secure, 0, WITH_SECRET);
    set_web(secure, true, SECRET);
    visit(secure);
    client_disconnect(&secure->served.clients[3]);
    get(secure, 3, WITH_SECRET);
    get(secure, 1, WITH_SECRET);
}

/* An operator reloads a configuration with other limits, so that new sockets listen on the same address. */
static void relisten_act(void *state)
{
    struct secure *secure = state;

    served_daemon_set_config(&secure->served, ", limits: {header_size: 8192}", true, CONFIG);
    struct client *client = ask(secure, 0, "POST /-/reload", "Content-Length: 0\r\n" WITH_SECRET);
    if (client->outcome == CLIENT_ANSWERED && client->status != 200)
        said_add(client_text(client));
    get(secure, 1, WITH_SECRET);
    get(secure, 3, WITH_SECRET);
}

static void relisten_recover(void *state)
{
    struct secure *secure = state;
    struct error error;

    secure_recover(secure);
    fault_expect(daemon_reload(served_daemon_of(&secure->served), &error) == 0, "%s", error.message);
}

#define SECURE .describe = secure_describe, .finish = secure_finish

const struct scenario scenarios_of_secure[] = {
    {"secure", secure_prepare, secure_act, secure_recover, SECURE},
    {"renewal", changing_prepare, renewal_act, secure_recover, SECURE},
    {"toggle", changing_prepare, toggle_act, secure_recover, SECURE},
    {"relisten", changing_prepare, relisten_act, relisten_recover, SECURE},
    {.name = NULL},
};
