/* SPDX-License-Identifier: Apache-2.0 */
/* What a session has opened: see plan.h. */
#include "daemon/plan.h"

#include <limits.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "daemon/documents.h"

/* Rows of several CPUs that count the same. */
struct plan_group {
    const struct row *example;
    struct cpuset cpus;
    size_t states[N_ROW_STATES];
    size_t descriptors;
};

struct plan {
    struct plan_group *groups;
    size_t n;
};

static void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        cpuset_done(&plan->groups[i].cpus);
    free(plan->groups);
}

static bool counts_the_same(const struct row *a, const struct row *b)
{
    if (a->collector != b->collector || a->n_counters != b->n_counters || !str_equal(a->group, b->group) ||
        !str_equal(a->pmu, b->pmu))
        return false;
    for (size_t i = 0; i < a->n_counters; i++)
        if (!str_equal(a->counters[i].event, b->counters[i].event))
            return false;
    return true;
}

static int plan_add(struct plan *plan, const struct row *row)
{
    size_t i = 0;

    while (i < plan->n && !counts_the_same(plan->groups[i].example, row))
        i++;
    if (i == plan->n) {
        if (array_grow(&plan->groups, plan->n) < 0)
            return -ENOMEM;
        plan->groups[plan->n++] = (struct plan_group){.example = row};
    }
    plan->groups[i].states[row->state]++;
    plan->groups[i].descriptors += row->n_counters;
    return row->cpu < 0 ? 0 : cpuset_add(&plan->groups[i].cpus, (unsigned)row->cpu);
}

static json_t *group_json(const struct plan_group *group)
{
    _cleanup_(freep) char *cpus = cpuset_format(&group->cpus);
    json_t *events = json_array(), *states = json_object();

    for (size_t i = 0; i < group->example->n_counters; i++)
        json_array_append_new(events, json_string(group->example->counters[i].event));
    for (size_t i = 0; i < N_ROW_STATES; i++)
        if (group->states[i])
            json_object_set_new(states, row_state_name((enum row_state)i), json_integer((json_int_t)group->states[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:o}", "collector", group->example->collector_name, "group",
                     group->example->group, "pmu", group->example->pmu, "cpus", cpus ? cpus : "", "events", events,
                     "descriptors", (json_int_t)group->descriptors, "states", states);
}

static json_int_t count_series(const struct metrics *metrics)
{
    json_int_t n = 0;

    for (size_t i = 0; i < metrics->n; i++)
        n += (json_int_t)metrics->families[i]->n;
    return n;
}

static json_t *paranoid_json(const struct machine *machine)
{
    return machine->paranoid == INT_MIN ? json_null() : json_integer(machine->paranoid);
}

json_t *plan_json(const struct session *session)
{
    const struct snapshot *snapshot = registry_read(session->registry, UINT32_MAX, 0);
    _cleanup_(plan_done) struct plan plan = {0};
    json_t *groups = json_array();
    json_int_t descriptors = 0;
    struct rlimit limit = {0};

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE && plan_add(&plan, snapshot->rows[i]) < 0) {
            json_decref(groups);
            return NULL;
        }
    for (size_t i = 0; i < plan.n; i++) {
        json_array_append_new(groups, group_json(&plan.groups[i]));
        descriptors += (json_int_t)plan.groups[i].descriptors;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I}", "config",
                     session->config->file ? session->config->file : "built-in", "kernel",
                     session->machine->release ? session->machine->release : "", "perf_event_paranoid",
                     paranoid_json(session->machine), "groups", groups, "missing", document_failures(session->registry),
                     "file_descriptors", descriptors, "file_descriptor_limit", (json_int_t)limit.rlim_cur, "series",
                     count_series(&snapshot->metrics));
}
