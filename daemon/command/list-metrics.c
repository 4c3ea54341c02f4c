/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd list-metrics [--json]`: the derived metrics. It is the same on every machine, and opens nothing. */
#include "base/cleanup.h"
#include "daemon/availability-json.h"
#include "daemon/command/command.h"
#include "daemon/command/table.h"

DEFINE_CLEANUP(struct table *, table_free);

/* A line for each formula: what stands in the line above is left out. */
static void add_metric(struct table *table, const struct derived_metric *metric)
{
    for (size_t i = 0; i < DERIVED_FORMULAS_MAX && metric->formulas[i].text; i++) {
        table_cell(table, TABLE_PLAIN, "%s", i == 0 ? metric->name : "");
        table_cell(table, TABLE_PLAIN, "%s", i == 0 ? metric->unit : "");
        table_cell(table, TABLE_PLAIN, "%s", metric->formulas[i].pmu ? metric->formulas[i].pmu : "");
        table_cell(table, TABLE_PLAIN, "%s", metric->formulas[i].text);
        table_cell(table, TABLE_DIM, "%s", i == 0 ? metric->help : "");
    }
}

int command_list_metrics(const struct options *options)
{
    static const char *const titles[] = {"METRIC", "UNIT", "PMU", "FORMULA", "DESCRIPTION"};
    _cleanup_(table_freep) struct table *table = NULL;
    const struct derived_metric *metric;

    if (options->json)
        return command_print_json(derived_json());
    table = table_new(titles, ARRAY_SIZE(titles));
    if (!table)
        return command_fail_memory();
    for (size_t i = 0; (metric = derived_at(i)); i++)
        add_metric(table, metric);
    return table_print(table, stdout) < 0 ? command_fail_memory() : EXIT_SUCCESS;
}
