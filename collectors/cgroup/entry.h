/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup that is watched, or was and lingers: its counts, its perf_cgroup_info, and when it went.
 */
#ifndef COLLECTORS_CGROUP_ENTRY_H
#define COLLECTORS_CGROUP_ENTRY_H

#include "collectors/cgroup/count.h"
#include "collectors/cgroup/identity.h"
#include "collectors/cgroup/tree.h"

struct cgroup_entry {
    char *path;               /* relative to the root, as its bytes are */
    char *label;              /* what stands in the label `cgroup` */
    struct cgroup_node *node; /* NULL once it is gone */
    struct cgroup_count *count;
    struct cgroup_identity identity;
    struct series *info;
    uint64_t inode;
    uint64_t gone_ns; /* CLOCK_MONOTONIC */
    bool exceeds;     /* too many linger */
};

/*
 * Opens a node of `tree`. -ENODEV, -ENOENT, -ESTALE: it was removed meanwhile. Errors of open(2), -ENOMEM. `label` is
 * copied.
 */
int cgroup_entry_open(const struct collector_context *context, const struct cgroup_tree *tree, struct cgroup_node *node,
                      const char *label, struct cgroup_entry **ret);
/* Opens anew what lingers, under its old name, or what a reload or the CPUs changed; the totals go on. Same errors. */
int cgroup_entry_resume(struct cgroup_entry *entry, const struct collector_context *context,
                        const struct cgroup_tree *tree, struct cgroup_node *node);
/* The cgroup is gone: its last reading, and its descriptors closed. */
void cgroup_entry_end(struct cgroup_entry *entry, struct sys *sys);
struct cgroup_entry *cgroup_entry_free(struct cgroup_entry *entry, struct snapshot *snapshot);

#endif
