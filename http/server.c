/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: its listeners, and what their requests are answered from. See server.h. */
#include "http/server.h"

#include "base/cleanup.h"
#include "http/api/events-document.h"
#include "http/auth/auth.h"
#include "http/listener.h"
#include "http/worker.h"

/* So often at most are the files of the web configuration looked at. */
#define LOOK_NS NSEC_PER_SEC

#define SWAP(a, b)                                                                                                     \
    ({                                                                                                                 \
        __typeof__(a) swapped = (a);                                                                                   \
        (a) = (b);                                                                                                     \
        (b) = swapped;                                                                                                 \
    })

struct listeners {
    struct listener **items;
    size_t n;
};

struct server {
    struct site site;
    struct connections connections;
    struct listeners active;           /* in the order in which they were asked for */
    struct listeners retired;          /* answering what was asked before */
    bool adopted;                      /* the active ones: addresses do not matter */
    char *web_config;                  /* path; NULL: none */
    struct file_versions stamps;       /* of the files that the security is from, or that were tried last */
    uint64_t looked_ns;                /* at them */
    char *warned[N_SECURITY_WARNINGS]; /* of what, the last time */
    struct security *pending;          /* waits for `turn`, outside of what looks: TLS goes on or off */
    sd_event_source *turn;
};

static void listeners_done(struct listeners *listeners)
{
    for (size_t i = 0; i < listeners->n; i++)
        listener_free(listeners->items[i]);
    free(listeners->items);
    *listeners = (struct listeners){0};
}

static struct listener *listeners_find(const struct listeners *listeners, const char *address)
{
    for (size_t i = 0; i < listeners->n; i++)
        if (str_equal(listener_address(listeners->items[i]), address))
            return listeners->items[i];
    return NULL;
}

static bool listeners_have(const struct listeners *listeners, const struct listener *listener)
{
    for (size_t i = 0; i < listeners->n; i++)
        if (listeners->items[i] == listener)
            return true;
    return false;
}

DEFINE_CLEANUP(struct server *, server_free);

static void look(void *userdata);
static int on_pending(sd_event_source *source, void *userdata);

int server_new(sd_event *event, const struct service *service, const char *telemetry_path,
               const struct server_limits *limits, struct server **ret, struct error *error)
{
    _cleanup_(server_freep) struct server *server = calloc(1, sizeof(*server));

    if (!server)
        return error_oom(error);
    server->site.service = service;
    server->site.event = sd_event_ref(event);
    server->site.look = look;
    server->site.look_userdata = server;
    server->site.trust.operates = STANDING_OPERATOR;
    if (server_set_telemetry_path(server, telemetry_path) < 0)
        return error_oom(error);
    int r = security_load(NULL, NULL, &server->site.security, &server->stamps, error);
    if (r < 0)
        return r;
    r = connections_init(&server->connections, event, service, limits);
    if (r == 0)
        r = sd_event_add_defer(event, &server->turn, on_pending, server);
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
    listeners_done(&server->active);
    listeners_done(&server->retired);
    connections_done(&server->connections);
    events_document_drop(&server->site);
    worker_free(server->site.packer);
    auth_free(server->site.auth);
    sd_event_source_disable_unref(server->turn);
    security_unref(server->pending);
    security_unref(server->site.security);
    file_versions_done(&server->stamps);
    free(server->web_config);
    for (int i = 0; i < N_SECURITY_WARNINGS; i++)
        free(server->warned[i]);
    response_cache_done(&server->site.pages);
    free(server->site.telemetry_path);
    trust_done(&server->site.trust);
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

int server_trust(struct server *server, enum standing operates, char *const *hosts, size_t n_hosts)
{
    _cleanup_(trust_done) struct trust trust = {0};
    int r = trust_init(&trust, operates, hosts, n_hosts);

    if (r == 0)
        SWAP(server->site.trust, trust);
    return r;
}

/* What is to be; all of it is made before any of it takes effect. */
struct change {
    struct server *server;
    struct security *security;
    struct server_limits limits;
    struct mhd_terms terms;
    struct listeners wanted; /* each is an active one, or new */
};

static struct change change_to(struct server *server, struct security *security, const struct server_limits *limits)
{
    return (struct change){
        .server = server,
        .security = security,
        .limits = *limits,
        .terms =
            {
                .tls = security->tls,
                .memory_per_connection = limits->memory_per_connection,
                .connections = limits->connections,
            },
    };
}

/* The listener of an address: the one that is there, or one in its place, or a new one. */
static int want(struct change *change, const char *address, struct error *error)
{
    struct server *server = change->server;
    struct listener *before = listeners_find(&server->active, address), *listener = before;
    int r = 0;

    if (listeners_find(&change->wanted, address))
        return 0;
    if (!before)
        r = listener_open(&server->site, &server->connections, address, &change->terms, &listener, error);
    else if (!listener_is_on(before, &change->terms))
        r = listener_succeed(before, &change->terms, &listener, error);
    if (r == 0)
        change->wanted.items[change->wanted.n++] = listener;
    return r;
}

static int want_active(struct change *change, struct error *error)
{
    const struct listeners *active = &change->server->active;
    int r = 0;

    for (size_t i = 0; i < active->n && r == 0; i++)
        r = want(change, listener_address(active->items[i]), error);
    return r;
}

static int want_adopted(struct change *change, const int *fds, size_t n, struct error *error)
{
    struct server *server = change->server;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct listener **place = &change->wanted.items[change->wanted.n];
        r = listener_adopt(&server->site, &server->connections, fds[i], &change->terms, place, error);
        change->wanted.n += r == 0;
    }
    return r;
}

