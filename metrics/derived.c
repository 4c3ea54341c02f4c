/* SPDX-License-Identifier: Apache-2.0 */
/* The table of derived metrics: see derived.h. */
#include "metrics/derived.h"

static const struct derived_table *const tables[] = {
    &derived_cpu_table,
    &derived_cache_table,
    &derived_topdown_table,
    &derived_machine_table,
};

size_t derived_count(void)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        n += tables[i]->n;
    return n;
}

const struct derived_metric *derived_at(size_t i)
{
    for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
        if (i < tables[k]->n)
            return &tables[k]->metrics[i];
        i -= tables[k]->n;
    }
    return NULL;
}

const struct derived_metric *derived_find(const char *name)
{
    const struct derived_metric *metric;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        if (str_equal(metric->name, name))
            return metric;
    return NULL;
}

/* Two names of one event: INST_RETIRED and CPU_CYCLES of Arm's PMUv3 are what perf's generic names count there. */
static const struct {
    const char *name, *event;
} spellings[] = {
    {"cycles", "cpu_cycles"},
    {"cycles_user", "cpu_cycles_user"},
    {"cycles_kernel", "cpu_cycles_kernel"},
    {"instructions", "inst_retired"},
    {"instructions_user", "inst_retired_user"},
    {"instructions_kernel", "inst_retired_kernel"},
};

/* Most names differ in their first letter: this is done for each event of a group and each name of the table. */
static bool same_name(const char *a, const char *b)
{
    return a[0] == b[0] && str_equal(a, b);
}

const char *derived_spelling(const char *name, size_t n)
{
    if (n == 0)
        return name;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
        if (same_name(spellings[i].name, name) && --n == 0)
            return spellings[i].event;
    return NULL;
}

bool derived_names_event(const char *name, const char *event)
{
    const char *spelling;

    for (size_t i = 0; (spelling = derived_spelling(name, i)); i++)
        if (same_name(spelling, event))
            return true;
    return false;
}
