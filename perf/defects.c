/* SPDX-License-Identifier: Apache-2.0 */
/* What could not be understood: see defects.h. */
#include "perf/defects.h"

void defects_done(struct defects *broken)
{
    for (size_t i = 0; i < broken->n; i++) {
        free(broken->items[i].name);
        free(broken->items[i].reason);
    }
    free(broken->items);
    *broken = (struct defects){0};
}

int defects_add(struct defects *broken, const char *name, const char *reason)
{
    if (array_grow(&broken->items, broken->n) < 0)
        return -ENOMEM;
    struct defect item = {.name = strdup(name), .reason = strdup(reason)};
    broken->items[broken->n++] = item;
    return item.name && item.reason ? 0 : -ENOMEM;
}

const char *defects_find(const struct defects *broken, const char *name)
{
    for (size_t i = 0; i < broken->n; i++)
        if (str_equal(broken->items[i].name, name))
            return broken->items[i].reason;
    return NULL;
}
