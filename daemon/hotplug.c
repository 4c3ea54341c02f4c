/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go, in the event loop: see hotplug.h. */
#include "daemon/hotplug.h"

#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "perf/uevent.h"

/* Between two checks that were asked for, at least. */
#define CHECK_INTERVAL_USEC 1000000

struct hotplug {
    int fd;
    sd_event_source *io, *timer;
    uint64_t next_usec; /* of the next check that is asked for, at the earliest */
    void (*on_change)(void *userdata, const struct cpuset *left);
    void *userdata;
};

/* Returns whether any CPU came or went. */
static bool hotplug_receive(int fd, struct cpuset *left)
{
    enum uevent_change change;
    bool any = false;
    unsigned cpu;
    int r;

    while ((r = uevent_receive(fd, &change, &cpu)) == 0) {
        any = true;
        if (change == UEVENT_OFFLINE)
            cpuset_add(left, cpu);
    }
    if (r != -ENOBUFS)
        return any;
    for (cpu = 0; cpu < CPUSET_MAX; cpu++)
        cpuset_add(left, cpu);
    return true;
}

static int hotplug_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    _cleanup_(cpuset_done) struct cpuset left = {0};
    struct hotplug *hotplug = userdata;

    (void)source;
    (void)events;
    if (hotplug_receive(fd, &left))
        hotplug->on_change(hotplug->userdata, &left);
    return 0;
}

static int hotplug_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct hotplug *hotplug = userdata;
    struct cpuset none = {0};

    (void)source;
    hotplug->next_usec = usec + CHECK_INTERVAL_USEC;
    hotplug->on_change(hotplug->userdata, &none);
    return 0;
}

void hotplug_request_check(struct hotplug *hotplug)
{
    uint64_t now = 0;

    sd_event_now(sd_event_source_get_event(hotplug->timer), CLOCK_MONOTONIC, &now);
    timer_arm_in(hotplug->timer, hotplug->next_usec > now ? hotplug->next_usec - now : 0);
}

DEFINE_CLEANUP(struct hotplug *, hotplug_free);

int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *left), void *userdata,
                struct hotplug **ret)
{
    _cleanup_(hotplug_freep) struct hotplug *hotplug = calloc(1, sizeof(*hotplug));

    if (!hotplug)
        return -ENOMEM;
    hotplug->on_change = on_change;
    hotplug->userdata = userdata;
    hotplug->fd = uevent_open();
    int r = hotplug->fd < 0 ? 0 : sd_event_add_io(event, &hotplug->io, hotplug->fd, EPOLLIN, hotplug_on_io, hotplug);
    if (r < 0)
        return r;
    r = timer_init(event, CLOCK_MONOTONIC, 1000, hotplug_on_timer, hotplug, &hotplug->timer);
    if (r < 0)
        return r;
    *ret = steal(hotplug);
    return 0;
}

int hotplug_listen_error(const struct hotplug *hotplug)
{
    return MIN(hotplug->fd, 0);
}

struct hotplug *hotplug_free(struct hotplug *hotplug)
{
    if (!hotplug)
        return NULL;
    sd_event_source_disable_unref(hotplug->io);
    sd_event_source_disable_unref(hotplug->timer);
    closep(&hotplug->fd);
    free(hotplug);
    return NULL;
}
