/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's name, and its file or drop-in: systemd.unit(5), systemd.syntax(7). Pure. */
#ifndef CGROUPS_UNIT_FILE_H
#define CGROUPS_UNIT_FILE_H

#include "base/util.h"

/* The last Description= of the section [Unit], as it is written. -ENOENT where there is none; -ENOMEM. */
int unit_file_description(const char *text, char **ret);
/*
 * With the specifiers that the name of the unit gives: %n %N %p %P %i %I %j %J %f %%. Others stay as they are. -ENOMEM.
 */
int unit_file_expand(const char *text, const char *unit, char **ret);

/* Where the instance of "getty@tty1.service" begins: behind the "@". NULL where the unit has none. */
const char *unit_file_instance(const char *unit);

#endif
