/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of counters that this process has opened. */
#ifndef TOP_LOCAL_H
#define TOP_LOCAL_H

#include <systemd/sd-event.h>

#include "daemon/session.h"
#include "top/readings.h"

struct top_local;

/* Whether the session counts anything of the machine, besides this process. */
bool top_local_has_counters(const struct session *session);

/* The session is open and outlives it. The first reading comes after an interval. -errno. */
int top_local_new(sd_event *event, struct session *session, uint64_t interval_ns, const struct top_listener *listener,
                  struct top_local **ret);
struct top_local *top_local_free(struct top_local *local);
/* From now on. -errno. */
int top_local_set_interval(struct top_local *local, uint64_t interval_ns);

#endif
