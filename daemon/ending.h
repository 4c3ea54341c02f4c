/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the daemon that was asked for: streams are ended and their clients take what is left of them, for a second
 * at most; then the event loop ends.
 */
#ifndef DAEMON_ENDING_H
#define DAEMON_ENDING_H

#include "sampler/sampler.h"

struct ending;

/* `sampler` must outlive it. -ENOMEM; -errno of sd_event_add_time(3). */
int ending_new(sd_event *event, struct sampler *sampler, struct ending **ret);
struct ending *ending_free(struct ending *ending);

/* At once where there are no streams, and where it was asked for already. -errno of sd_event_exit(3). */
int ending_begin(struct ending *ending);
bool ending_has_begun(const struct ending *ending);

#endif
