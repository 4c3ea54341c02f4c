/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a session: open groups with their CPUs, descriptors and series, and events that could not be opened. */
#ifndef CMD_PLAN_DOCUMENT_H
#define CMD_PLAN_DOCUMENT_H

#include <jansson.h>

#include "daemon/session.h"

/*
 * {"privileges": {...}, "pmus": [{"pmu", "cpus", "counters", "wanted", "multiplexes"}],
 *  "groups": [{"collector", "group", "pmu", "cpus", "cgroups", "events", "descriptors", "states"}],
 * "presets": [...] (presets.h), "cgroups": {...}, "metrics": {...} (availability-json.h), "missing": [...],
 * "file_descriptors", "file_descriptor_limit", "descriptors": {...}, "series", ...}; NULL when out of memory. The
 * caller owns it.
 */
json_t *plan_json(struct session *session);

#endif
