/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd list-metrics [--json]`: the derived metrics. It is the same on every machine, and opens nothing. */
#include "cmd/table.h"
#include "daemon/command.h"
#include "formats/availability-json.h"

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

int command_list_metrics(const struct options *options)
{
    const struct derived_metric *metric;

    if (options->json)
        return command_print_json(derived_json());
    for (size_t i = 0; (metric = derived_at(i)); i++)
        print_metric(metric);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
