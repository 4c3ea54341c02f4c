/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names by which counters of this machine and this configuration can be asked for, whether or not they are there
 * now: cgroups come and go, and what is asked for again and again is not an error meanwhile.
 */
#ifndef COLLECTORS_KNOWN_H
#define COLLECTORS_KNOWN_H

#include "collectors/snapshot.h"

enum known_kind {
    KNOWN_EVENTS, /* of rows and of configured groups, as metrics have them */
    KNOWN_GROUPS, /* the same */
    KNOWN_PMUS,   /* of rows, and those of the machine */
};

/* Calls `take` for each name, for some more than once. They live as long as the rows of the snapshot do. */
void known_each(const struct snapshot *snapshot, enum known_kind kind, void (*take)(void *userdata, const char *name),
                void *userdata);

/* The CPUs that the machine can have, in the kernel's list format; the caller frees it. NULL: not known. */
char *known_cpus(const struct snapshot *snapshot);
/* Whether the machine can have one of the CPUs `first` to `last`; true where that is not known. */
bool known_has_cpu(const struct snapshot *snapshot, unsigned first, unsigned last);

#endif
