/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state in one line, for `systemctl status`. */
#ifndef DAEMON_SUMMARY_H
#define DAEMON_SUMMARY_H

#include "collectors/registry.h"

/*
 * "counting 30 groups on 8 CPUs and 12 cgroups; 6 events missing, see /api/v1/status". What the operator did last goes
 * first: `reload_error` ("" where the last one succeeded) and the pause, of `paused_seconds` (0: none).
 */
void summary_format(struct registry *registry, const char *reload_error, unsigned paused_seconds, char *text,
                    size_t size);

#endif
