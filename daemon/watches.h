/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors' descriptors in the event loop. */
#ifndef DAEMON_WATCHES_H
#define DAEMON_WATCHES_H

#include <systemd/sd-event.h>

#include "collectors/registry.h"

struct watches;

/* `on_change` is called after a collector has handled its descriptor; `error` as of registry_dispatch(). -ENOMEM. */
int watches_new(sd_event *event, void (*on_change)(void *userdata, int error), void *userdata, struct watches **ret);
struct watches *watches_free(struct watches *watches);

/* Watches the descriptors that the collectors have now: after each registry_configure(). -errno of sd_event_add_io(3).
 */
int watches_update(struct watches *watches, struct registry *registry);

#endif
