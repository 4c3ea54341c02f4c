/* SPDX-License-Identifier: Apache-2.0 */
/* The derived metrics as JSON: the table of them, and which are available here. NULL when out of memory. */
#ifndef FORMATS_AVAILABILITY_JSON_H
#define FORMATS_AVAILABILITY_JSON_H

#include <jansson.h>

#include "formats/availability.h"

/*
 * {"metrics": [{"name", "unit", "help", "collectors", "formulas": [{"formula", "pmu", "events", "source", "seen"}]}],
 *  "spellings": {"cycles": ["cpu_cycles"]}}: the table, of any machine.
 */
json_t *derived_json(void);

/*
 * The same, each metric with "available": [{"collector", "pmu", "groups", "formula"}] and
 * "absent": [{"collector", "pmu", "reason", "events", "message"}].
 */
json_t *availability_json(struct registry *registry, const struct machine *machine);

/*
 * In short, for the plan: {"available": [{"collector", "pmu", "reason", "metrics": [{"name", "events", "message"}]}],
 * "absent": [the same]}, where "events" are those that are the reason.
 */
json_t *availability_json_summarize(struct registry *registry, const struct machine *machine);

#endif
