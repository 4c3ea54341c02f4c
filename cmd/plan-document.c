/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a session: see plan.h. */
#include "cmd/plan-document.h"

#include <fcntl.h>
#include <linux/capability.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "cmd/presets.h"
#include "collectors/cgroup/cgroup.h"
#include "config/keys.h"
#include "daemon/documents.h"
#include "formats/availability-json.h"
#include "perf/group.h"

/* Rows of several CPUs that count the same. */
struct plan_group {
    const struct row *example;
    struct cpuset cpus;
    size_t n_cgroups; /* rows of cgroups */
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
    plan->groups[i].n_cgroups += row->cgroup != NULL;
    plan->groups[i].descriptors += row->n_descriptors;
    return row->cpu < 0 ? 0 : cpuset_add(&plan->groups[i].cpus, (unsigned)row->cpu);
}

static json_t *group_json(const struct plan_group *group)
{
    _cleanup_(freep) char *cpus = cpuset_format(&group->cpus);
    json_t *events = json_array(), *states = json_object();

    for (size_t i = 0; i < group->example->n_counters; i++)
        events = json_array_add(events, json_string(group->example->counters[i].event));
    for (size_t i = 0; i < N_ROW_STATES; i++)
        if (group->states[i])
            states =
                json_object_add(states, row_state_name((enum row_state)i), json_integer((json_int_t)group->states[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:I, s:o}", "collector", group->example->collector_name, "group",
                     group->example->group, "pmu", group->example->pmu, "cpus", cpus, "cgroups",
                     (json_int_t)group->n_cgroups, "events", events, "descriptors", (json_int_t)group->descriptors,
                     "states", states);
}

struct cgroup_totals {
    json_int_t watched, dropped, descriptors;
};

static void add_cgroup(void *userdata, const struct cgroup_view *view)
{
    struct cgroup_totals *totals = userdata;

    totals->watched += view->state == CGROUP_STATE_WATCHED;
    totals->dropped += view->state == CGROUP_STATE_DROPPED;
    totals->descriptors += (json_int_t)view->descriptors;
}

/* How many cgroups match, what they cost, and how many are dropped; null where the collector is disabled. */
static json_t *cgroups_json(const struct registry *registry)
{
    const void *state = registry_state(registry, &collector_cgroup);
    struct cgroup_totals totals = {0};
    struct cgroup_summary summary;

    if (!state)
        return json_null();
    cgroup_visit(state, add_cgroup, &totals);
    cgroup_summarize(state, &summary);
    totals.descriptors += (json_int_t)summary.descriptors_shared;
    json_t *document = document_cgroups(registry), *listed = json_incref(json_object_get(document, "cgroups"));
    json_decref(document);
    return json_pack("{s:o, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "hierarchy", json_text(summary.hierarchy),
                     "engine", config_engine_name(summary.engine), "engine_reason", summary.engine_reason, "match",
                     (json_int_t)summary.n_wanted, "watched", totals.watched, "dropped", totals.dropped, "room",
                     (json_int_t)summary.limit, "descriptors_each", (json_int_t)summary.descriptors_each, "descriptors",
                     totals.descriptors, "cgroups", listed);
}

static json_int_t count_series(const struct metrics *metrics)
{
    json_int_t n = 0;

    for (size_t i = 0; i < metrics->n; i++)
        n += (json_int_t)metrics->families[i]->n;
    return n;
}

/* How many events of `pmu` are open on one of its CPUs, and whether a group of theirs ran a part of the time. */
static json_int_t count_wanted(const struct snapshot *snapshot, const struct pmu *pmu, bool *ret_multiplexed)
{
    int cpu = cpuset_next(&pmu->cpus, -1);
    json_int_t n = 0;

    *ret_multiplexed = false;
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        for (size_t k = 0; row->state != ROW_UNAVAILABLE && row->cpu == cpu && k < row->n_counters; k++)
            if (str_equal(row->counters[k].pmu, pmu->name)) {
                *ret_multiplexed |= row->state == ROW_MULTIPLEXED;
                n++;
            }
    }
    return n;
}

/* A PMU with fewer counters than events multiplexes its groups. Others may, too: `counters` includes one that may take
 * nothing but cycles. */
static json_t *pmu_json(struct sys *sys, const struct snapshot *snapshot, const struct pmu *pmu)
{
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
    bool multiplexed;
    json_int_t wanted = count_wanted(snapshot, pmu, &multiplexed);
    unsigned counters = 0;
    bool known = group_probe_capacity(sys, pmu, &counters) == 0;

    return json_pack("{s:s, s:s, s:o, s:I, s:b}", "pmu", pmu->name, "cpus", cpus, "counters",
                     known ? json_integer(counters) : json_null(), "wanted", wanted, "multiplexes",
                     multiplexed || (known && wanted > counters));
}

static json_t *pmus_json(struct sys *sys, const struct machine *machine, const struct snapshot *snapshot)
{
    json_t *pmus = json_array();

    for (size_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i]->scope == PMU_CORE && !machine->pmus[i]->absent)
            pmus = json_array_add(pmus, pmu_json(sys, snapshot, machine->pmus[i]));
    return pmus;
}

/* The effective capabilities of the process (capabilities(7)), as /proc/self/status has them. */
static uint64_t effective_capabilities(void)
{
    _cleanup_(freep) char *status = NULL;
    unsigned long long mask = 0;

    if (file_read(AT_FDCWD, "/proc/self/status", 65536, &status, NULL) < 0)
        return 0;
    const char *line = strstr(status, "\nCapEff:");
    return line && sscanf(line, " CapEff: %llx", &mask) == 1 ? mask : 0;
}

static json_t *privileges_json(struct session *session)
{
    uint64_t capabilities = effective_capabilities();
    _cleanup_(freep) char *watchdog = NULL;
    bool held =
        sys_read_file(&session->sys, "/proc/sys/kernel/nmi_watchdog", &watchdog) == 0 && str_equal(watchdog, "1");

    return json_pack("{s:i, s:b, s:b, s:o, s:b}", "uid", (int)geteuid(), "cap_perfmon", capabilities >> CAP_PERFMON & 1,
                     "cap_sys_admin", capabilities >> CAP_SYS_ADMIN & 1, "perf_event_paranoid",
                     document_paranoid(session->machine), "nmi_watchdog", held);
}

json_t *plan_json(struct session *session)
{
    const struct snapshot *snapshot = registry_read(session->registry, UINT32_MAX, 0);
    _cleanup_(plan_done) struct plan plan = {0};
    json_t *groups = json_array();
    json_int_t descriptors = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE && plan_add(&plan, snapshot->rows[i]) < 0) {
            json_decref(groups);
            return NULL;
        }
    for (size_t i = 0; i < plan.n; i++) {
        groups = json_array_add(groups, group_json(&plan.groups[i]));
        descriptors += (json_int_t)plan.groups[i].descriptors;
    }
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I}", "config",
                     json_text(session->config->file ? session->config->file : "built-in"), "kernel",
                     session->machine->release ? session->machine->release : "", "privileges", privileges_json(session),
                     "pmus", pmus_json(&session->sys, session->machine, snapshot), "groups", groups, "presets",
                     presets_plan(session, snapshot), "cgroups", cgroups_json(session->registry), "metrics",
                     availability_json_summarize(session->registry, session->machine), "collectors",
                     document_collectors(session->registry), "missing", document_failures(session->registry),
                     "file_descriptors", descriptors, "file_descriptor_limit", (json_int_t)session->budget.limit,
                     "descriptors", document_descriptors(session), "series", count_series(&snapshot->metrics));
}
