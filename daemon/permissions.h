/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration has its opener open: what it samples, its tracepoints, probes and breakpoints, its own files.
 */
#ifndef DAEMON_PERMISSIONS_H
#define DAEMON_PERMISSIONS_H

#include "config/config.h"
#include "opener/rules.h"

/*
 * `config_file` is where the configuration was read from; NULL: nowhere. What this machine does not have is left out,
 * as it is when it is opened. -ENOMEM with a sentence; the caller ends the permissions in any case.
 */
int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error);

#endif
