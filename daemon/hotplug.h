/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go, in the event loop: messages of the kernel that wait are reported together. */
#ifndef DAEMON_HOTPLUG_H
#define DAEMON_HOTPLUG_H

#include <systemd/sd-event.h>

#include "perf/cpuset.h"

struct hotplug;

/*
 * `on_change` is given the CPUs that went offline since the last call, whether or not they are back; none where CPUs
 * only came. Where messages were lost, it is given all possible CPUs. Where the kernel's messages cannot be received
 * (hotplug_listen_error()), only hotplug_request_check() leads to a call. -errno.
 */
int hotplug_new(sd_event *event, void (*on_change)(void *userdata, const struct cpuset *left), void *userdata,
                struct hotplug **ret);
/*
 * Has the event loop call on_change without any CPU: for callers that suspect a change and have received no message. At
 * most one such call a second.
 */
void hotplug_request_check(struct hotplug *hotplug);
/* 0, or why the kernel's messages cannot be received: errors of uevent_open(). */
int hotplug_listen_error(const struct hotplug *hotplug);
struct hotplug *hotplug_free(struct hotplug *hotplug);

#endif
