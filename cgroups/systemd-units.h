/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from systemd: the text of unit files, and the machines of systemd-machined(8). Syntax: systemd.unit(5),
 * systemd.syntax(7). The functions make no system calls.
 *
 * A unit's description is read from its files in the order of systemd.unit(5), and cached. Directories of other users
 * are not read: they may be on a file system that those users control and that could block this process.
 *
 * systemd-machined(8) registers virtual machines and containers in files in /run/systemd/machines, which everyone may
 * read and only root may write. A machine is found by its unit.
 */
#ifndef CGROUPS_SYSTEMD_UNITS_H
#define CGROUPS_SYSTEMD_UNITS_H

#include "base/util.h"
#include "perf/sys.h"

/*
 * Finds the last Description= in the [Unit] section, as written; the caller frees *ret. Returns -ENOENT if there is
 * none, or -ENOMEM.
 */
int unit_file_description(const char *text, char **ret);
/*
 * Expands the specifiers that the unit's name determines: %n %N %p %P %i %I %j %J %f %%. Other specifiers stay as they
 * are. The caller frees *ret. Returns -ENOMEM on failure.
 */
int unit_file_expand(const char *text, const char *unit, char **ret);

#endif
