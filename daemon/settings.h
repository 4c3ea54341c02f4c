/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in force: flags override the file, the file overrides the defaults; checked against the machine. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include "config/config.h"
#include "daemon/options.h"

/*
 * -errno with a sentence, which starts with FILE:LINE:COLUMN where the file is at fault. The web configuration that it
 * names is not read: a user of the printing commands may not have the permission. `machine` may be NULL: then events
 * are not looked up in sysfs.
 */
int settings_load(const struct options *options, struct sys *sys, const struct machine *machine, struct config **ret,
                  struct error *error);

/* The same without a machine: events are not looked up. */
int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error);

/* The file that the configuration is read from, whether it exists or not. Borrowed. */
const char *settings_file(const struct options *options);
/* Opens files by `sys`, which must outlive it. Call it again once `sys` asks an opener. */
struct file_opener settings_files(struct sys *sys);

#endif
