/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a listening socket: see acceptor.h. */
#include "http/acceptor.h"

#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timer.h"

/* How many clients are accepted in a row, before those that are connected have their turn. */
#define ACCEPTS_MAX 10
/* After this time it is tried again, where no client can be accepted. */
#define PAUSE_USEC 100000
#define REPORT_USEC (60 * USEC_PER_SEC)

struct acceptor {
    int fd;
    struct acceptor_calls calls;
    sd_event *event;
    sd_event_source *io, *timer;
    uint64_t reported_usec; /* 0: never */
};

static void acceptor_starve(struct acceptor *acceptor, int error)
{
    uint64_t now = 0;

    sd_event_source_set_enabled(acceptor->io, SD_EVENT_OFF);
    timer_arm_in(acceptor->timer, PAUSE_USEC);
    sd_event_now(acceptor->event, CLOCK_MONOTONIC, &now);
    if (acceptor->reported_usec && now - acceptor->reported_usec < REPORT_USEC)
        return;
    acceptor->reported_usec = now;
    acceptor->calls.starve(acceptor->calls.userdata, error);
}

/* Whether the error is of one client that has gone (accept(2)); after any other error the same client still waits. */
static bool is_error_of_client(int error)
{
    static const int errors[] = {EINTR,     ECONNABORTED, EPROTO,       ENETDOWN,   ENOPROTOOPT,
                                 EHOSTDOWN, ENONET,       EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH};

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i] == error)
            return true;
    return false;
}

/* Takes one client. Returns whether another may wait. */
static bool acceptor_take_one(struct acceptor *acceptor)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int fd = accept4(acceptor->fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int error = fd < 0 ? errno : 0;

    if (fd >= 0)
        acceptor->calls.take(acceptor->calls.userdata, fd, (const struct sockaddr *)&address, size);
    else if (error != EAGAIN && !is_error_of_client(error))
        acceptor_starve(acceptor, -error);
    return fd >= 0 || is_error_of_client(error);
}

static int acceptor_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    for (unsigned i = 0; i < ACCEPTS_MAX && acceptor_take_one(userdata); i++)
        continue;
    return 0;
}

static int acceptor_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct acceptor *acceptor = userdata;

    (void)source;
    (void)usec;
    sd_event_source_set_enabled(acceptor->io, SD_EVENT_ON);
    return 0;
}

DEFINE_CLEANUP(struct acceptor *, acceptor_free);

int acceptor_new(sd_event *event, int fd, const struct acceptor_calls *calls, struct acceptor **ret)
{
    _cleanup_(acceptor_freep) struct acceptor *acceptor = calloc(1, sizeof(*acceptor));

    if (!acceptor)
        return -ENOMEM;
    *acceptor = (struct acceptor){.fd = -1, .calls = *calls, .event = sd_event_ref(event)};
    int r = sd_event_add_io(event, &acceptor->io, fd, EPOLLIN, acceptor_on_io, acceptor);
    if (r >= 0)
        r = timer_init(event, CLOCK_MONOTONIC, 1000, acceptor_on_timer, acceptor, &acceptor->timer);
    if (r < 0)
        return r;
    acceptor->fd = fd;
    *ret = steal(acceptor);
    return 0;
}

void acceptor_stop(struct acceptor *acceptor)
{
    sd_event_source_set_enabled(acceptor->io, SD_EVENT_OFF);
    timer_disarm(acceptor->timer);
}

struct acceptor *acceptor_free(struct acceptor *acceptor)
{
    if (!acceptor)
        return NULL;
    sd_event_source_disable_unref(acceptor->io);
    sd_event_source_disable_unref(acceptor->timer);
    sd_event_unref(acceptor->event);
    if (acceptor->fd >= 0)
        close(acceptor->fd);
    free(acceptor);
    return NULL;
}

int acceptor_fd(const struct acceptor *acceptor)
{
    return acceptor->fd;
}