static void on_empty(struct listener *listener, void *userdata)
{
    struct listeners *retired = &((struct server *)userdata)->retired;

    for (size_t i = 0; i < retired->n; i++)
        if (retired->items[i] == listener) {
            retired->items[i] = retired->items[--retired->n];
            listener_free(listener);
            return;
        }
}

static int make_room(struct listeners *listeners, size_t n)
{
    struct listener **larger = reallocarray(listeners->items, listeners->n + n + 1, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    listeners->items = larger;
    return 0;
}

static int change_begin(struct change *change, size_t n, struct error *error)
{
    struct server *server = change->server;

    if (make_room(&change->wanted, MAX(n, server->active.n)) == 0 && make_room(&server->retired, server->active.n) == 0)
        return 0;
    free(change->wanted.items);
    return error_oom(error);
}

/* Frees what is new, and leaves what is active. */
static void change_drop(struct change *change)
{
    struct listeners *wanted = &change->wanted;
    size_t n = 0;

    for (size_t i = 0; i < wanted->n; i++)
        if (!listeners_have(&change->server->active, wanted->items[i]))
            wanted->items[n++] = wanted->items[i];
    wanted->n = n;
    listeners_done(wanted);
}

static void retire(struct server *server, struct listener *old, const struct listeners *wanted)
{
    struct listener *successor = listeners_find(wanted, listener_address(old));

    if (successor)
        listener_inherit(successor, old);
    server->retired.items[server->retired.n++] = old;
    listener_retire(old, on_empty, server);
}

/* Once for each thing to mend. */
static void warn(struct server *server, enum security_warning which)
{
    const char *warning = security_warning(server->site.security, which);
    char **warned = &server->warned[which];

    if (warning && (!*warned || !str_equal(warning, *warned)) && server->site.service->complain)
        server->site.service->complain(server->site.service->userdata, warning);
    free(*warned);
    *warned = warning ? strdup(warning) : NULL;
}

/* Takes `security` over. */
static void use_security(struct server *server, struct security *security)
{
    sd_event_source_set_enabled(server->turn, SD_EVENT_OFF);
    server->pending = security_unref(server->pending);
    security_unref(server->site.security);
    server->site.security = security;
    connections_set_asking(&server->connections, security_asks(security));
    /* They have the headers of before. */
    response_cache_done(&server->site.pages);
    for (int i = 0; i < N_SECURITY_WARNINGS; i++)
        warn(server, (enum security_warning)i);
}

static void change_commit(struct change *change)
{
    struct server *server = change->server;

    for (size_t i = 0; i < server->active.n; i++)
        if (!listeners_have(&change->wanted, server->active.items[i]))
            retire(server, server->active.items[i], &change->wanted);
    free(server->active.items);
    server->active = change->wanted;
    if (memcmp(&change->limits, &server->connections.limits, sizeof(change->limits)) != 0)
        connections_set_limits(&server->connections, &change->limits);
    use_security(server, security_ref(change->security));
}

/* Addresses are NULL where those that are active remain. */
static int apply(struct server *server, struct security *security, const struct server_limits *limits,
                 char *const *addresses, size_t n, struct error *error)
{
    struct change change = change_to(server, security, limits);

    int r = change_begin(&change, n, error);
    if (r < 0)
        return r;
    if (!addresses || server->adopted)
        r = want_active(&change, error);
    else
        for (size_t i = 0; i < n && r == 0; i++)
            r = want(&change, addresses[i], error);
    if (r < 0)
        change_drop(&change);
    else
        change_commit(&change);
    return r;
}

int server_listen(struct server *server, char *const *addresses, size_t n, struct error *error)
{
    return apply(server, server->site.security, &server->connections.limits, addresses, n, error);
}

int server_adopt(struct server *server, const int *fds, size_t n, struct error *error)
{
    struct change change = change_to(server, server->site.security, &server->connections.limits);

    int r = change_begin(&change, n, error);
    if (r < 0)
        return r;
    r = want_adopted(&change, fds, n, error);
    if (r < 0) {
        change_drop(&change);
        return r;
    }
    change_commit(&change);
    server->adopted = true;
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return 0;
}

static int configure(struct server *server, const char *web_config, const struct server_settings *settings,
                     struct error *error)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    _cleanup_(file_versions_done) struct file_versions stamps = {0};
    _cleanup_(freep) char *path = web_config && *web_config ? strdup(web_config) : NULL;
    _cleanup_(freep) char *telemetry_path = settings ? strdup(settings->telemetry_path) : NULL;
    _cleanup_(trust_done) struct trust trust = {0};

    if ((!path && web_config && *web_config) ||
        (settings &&
         (!telemetry_path || trust_init(&trust, settings->operates, settings->hosts, settings->n_hosts) < 0)))
        return error_oom(error);
    int r = security_load(&server->site.service->files, path, &security, &stamps, error);
    if (r == 0)
        r = apply(server, security, settings ? &settings->limits : &server->connections.limits,
                  settings ? settings->addresses : NULL, settings ? settings->n_addresses : 0, error);
    if (r < 0)
        return r;
    SWAP(server->web_config, path);
    SWAP(server->stamps, stamps);
    if (!settings)
        return 0;
    SWAP(server->site.telemetry_path, telemetry_path);
    SWAP(server->site.trust, trust);
    return 0;
}

