/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd list-events [--json]`: every event this machine offers. */
#include "base/cleanup.h"
#include "daemon/catalogue.h"
#include "daemon/command.h"
#include "daemon/table.h"

DEFINE_CLEANUP(struct table *, table_free);

static const char *text_of(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

static int print_table(const json_t *events)
{
    static const char *const titles[] = {"EVENT", "PMU", "CPUS", "DESCRIPTION"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    const json_t *event;
    size_t i;

    if (!table)
        return command_fail_memory();
    json_array_foreach(events, i, event)
    {
        table_cell(table, TABLE_PLAIN, "%s", text_of(event, "name"));
        table_cell(table, TABLE_PLAIN, "%s", text_of(event, "pmu"));
        table_cell(table, TABLE_PLAIN, "%s", text_of(event, "cpus"));
        table_cell(table, TABLE_DIM, "%s", text_of(event, "description"));
    }
    return table_print(table, stdout) < 0 ? command_fail_memory() : EXIT_SUCCESS;
}

int command_list_events(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    struct error error = {0};

    sys_init(&session.sys);
    if (session_load(&session, options, &error) < 0)
        return command_fail(EXIT_BAD_USAGE, &error);
    json_t *events = catalogue_json(&session.sys, session.machine);
    if (!events)
        return command_fail_memory();
    if (options->json)
        return command_print_json(events);
    int status = print_table(events);
    json_decref(events);
    return status;
}
