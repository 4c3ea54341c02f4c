/* SPDX-License-Identifier: Apache-2.0 */
/* The engine bpf: the configured groups on each CPU, divided among the cgroups by a tally. */
#ifndef COLLECTORS_CGROUP_BPF_ENGINE_H
#define COLLECTORS_CGROUP_BPF_ENGINE_H

#include "collectors/cgroup/counts.h"

extern const struct cgroup_engine_type cgroup_engine_bpf;

#endif
