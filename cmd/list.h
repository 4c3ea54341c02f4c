/* SPDX-License-Identifier: Apache-2.0 */
/* Presets on the PMUs of this machine: the events that each becomes. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <jansson.h>

#include "daemon/session.h"

/*
 * Every preset, by what sysfs lists; nothing is opened:
 * [{"preset", "description", "collectors": ["cpu", "cgroup"], "pmus": [{"pmu", "cpus", "events", "left_out"}]}].
 * The events are as `events:` takes them. NULL when out of memory; the caller owns it.
 */
json_t *presets_list(const struct machine *machine);
/*
 * The groups of the configuration that are presets, by what was opened:
 * [{"collector", "group", "preset", "pmu", "cpus", "events", "left_out", "groups": ["overview", "overview-2"],
 * "fits"}]. The events are named as in metrics. `fits`: all that is counted is in one group.
 */
json_t *presets_plan(const struct session *session, const struct snapshot *snapshot);

#endif
