/* SPDX-License-Identifier: Apache-2.0 */
/* Presets on this machine: see presets.h. */
#include "cmd/presets.h"

#include "base/cleanup.h"
#include "perf/event-parse.h"
#include "perf/presets.h"

/* The variant that a PMU has, or the events of all PMUs; a test parses the texts. -ENOMEM. */
static int variant_parse(const struct preset *preset, const struct pmu *pmu, struct event_list *ret)
{
    const char *text = preset->variants[preset_choose(preset, pmu)].events;

    return text ? event_list_parse(text, ret, NULL) : 0;
}

static bool is_of_pmu(const struct machine *machine, const struct preset *preset, const struct event *event,
                      const struct pmu *pmu)
{
    return !preset->of_system || attr_names_pmu(machine, event, pmu);
}

/* Whether the preset has anything to do with the PMU. */
static bool is_for_pmu(const struct machine *machine, const struct preset *preset, const struct pmu *pmu,
                       const struct event_list *list)
{
    if (!preset->of_system)
        return pmu->scope == PMU_CORE && !pmu->absent;
    for (size_t i = 0; i < list->n && !pmu_is_per_cpu(pmu); i++)
        if (is_of_pmu(machine, preset, &list->events[i], pmu))
            return true;
    return false;
}

/* --- what sysfs lists --- */

static json_t *listed_json(const struct machine *machine, const struct preset *preset, const struct pmu *pmu,
                           const struct event_list *list)
{
    _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
    json_t *events = json_array(), *left_out = json_array();

    for (size_t i = 0; i < list->n; i++) {
        const struct event *event = &list->events[i];
        if (is_of_pmu(machine, preset, event, pmu))
            json_array_append_new(preset_event_is_listed(event, pmu) ? events : left_out, json_string(event->text));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "pmu", pmu->name, "cpus", cpus ? cpus : "", "events", events, "left_out",
                     left_out);
}

static json_t *preset_json(const struct machine *machine, const struct preset *preset)
{
    json_t *pmus = json_array();

    for (size_t i = 0; i < machine->n_pmus; i++) {
        _cleanup_(event_list_done) struct event_list list = {0};
        if (variant_parse(preset, machine->pmus[i], &list) < 0) {
            json_decref(pmus);
            return NULL;
        }
        if (is_for_pmu(machine, preset, machine->pmus[i], &list))
            json_array_append_new(pmus, listed_json(machine, preset, machine->pmus[i], &list));
    }
    json_t *collectors = preset->of_system ? json_pack("[s]", "pmu") : json_pack("[s, s]", "cpu", "cgroup");
    return json_pack("{s:s, s:s, s:o, s:o}", "preset", preset->name, "description", preset->help, "collectors",
                     collectors, "pmus", pmus);
}

json_t *presets_list(const struct machine *machine)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n_presets; i++)
        if (json_array_append_new(list, preset_json(machine, &presets[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* --- what was opened --- */

/* A configured group that is a preset, on a PMU. */
struct preset_group {
    const char *collector;
    const struct config_group *group;
    const struct pmu *pmu;
};

/* Whether the row is of the group, or of a part of it: "overview-2". */
static bool is_row_of(const struct row *row, const struct preset_group *sought)
{
    size_t size = strlen(sought->group->name);

    if (row->state == ROW_UNAVAILABLE || !str_equal(row->collector_name, sought->collector) ||
        !str_equal(row->pmu, sought->pmu->name) || strncmp(row->group, sought->group->name, size) != 0)
        return false;
    const char *part = row->group + size;
    return part[0] == '\0' || (part[0] == '-' && part[1] && part[1 + strspn(part + 1, "0123456789")] == '\0');
}

static bool row_counts(const struct row *row, const char *metric)
{
    for (size_t i = 0; i < row->n_counters; i++)
        if (str_equal(row->counters[i].event, metric))
            return true;
    return false;
}

static bool is_counted(const struct snapshot *snapshot, const struct preset_group *sought, const char *metric)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (is_row_of(snapshot->rows[i], sought) && row_counts(snapshot->rows[i], metric))
            return true;
    return false;
}

/* The labels `group` that it has. */
static json_t *parts_json(const struct snapshot *snapshot, const struct preset_group *sought)
{
    json_t *parts = json_array();
    size_t k;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const json_t *part;
        bool is_new = is_row_of(snapshot->rows[i], sought);
        json_array_foreach(parts, k, part) is_new &= !str_equal(json_string_value(part), snapshot->rows[i]->group);
        if (is_new)
            json_array_append_new(parts, json_string(snapshot->rows[i]->group));
    }
    return parts;
}

static json_t *opened_json(const struct machine *machine, const struct snapshot *snapshot,
                           const struct preset_group *sought, const struct event_list *list)
{
    _cleanup_(freep) char *cpus = cpuset_format(&sought->pmu->cpus);
    json_t *events = json_array(), *left_out = json_array(), *parts = parts_json(snapshot, sought);
    bool fits = json_array_size(parts) == 1;

    for (size_t i = 0; i < list->n; i++) {
        const struct event *event = &list->events[i];
        if (is_of_pmu(machine, sought->group->preset, event, sought->pmu))
            json_array_append_new(is_counted(snapshot, sought, event->metric) ? events : left_out,
                                  json_string(event->metric));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "collector", sought->collector, "group",
                     sought->group->name, "preset", sought->group->preset->name, "pmu", sought->pmu->name, "cpus",
                     cpus ? cpus : "", "events", events, "left_out", left_out, "groups", parts, "fits", fits);
}

static int add_group(json_t *ret, const struct machine *machine, const struct snapshot *snapshot, const char *collector,
                     const struct config_group *group)
{
    for (size_t i = 0; i < machine->n_pmus; i++) {
        struct preset_group sought = {collector, group, machine->pmus[i]};
        _cleanup_(event_list_done) struct event_list list = {0};
        if (variant_parse(group->preset, sought.pmu, &list) < 0)
            return -ENOMEM;
        if (is_for_pmu(machine, group->preset, sought.pmu, &list))
            json_array_append_new(ret, opened_json(machine, snapshot, &sought, &list));
    }
    return 0;
}

json_t *presets_plan(const struct session *session, const struct snapshot *snapshot)
{
    const struct config *config = session->config;
    const struct {
        const char *collector;
        bool enabled;
        const struct config_groups *groups;
    } collectors[] = {
        {"cpu", config->cpu.enabled, &config->cpu.groups},
        {"pmu", config->pmu.enabled, &config->pmu.groups},
        {"cgroup", config->cgroup.enabled, &config->cgroup.groups},
    };
    json_t *list = json_array();
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(collectors); i++)
        for (size_t k = 0; collectors[i].enabled && k < collectors[i].groups->n && r == 0; k++)
            if (collectors[i].groups->items[k].preset)
                r = add_group(list, session->machine, snapshot, collectors[i].collector,
                              &collectors[i].groups->items[k]);
    if (r == 0)
        return list;
    json_decref(list);
    return NULL;
}
