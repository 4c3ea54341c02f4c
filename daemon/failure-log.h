/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator has to mend, told to the log once each: not at every scrape or reload; what was mended and fails
 * again is told again.
 */
#ifndef DAEMON_FAILURE_LOG_H
#define DAEMON_FAILURE_LOG_H

#include "collectors/registry.h"

struct failure_log {
    char **told;
    size_t n;
};

void failure_log_done(struct failure_log *failure_log);
/* Tells what is new. */
void failure_log_update(struct failure_log *failure_log, const struct registry *registry);

#endif
