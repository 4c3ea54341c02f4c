/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that the service manager hands over: see sockets.h. */
#include "systemd/sockets.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"

void sockets_done(struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->n; i++)
        close(sockets->fds[i]);
    free(sockets->fds);
    *sockets = (struct sockets){0};
}

static int check_socket(int fd, struct error *error)
{
    int r = sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1);

    if (r > 0)
        return 0;
    return error_set(
        error, -EINVAL,
        "descriptor %d, which systemd handed over, is not a listening stream socket: the socket unit may only have "
        "ListenStream=, without Accept=yes",
        fd);
}

int sockets_take(struct sockets *ret, struct error *error)
{
    _cleanup_(sockets_done) struct sockets sockets = {0};
    int n = sd_listen_fds(1), r = 0;

    if (n < 0)
        return error_set(error, n, "the sockets that systemd hands over cannot be taken: %s", strerror(-n));
    sockets.fds = calloc((size_t)n + 1, sizeof(sockets.fds[0]));
    if (!sockets.fds)
        return error_oom(error);
    for (int i = 0; i < n; i++)
        sockets.fds[sockets.n++] = SD_LISTEN_FDS_START + i;
    for (size_t i = 0; i < sockets.n && r == 0; i++)
        r = check_socket(sockets.fds[i], error);
    if (r < 0)
        return r;
    *ret = sockets;
    sockets = (struct sockets){0};
    return 0;
}
