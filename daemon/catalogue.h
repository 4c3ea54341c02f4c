/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event this machine offers: generic ones that its PMUs take (each is tried), those that sysfs names, those that
 * libpfm4 names, tracepoints.
 */
#ifndef DAEMON_CATALOGUE_H
#define DAEMON_CATALOGUE_H

#include <jansson.h>

#include "perf/attr.h"

/*
 * [{"name": "cycles", "pmu": "cpu", "cpus": "0-3", "kind": "hardware", "description": "..."}]; NULL when out of memory.
 * The caller owns it.
 */
json_t *catalogue_json(struct sys *sys, const struct machine *machine);

#endif
