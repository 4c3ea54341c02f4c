/* SPDX-License-Identifier: Apache-2.0 */
/* Where the server listens: see listening.h. */
#include "daemon/listening.h"

#include "base/cleanup.h"
#include "daemon/log/log.h"
#include "systemd/sockets.h"

/* Whether somebody chose addresses; the built-in one is no choice. */
static bool has_chosen(const struct config_web *web)
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

void listening_check(struct listening *listening, const struct config_web *web)
{
    if (!listening->handed_over || listening->told || !has_chosen(web))
        return;
    listening->told = true;
    log_event(LOG_KIND_ADDRESSES_IGNORED, NULL, 0,
              "web.listen and --web.listen-address are ignored: systemd handed over the sockets to listen on; "
              "ListenStream= of the socket unit says where");
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
