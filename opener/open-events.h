/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a request, which has been checked.
 *
 * Where one is a uprobe, a child opens them: the program may be on a file system that never answers, and the kernel
 * reads it, and waits for all processes that have it in memory; meanwhile no process can fork (register_for_each_vma()
 * of kernel/events/uprobes.c). The opener waits for a moment; then the error is -EHOSTDOWN, also of other requests for
 * the same program, until that child has ended.
 */
#ifndef OPENER_OPEN_EVENTS_H
#define OPENER_OPEN_EVENTS_H

#include "base/process/stragglers.h"
#include "opener/request.h"

struct event_opening {
    struct sys *sys;
    const struct opener_rules *rules;
    struct stragglers *programs; /* the children; a "user" is a program */
};

/* ret[i]: a descriptor of the i-th event, or -errno. */
void opener_open_events(const struct event_opening *opening, const struct opener_request *request,
                        const struct fd_list *given, int *ret);

#endif
