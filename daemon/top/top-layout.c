/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that fit the width: see top-layout.h. */
#include "daemon/top/top-layout.h"

#include "daemon/top/top-text.h"

#define NAME_MIN 14      /* of a cgroup, beside numbers */
#define CPU_NAME 8       /* "cpu 127 " */
#define PMU_WIDTH 18     /* "armv8_cortex_a76" with two blanks */
#define UNIT_MAX 32      /* of a unit or a slice */
#define CONTAINER_MAX 12 /* the digits that container engines show */
#define NAME_WIDE 48     /* of a cgroup, before units and slices get room */
#define WIDE 120         /* a name and all numbers leave room for texts from here on */

static size_t longest_text(const struct top_table *table, const char *(*text)(const struct top_row *row))
{
    size_t width = 0;

    for (size_t i = 0; i < top_table_count(table); i++)
        width = MAX(width, top_text_width(text(top_table_at(table, i))));
    return width;
}

static const char *row_name(const struct top_row *row)
{
    return row->name;
}

static const char *row_unit(const struct top_row *row)
{
    return row->unit;
}

static const char *row_pmu(const struct top_row *row)
{
    return row->pmu ? row->pmu : "";
}

static const char *row_slice(const struct top_row *row)
{
    return row->slice;
}

static const char *row_container(const struct top_row *row)
{
    return row->container;
}

/* As many columns of numbers as fit, the one that rows are sorted by among them. */
static void choose_columns(const struct top_view *view, const struct top_table *table, size_t room,
                           struct top_layout *layout)
{
    size_t fit = MIN(room / TOP_COLUMN_WIDTH, (size_t)TOP_COLUMNS_MAX), sort = view->sort[view->kind];
    bool sorted = false;

    for (size_t k = 0; k < top_column_count() && layout->n < fit; k++) {
        if (!top_table_has(table, k))
            continue;
        layout->columns[layout->n++] = k;
        sorted |= k == sort;
    }
    if (!sorted && layout->n && top_table_has(table, sort))
        layout->columns[layout->n - 1] = sort;
}

/* A text of at most `limit` columns with two blanks behind it, where there is one and room for it. */
static size_t choose_text(size_t longest, size_t limit, size_t *room)
{
    size_t width = MIN(longest, limit) + 2;

    if (longest == 0 || width > *room)
        return 0;
    *room -= width;
    return width;
}

/* Up to `limit` columns, where a name is that long. */
static void grow_name(struct top_layout *layout, const struct top_table *table, size_t limit, size_t *room)
{
    size_t wanted = MIN(longest_text(table, row_name) + 2, limit);
    size_t more = MIN(wanted - MIN(wanted, layout->name), *room);

    layout->name += more;
    *room -= more;
}

void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, struct top_layout *ret)
{
    bool cgroups = view->kind == TOP_CGROUPS;
    struct top_layout layout = {.name = cgroups ? NAME_MIN : CPU_NAME};

    if (width >= 60 && (!cgroups || view->by_pmu) && longest_text(table, row_pmu))
        layout.pmu = PMU_WIDTH;
    size_t room = width - MIN(width, layout.name + layout.pmu);
    choose_columns(view, table, room, &layout);
    room -= layout.n * TOP_COLUMN_WIDTH;
    if (cgroups && width >= WIDE) {
        grow_name(&layout, table, NAME_WIDE, &room);
        layout.unit = choose_text(longest_text(table, row_unit), UNIT_MAX, &room);
        layout.slice = choose_text(longest_text(table, row_slice), UNIT_MAX, &room);
        layout.container = choose_text(longest_text(table, row_container), CONTAINER_MAX, &room);
    }
    if (cgroups)
        grow_name(&layout, table, width, &room);
    *ret = layout;
}
