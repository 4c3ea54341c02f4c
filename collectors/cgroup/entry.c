/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup that is watched, or was and lingers: see entry.h. */
#include "collectors/cgroup/entry.h"

#include "base/cleanup.h"

struct cgroup_entry *cgroup_entry_free(struct cgroup_entry *entry, struct snapshot *snapshot)
{
    if (!entry)
        return NULL;
    cgroup_count_free(entry->count, snapshot);
    metrics_remove(&snapshot->metrics, entry->info);
    cgroup_identity_done(&entry->identity);
    free(entry->path);
    free(entry->label);
    free(entry);
    return NULL;
}

/* A gauge in the text format, an info in OpenMetrics; for joins. */
static struct series *add_info(const struct collector_context *context, const struct cgroup_entry *entry)
{
    static const struct metric metric = {
        .name = "perf_cgroup_info",
        .help = "What a cgroup is: the systemd unit and slice, and the container, that its path tells.",
        .unit = "",
        .type = METRIC_INFO,
    };
    struct label labels[] = {{"cgroup", entry->label},
                             {"unit", entry->identity.unit},
                             {"slice", entry->identity.slice},
                             {"container_id", entry->identity.container_id}};
    struct series *series =
        metrics_add(&context->snapshot->metrics, &metric, context->collector, 0, labels, ARRAY_SIZE(labels));

    if (series)
        series_set(series, 1);
    return series;
}

static int fill(struct cgroup_entry *entry, const struct collector_context *context, const struct cgroup_tree *tree,
                const char *label)
{
    _cleanup_(closep) int fd = cgroup_tree_open(tree, entry->node);

    if (fd < 0)
        return fd;
    entry->path = strdup(entry->node->path);
    entry->label = strdup(label);
    if (!entry->path || !entry->label || cgroup_identify(entry->path, &entry->identity) < 0)
        return -ENOMEM;
    int r = cgroup_count_open(context, entry->label, fd, &entry->count);
    if (r < 0)
        return r;
    entry->info = add_info(context, entry);
    return entry->info ? 0 : -ENOMEM;
}

int cgroup_entry_open(const struct collector_context *context, const struct cgroup_tree *tree, struct cgroup_node *node,
                      const char *label, struct cgroup_entry **ret)
{
    struct cgroup_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return -ENOMEM;
    entry->node = node;
    entry->inode = node->inode;
    int r = fill(entry, context, tree, label);
    if (r < 0) {
        cgroup_entry_free(entry, context->snapshot);
        return r;
    }
    node->userdata = entry;
    *ret = entry;
    return 0;
}

int cgroup_entry_resume(struct cgroup_entry *entry, const struct collector_context *context,
                        const struct cgroup_tree *tree, struct cgroup_node *node)
{
    _cleanup_(closep) int fd = cgroup_tree_open(tree, node);

    if (fd < 0) {
        cgroup_count_leave(entry->count, context);
        return fd;
    }
    int r = cgroup_count_resume(entry->count, context, fd);
    if (r < 0)
        return r;
    entry->node = node;
    entry->inode = node->inode;
    node->userdata = entry;
    return 0;
}

void cgroup_entry_end(struct cgroup_entry *entry, struct sys *sys)
{
    cgroup_count_end(entry->count, sys);
    if (entry->node)
        entry->node->userdata = NULL;
    entry->node = NULL;
    entry->gone_ns = sys->now(sys, CLOCK_MONOTONIC);
}
