/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup hierarchy in which perf counts: the cgroup v2 tree, alone or beside v1 controllers (the hybrid layout), or
 * a v1 `perf_event` hierarchy. Found in /proc/self/mountinfo (proc_pid_mountinfo(5)).
 *
 * Where a v1 perf_event hierarchy is mounted, the kernel counts in it and refuses directories of v2 with ENOENT.
 */
#ifndef CGROUPS_CGROUPFS_H
#define CGROUPS_CGROUPFS_H

#include "perf/sys.h"

enum hierarchy_kind { HIERARCHY_V2, HIERARCHY_V1 };

struct hierarchy {
    enum hierarchy_kind kind;
    char *path;      /* its directory, with sys->root before it: "/sys/fs/cgroup", "/sys/fs/cgroup/unified" */
    bool namespaced; /* the mount shows only a subtree: this process is in a cgroup namespace */
};

void hierarchy_done(struct hierarchy *hierarchy);
/* Pure: chooses from the text of mountinfo; `ret->path` is the mount point there. -ENOENT with a sentence; -ENOMEM. */
int hierarchy_parse(const char *mountinfo, struct hierarchy *ret, struct error *error);
/* The same for this machine. Also errors of reading mountinfo. */
int hierarchy_find(struct sys *sys, struct hierarchy *ret, struct error *error);

#endif
