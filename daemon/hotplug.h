/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go, in the event loop: what waits is gathered, and told once. */
#ifndef DAEMON_HOTPLUG_H
#define DAEMON_HOTPLUG_H

#include <systemd/sd-event.h>

#include "perf/cpuset.h"

struct hotplug;

/*
 * `on_change` is told the CPUs that left since the last call, whether or not they are back; it may be none, when CPUs
 * only came. Where messages were lost all CPUs that can be are among them. Where the kernel cannot be heard it is deaf,
 * and only suspicions remain.
 */
int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *left), void *userdata,
                struct hotplug **ret);
/*
 * Asks for a call of on_change from the event loop, with no CPU that left: for who suspects a change of which nothing
 * was heard. At most one such call a second.
 */
void hotplug_suspect(struct hotplug *hotplug);
/* 0, or why the kernel cannot be heard: errors of uevent_open(). */
int hotplug_listen_error(const struct hotplug *hotplug);
struct hotplug *hotplug_free(struct hotplug *hotplug);

#endif
