/* SPDX-License-Identifier: Apache-2.0 */
/* Several errors of one text: see error-list.h. */
#include "base/error-list.h"

void error_list_done(struct error_list *list)
{
    free(list->items);
    *list = (struct error_list){0};
}

int error_list_add(struct error_list *list, const struct error *error)
{
    if (list->n == ERROR_LIST_MAX)
        return -ENOSPC;
    if (array_grow(&list->items, list->n) < 0)
        return -ENOMEM;
    list->items[list->n++] = *error;
    return 0;
}

static int compare_positions(const void *a, const void *b)
{
    const struct error *one = a, *other = b;

    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return (one->column > other->column) - (one->column < other->column);
}

void error_list_sort(struct error_list *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(*list->items), compare_positions);
}
