/* SPDX-License-Identifier: Apache-2.0 */
/* The engine perf: the configured groups on each cgroup and CPU. */
#ifndef COLLECTORS_CGROUP_ENGINE_PERF_H
#define COLLECTORS_CGROUP_ENGINE_PERF_H

#include "collectors/cgroup/counts.h"

extern const struct cgroup_engine_type cgroup_engine_perf;

#endif
