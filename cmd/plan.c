/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd plan [--json]`: what this configuration would open here; it opens, reads and closes everything. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "cmd/plan-document.h"
#include "cmd/plan-metrics.h"
#include "cmd/table.h"
#include "daemon/command.h"

DEFINE_CLEANUP(struct table *, table_free);

/* Long enough for each multiplexed group to run: the kernel rotates groups every few milliseconds. */
#define LOOK_NS (200 * NSEC_PER_MSEC)

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static char *join_events(const json_t *events)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const json_t *event;
    size_t i;

    json_array_foreach(events, i, event) buffer_appendf(&text, "%s%s", i ? "," : "", json_string_value(event));
    return buffer_string(&text);
}

/* "counting", or "3 counting, 1 starved" where they differ. */
static char *join_states(json_t *states)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    const char *state;
    json_t *n;

    json_object_foreach(states, state, n) if (json_object_size(states) == 1) buffer_append_text(&text, state);
    else buffer_appendf(&text, "%s%lld %s", text.size ? ", " : "", (long long)json_integer_value(n), state);
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
        table_cell(table, TABLE_PLAIN, "%lld cgroups", number_of(group, "cgroups"));
    else
        table_cell(table, TABLE_PLAIN, "%s", text_of(group, "cpus"));
    table_cell(table, TABLE_PLAIN, "%lld", number_of(group, "descriptors"));
    table_cell(table, steady ? TABLE_PLAIN : TABLE_WARNING, "%s", states ? states : "");
    table_cell(table, TABLE_DIM, "%s", events ? events : "");
}

static int print_groups(const json_t *groups)
{
    static const char *const titles[] = {"COLLECTOR", "GROUP", "PMU", "WHERE", ">FDS", "STATE", "EVENTS"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *group;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach(groups, i, group) add_group(table, group);
    if (i == 0)
        return puts("no group can be opened here") < 0 ? -EIO : 0;
    return table_print(table, stdout);
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

/* The groups themselves are in the first table. */
static int print_presets(const json_t *presets)
{
    static const char *const titles[] = {"PRESET", "COLLECTOR", "GROUP", "PMU", "BECOMES", "WITHOUT"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *preset;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach(presets, i, preset) add_preset(table, preset);
    if (i == 0)
        return 0;
    fputc('\n', stdout);
    return table_print(table, stdout);
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

static int print_pmus(const json_t *pmus)
{
    static const char *const titles[] = {"PMU", "CPUS", ">COUNTERS", ">WANTED", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *pmu;
    size_t i;

    if (!table)
        return -ENOMEM;
    json_array_foreach(pmus, i, pmu) add_pmu(table, pmu);
    if (i == 0)
        return 0;
    fputc('\n', stdout);
    return table_print(table, stdout);
}

static void add_container(struct table *table, const json_t *cgroup)
{
    const json_t *unnamed = json_object_get(cgroup, "unnamed");

    table_cell(table, TABLE_PLAIN, "%s", unnamed ? "-" : text_of(cgroup, "name"));
    table_cell(table, TABLE_PLAIN, "%s", unnamed ? "-" : text_of(cgroup, "named_by"));
    table_cell(table, TABLE_PLAIN, "%s", text_of(cgroup, "cgroup"));
    table_cell(table, TABLE_WARNING, "%s", unnamed ? json_string_value(unnamed) : "");
}

/* The path of another cgroup says its name. */
static int print_containers(const json_t *cgroups)
{
    static const char *const titles[] = {"CONTAINER", "NAMED BY", "CGROUP", ""};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *cgroup;
    size_t i, n = 0;

    if (!table)
        return -ENOMEM;
    json_array_foreach(json_object_get(cgroups, "cgroups"), i, cgroup)
    {
        if (!json_object_get(cgroup, "container") && !json_object_get(cgroup, "container_id"))
            continue;
        add_container(table, cgroup);
        n++;
    }
    if (n == 0)
        return 0;
    fputc('\n', stdout);
    return table_print(table, stdout);
}

static void print_cgroups(const json_t *cgroups)
{
    if (json_is_null(cgroups))
        return;
    printf("\n%lld cgroups match below %s; %lld are watched by %s, for %lld file descriptors",
           number_of(cgroups, "match"), text_of(cgroups, "hierarchy"), number_of(cgroups, "watched"),
           text_of(cgroups, "engine"), number_of(cgroups, "descriptors"));
    if (number_of(cgroups, "descriptors_each") > 0)
        printf(" (at most %lld each)\n", number_of(cgroups, "descriptors_each"));
    else
        printf("; more cgroups need no more descriptors\n");
    if (text_of(cgroups, "engine_reason"))
        table_print_styled(stdout, TABLE_WARNING, "the engine is not bpf: %s\n", text_of(cgroups, "engine_reason"));
    if (number_of(cgroups, "dropped") > 0)
        table_print_styled(stdout, TABLE_WARNING, "%lld are dropped: the limit is %lld\n",
                           number_of(cgroups, "dropped"), number_of(cgroups, "room"));
}

static void print_descriptors(const json_t *plan)
{
    const json_t *descriptors = json_object_get(plan, "descriptors");
    long long needed = number_of(descriptors, "needed"), counters = number_of(descriptors, "counters");
    long long clients = number_of(descriptors, "clients"), connections = number_of(descriptors, "connections");

    printf("\n%lld file descriptors of %lld, %lld series\n", number_of(plan, "file_descriptors"),
           number_of(plan, "file_descriptor_limit"), number_of(plan, "series"));
    printf("set aside: %lld for the daemon itself, %lld for clients, ", number_of(descriptors, "daemon"), clients);
    if (number_of(descriptors, "sampler") > 0)
        printf("%lld for the sampler, ", number_of(descriptors, "sampler"));
    printf("%lld for counters, which need %lld\n", counters, needed);
    if (clients < connections)
        table_print_styled(stdout, TABLE_WARNING,
                           "fewer clients than web.limits.connections, %lld: raise LimitNOFILE= (ulimit -n)\n",
                           connections);
    if (needed > counters)
        table_print_styled(stdout, TABLE_WARNING,
                           "not all counters can be opened: raise LimitNOFILE= (ulimit -n) by %lld, or count fewer "
                           "events\n",
                           needed - counters);
}

static void print_privileges(const json_t *privileges)
{
    const json_t *paranoid = json_object_get(privileges, "perf_event_paranoid");

    printf("uid %lld, CAP_PERFMON %s, CAP_SYS_ADMIN %s, kernel.perf_event_paranoid ",
           (long long)json_integer_value(json_object_get(privileges, "uid")),
           json_is_true(json_object_get(privileges, "cap_perfmon")) ? "yes" : "no",
           json_is_true(json_object_get(privileges, "cap_sys_admin")) ? "yes" : "no");
    if (json_is_integer(paranoid))
        printf("%lld\n", (long long)json_integer_value(paranoid));
    else
        printf("unknown\n");
    if (json_is_true(json_object_get(privileges, "nmi_watchdog")))
        table_print_styled(stdout, TABLE_WARNING,
                           "the NMI watchdog holds a counter of each CPU: kernel.nmi_watchdog=0 frees it\n");
}

static int print_unavailable(const struct registry *registry)
{
    char **sentences;
    size_t n;

    if (failures_sentences(registry_failures(registry), &sentences, &n) < 0)
        return -ENOMEM;
    if (n > 0)
        table_print_styled(stdout, TABLE_BOLD, "\nnot counted:\n");
    for (size_t i = 0; i < n; i++)
        table_print_styled(stdout, TABLE_WARNING, "  %s\n", sentences[i]);
    strings_free(sentences, n);
    return 0;
}

static int print_plan(const json_t *plan, const struct registry *registry)
{
    if (print_groups(json_object_get(plan, "groups")) < 0 || print_presets(json_object_get(plan, "presets")) < 0 ||
        print_pmus(json_object_get(plan, "pmus")) < 0)
        return command_fail_memory();
    if (plan_print_metrics(json_object_get(plan, "metrics")) < 0)
        return command_fail_memory();
    print_cgroups(json_object_get(plan, "cgroups"));
    if (print_containers(json_object_get(plan, "cgroups")) < 0)
        return command_fail_memory();
    print_descriptors(plan);
    print_privileges(json_object_get(plan, "privileges"));
    return print_unavailable(registry) < 0 ? command_fail_memory() : EXIT_SUCCESS;
}

/* As with `stat`, it is a failure that nothing can be counted. */
int command_plan(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};
    int status = session_start(&session, options, true, &error);

    if (status != EXIT_SUCCESS)
        return command_fail(status, &error);
    command_sleep(LOOK_NS);
    json_t *plan = plan_json(&session);
    if (!plan)
        return command_fail_memory();
    bool counts = json_array_size(json_object_get(plan, "groups")) > 0;
    status = options->json ? command_print_json(json_incref(plan)) : print_plan(plan, session.registry);
    json_decref(plan);
    return status == EXIT_SUCCESS && !counts ? EXIT_FAILURE : status;
}
