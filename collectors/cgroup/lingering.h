/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups that are gone and whose last counts are still shown, among `n` counts. */
#ifndef COLLECTORS_CGROUP_LINGERING_H
#define COLLECTORS_CGROUP_LINGERING_H

#include "collectors/cgroup/counts.h"

/* NULL where none of this path lingers. */
struct cgroup_counts *lingering_find(struct cgroup_counts *const *counts, size_t n, const char *path);
/* Sets `exceeds` of the oldest beyond `max`. */
void lingering_limit(struct cgroup_counts *const *counts, size_t n, uint64_t max);
/* Frees those whose time is over. Returns how many counts there are now. */
size_t lingering_expire(struct cgroup_counts **counts, size_t n, const struct collector_context *context,
                        struct name_book *book);

#endif
