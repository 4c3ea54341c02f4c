/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes between a TLS session and its socket: see transport.h. */
#include "http/transport.h"

#include <poll.h>
#include <sys/socket.h>

/* At most this much is read of such a client: if data is unread when a socket is closed, the answer may be lost. */
#define DRAIN_MAX (16 * 1024)

static ssize_t transport_note(struct tls_transport *transport, ssize_t n)
{
    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        ++*transport->progress;
    return n;
}

static ssize_t transport_ended(void)
{
    errno = ECONNRESET;
    return -1;
}

/* A record of TLS begins with its type, which is never a letter (RFC 8446, section 5.1); a request with its method. */
static bool is_http(const unsigned char *data)
{
    return *data >= 'A' && *data <= 'Z';
}

static ssize_t transport_refuse_http(struct tls_transport *transport)
{
    static const char answer[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    char rest[DRAIN_MAX];

    (void)!send(transport->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!recv(transport->fd, rest, sizeof(rest), MSG_DONTWAIT);
    shutdown(transport->fd, SHUT_WR);
    transport->ended = true;
    return transport_ended();
}

static ssize_t transport_receive(struct tls_transport *transport, void *data, size_t size)
{
    ssize_t n = recv(transport->fd, data, size, 0);
    bool first = n > 0 && !transport->begun;

    transport->begun |= first;
    return first && is_http(data) ? transport_refuse_http(transport) : n;
}

static ssize_t transport_pull(gnutls_transport_ptr_t userdata, void *data, size_t size)
{
    struct tls_transport *transport = userdata;

    return transport_note(transport, transport->ended ? transport_ended() : transport_receive(transport, data, size));
}

static ssize_t transport_push(gnutls_transport_ptr_t userdata, const giovec_t *parts, int n)
{
    struct tls_transport *transport = userdata;
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};

    return transport_note(transport,
                          transport->ended ? transport_ended() : sendmsg(transport->fd, &message, MSG_NOSIGNAL));
}

static int transport_wait_readable(gnutls_transport_ptr_t userdata, unsigned ms)
{
    struct tls_transport *transport = userdata;
    struct pollfd poll_fd = {.fd = transport->fd, .events = POLLIN};

    return poll(&poll_fd, 1, (int)ms);
}

void tls_transport_use(struct tls_transport *transport, gnutls_session_t session)
{
    gnutls_transport_set_ptr(session, transport);
    gnutls_transport_set_pull_function(session, transport_pull);
    gnutls_transport_set_pull_timeout_function(session, transport_wait_readable);
    gnutls_transport_set_vec_push_function(session, transport_push);
}
