/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the events of a request that has been checked.
 *
 * If one of them is a uprobe, a child of the opener opens all events of the request, because the program may be on a
 * file system that never answers. To set a uprobe, the kernel reads the program and takes the mmap_lock of each process
 * that has mapped it; meanwhile no process can fork (register_for_each_vma() in kernel/events/uprobes.c). The opener
 * waits for the child for at most a second. Then the request fails with -EHOSTDOWN, and so do other requests for the
 * same program until the child has ended.
 */
#ifndef OPENER_OPEN_EVENTS_H
#define OPENER_OPEN_EVENTS_H

#include "opener/request.h"
#include "process/stragglers.h"

struct event_opening {
    struct sys *sys;
    const struct opener_rules *rules;
    struct stragglers *programs; /* children, each for one program; NULL: events are opened without a child */
};

/* Sets ret[i] to a descriptor of the i-th event, which the caller owns, or to -errno. */
void opener_open_events(const struct event_opening *opening, const struct opener_request *request,
                        const struct fd_list *given, int *ret);

#endif
