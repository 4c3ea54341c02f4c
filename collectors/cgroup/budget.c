/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and memory for cgroups: see budget.h. */
#include "collectors/cgroup/budget.h"

#include "config/keys.h"
#include "perf/descriptors.h"
#include "perf/user-read.h"
#include "process/memory-limit.h"

/*
 * Bytes, of this process and of the kernel, rather too many than too few: tests/pressure/memory.sh holds them against
 * what a cgroup of a real machine takes.
 */
#define BYTES_PER_CGROUP 2048
#define BYTES_PER_GROUP 512
#define BYTES_PER_COUNTER 256
#define BYTES_PER_DESCRIPTOR 640

/* The descriptors for all cgroups, beside those of other collectors; the collector `self` opens its few last. */
static uint64_t descriptor_budget(const struct collector_context *context, struct cgroup_counts *const *counts,
                                  size_t n)
{
    uint64_t self =
        context->config->self_enabled ? N_THREAD_COUNTER_EVENTS * thread_counter_needs(context->machine) : 0;
    uint64_t own = 0, room;

    for (size_t i = 0; i < n; i++)
        own += cgroup_counts_descriptors(counts[i]);
    room = descriptors_room(context->sys, own);
    return room - MIN(room, self);
}

static uint64_t memory_each(const struct collector_context *context, uint64_t descriptors)
{
    const struct config_cgroup *config = &context->config->cgroup;
    uint64_t rows = config->per_cpu ? cpuset_count(&context->machine->online) : 1;
    uint64_t each = BYTES_PER_CGROUP + BYTES_PER_DESCRIPTOR * descriptors;

    for (size_t i = 0; i < config->groups.n; i++)
        each += rows * (BYTES_PER_GROUP + BYTES_PER_COUNTER * config->groups.items[i].n_events);
    return each;
}

/*
 * Half of what there is and of what the cgroups have: what is counted must also be written for clients. They keep what
 * they have.
 */
static uint64_t memory_budget(const struct collector_context *context, uint64_t own)
{
    const struct memory_limit *limit = context->sys->memory;
    uint64_t room = limit ? memory_limit_room(limit) : UINT64_MAX;

    return room == UINT64_MAX ? room : MAX(own, own / 2 + room / 2);
}

void cgroup_budget_update(struct cgroup_rules *rules, const struct collector_context *context,
                          const struct cgroup_engine_type *type, struct cgroup_counts *const *counts, size_t n)
{
    rules->max_cgroups = config_max_cgroups(context->config, type->number);
    rules->descriptor_budget = descriptor_budget(context, counts, n);
    rules->descriptors_per_cgroup = type->needs(context);
    rules->memory_per_cgroup = memory_each(context, rules->descriptors_per_cgroup);
    rules->memory_budget = memory_budget(context, n * rules->memory_per_cgroup);
}
