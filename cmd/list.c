/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/list.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cmd/table.h"
#include "daemon/options.h"
#include "formats/availability.h"
#include "perf/event-list.h"
#include "perf/event-parse.h"
#include "perf/presets.h"

/* --- presets --- */

/*
 * Parses the events of the preset's variant for `pmu`. The only error is -ENOMEM, because a test ensures that all
 * presets are valid.
 */
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

/* Returns whether the preset can count anything on the PMU. */
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

/* A configured preset, with a PMU that counts it. */
struct preset_group {
    const char *collector;
    const struct config_group *group;
    const struct pmu *pmu;
};

/* Returns whether the row belongs to the group or, if the group was split, to a part such as "overview-2". */
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

/* Returns the names of the parts into which the group was split, from the `group` labels of its rows. */
static json_t *parts_json(const struct snapshot *snapshot, const struct preset_group *sought)
{
    json_t *parts = json_array();
    size_t k;

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const json_t *part;
        bool is_new = is_row_of(snapshot->rows[i], sought);
        json_array_foreach (parts, k, part)
            is_new &= !str_equal(json_string_value(part), snapshot->rows[i]->group);
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

/* --- `perfcountd list-events` --- */

DEFINE_CLEANUP(struct offered_events *, offered_events_free);
DEFINE_CLEANUP(struct table *, table_free);

static void add_row(void *userdata, const struct offered_event *event)
{
    struct table *table = userdata;

    table_cell(table, TABLE_PLAIN, "%s", event->name);
    table_cell(table, TABLE_PLAIN, "%s", event->pmu);
    table_cell(table, TABLE_PLAIN, "%s", event->cpus);
    table_cell(table, TABLE_DIM, "%s", event->description);
}

static int print_table(const struct offered_events *events)
{
    static const char *const titles[] = {"EVENT", "PMU", "CPUS", "DESCRIPTION"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));

    if (!table)
        return command_fail_memory();
    offered_events_each(events, add_row, table);
    return table_print(table, stdout) < 0 ? command_fail_memory() : EXIT_SUCCESS;
}

static int print_json(const struct offered_events *events)
{
    _cleanup_(buffer_done) struct buffer content = {0};

    offered_events_write(events, &content);
    if (content.failed)
        return command_fail_memory();
    fwrite(content.data, 1, content.size, stdout);
    return EXIT_SUCCESS;
}

int command_list_events(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(offered_events_freep) struct offered_events *events = NULL;
    struct error error = {0};

    sys_init(&session.sys);
    if (session_load(&session, options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    if (offered_events_new(&session.sys, session.machine, &events) < 0)
        return command_fail_memory();
    int status = options->json ? print_json(events) : print_table(events);
    if (offered_events_note(events)[0])
        fprintf(stderr, "perfcountd: %s\n", offered_events_note(events));
    return status;
}

/* --- `perfcountd list-metrics` --- */

static void print_metric(const struct derived_metric *metric)
{
    table_print_styled(stdout, TABLE_BOLD, "%s", metric->name);
    printf(" (%s): %s\n", metric->unit, metric->help);
    for (const struct derived_formula *formula = metric->formulas; formula->text; formula++) {
        printf("    %s", formula->text);
        if (formula->pmu)
            table_print_styled(stdout, TABLE_DIM, "  on %s", formula->pmu);
        putchar('\n');
    }
}

/* Lists the derived metrics, without opening events: the output is the same on every machine. */
int command_list_metrics(const struct options *options)
{
    const struct derived_metric *metric;

    if (options->json)
        return command_print_json(derived_json());
    for (size_t i = 0; (metric = derived_at(i)); i++)
        print_metric(metric);
    return EXIT_SUCCESS;
}

/* --- `perfcountd list-presets` --- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Prints the list in the form "PREFIX a,b"; prints nothing if the list is empty. */
static void print_names(const char *prefix, const json_t *names, enum table_style style)
{
    const json_t *name;
    size_t i;

    json_array_foreach (names, i, name)
        table_print_styled(stdout, style, "%s%s", i ? "," : prefix, json_string_value(name));
}

static void print_pmu(const json_t *pmu)
{
    const json_t *events = json_object_get(pmu, "events");

    printf("    %s, CPU %s:", text_of(pmu, "pmu"), text_of(pmu, "cpus"));
    print_names(" ", events, TABLE_PLAIN);
    if (json_array_size(events) == 0)
        printf(" no events");
    print_names("; left out: ", json_object_get(pmu, "left_out"), TABLE_DIM);
    putchar('\n');
}

static void print_preset(const json_t *preset)
{
    const json_t *pmu, *pmus = json_object_get(preset, "pmus");
    size_t i;

    table_print_styled(stdout, TABLE_BOLD, "%s", text_of(preset, "preset"));
    printf(": %s", text_of(preset, "description"));
    print_names(" (for collectors.", json_object_get(preset, "collectors"), TABLE_PLAIN);
    puts(")");
    json_array_foreach (pmus, i, pmu)
        print_pmu(pmu);
    if (i == 0)
        puts("    no PMU of this machine has its events");
}

int command_list_presets(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};
    const json_t *preset;
    size_t i;

    sys_init(&session.sys);
    if (session_load(&session, options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    json_t *listing = presets_list(session.machine);
    if (!listing)
        return command_fail_memory();
    if (options->json)
        return command_print_json(listing);
    json_array_foreach (listing, i, preset)
        print_preset(preset);
    json_decref(listing);
    return EXIT_SUCCESS;
}
