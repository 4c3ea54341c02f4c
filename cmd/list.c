/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd list-events [--json]`: every event this machine offers. */
#include "base/cleanup.h"
#include "cmd/table.h"
#include "daemon/command.h"
#include "daemon/session.h"
#include "perf/event-list.h"

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
    return fwrite(content.data, 1, content.size, stdout) == content.size && fflush(stdout) == 0 ? EXIT_SUCCESS
                                                                                                : EXIT_FAILURE;
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
