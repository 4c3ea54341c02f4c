/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a listening socket: see acceptor.h. */
#include "http/acceptor.h"

#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"

/* So many in a row, before those that are connected have their turn. */
#define SERIES_MAX 10
/* Where nobody can be accepted, it is tried again so much later. */
#define PAUSE_USEC 100000
#define TELL_USEC (60 * USEC_PER_SEC)

struct acceptor {
    int fd;
    struct acceptor_calls calls;
    sd_event *event;
    sd_event_source *io, *timer;
    uint64_t told_usec; /* 0: never */
};

static void starve(struct acceptor *acceptor, int error)
{
    uint64_t now = 0;

    sd_event_source_set_enabled(acceptor->io, SD_EVENT_OFF);
    sd_event_source_set_time_relative(acceptor->timer, PAUSE_USEC);
    sd_event_source_set_enabled(acceptor->timer, SD_EVENT_ONESHOT);
    sd_event_now(acceptor->event, CLOCK_MONOTONIC, &now);
    if (acceptor->told_usec && now - acceptor->told_usec < TELL_USEC)
        return;
    acceptor->told_usec = now;
    acceptor->calls.starve(acceptor->calls.userdata, error);
}

/* What has become of one client (accept(2)); after any other error the same one waits still. */
static bool is_of_client(int error)
{
    static const int errors[] = {EINTR,     ECONNABORTED, EPROTO,       ENETDOWN,   ENOPROTOOPT,
                                 EHOSTDOWN, ENONET,       EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH};

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i] == error)
            return true;
    return false;
}

/* Takes one client. Whether another may wait. */
static bool take_one(struct acceptor *acceptor)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int fd = accept4(acceptor->fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int error = fd < 0 ? errno : 0;

    if (fd >= 0)
        acceptor->calls.take(acceptor->calls.userdata, fd, (const struct sockaddr *)&address, size);
    else if (error != EAGAIN && !is_of_client(error))
        starve(acceptor, -error);
    return fd >= 0 || is_of_client(error);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    for (unsigned i = 0; i < SERIES_MAX && take_one(userdata); i++)
        continue;
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
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
    int r = sd_event_add_io(event, &acceptor->io, fd, EPOLLIN, on_io, acceptor);
    if (r >= 0)
        r = sd_event_add_time(event, &acceptor->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, acceptor);
    if (r >= 0)
        r = sd_event_source_set_enabled(acceptor->timer, SD_EVENT_OFF);
    if (r < 0)
        return r;
    acceptor->fd = fd;
    *ret = steal(acceptor);
    return 0;
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
