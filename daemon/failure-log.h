/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs each failure of the collectors once, not at every scrape or reload, and again if it returns after it was
 * fixed.
 */
#ifndef DAEMON_FAILURE_LOG_H
#define DAEMON_FAILURE_LOG_H

#include "collectors/registry.h"

struct failure_log {
    char **sentences; /* that failed at the last update */
    size_t n;
    bool incomplete; /* there was no memory for all of them */
};

void failure_log_done(struct failure_log *failure_log);
/* Logs the failures that are new. */
void failure_log_update(struct failure_log *failure_log, const struct registry *registry);

#endif
