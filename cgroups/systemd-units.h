/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit's name, and its file or drop-in: systemd.unit(5), systemd.syntax(7). Pure.
 *
 * Description= of systemd's units, read from their files in the order of systemd.unit(5), and kept.
 *
 * Directories of other users are not read: their files may be on a file system of the user's own, which could hold this
 * process up.
 *
 * The virtual machines and containers that are registered with systemd-machined(8), by their unit: what its files in
 * /run/systemd/machines say, which everybody may read and only root may write.
 */
#ifndef CGROUPS_SYSTEMD_UNITS_H
#define CGROUPS_SYSTEMD_UNITS_H

#include "base/util.h"
#include "perf/sys.h"

/* The last Description= of the section [Unit], as it is written. -ENOENT where there is none; -ENOMEM. */
int unit_file_description(const char *text, char **ret);
/*
 * With the specifiers that the name of the unit gives: %n %N %p %P %i %I %j %J %f %%. Others stay as they are. -ENOMEM.
 */
int unit_file_expand(const char *text, const char *unit, char **ret);

struct registered_machine {
    char *name;    /* "debian", "qemu-1-debian" */
    char *unit;    /* "machine-debian.scope", "systemd-nspawn@debian.service" */
    char *service; /* the program that registered it: "systemd-nspawn", "libvirt-qemu"; "" where it did not say */
};

/* Zeroed but for `sys`, it is empty. */
struct machines {
    struct sys *sys;
    struct registered_machine *at;
    size_t n;
};

#endif
