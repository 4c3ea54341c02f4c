/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opener's permissions for a configuration: how many events it can need, the tracepoints, probes and breakpoints
 * that it names, and its files.
 */
#ifndef DAEMON_PERMISSIONS_H
#define DAEMON_PERMISSIONS_H

#include "config/config.h"
#include "opener/rules.h"

/*
 * `config_file` is the file that the configuration was read from, or NULL. Events that this machine does not have are
 * left out. -ENOMEM with a sentence; opener_permissions_done() in either case.
 */
int permissions_from_config(struct sys *sys, const struct config *config, const char *config_file,
                            struct opener_permissions *ret, struct error *error);

#endif
