/* SPDX-License-Identifier: Apache-2.0 */
/* What a session has opened: groups with their CPUs, descriptors and series, and what could not be opened. */
#ifndef DAEMON_PLAN_H
#define DAEMON_PLAN_H

#include <jansson.h>

#include "daemon/session.h"

/*
 * {"groups": [{"collector", "group", "pmu", "cpus", "events", "descriptors", "states"}], "missing": [...],
 *  "file_descriptors", "file_descriptor_limit", "series", ...}; NULL when out of memory. The caller owns it.
 */
json_t *plan_json(const struct session *session);

#endif
