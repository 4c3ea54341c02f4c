/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of names: one const table entry and its static functions, in one file. The book (book.h) runs them. Each
 * finds out by itself whether the machine has what it reads, and notices when that comes and goes.
 */
#ifndef CGROUPS_NAME_SOURCE_H
#define CGROUPS_NAME_SOURCE_H

#include "cgroups/names.h"
#include "perf/sys.h"

struct name_source {
    /* *ret_fd: readable when dispatch has something to do; owned by the state; -1 where there is none. -ENOMEM. */
    int (*open)(struct sys *sys, void **ret, int *ret_fd);
    /* Takes in what changed; whether a name may be another now. */
    bool (*dispatch)(void *state);
    /*
     * Adds to `names`, which has those of the path, what the source knows of the cgroup; sets names->source where it
     * gives the container's name. A source that has to ask first remembers the question: dispatch returns true later.
     * -ENOMEM.
     */
    int (*find)(void *state, const char *path, struct names *names);
    /* No cgroup that was asked about is this one's any more; NULL where the source does not mind. */
    void (*forget)(void *state, const char *path);
    void (*close)(void *state);
};

extern const struct name_source name_source_kubernetes; /* the links in /var/log/containers */
extern const struct name_source name_source_state;      /* state files of container runtimes, by the reader */
extern const struct name_source name_source_systemd;    /* machines, and descriptions of units */

#endif
