/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors' descriptors in the event loop: see watches.h. */
#include "daemon/watches.h"

#include <sys/epoll.h>

struct watch {
    struct watches *all;
    size_t collector;
    sd_event_source *source;
};

/* More than there are collectors. */
#define WATCHES_MAX 16

struct watches {
    sd_event *event;
    struct registry *registry;
    void (*on_change)(void *userdata, int error);
    void *userdata;
    struct watch items[WATCHES_MAX]; /* one for each collector that has a descriptor */
    size_t n;
};

static void watches_drop(struct watches *watches)
{
    for (size_t i = 0; i < watches->n; i++)
        sd_event_source_disable_unref(watches->items[i].source);
    watches->n = 0;
}

int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret)
{
    struct watches *watches = calloc(1, sizeof(*watches));

    if (!watches)
        return -ENOMEM;
    watches->event = sd_event_ref(event);
    watches->on_change = on_change;
    watches->userdata = userdata;
    *ret = watches;
    return 0;
}

struct watches *watches_free(struct watches *watches)
{
    if (!watches)
        return NULL;
    watches_drop(watches);
    sd_event_unref(watches->event);
    free(watches);
    return NULL;
}

static int watch_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct watch *watch = userdata;

    (void)source;
    (void)fd;
    (void)events;
    int r = registry_dispatch(watch->all->registry, watch->collector);
    watch->all->on_change(watch->all->userdata, r);
    return 0;
}

int watches_update(struct watches *watches, struct registry *registry)
{
    int fd, r = 0;

    watches_drop(watches);
    watches->registry = registry;
    for (size_t i = 0; watches->n < WATCHES_MAX && (fd = registry_fd(registry, i)) != -ENODEV && r >= 0; i++) {
        if (fd < 0)
            continue;
        struct watch *watch = &watches->items[watches->n++];
        *watch = (struct watch){.all = watches, .collector = i};
        r = sd_event_add_io(watches->event, &watch->source, fd, EPOLLIN, watch_on_io, watch);
    }
    return r < 0 ? r : 0;
}
