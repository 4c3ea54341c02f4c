/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a running daemon, by its documents below /api/v1/. */
#ifndef TOP_REMOTE_H
#define TOP_REMOTE_H

#include <systemd/sd-event.h>

#include "top/address.h"
#include "top/readings.h"

struct top_remote;

/* `address` is resolved and outlives it. -errno; that nothing answers is reported to the listener. */
int top_remote_new(sd_event *event, const struct top_address *address, uint64_t interval_ns,
                   const struct top_listener *listener, struct top_remote **ret);
struct top_remote *top_remote_free(struct top_remote *remote);
/* From the next request on; at most 60 s, as /api/v1/rates has it. */
void top_remote_set_interval(struct top_remote *remote, uint64_t interval_ns);

#endif
