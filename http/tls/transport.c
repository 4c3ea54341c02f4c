/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes between a TLS session and its socket: see transport.h. */
#include "http/tls/transport.h"

#include <poll.h>
#include <sys/socket.h>

/* So much at most of what a stranger sent is read: what is unread when a socket is closed may cost him the answer. */
#define DRAIN_MAX (16 * 1024)

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

/* A record of TLS begins with its type (RFC 8446, section 5.1), of which none is a letter; a request with its method.
 */
static bool is_http(const unsigned char *data)
{
    return *data >= 'A' && *data <= 'Z';
}

static ssize_t turn_away(struct tls_transport *transport)
{
    static const char answer[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    char rest[DRAIN_MAX];

    (void)!send(transport->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!recv(transport->fd, rest, sizeof(rest), MSG_DONTWAIT);
    shutdown(transport->fd, SHUT_WR);
    transport->ended = true;
    return ended();
}

static ssize_t receive(struct tls_transport *transport, void *data, size_t size)
{
    ssize_t n = recv(transport->fd, data, size, 0);
    bool first = n > 0 && !transport->begun;

    transport->begun |= first;
    return first && is_http(data) ? turn_away(transport) : n;
}

static ssize_t pull(gnutls_transport_ptr_t userdata, void *data, size_t size)
{
    struct tls_transport *transport = userdata;

    return note(transport, transport->ended ? ended() : receive(transport, data, size));
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
