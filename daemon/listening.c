/* SPDX-License-Identifier: Apache-2.0 */
/* Where the server listens: see listening.h. */
#include "daemon/listening.h"

#include "base/cleanup.h"
#include "daemon/log.h"
#include "systemd/sockets.h"

/* Whether flags or the file name addresses other than the default. */
static bool has_chosen_addresses(const struct config_web *web)
{
    struct config *builtin;

    if (config_default(&builtin, NULL) < 0)
        return false;
    bool same = web->n_listen == builtin->web.n_listen;
    for (size_t i = 0; same && i < web->n_listen; i++)
        same = str_equal(web->listen[i], builtin->web.listen[i]);
    config_free(builtin);
    return !same;
}

static void listening_warn(struct listening *listening, const struct config_web *web)
{
    if (!listening->handed_over || listening->warned || !has_chosen_addresses(web))
        return;
    listening->warned = true;
    log_event(LOG_KIND_ADDRESSES_IGNORED, NULL, 0,
              "web.listen and --web.listen-address are ignored: systemd handed over the sockets to listen on; "
              "ListenStream= of the socket unit says where");
}

static struct server_limits server_limits_of(const struct config_limits *limits, const struct fd_budget *budget)
{
    return (struct server_limits){
        .connections = (unsigned)MIN(limits->connections, budget->clients),
        .connections_per_address = (unsigned)limits->connections_per_address,
        .memory_per_connection = limits->header_size,
        .request_ns = limits->request_timeout_ns,
        .keepalive_ns = limits->idle_timeout_ns,
        .response_ns = limits->response_timeout_ns,
    };
}

int listening_configure(struct listening *listening, struct server *server, const struct config *config,
                        const struct fd_budget *budget, struct error *error)
{
    const struct config_web *web = &config->web;
    struct server_settings settings = {
        .addresses = web->listen,
        .n_addresses = web->n_listen,
        .telemetry_path = web->telemetry_path,
        .web_config = web->config_file,
        .hosts = web->hosts,
        .n_hosts = web->n_hosts,
        .operates = config_standing_to_operate(config),
        .limits = server_limits_of(&web->limits, budget),
    };

    listening_warn(listening, web);
    return server_configure(server, &settings, error);
}

int listening_adopt(struct listening *listening, struct server *server, struct error *error)
{
    _cleanup_(sockets_done) struct sockets sockets = {0};
    int r = sockets_take(&sockets, error);

    if (r < 0 || sockets.n == 0)
        return r;
    r = server_adopt(server, sockets.fds, sockets.n, error);
    if (r < 0)
        return r;
    listening->handed_over = true;
    sockets.n = 0; /* they are the server's now */
    return 0;
}
