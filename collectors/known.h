/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that a query may ask for: those of the rows, of the configuration and of the machine.
 *
 * A name is known even if nothing is counted under it now. Cgroups come and go, and a client that polls for one must
 * not get an error in between.
 */
#ifndef COLLECTORS_KNOWN_H
#define COLLECTORS_KNOWN_H

#include "collectors/snapshot.h"

enum known_kind {
    KNOWN_EVENTS, /* metric names of the events of rows and of configured groups */
    KNOWN_GROUPS, /* names of rows and of configured groups */
    KNOWN_PMUS,   /* PMUs of rows and of the machine */
};

/*
 * Calls `take` for each name, possibly more than once for the same name. The names are valid as long as the rows, the
 * configuration and the machine.
 */
void known_each(const struct snapshot *snapshot, enum known_kind kind, void (*take)(void *userdata, const char *name),
                void *userdata);

/*
 * Returns the possible CPUs of the machine in the kernel's list format ("0-3,8"). The caller frees it. NULL if unknown.
 */
char *known_cpus(const struct snapshot *snapshot);
/* Returns whether any of the CPUs `first` to `last` is possible on this machine; true if that is unknown. */
bool known_has_cpu(const struct snapshot *snapshot, unsigned first, unsigned last);

#endif
