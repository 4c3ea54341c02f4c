/* SPDX-License-Identifier: Apache-2.0 */
#include "top/view.h"

#include <stdio.h>

#include "base/glob.h"
#include "top/frame.h"

/* --- view --- */

static const uint64_t intervals_ms[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};

static const struct top_view_help help[] = {
    {"Tab c", "cgroups or CPUs"},
    {"< > left right", "sort by the previous or the next column"},
    {"N", "sort by name"},
    {"r", "reverse the order"},
    {"f Space", "freeze, continue"},
    {"/",
     "show only the rows whose path or name contains a string or matches a pattern with * ? [, or container=PATTERN"},
    {"Esc", "show all rows again; close a page"},
    {"p", "one row for each cgroup, or one for each of its PMUs"},
    {"+ -", "a longer or a shorter interval"},
    {"n", "the events that are not counted, and why"},
    {"up down PgUp PgDn Home End", "scroll"},
    {"? h", "this page"},
    {"q", "quit"},
};

const struct top_view_help *top_view_help_at(size_t i)
{
    return i < ARRAY_SIZE(help) ? &help[i] : NULL;
}

void top_view_init(struct top_view *view, uint64_t interval_ns)
{
    *view = (struct top_view){.interval_ns = interval_ns};
    view->sort[TOP_CGROUPS] = top_column_find("cpu");
    view->sort[TOP_CPUS] = top_column_count();
}

void top_view_limit(struct top_view *view, const struct top_page_extent *size)
{
    size_t last = size->lines > size->height ? size->lines - size->height : 0;

    view->first = MIN(view->first, last);
}

static bool apply_scrolling(struct top_view *view, int key, const struct top_page_extent *size)
{
    size_t page = MAX(size->height, (size_t)2) - 1, up = 0, down = 0;

    switch (key) {
    case TOP_KEY_UP:
        up = 1;
        break;
    case TOP_KEY_DOWN:
        down = 1;
        break;
    case TOP_KEY_PAGE_UP:
        up = page;
        break;
    case TOP_KEY_PAGE_DOWN:
        down = page;
        break;
    case TOP_KEY_HOME:
        up = view->first;
        break;
    case TOP_KEY_END:
        down = size->lines;
        break;
    default:
        return false;
    }
    view->first += down;
    view->first -= MIN(up, view->first);
    top_view_limit(view, size);
    return true;
}

/* Sorts by the next column in the table to the left or right. After the last column, the order is by name. */
static void step_column(struct top_view *view, const struct top_table *table, bool right)
{
    size_t n = top_column_count() + 1, column = view->sort[view->kind];

    do
        column = (column + (right ? 1 : n - 1)) % n;
    while (column + 1 < n && table && !top_table_has(table, column));
    view->sort[view->kind] = column;
}

/* Returns the next longer or shorter interval, or `ns` itself at the end of the list. */
static uint64_t next_interval(uint64_t ns, bool longer)
{
    size_t n = ARRAY_SIZE(intervals_ms);

    for (size_t i = 0; i < n; i++) {
        uint64_t step = intervals_ms[longer ? i : n - 1 - i] * NSEC_PER_MSEC;
        if (longer ? step > ns : step < ns)
            return step;
    }
    return ns;
}

static bool apply_sorting(struct top_view *view, int key, const struct top_table *table)
{
    if (key == '<' || key == TOP_KEY_LEFT || key == '>' || key == TOP_KEY_RIGHT) {
        step_column(view, table, key == '>' || key == TOP_KEY_RIGHT);
        return true;
    }
    if (key == 'N') {
        view->sort[view->kind] = top_column_count();
        return true;
    }
    for (size_t i = 0; i < top_column_count(); i++) {
        if (key == top_column_at(i)->key && (!table || top_table_has(table, i))) {
            view->sort[view->kind] = i;
            return true;
        }
    }
    return false;
}

static void open_page(struct top_view *view, enum top_page page)
{
    view->page = view->page == page ? TOP_PAGE_ROWS : page;
    view->first = 0;
}

static void remove_character(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && ((unsigned char)text[--n] & 0xc0) == 0x80)
        ;
    text[n] = '\0';
}

static void apply_typing(struct top_view *view, int key)
{
    char *filter = top_view_filter(view);
    size_t n = strlen(filter);

    if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
        view->typing = false;
    if (key == TOP_KEY_ESCAPE)
        filter[0] = '\0';
    else if (key == TOP_KEY_ERASE)
        remove_character(filter);
    else if (key >= ' ' && key < 256 && key != 127 && n + 1 < TOP_FILTER_MAX) {
        filter[n] = (char)key;
        filter[n + 1] = '\0';
    }
}

