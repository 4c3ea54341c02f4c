/* SPDX-License-Identifier: Apache-2.0 */
/* The wishes of the user of `perfcountd top`: see top-view.h. */
#include "top/view.h"

#include <stdio.h>

#include "base/glob.h"

static const uint64_t intervals_ms[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};

static const struct top_view_help help[] = {
    {"Tab c", "cgroups or CPUs"},
    {"< > left right", "sort by the column before, after"},
    {"N", "sort by name"},
    {"r", "reverse the order"},
    {"f Space", "freeze, and go on"},
    {"/", "show the rows with a text in a name or the path, or that match a pattern with * ? [, or container=PATTERN"},
    {"Esc", "show all rows again; leave a page"},
    {"p", "each cgroup once, or once for each PMU"},
    {"+ -", "a longer, a shorter interval"},
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

/* The next column that is there, in one direction; the name is behind the last one. */
static void step_column(struct top_view *view, const struct top_table *table, bool right)
{
    size_t n = top_column_count() + 1, column = view->sort[view->kind];

    do
        column = (column + (right ? 1 : n - 1)) % n;
    while (column + 1 < n && table && !top_table_has(table, column));
    view->sort[view->kind] = column;
}

/* The next of the steps, or the last one in that direction. */
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
