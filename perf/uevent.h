/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs that come and go, from the kernel's messages over NETLINK_KOBJECT_UEVENT (lib/kobject_uevent.c): those of group
 * 1, which the kernel itself sends, so that it works without udevd.
 */
#ifndef PERF_UEVENT_H
#define PERF_UEVENT_H

#include "base/util.h"

enum uevent_change { UEVENT_ONLINE, UEVENT_OFFLINE };

/* Pure: "offline@/devices/system/cpu/cpu3", NUL, pairs... -ENOENT where the message is about something else. */
int uevent_parse(const char *message, size_t size, enum uevent_change *ret_change, unsigned *ret_cpu);

/* A non-blocking socket that receives the messages; errors of socket(2) and bind(2). The caller closes it. */
int uevent_open(void);

/*
 * The next change of a CPU that waits in the socket; messages about other things, and from anybody but the kernel, are
 * skipped. -EAGAIN: there is none. -ENOBUFS: messages were lost, so any CPU may have come or gone. Errors of
 * recvmsg(2).
 */
int uevent_receive(int fd, enum uevent_change *ret_change, unsigned *ret_cpu);

#endif
