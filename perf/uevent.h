/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs that come and go, as the kernel tells it over NETLINK_KOBJECT_UEVENT (lib/kobject_uevent.c): group 1, where the
 * kernel itself speaks, so that boards without udevd are heard as well.
 */
#ifndef PERF_UEVENT_H
#define PERF_UEVENT_H

#include "base/util.h"

enum uevent_change { UEVENT_ONLINE, UEVENT_OFFLINE };

/* Pure: "offline@/devices/system/cpu/cpu3", NUL, pairs... -ENOENT where the message is of something else. */
int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu);

/* A non-blocking socket that hears the kernel; errors of socket(2) and bind(2). The caller closes it. */
int uevent_open(void);

/*
 * The next change of a CPU that waits in the socket; messages of other things, and of anybody but the kernel, are
 * passed over. -EAGAIN: no more. -ENOBUFS: messages were lost, so that any CPU may have come or gone. Errors of
 * recvmsg(2).
 */
int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu);

#endif
