/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd plan`: the groups that a session has opened, with their CPUs, descriptors and series, the derived metrics
 * that they yield, and the events that could not be opened.
 */
#include <jansson.h>
#include <linux/capability.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cmd/list.h"
#include "cmd/plan.h"
#include "cmd/table.h"
#include "collectors/cgroup/cgroup.h"
#include "config/keys.h"
#include "daemon/options.h"
#include "daemon/session.h"
#include "daemon/status.h"
#include "formats/availability.h"
#include "perf/group.h"
#include "process/privileges.h"
#include "sampler/hindsight.h"

/* --- plan --- */

/* A set of rows that count the same events on several CPUs or cgroups. */
struct plan_group {
    const struct row *example;
    struct cpuset cpus;
    size_t n_cgroups; /* number of rows that count a cgroup */
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

/*
 * Returns the name of an event in metrics. Without `names`, a probe's name is left out, because it contains the
 * program's path or the kernel function's name.
 */
static const char *event_name(const struct counter *counter, bool names)
{
    return names || pmu_kind(counter->pmu) != PMU_PROBE ? counter->event : "probe";
}

static json_t *group_json(const struct plan_group *group, bool names)
{
    _cleanup_(freep) char *cpus = cpuset_format(&group->cpus);
    json_t *events = json_array(), *states = json_object();

    for (size_t i = 0; i < group->example->n_counters; i++)
        events = json_array_add(events, json_string(event_name(&group->example->counters[i], names)));
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

/*
 * Returns how many cgroups match, what counting them costs, and how many are dropped, or null if the collector is
 * disabled.
 */
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

/*
 * Returns the number of events that are open on the first CPU of `pmu`. *ret_multiplexed says whether any of their
 * groups was counted only part of the time.
 */
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

/*
 * A PMU with fewer counters than events multiplexes its groups. A PMU with enough counters may do so too, because
 * `counters` may include one that can only count cycles.
 */
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

static json_t *privileges_json(struct session *session)
{
    uint64_t capabilities = capabilities_own();
    _cleanup_(freep) char *watchdog = NULL;
    bool held =
        sys_read_file(&session->sys, "/proc/sys/kernel/nmi_watchdog", &watchdog) == 0 && str_equal(watchdog, "1");
    bool has_perfmon = capabilities >> CAP_PERFMON & 1, has_admin = capabilities >> CAP_SYS_ADMIN & 1;

    return json_pack("{s:i, s:b, s:b, s:o, s:b}", "uid", (int)geteuid(), "cap_perfmon", has_perfmon, "cap_sys_admin",
                     has_admin, "perf_event_paranoid", document_paranoid(session->machine), "nmi_watchdog", held);
}

/* Returns how many seconds of samples the hindsight rings hold for a busy CPU, or null if hindsight is disabled. */
static json_t *hindsight_json(const struct session *session)
{
    const struct config_sampler *config = &session->config->sampler;
    const char *event = config->hindsight.event;
    unsigned cpus = cpuset_count(&session->machine->online);
    size_t pages = hindsight_ring_pages(config, cpus);
    double seconds = hindsight_ring_seconds(config, pages);

    if (!config->enabled || !config->hindsight.enabled)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:I, s:f}", "event", str_equal(event, "auto") ? "cpu-clock" : event, "frequency",
                     (json_int_t)config->hindsight.frequency, "rings", (json_int_t)cpus, "ring_bytes",
                     (json_int_t)(pages * (size_t)sysconf(_SC_PAGESIZE)), "seconds",
                     MIN(seconds, (double)config->hindsight.seconds));
}

/*
 * Returns {"privileges": {...}, "pmus": [{"pmu", "cpus", "counters", "wanted", "multiplexes"}],
 *  "groups": [{"collector", "group", "pmu", "cpus", "cgroups", "events", "descriptors", "states"}],
 *  "presets": [...] (presets_plan()), "cgroups": {...}, "metrics": {...} (availability_json_summarize()),
 *  "missing": [...], "file_descriptors", "file_descriptor_limit", "descriptors": {...}, "series", ...}.
 * Without `names`, the names of probes are left out. Returns NULL when out of memory. The caller owns the document.
 */
static json_t *plan_json(struct session *session, bool names)
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
        groups = json_array_add(groups, group_json(&plan.groups[i], names));
        descriptors += (json_int_t)plan.groups[i].descriptors;
    }
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:o}", "config",
                     json_text(session->config->file ? session->config->file : "built-in"), "kernel",
                     session->machine->release ? session->machine->release : "", "privileges", privileges_json(session),
                     "pmus", pmus_json(&session->sys, session->machine, snapshot), "groups", groups, "presets",
                     presets_plan(session, snapshot), "cgroups", cgroups_json(session->registry), "metrics",
                     availability_json_summarize(session->registry, session->machine), "collectors",
                     document_collectors(session->registry), "missing", document_failures(session->registry),
                     "file_descriptors", descriptors, "file_descriptor_limit", (json_int_t)session->budget.limit,
                     "descriptors", document_descriptors(session), "series", count_series(&snapshot->metrics),
                     "hindsight", hindsight_json(session));
}

/* --- derived metrics --- */

DEFINE_CLEANUP(struct table *, table_free);

/*
 * How much detail the text output shows about the metrics in each state. The JSON output always contains all details.
 */
enum detail { DETAIL_COUNT, DETAIL_NAMES, DETAIL_EVENTS };

static const struct state {
    const char *reason, *words;
    enum detail detail;
} reasons[] = {
    {"available", "available", DETAIL_NAMES},     {"disabled", "disabled", DETAIL_COUNT},
    {"no_cgroup", "no cgroup", DETAIL_COUNT},     {"no_pmu", "no PMU", DETAIL_COUNT},
    {"no_event", "no such event", DETAIL_NAMES},  {"unavailable", "event refused", DETAIL_EVENTS},
    {"not_counted", "not counted", DETAIL_NAMES}, {"apart", "events apart", DETAIL_EVENTS},
    {"split", "group split", DETAIL_EVENTS},      {"uneven", "not on all CPUs", DETAIL_NAMES},
    {"starved", "starved", DETAIL_NAMES},
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const struct state *state_of(const json_t *entry)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (str_equal(reasons[i].reason, text_of(entry, "reason")))
            return &reasons[i];
    return &reasons[0];
}

/* Maximum width of a line of metrics, in characters. Each line has several metrics, because there may be forty. */
#define METRICS_WIDTH 72

static void add_line(struct table *table, const json_t *entry, const struct buffer *metrics, bool first)
{
    const struct state *state = state_of(entry);

    table_cell(table, TABLE_PLAIN, "%s", first ? text_of(entry, "collector") : "");
    table_cell(table, TABLE_PLAIN, "%s", first ? text_of(entry, "pmu") : "");
    table_cell(table, TABLE_PLAIN, "%s", first ? state->words : "");
    table_cell(table, state == &reasons[0] ? TABLE_PLAIN : TABLE_DIM, "%.*s", (int)metrics->size, metrics->data);
}

/* Returns a metric's name, "l1d_mpki", or its name and the missing events: "l1d_mpki (l1d_cache_refill)". */
static char *metric_text(const json_t *metric, enum detail detail, bool last)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const json_t *event, *events = detail == DETAIL_EVENTS ? json_object_get(metric, "events") : NULL;
    size_t i = 0;

    buffer_append_text(&text, text_of(metric, "name"));
    json_array_foreach (events, i, event)
        buffer_appendf(&text, "%s%s", i ? ", " : " (", json_string_value(event));
    buffer_appendf(&text, "%s%s", i ? ")" : "", last ? "" : ", ");
    return buffer_string(&text);
}

static void add_entry(struct table *table, const json_t *entry)
{
    _cleanup_(buffer_done) struct buffer line = {0};
    const json_t *metric, *metrics = json_object_get(entry, "metrics");
    enum detail detail = state_of(entry)->detail;
    size_t i, n = json_array_size(metrics);
    bool first = true;

    if (detail == DETAIL_COUNT) {
        buffer_appendf(&line, "%zu metric%s", n, plural(n));
        add_line(table, entry, &line, true);
        return;
    }
    json_array_foreach (metrics, i, metric) {
        _cleanup_(freep) char *text = metric_text(metric, detail, i + 1 == n);
        if (line.size > 0 && text && line.size + strlen(text) > METRICS_WIDTH) {
            line.size--; /* drop the blank after the last comma */
            add_line(table, entry, &line, first);
            buffer_clear(&line);
            first = false;
        }
        buffer_append_text(&line, text ? text : "");
    }
    add_line(table, entry, &line, first);
}

/* Prints the member "metrics" of a plan. Returns -ENOMEM. */
static int plan_print_metrics(FILE *file, const json_t *metrics)
{
    static const char *const titles[] = {"COLLECTOR", "PMU", "STATE", "DERIVED METRICS"};
    static const char *const lists[] = {"available", "absent"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *entry;
    size_t i;

    if (!table)
        return -ENOMEM;
    for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
        json_array_foreach (json_object_get(metrics, lists[k]), i, entry)
            add_entry(table, entry);
    }
    fputc('\n', file);
    int r = table_print(table, file);
    fprintf(
        file,
        "the reasons: GET /api/v1/metrics, or \"perfcountd plan --json\"; the formulas: \"perfcountd list-metrics\"\n");
    return r;
}

/* --- `perfcountd plan` --- */

/*
 * How long events are counted: long enough for every multiplexed group to run, because the kernel rotates groups every
 * few milliseconds.
 */
#define LOOK_NS (200 * NSEC_PER_MSEC)

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static char *join_events(const json_t *events)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const json_t *event;
    size_t i;

    json_array_foreach (events, i, event)
        buffer_appendf(&text, "%s%s", i ? "," : "", json_string_value(event));
    return buffer_string(&text);
}

/* Returns the state of a group's rows, such as "counting" or, if they differ, "3 counting, 1 starved". */
static char *join_states(json_t *states)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const char *state;
    json_t *n;

    json_object_foreach (states, state, n)
        if (json_object_size(states) == 1)
            buffer_append_text(&text, state);
        else
            buffer_appendf(&text, "%s%lld %s", text.size ? ", " : "", (long long)json_integer_value(n), state);
    return buffer_string(&text);
}

static void add_group(struct table *table, const json_t *group)
{
    _cleanup_(freep) char *events = join_events(json_object_get(group, "events"));
    json_t *states_json = json_object_get(group, "states");
    _cleanup_(freep) char *states = join_states(states_json);
    bool steady = json_object_size(states_json) == 1 && json_object_get(states_json, "counting");

    table_cell(table, TABLE_PLAIN, "%s", text_of(group, "collector"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(group, "group"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(group, "pmu"));
    if (number_of(group, "cgroups") > 0)
        table_cell(table, TABLE_PLAIN, "%lld cgroup%s", number_of(group, "cgroups"),
                   plural((uint64_t)number_of(group, "cgroups")));
    else
        table_cell(table, TABLE_PLAIN, "%s", text_of(group, "cpus"));
    table_cell(table, TABLE_PLAIN, "%lld", number_of(group, "descriptors"));
    table_cell(table, steady ? TABLE_PLAIN : TABLE_WARNING, "%s", states ? states : "");
    table_cell(table, TABLE_DIM, "%s", events ? events : "");
}

static int print_groups(FILE *file, const json_t *groups)
{
    static const char *const titles[] = {"COLLECTOR", "GROUP", "PMU", "WHERE", ">FDS", "STATE", "EVENTS"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *group;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach (groups, i, group)
        add_group(table, group);
    if (i == 0)
        return fputs("no group can be opened here\n", file) < 0 ? -EIO : 0;
    return table_print(table, file);
}

static void add_preset(struct table *table, const json_t *preset)
{
    _cleanup_(freep) char *left_out = join_events(json_object_get(preset, "left_out"));
    size_t n_groups = json_array_size(json_object_get(preset, "groups"));

    table_cell(table, TABLE_PLAIN, "%s", text_of(preset, "preset"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(preset, "collector"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(preset, "group"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(preset, "pmu"));
    if (n_groups > 1)
        table_cell(table, TABLE_WARNING, "%zu groups", n_groups);
    else
        table_cell(table, TABLE_PLAIN, "%s", n_groups ? "one group" : "nothing");
    table_cell(table, TABLE_DIM, "%s", left_out ? left_out : "");
}

/* Prints the presets, whose groups print_groups() prints. */
static int print_presets(FILE *file, const json_t *presets)
{
    static const char *const titles[] = {"PRESET", "COLLECTOR", "GROUP", "PMU", "BECOMES", "WITHOUT"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *preset;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach (presets, i, preset)
        add_preset(table, preset);
    if (i == 0)
        return 0;
    fputc('\n', file);
    return table_print(table, file);
}

static void add_pmu(struct table *table, const json_t *pmu)
{
    const json_t *counters = json_object_get(pmu, "counters");
    bool multiplexes = json_is_true(json_object_get(pmu, "multiplexes"));

    table_cell(table, TABLE_PLAIN, "%s", text_of(pmu, "pmu"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(pmu, "cpus"));
    if (json_is_integer(counters))
        table_cell(table, TABLE_PLAIN, "%lld", (long long)json_integer_value(counters));
    else
        table_cell(table, TABLE_PLAIN, "?");
    table_cell(table, TABLE_PLAIN, "%lld", (long long)json_integer_value(json_object_get(pmu, "wanted")));
    table_cell(table, multiplexes ? TABLE_WARNING : TABLE_DIM, "%s",
               multiplexes ? "its groups take turns: totals are scaled" : "");
}

static int print_pmus(FILE *file, const json_t *pmus)
{
    static const char *const titles[] = {"PMU", "CPUS", ">COUNTERS", ">WANTED", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *pmu;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach (pmus, i, pmu)
        add_pmu(table, pmu);
    if (i == 0)
        return 0;
    fputc('\n', file);
    return table_print(table, file);
}

static void add_container(struct table *table, const json_t *cgroup)
{
    const json_t *unnamed = json_object_get(cgroup, "unnamed");

    table_cell(table, TABLE_PLAIN, "%s", unnamed ? "-" : text_of(cgroup, "name"));
    table_cell(table, TABLE_PLAIN, "%s", unnamed ? "-" : text_of(cgroup, "named_by"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(cgroup, "cgroup"));
    table_cell(table, TABLE_WARNING, "%s", unnamed ? json_string_value(unnamed) : "");
}

/* Lists only containers, because paths say enough about other cgroups. */
static int print_containers(FILE *file, const json_t *cgroups)
{
    static const char *const titles[] = {"CONTAINER", "NAMED BY", "CGROUP", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *cgroup;
    size_t i, n = 0;

    if (!table)
        return -ENOMEM;
    json_array_foreach (json_object_get(cgroups, "cgroups"), i, cgroup) {
        if (!json_object_get(cgroup, "container") && !json_object_get(cgroup, "container_id"))
            continue;
        add_container(table, cgroup);
        n++;
    }
    if (n == 0)
        return 0;
    fputc('\n', file);
    return table_print(table, file);
}

static void print_cgroups(FILE *file, const json_t *cgroups)
{
    if (json_is_null(cgroups))
        return;
    bool one = number_of(cgroups, "match") == 1;
    fprintf(file, "\n%lld cgroup%s below %s; %lld %s watched by %s, for %lld file descriptors",
            number_of(cgroups, "match"), one ? " matches" : "s match", text_of(cgroups, "hierarchy"),
            number_of(cgroups, "watched"), number_of(cgroups, "watched") == 1 ? "is" : "are",
            text_of(cgroups, "engine"), number_of(cgroups, "descriptors"));
    if (number_of(cgroups, "descriptors_each") > 0)
        fprintf(file, " (at most %lld each)\n", number_of(cgroups, "descriptors_each"));
    else
        fprintf(file, "; more cgroups need no more descriptors\n");
    if (text_of(cgroups, "engine_reason"))
        table_print_styled(file, TABLE_WARNING, "the engine is not bpf: %s\n", text_of(cgroups, "engine_reason"));
    if (number_of(cgroups, "dropped") > 0)
        table_print_styled(file, TABLE_WARNING, "%lld %s dropped: the limit is %lld\n", number_of(cgroups, "dropped"),
                           number_of(cgroups, "dropped") == 1 ? "is" : "are", number_of(cgroups, "room"));
}

static void print_descriptors(FILE *file, const json_t *plan)
{
    const json_t *descriptors = json_object_get(plan, "descriptors");
    long long needed = number_of(descriptors, "needed"), counters = number_of(descriptors, "counters");
    long long clients = number_of(descriptors, "clients"), connections = number_of(descriptors, "connections");

    fprintf(file, "\n%lld file descriptors of %lld, %lld series\n", number_of(plan, "file_descriptors"),
            number_of(plan, "file_descriptor_limit"), number_of(plan, "series"));
    fprintf(file, "set aside: %lld for the daemon itself, %lld for clients, ", number_of(descriptors, "daemon"),
            clients);
    if (number_of(descriptors, "sampler") > 0)
        fprintf(file, "%lld for the sampler, ", number_of(descriptors, "sampler"));
    fprintf(file, "%lld for counters, which need at most %lld\n", counters, needed);
    if (clients < connections)
        table_print_styled(file, TABLE_WARNING,
                           "fewer clients than web.limits.connections, %lld: raise LimitNOFILE= (ulimit -n)\n",
                           connections);
    if (needed > counters)
        table_print_styled(file, TABLE_WARNING,
                           "not all counters can be opened: raise LimitNOFILE= (ulimit -n) by %lld, or count fewer "
                           "events\n",
                           needed - counters);
}

static void print_hindsight(FILE *file, const json_t *hindsight)
{
    if (json_is_null(hindsight))
        return;
    fprintf(file,
            "hindsight: %s, %lld samples a second on each CPU; %lld rings of %lld KiB hold about %.0f s while all CPUs "
            "are busy\n",
            text_of(hindsight, "event"), number_of(hindsight, "frequency"), number_of(hindsight, "rings"),
            number_of(hindsight, "ring_bytes") / 1024, json_real_value(json_object_get(hindsight, "seconds")));
}

static void print_privileges(FILE *file, const json_t *privileges)
{
    const json_t *paranoid = json_object_get(privileges, "perf_event_paranoid");

    fprintf(file, "uid %lld, CAP_PERFMON %s, CAP_SYS_ADMIN %s, kernel.perf_event_paranoid ",
            (long long)json_integer_value(json_object_get(privileges, "uid")),
            json_is_true(json_object_get(privileges, "cap_perfmon")) ? "yes" : "no",
            json_is_true(json_object_get(privileges, "cap_sys_admin")) ? "yes" : "no");
    if (json_is_integer(paranoid))
        fprintf(file, "%lld\n", (long long)json_integer_value(paranoid));
    else
        fprintf(file, "unknown\n");
    if (json_is_true(json_object_get(privileges, "nmi_watchdog")))
        table_print_styled(file, TABLE_WARNING,
                           "the NMI watchdog holds a counter of each CPU: kernel.nmi_watchdog=0 frees it\n");
}

static int print_unavailable(FILE *file, const struct registry *registry)
{
    const struct failures *failures = registry_failures(registry);
    size_t n, events = failures_count_events(failures);
    char **sentences;

    if (failures_sentences(failures, &sentences, &n) < 0)
        return -ENOMEM;
    if (events > 0)
        table_print_styled(file, TABLE_BOLD, "\nnot counted: %zu event%s (per group and PMU)\n", events,
                           plural(events));
    else if (n > 0)
        table_print_styled(file, TABLE_BOLD, "\nnot counted:\n");
    for (size_t i = 0; i < n; i++)
        table_print_styled(file, TABLE_WARNING, "  %s\n", sentences[i]);
    strings_free(sentences, n);
    return 0;
}

static int print_plan(FILE *file, const json_t *plan, const struct registry *registry, bool names)
{
    if (print_groups(file, json_object_get(plan, "groups")) < 0 ||
        print_presets(file, json_object_get(plan, "presets")) < 0 ||
        print_pmus(file, json_object_get(plan, "pmus")) < 0)
        return command_fail_memory();
    if (plan_print_metrics(file, json_object_get(plan, "metrics")) < 0)
        return command_fail_memory();
    print_cgroups(file, json_object_get(plan, "cgroups"));
    if (names && print_containers(file, json_object_get(plan, "cgroups")) < 0)
        return command_fail_memory();
    print_descriptors(file, plan);
    print_hindsight(file, json_object_get(plan, "hindsight"));
    print_privileges(file, json_object_get(plan, "privileges"));
    return print_unavailable(file, registry) < 0 ? command_fail_memory() : EXIT_SUCCESS;
}

int plan_print(FILE *file, const struct options *options, bool names)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};
    int status = session_start(&session, options, true, &error);

    if (status != EXIT_SUCCESS)
        return command_fail(status, &error);
    command_sleep(LOOK_NS);
    json_t *plan = plan_json(&session, names);
    if (!plan)
        return command_fail_memory();
    bool counts = json_array_size(json_object_get(plan, "groups")) > 0;
    status = options->json ? command_print_json(json_incref(plan)) : print_plan(file, plan, session.registry, names);
    json_decref(plan);
    return status == EXIT_SUCCESS && !counts ? EXIT_FAILURE : status;
}

int command_plan(const struct options *options)
{
    return plan_print(stdout, options, true);
}