static void apply_page_key(struct top_view *view, int key)
{
    if (key == 'q')
        view->quit = true;
    else if (key == '?' || key == 'h')
        open_page(view, TOP_PAGE_HELP);
    else if (key == 'n')
        open_page(view, TOP_PAGE_FAILURES);
    else if (key == 'f' || key == ' ')
        view->frozen = !view->frozen;
    else if (key == '+' || key == '-')
        view->interval_ns = next_interval(view->interval_ns, key == '+');
    else if (key == TOP_KEY_ESCAPE && view->page == TOP_PAGE_ROWS)
        top_view_filter(view)[0] = '\0';
    else if (key == TOP_KEY_ESCAPE)
        open_page(view, TOP_PAGE_ROWS);
}

static void apply_row_key(struct top_view *view, int key, const struct top_page_extent *size)
{
    if (apply_sorting(view, key, size->table)) {
        view->first = 0;
        return;
    }
    switch (key) {
    case '\t':
    case 'c':
        view->kind = view->kind == TOP_CGROUPS ? TOP_CPUS : TOP_CGROUPS;
        view->first = 0;
        break;
    case 'p':
        view->by_pmu = !view->by_pmu;
        break;
    case 'r':
        view->reverse = !view->reverse;
        break;
    case '/':
        view->typing = true;
        break;
    default:
        apply_page_key(view, key);
    }
}

void top_view_apply_key(struct top_view *view, int key, const struct top_page_extent *size)
{
    if (apply_scrolling(view, key, size))
        return;
    if (view->typing)
        apply_typing(view, key);
    else if (view->page == TOP_PAGE_ROWS)
        apply_row_key(view, key, size);
    else
        apply_page_key(view, key);
}

static bool contains(const char *part, const char *text)
{
    return strcasestr(text, part) != NULL;
}

bool top_view_shows(const struct top_view *view, const struct top_row *row)
{
    const char *filter = view->filters[view->kind], *pattern;
    bool (*passes)(const char *, const char *) = strpbrk(filter, "*?[") ? glob_match_last : contains;
    enum name_kind kind;

    if (name_kind_parse(filter, &kind, &pattern) == 0)
        return *row->names[kind] && glob_match_last(pattern, row->names[kind]);
    bool shows = passes(filter, row->target) || passes(filter, row->name);
    for (kind = 0; kind < N_NAME_KINDS && !shows; kind++)
        shows = *row->names[kind] && passes(filter, row->names[kind]);
    return shows;
}

/* --- layout --- */

#define NAME_MIN 14  /* minimum width of cgroup names */
#define CPU_NAME 8   /* width of "cpu 127 " */
#define PMU_WIDTH 18 /* width of "armv8_cortex_a76" and two blanks */
#define NAME_WIDE 48 /* once cgroup names are this wide, text columns get the remaining room */
#define CPU_METER 20
#define CGROUP_METER 10
#define METER_FRAME 4 /* width of "[", "]" and two blanks */
#define WIDE 120      /* a screen this wide has room for text columns besides the name and all numbers */

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

/* Chooses as many columns as fit, always including the column that rows are sorted by. */
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

/*
 * Returns the width of a text column, including two blanks after the text, and subtracts it from *room. Returns 0 if no
 * row has the text or the column does not fit.
 */
static size_t choose_text(const struct top_layout_text *text, const struct top_table *table, size_t *room)
{
    size_t longest = longest_text(table, text->text), width = MIN(MAX(longest, strlen(text->title)), text->most) + 2;

    if (longest == 0 || *room < MIN(width, text->least + 2))
        return 0;
    width = MIN(width, *room);
    *room -= width;
    return width;
}

/* Widens the name column to the longest name, but at most to `limit` columns. */
static void grow_name(struct top_layout *layout, const struct top_table *table, size_t limit, size_t *room)
{
    size_t wanted = MIN(longest_text(table, row_label) + 2, limit);
    size_t more = MIN(wanted - MIN(wanted, layout->name), *room);

    layout->name += more;
    *room -= more;
}

/* Adds bars of this width if they fit. */
static void choose_meter(struct top_layout *layout, size_t width, size_t *room)
{
    if (*room < width + METER_FRAME)
        return;
    layout->meter = width;
    *room -= width + METER_FRAME;
}

void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, bool meters,
                     struct top_layout *ret)
{
    bool cgroups = view->kind == TOP_CGROUPS;
    struct top_layout layout = {.name = cgroups ? NAME_MIN : CPU_NAME};

    if (width >= 60 && (!cgroups || view->by_pmu) && longest_text(table, row_pmu))
        layout.pmu = PMU_WIDTH;
    size_t room = width - MIN(width, layout.name + layout.pmu);
    choose_columns(view, table, room, &layout);
    room -= layout.n * TOP_COLUMN_WIDTH;
    if (cgroups)
        grow_name(&layout, table, NAME_WIDE, &room);
    if (meters)
        choose_meter(&layout, cgroups ? CGROUP_METER : CPU_METER, &room);
    if (cgroups && width >= WIDE)
        for (size_t i = 0; i < TOP_TEXTS; i++)
            layout.texts[i] = choose_text(&top_layout_texts[i], table, &room);
    if (cgroups)
        grow_name(&layout, table, width, &room);
    *ret = layout;
}
