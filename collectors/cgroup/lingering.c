/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that are gone and whose last counts are still shown: see lingering.h. */
#include "collectors/cgroup/lingering.h"

#include "base/cleanup.h"

struct cgroup_counts *lingering_find(struct cgroup_counts *const *counts, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!counts[i]->node && str_equal(counts[i]->path, path))
            return counts[i];
    return NULL;
}

static int compare_gone(const void *a, const void *b)
{
    const struct cgroup_counts *const *first = a, *const *second = b;

    return (*first)->gone_ns < (*second)->gone_ns ? -1 : (*first)->gone_ns > (*second)->gone_ns;
}

static size_t count_lingering(struct cgroup_counts *const *counts, size_t n)
{
    size_t lingering = 0;

    for (size_t i = 0; i < n; i++)
        lingering += !counts[i]->node;
    return lingering;
}

void lingering_limit(struct cgroup_counts *const *counts, size_t n, uint64_t max)
{
    _cleanup_(freep) struct cgroup_counts **lingering = NULL;
    size_t n_lingering = count_lingering(counts, n), k = 0;

    if (n_lingering > max)
        lingering = calloc(n_lingering, sizeof(lingering[0]));
    if (!lingering)
        return;
    for (size_t i = 0; i < n; i++)
        if (!counts[i]->node)
            lingering[k++] = counts[i];
    qsort(lingering, k, sizeof(lingering[0]), compare_gone);
    for (size_t i = 0; i < k - max; i++)
        lingering[i]->exceeds = true;
}

static bool is_over(const struct cgroup_counts *counts, uint64_t now, uint64_t linger_ns)
{
    return !counts->node && (counts->exceeds || now - counts->gone_ns >= linger_ns);
}

size_t lingering_expire(struct cgroup_counts **counts, size_t n, const struct collector_context *context,
                        struct name_book *book)
{
    uint64_t now = context->sys->now(context->sys, CLOCK_MONOTONIC);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_over(counts[i], now, context->config->cgroup.linger_ns)) {
            name_book_forget(book, counts[i]->path);
            cgroup_counts_free(counts[i], context->snapshot);
        } else {
            counts[kept++] = counts[i];
        }
    }
    return kept;
}
