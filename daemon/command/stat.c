/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd stat [--interval=1s] [--count=1] [--json]`: two readings, and rates between them. */
#include <math.h>

#include "base/cleanup.h"
#include "collectors/rates.h"
#include "daemon/command/command.h"
#include "daemon/command/table.h"
#include "formats/rates-json.h"

DEFINE_CLEANUP(struct table *, table_free);
DEFINE_CLEANUP(struct baseline *, baseline_free);

/* The ratios of a group stand beside its first event. */
static void add_ratios(struct table *table, const struct rates *rates)
{
    char text[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < rates->n_ratios && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.3f", i ? "  " : "", rates->ratios[i].name,
                                 rates->ratios[i].value);
    bool whole = rates->row->state == ROW_COUNTING;
    table_cell(table, whole ? TABLE_PLAIN : TABLE_WARNING, "%s", text);
}

static void add_event(struct table *table, const struct rates *rates, size_t i)
{
    const struct row *row = rates->row;
    const struct counter *counter = &row->counters[i];
    char quantity[32];

    table_format_quantity(rates->events[i], quantity, sizeof(quantity));
    if (row->cgroup)
        table_cell(table, TABLE_PLAIN, "%s", row->cgroup);
    else
        table_cell(table, TABLE_PLAIN, "cpu %d", row->cpu);
    table_cell(table, TABLE_PLAIN, "%s", row->group);
    table_cell(table, TABLE_PLAIN, "%s", counter->pmu);
    table_cell(table, TABLE_PLAIN, "%s", counter->event);
    table_cell(table, TABLE_BOLD, "%s", quantity);
    table_cell(table, TABLE_DIM, "%s/s", counter->unit);
    table_cell(table, row->state == ROW_COUNTING ? TABLE_DIM : TABLE_WARNING, "%s", row_state_name(row->state));
    if (i == 0)
        add_ratios(table, rates);
    else
        table_cell(table, TABLE_PLAIN, "%s", "");
}

static int print_table(const struct baseline *baseline, const struct snapshot *snapshot)
{
    static const char *const titles[] = {"TARGET", "GROUP", "PMU", "EVENT", ">RATE", "UNIT", "STATE", "RATIOS"};
    _cleanup_(table_freep) struct table *table = table_new(titles, ARRAY_SIZE(titles));
    struct rates rates;

    if (!table)
        return -ENOMEM;
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        _cleanup_(freep) double *events = calloc(row->n_counters, sizeof(*events));
        if (!events)
            return -ENOMEM;
        if (rates_row(baseline, snapshot, row, events, &rates) < 0)
            continue;
        for (size_t k = 0; k < row->n_counters; k++)
            add_event(table, &rates, k);
    }
    printf("over %.3f s\n", rates_seconds(baseline, snapshot));
    return table_print(table, stdout);
}

static int print_json(const struct baseline *baseline, const struct snapshot *snapshot)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (rates_json_write(&text, baseline, snapshot, NULL, NULL) < 0)
        return command_fail_memory();
    fwrite(text.data, 1, text.size, stdout);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_interval(const struct options *options, struct registry *registry)
{
    _cleanup_(baseline_freep) struct baseline *baseline = baseline_new(registry_read(registry, UINT32_MAX, 0));

    if (!baseline)
        return command_fail_memory();
    command_sleep(options->interval_ns);
    const struct snapshot *snapshot = registry_read(registry, UINT32_MAX, 0);
    if (options->json)
        return print_json(baseline, snapshot);
    if (print_table(baseline, snapshot) < 0)
        return command_fail_memory();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool any_open(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_rows; i++)
        if (snapshot->rows[i]->state != ROW_UNAVAILABLE)
            return true;
    return false;
}

/* Reports once, on standard error, what is not counted. Returns EXIT_FAILURE where nothing can be. */
static int report_unavailable(struct registry *registry)
{
    bool open = any_open(registry_read(registry, UINT32_MAX, 0));
    char **sentences;
    size_t n;

    if (failures_sentences(registry_failures(registry), &sentences, &n) < 0)
        return command_fail_memory();
    for (size_t i = 0; i < n; i++)
        table_print_styled(stderr, TABLE_WARNING, "not counted: %s\n", sentences[i]);
    strings_free(sentences, n);
    if (!open)
        fputs("perfcountd: no group can be opened here\n", stderr);
    return open ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_stat(const struct options *options)
{
    _cleanup_(session_done) struct session session = {0};
    int status = command_open_session(&session, options, false);

    if (status == EXIT_SUCCESS)
        status = report_unavailable(session.registry);

    for (uint64_t i = 0; status == EXIT_SUCCESS && (options->count == 0 || i < options->count); i++)
        status = print_interval(options, session.registry);
    return status;
}
