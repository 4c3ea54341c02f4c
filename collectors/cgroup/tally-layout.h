/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are the same as long as a tally can go on: another one needs another tally. */
#ifndef COLLECTORS_CGROUP_TALLY_LAYOUT_H
#define COLLECTORS_CGROUP_TALLY_LAYOUT_H

#include "collectors/cgroup/bpf-groups.h"

struct tally_layout {
    char *wanted; /* by the configuration */
    char *words;
};

/* As the groups are now. -ENOMEM; tally_layout_done() in any case. */
int tally_layout_init(struct tally_layout *layout, const struct tally_groups *groups,
                      const struct collector_context *context);
void tally_layout_done(struct tally_layout *layout);

/* Whether the configuration wants what it wanted then. -ENOMEM. */
int tally_layout_is_wanted(const struct tally_layout *layout, const struct collector_context *context);

#endif
