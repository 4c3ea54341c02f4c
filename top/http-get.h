/* SPDX-License-Identifier: Apache-2.0 */
/* One GET in the event loop, over a connection of its own. */
#ifndef TOP_HTTP_GET_H
#define TOP_HTTP_GET_H

#include <systemd/sd-event.h>

#include "top/address.h"
#include "top/reply.h"

struct top_request;

/* Called once, at the end; the request may be freed there. `reply` is NULL where there is none: see `error`. */
typedef void top_request_end(void *userdata, const struct top_reply *reply, const struct error *error);

/*
 * `address` is resolved and outlives the request; `path` is behind its prefix. Fails after `timeout_ns` without an
 * answer. -errno.
 */
int top_request_start(sd_event *event, const struct top_address *address, const char *path, uint64_t timeout_ns,
                      top_request_end *on_end, void *userdata, struct top_request **ret);
/* Also before its end. */
struct top_request *top_request_free(struct top_request *request);

#endif