int server_secure(struct server *server, const char *web_config, struct error *error)
{
    return configure(server, web_config, NULL, error);
}

int server_configure(struct server *server, const struct server_settings *settings, struct error *error)
{
    return configure(server, settings->web_config, settings, error);
}

static void complain(const struct server *server, const struct error *error)
{
    char sentence[sizeof(error->message) + 64];

    snprintf(sentence, sizeof(sentence), "%s; what was there before goes on", error->message);
    if (server->site.service->complain)
        server->site.service->complain(server->site.service->userdata, sentence);
}

/* An acceptor is not to be freed while it hands over a client, which may be what has the files looked at. */
static int on_pending(sd_event_source *source, void *userdata)
{
    struct server *server = userdata;
    _cleanup_(security_unrefp) struct security *security = steal(server->pending);
    struct error error;

    (void)source;
    if (security && apply(server, security, &server->connections.limits, NULL, 0, &error) < 0)
        complain(server, &error);
    return 0;
}

static void read_again(struct server *server)
{
    _cleanup_(security_unrefp) struct security *security = NULL;
    struct file_versions stamps;
    struct error error;

    int r = security_load(&server->site.service->files, server->web_config, &security, &stamps, &error);
    /* After a failure too: what is wrong is told once, and tried again when it has changed. */
    file_versions_done(&server->stamps);
    server->stamps = stamps;
    if (r < 0) {
        complain(server, &error);
    } else if (!security->tls == !server->site.security->tls) {
        use_security(server, steal(security));
    } else {
        SWAP(server->pending, security);
        sd_event_source_set_enabled(server->turn, SD_EVENT_ONESHOT);
    }
}

static void look(void *userdata)
{
    struct server *server = userdata;

    if (!server->web_config)
        return;
    uint64_t now = server->site.service->now(server->site.service->userdata);
    if (server->looked_ns && now - server->looked_ns < LOOK_NS)
        return;
    server->looked_ns = now;
    if (file_versions_changed(&server->stamps))
        read_again(server);
}

const char *server_url(const struct server *server, size_t n)
{
    return n < server->active.n ? listener_url(server->active.items[n]) : NULL;
}
