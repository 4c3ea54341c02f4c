/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An orderly end on SIGTERM or SIGINT: streams end, their clients have a second to read the rest, and then the event
 * loop ends.
 */
#ifndef DAEMON_SHUTDOWN_H
#define DAEMON_SHUTDOWN_H

#include "sampler/sampler.h"

struct shutdown;

/* `sampler` must outlive it. -ENOMEM; -errno of sd_event_add_time(3). */
int shutdown_new(sd_event *event, struct sampler *sampler, struct shutdown **ret);
struct shutdown *shutdown_free(struct shutdown *shutdown);

/* The event loop ends at once where there are no streams, and at the second call. -errno of sd_event_exit(3). */
int shutdown_begin(struct shutdown *shutdown);
bool shutdown_has_begun(const struct shutdown *shutdown);

#endif
