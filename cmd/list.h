/* SPDX-License-Identifier: Apache-2.0 */
/* Which events each preset gives on the PMUs of this machine. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <jansson.h>

#include "daemon/session.h"

/*
 * Every preset, as far as sysfs says; opens nothing:
 * [{"preset", "description", "collectors": ["cpu", "cgroup"], "pmus": [{"pmu", "cpus", "events", "left_out"}]}].
 * Events are in the syntax of `events:` in the configuration. NULL when out of memory; the caller owns it.
 */
json_t *presets_list(const struct machine *machine);
/*
 * The configured groups that are presets, from what was opened:
 * [{"collector", "group", "preset", "pmu", "cpus", "events", "left_out", "groups": ["overview", "overview-2"],
 *   "fits"}].
 * Events are named as in metrics. `fits`: all counted events are in one group. NULL when out of memory; the caller owns
 * it.
 */
json_t *presets_plan(const struct session *session, const struct snapshot *snapshot);

#endif
