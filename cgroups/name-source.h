/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name source is a const table entry and its static functions, in one file; the resolver (cgroups/resolver.h) runs
 * all sources. Each source checks by itself whether the machine has the files that it reads, and notices when they
 * appear and disappear.
 */
#ifndef CGROUPS_NAME_SOURCE_H
#define CGROUPS_NAME_SOURCE_H

#include "cgroups/names.h"
#include "cgroups/state-files.h"
#include "perf/sys.h"

struct name_source {
    /*
     * *ret_fd is a descriptor that is readable when dispatch() has something to do; the state owns it; -1 if there is
     * none. `files` (may be NULL) must outlive the state. Returns -ENOMEM on failure.
     */
    int (*open)(struct sys *sys, const struct state_files *files, void **ret, int *ret_fd);
    /* Handles changes. Returns whether a name may have changed. */
    bool (*dispatch)(void *state);
    /*
     * Adds the names that the source knows to `names`, which already has the names that the cgroup's path gives. Sets
     * names->source if the source gives the container's name. If the source has to send a request first, it remembers
     * the request, and dispatch() returns true later. Returns -ENOMEM on failure.
     */
    int (*find)(void *state, const char *path, struct names *names);
    /* Called when the cgroup no longer exists. The pointer is NULL if the source keeps no data about cgroups. */
    void (*forget)(void *state, const char *path);
    void (*close)(void *state);
};

extern const struct name_source name_source_kubernetes; /* the links in /var/log/containers */
extern const struct name_source name_source_state;      /* state files of container runtimes, through the reader */
extern const struct name_source name_source_systemd;    /* machines of systemd-machined(8), and descriptions of units */

#endif
