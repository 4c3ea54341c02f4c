/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that fit the width: see top-layout.h. */
#include "top/layout.h"

#include "top/text.h"

#define NAME_MIN 14  /* of a cgroup, beside numbers */
#define CPU_NAME 8   /* "cpu 127 " */
#define PMU_WIDTH 18 /* "armv8_cortex_a76" with two blanks */
#define NAME_WIDE 48 /* of a cgroup, before texts get room */
#define WIDE 120     /* a name and all numbers leave room for texts from here on */

static size_t longest_text(const struct top_table *table, const char *(*text)(const struct top_row *row))
{
    size_t width = 0;

    for (size_t i = 0; i < top_table_count(table); i++)
        width = MAX(width, top_text_width(text(top_table_at(table, i))));
    return width;
}

static const char *row_label(const struct top_row *row)
{
    return row->label;
}

static const char *row_pmu(const struct top_row *row)
{
    return row->pmu ? row->pmu : "";
}

static const char *row_container(const struct top_row *row)
{
    return row->names[NAME_CONTAINER];
}

static const char *row_id(const struct top_row *row)
{
    return row->id;
}

static const char *row_image(const struct top_row *row)
{
    return row->names[NAME_IMAGE];
}

static const char *row_path(const struct top_row *row)
{
    return row->name == row->target ? "" : row->target;
}

const struct top_layout_text top_layout_texts[] = {
    {"CONTAINER", row_container, 9, 24},
    {"ID", row_id, 12, 12},
    {"IMAGE", row_image, 12, 32},
    {"PATH", row_path, 16, SIZE_MAX - 2},
};

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

/* The width of a text with two blanks behind it, where a row has one and there is room for it. */
static size_t choose_text(const struct top_layout_text *text, const struct top_table *table, size_t *room)
{
    size_t longest = longest_text(table, text->text), width = MIN(MAX(longest, strlen(text->title)), text->most) + 2;

    if (longest == 0 || *room < MIN(width, text->least + 2))
        return 0;
    width = MIN(width, *room);
    *room -= width;
    return width;
}

/* Up to `limit` columns, where a name is that long. */
static void grow_name(struct top_layout *layout, const struct top_table *table, size_t limit, size_t *room)
{
    size_t wanted = MIN(longest_text(table, row_label) + 2, limit);
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
        for (size_t i = 0; i < TOP_TEXTS; i++)
            layout.texts[i] = choose_text(&top_layout_texts[i], table, &room);
    }
    if (cgroups)
        grow_name(&layout, table, width, &room);
    *ret = layout;
}
