/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description= of systemd's units, read from their files in the order of systemd.unit(5), and kept.
 *
 * Directories of other users are not read: their files may be on a file system of the user's own, which could hold this
 * process up.
 */
#ifndef CGROUPS_UNIT_DESCRIPTIONS_H
#define CGROUPS_UNIT_DESCRIPTIONS_H

#include "cgroups/path.h"
#include "perf/sys.h"

/* With one more all are forgotten, and read again where they are asked for. */
#define UNIT_DESCRIPTIONS_MAX 4096

struct kept_description {
    char *unit; /* "ssh.service"; of a user's manager "1000/foo.service" */
    char *text; /* NULL: it has none */
};

/* Zeroed but for `sys` and `home`, it is empty. */
struct unit_descriptions {
    struct sys *sys;
    const char *home;            /* of the user that this process runs as; NULL: unknown */
    struct kept_description *at; /* sorted by unit */
    size_t n;
};

/* *ret is NULL where it has none; valid until the next call. -ENOMEM. */
int unit_descriptions_find(struct unit_descriptions *descriptions, const struct path_unit *unit, const char **ret);
/* The unit is gone: its next one may have another. */
void unit_descriptions_forget(struct unit_descriptions *descriptions, const struct path_unit *unit);
void unit_descriptions_clear(struct unit_descriptions *descriptions);

#endif
