/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "http/api-events.h"
#include "http/auth.h"
#include "http/listener.h"
#include "http/reply.h"
#include "http/routes.h"
#include "http/worker.h"

/* Minimum interval between checks for changes of the web configuration's files. */
#define CHECK_NS NSEC_PER_SEC

#define SWAP(a, b)                                                                                                     \
    ({                                                                                                                 \
        __typeof__(a) swapped = (a);                                                                                   \
        (a) = (b);                                                                                                     \
        (b) = swapped;                                                                                                 \
    })

struct server {
    struct site site; /* must be the first member, because server_check_files() converts its address */
    struct connections connections;
    struct listeners listeners;
    char *web_config;                  /* path of the web configuration file, or NULL if there is none */
    struct file_versions versions;     /* versions of the files when they were last read, even if that failed */
    uint64_t checked_ns;               /* time of the last check of the files; 0 before the first check */
    char *warned[N_SECURITY_WARNINGS]; /* the warnings that were last reported */
    bool again;                        /* the files could not be read; read again at each check */
    char reported[512];                /* error of the last failed attempt to read the files */
    struct security *pending;          /* settings to apply in a later iteration, because TLS is switched on or off */
    sd_event_source *turn;
};

DEFINE_CLEANUP(struct server *, server_free);

static void server_check_files(struct site *site);
static int server_on_turn(sd_event_source *source, void *userdata);

int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error)
{
    _cleanup_(server_freep) struct server *server = calloc(1, sizeof(*server));

    if (!server)
        return error_oom(error);
    server->site.service = service;
    server->site.event = sd_event_ref(event);
    server->site.routes = routes;
    server->site.n_routes = n_routes;
    server->site.check_files = server_check_files;
    server->site.trust_rules.operates = TRUST_OPERATOR;
    server->listeners = (struct listeners){.site = &server->site, .connections = &server->connections};
    if (server_set_telemetry_path(server, telemetry_path) < 0)
        return error_oom(error);
    int r = security_load(NULL, NULL, &server->site.security, &server->versions, error);
    if (r < 0)
        return r;
    r = connections_init(&server->connections, event, service, limits);
    if (r == 0)
        r = sd_event_add_defer(event, &server->turn, server_on_turn, server);
    if (r >= 0)
        r = sd_event_source_set_enabled(server->turn, SD_EVENT_OFF);
    if (r < 0)
        return error_set(error, r, "cannot add to the event loop: %s", strerror(-r));
    *ret = steal(server);
    return 0;
}

struct server *server_free(struct server *server)
{
    if (!server)
        return NULL;
    listeners_done(&server->listeners);
    connections_done(&server->connections);
    events_document_drop(&server->site);
    worker_free(server->site.compressor);
    auth_free(server->site.auth);
    sd_event_source_disable_unref(server->turn);
    security_unref(server->pending);
    security_unref(server->site.security);
    file_versions_done(&server->versions);
    free(server->web_config);
    for (int i = 0; i < N_SECURITY_WARNINGS; i++)
        free(server->warned[i]);
    response_cache_done(&server->site.cache);
    free(server->site.telemetry_path);
    trust_rules_done(&server->site.trust_rules);
    sd_event_unref(server->site.event);
    free(server);
    return NULL;
}

int server_set_telemetry_path(struct server *server, const char *path)
{
    char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    free(server->site.telemetry_path);
    server->site.telemetry_path = copy;
    return 0;
}

int server_trust(struct server *server, enum trust operates, char *const *hosts, size_t n_hosts)
{
    _cleanup_(trust_rules_done) struct trust_rules rules = {0};
    int r = trust_rules_init(&rules, operates, hosts, n_hosts);

    if (r == 0)
        SWAP(server->site.trust_rules, rules);
    return r;
}

/* Reports the warning of this kind, unless there is none or it has already been reported. */
static void server_warn(struct server *server, enum security_warning which)
{
    const char *warning = security_warning(server->site.security, which);
    char **warned = &server->warned[which];

    if (warning && (!*warned || !str_equal(warning, *warned)) && server->site.service->complain)
        server->site.service->complain(server->site.service->userdata, warning);
    free(*warned);
    *warned = warning ? strdup(warning) : NULL;
}

/* Puts the settings `security` into effect, and takes ownership of them. */
static void server_use_security(struct server *server, struct security *security)
{
    sd_event_source_set_enabled(server->turn, SD_EVENT_OFF);
    server->again = false;
    server->pending = security_unref(server->pending);
    security_unref(server->site.security);
    server->site.security = security;
    connections_set_asking(&server->connections, security_asks(security));
    /* Cached responses have the headers of the previous configuration. */
    response_cache_done(&server->site.cache);
    for (int i = 0; i < N_SECURITY_WARNINGS; i++)
        server_warn(server, (enum security_warning)i);
}

static struct mhd_terms terms_of(const struct security *security, const struct server_limits *limits)
{
    return (struct mhd_terms){
        .tls = security->tls,
        .memory_per_connection = limits->memory_per_connection,
        .connections = limits->connections,
    };
}

/* If `addresses` is NULL, the active addresses are kept. */
static int server_apply(struct server *server, struct security *security, const struct server_limits *limits,
                        char *const *addresses, size_t n, struct error *error)
{
    const struct mhd_terms terms = terms_of(security, limits);
    const struct server_limits wanted = *limits;

    int r = listeners_change(&server->listeners, &terms, addresses, n, error);
    if (r < 0)
        return r;
    if (memcmp(&wanted, &server->connections.limits, sizeof(wanted)) != 0)
        connections_set_limits(&server->connections, &wanted);
    server_use_security(server, security_ref(security));
    return 0;
}

