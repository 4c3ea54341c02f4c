/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the events of each preset on the PMUs of this machine. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <jansson.h>

#include "daemon/session.h"

/*
 * Returns every preset with the events that sysfs lists, without opening these events: [{"preset", "description",
 * "collectors": ["cpu", "cgroup"], "pmus": [{"pmu", "cpus", "events", "left_out"}]}]. Events are in the syntax of
 * `events:` in the configuration. Returns NULL when out of memory. The caller owns the document.
 */
json_t *presets_list(const struct machine *machine);
/*
 * Returns the configured presets, with the events that were opened:
 * [{"collector", "group", "preset", "pmu", "cpus", "events", "left_out", "groups": ["overview", "overview-2"],
 *   "fits"}].
 * Events are named as in metrics. `fits` is true if all counted events are in one group. Returns NULL when out of
 * memory. The caller owns the document.
 */
json_t *presets_plan(const struct session *session, const struct snapshot *snapshot);

#endif
