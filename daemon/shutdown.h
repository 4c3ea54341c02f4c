/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the daemon that was asked for: streams are ended and their clients take what is left of them, for a second
 * at most; then the event loop ends.
 */
#ifndef DAEMON_SHUTDOWN_H
#define DAEMON_SHUTDOWN_H

#include "sampler/sampler.h"

struct shutdown;

/* `sampler` must outlive it. -ENOMEM; -errno of sd_event_add_time(3). */
int shutdown_new(sd_event *event, struct sampler *sampler, struct shutdown **ret);
struct shutdown *shutdown_free(struct shutdown *shutdown);

/* At once where there are no streams, and where it was asked for already. -errno of sd_event_exit(3). */
int shutdown_begin(struct shutdown *shutdown);
bool shutdown_has_begun(const struct shutdown *shutdown);

#endif
