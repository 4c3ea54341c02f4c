/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that is to run: the file over the defaults, the flags over the file, held against the machine. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include "config/config.h"
#include "daemon/options.h"

/*
 * -errno with a sentence that starts with FILE:LINE:COLUMN where there is a place. The web configuration that it names
 * is not read: who only prints may be somebody who may not read it. `machine` may be NULL: then events are not looked
 * up in sysfs.
 */
int settings_load(const struct options *options, struct sys *sys, const struct machine *machine, struct config **ret,
                  struct error *error);

/* The same without a machine: events are not looked up. */
int settings_read(const struct options *options, struct sys *sys, struct config **ret, struct error *error);

/* Where the configuration is read from, whether there is such a file or not. Borrowed. */
const char *settings_file(const struct options *options);
/* Opens files by `sys`, which must outlive it; make it again once `sys` asks an opener. */
struct file_opener settings_files(struct sys *sys);

#endif
