/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An orderly end: streams end, their clients and those that are being answered have a second to read the rest, and then
 * the event loop ends.
 */
#ifndef DAEMON_SHUTDOWN_H
#define DAEMON_SHUTDOWN_H

#include "sampler/sampler.h"

struct shutdown;

/*
 * `sampler` must outlive it. `is_answering` says whether clients are being answered. -ENOMEM; -errno of
 * sd_event_add_time(3).
 */
int shutdown_new(sd_event *event, struct sampler *sampler, bool (*is_answering)(void *userdata), void *userdata,
                 struct shutdown **ret);
struct shutdown *shutdown_free(struct shutdown *shutdown);

/*
 * The event loop ends with `status` at once where nobody waits for the rest of anything, and at the second call. -errno
 * of sd_event_exit(3).
 */
int shutdown_begin(struct shutdown *shutdown, int status);
bool shutdown_has_begun(const struct shutdown *shutdown);

#endif
