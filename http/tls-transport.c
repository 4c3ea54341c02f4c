/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes between a TLS session and its socket: see tls-transport.h. */
#include "http/tls-transport.h"

#include <poll.h>
#include <sys/socket.h>

static ssize_t note(struct tls_transport *transport, ssize_t n)
{
    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        ++*transport->progress;
    return n;
}

static ssize_t ended(void)
{
    errno = ECONNRESET;
    return -1;
}

static ssize_t pull(gnutls_transport_ptr_t userdata, void *data, size_t size)
{
    struct tls_transport *transport = userdata;

    return note(transport, transport->ended ? ended() : recv(transport->fd, data, size, 0));
}

static ssize_t push(gnutls_transport_ptr_t userdata, const giovec_t *parts, int n)
{
    struct tls_transport *transport = userdata;
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};

    return note(transport, transport->ended ? ended() : sendmsg(transport->fd, &message, MSG_NOSIGNAL));
}

static int wait_readable(gnutls_transport_ptr_t userdata, unsigned ms)
{
    struct tls_transport *transport = userdata;
    struct pollfd poll_fd = {.fd = transport->fd, .events = POLLIN};

    return poll(&poll_fd, 1, (int)ms);
}

void tls_transport_use(struct tls_transport *transport, gnutls_session_t session)
{
    gnutls_transport_set_ptr(session, transport);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, wait_readable);
    gnutls_transport_set_vec_push_function(session, push);
}