int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error)
{
    return server_apply(server, server->site.security, &server->connections.limits, addresses, n, error);
}

int server_adopt(struct server *server, const int *fds, size_t n, struct error *error)
{
    const struct mhd_terms terms = terms_of(server->site.security, &server->connections.limits);

    return listeners_adopt(&server->listeners, &terms, fds, n, error);
}

/*
 * Like security_load(). Refuses a file that had settings before and is now empty, because it would open the server to
 * everybody.
 */
static int server_load(const struct server *server, const char *path, struct security **ret,
                       struct file_versions *ret_versions, struct error *error)
{
    int r = security_load(&server->site.service->files, path, ret, ret_versions, error);

    if (r < 0 || !security_is_blank(*ret) || security_is_blank(server->site.security) || !server->web_config ||
        !str_equal(path, server->web_config))
        return r;
    return error_set(error, -ENODATA, "%.200s: " CONFIG_BLANK, path);
}

static int server_change(struct server *server, const char *web_config, const struct server_settings *settings,
                         struct error *error)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    _cleanup_(file_versions_done) struct file_versions versions = {0};
    _cleanup_(freep) char *path = web_config && *web_config ? strdup(web_config) : NULL;
    _cleanup_(freep) char *telemetry_path = settings ? strdup(settings->telemetry_path) : NULL;
    _cleanup_(trust_rules_done) struct trust_rules rules = {0};

    if ((!path && web_config && *web_config) ||
        (settings &&
         (!telemetry_path || trust_rules_init(&rules, settings->operates, settings->hosts, settings->n_hosts) < 0)))
        return error_oom(error);
    int r = server_load(server, path, &security, &versions, error);
    if (r == 0)
        r = server_apply(server, security, settings ? &settings->limits : &server->connections.limits,
                         settings ? settings->addresses : NULL, settings ? settings->n_addresses : 0, error);
    if (r < 0)
        return r;
    SWAP(server->web_config, path);
    SWAP(server->versions, versions);
    if (!settings)
        return 0;
    SWAP(server->site.telemetry_path, telemetry_path);
    SWAP(server->site.trust_rules, rules);
    return 0;
}

int server_secure(struct server *server, const char *web_config, struct error *error)
{
    return server_change(server, web_config, NULL, error);
}

int server_configure(struct server *server, const struct server_settings *settings, struct error *error)
{
    return server_change(server, settings->web_config, settings, error);
}

static void server_complain(const struct server *server, const struct error *error)
{
    char sentence[sizeof(error->message) + 64];

    snprintf(sentence, sizeof(sentence), "%s; " CONFIG_KEPT, error->message);
    if (server->site.service->complain)
        server->site.service->complain(server->site.service->userdata, sentence);
}

/*
 * Reports an error only once. Since the error may be temporary (GnuTLS also reports damaged files when memory or
 * descriptors run out), the files are read again at each check, changed or not.
 */
static void server_fail_reading(struct server *server, const struct error *error)
{
    if (!server->again || !str_equal(server->reported, error->message))
        server_complain(server, error);
    snprintf(server->reported, sizeof(server->reported), "%s", error->message);
    server->again = true;
}

/*
 * Applies the pending settings in a separate iteration of the event loop, because a listener cannot be freed while it
 * hands over the client that triggered the check.
 */
static int server_on_turn(sd_event_source *source, void *userdata)
{
    struct server *server = userdata;
    _cleanup_(security_unrefp) struct security *security = steal(server->pending);
    struct error error;

    (void)source;
    int r = security ? server_apply(server, security, &server->connections.limits, NULL, 0, &error) : 0;
    if (r < 0)
        server_fail_reading(server, &error);
    return 0;
}

static void server_read_again(struct server *server)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    struct file_versions versions;
    struct error error;

    int r = server_load(server, server->web_config, &security, &versions, &error);
    /* Store the versions even after a failure, so that the files are read again once they change. */
    file_versions_done(&server->versions);
    server->versions = versions;
    if (r < 0) {
        server_fail_reading(server, &error);
    } else if (!security->tls == !server->site.security->tls) {
        server_use_security(server, steal(security));
    } else {
        SWAP(server->pending, security);
        sd_event_source_set_enabled(server->turn, SD_EVENT_ONESHOT);
    }
}

static void server_check_files(struct site *site)
{
    struct server *server = (struct server *)site;

    if (!server->web_config)
        return;
    uint64_t now = service_now(server->site.service);
    if (server->checked_ns && now - server->checked_ns < CHECK_NS)
        return;
    server->checked_ns = now;
    if (server->again || file_versions_changed(&server->versions))
        server_read_again(server);
}

bool server_is_answering(const struct server *server)
{
    return connections_are_answering(&server->connections);
}

void server_hurry(struct server *server)
{
    listeners_leave(&server->listeners);
    rates_waits_hurry(&server->site);
}

const char *server_url(const struct server *server, size_t n)
{
    const struct listener_list *active = &server->listeners.active;

    return n < active->n ? listener_url(active->items[n]) : NULL;
}

bool server_describe(const struct server *server, size_t n, char *text, size_t size)
{
    const struct listener_list *active = &server->listeners.active;

    if (n >= active->n)
        return false;
    listener_describe(active->items[n], text, size);
    return true;
}
