/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that is to run: the file over the defaults, the flags over the file, held against the machine. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include "config/config.h"
#include "daemon/options.h"
#include "opener/opener-rules.h"

/*
 * -errno with a sentence that starts with FILE:LINE:COLUMN where there is a place. The web configuration that it names
 * is not read: who only prints may be somebody who may not read it. `machine` may be NULL: then events are not looked
 * up in sysfs.
 */
int settings_load(const struct options *options, struct sys *sys, const struct machine *machine, struct config **ret,
                  struct error *error);

/* What the file asks of an opener; nothing where it cannot be read, which settings_load() will tell. */
struct opener_tasks settings_opener_tasks(const struct options *options);

#endif
