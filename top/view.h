/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wishes of the user of `perfcountd top`, and how keys change them. Pure: no terminal, no source.
 *
 * The columns that fit the width: numbers are left out from the right, and texts are added where there is room.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top/rows.h"

/* Keys that are not characters of one byte. */
enum top_key {
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_ERASE,
};

enum top_page { TOP_PAGE_ROWS, TOP_PAGE_FAILURES, TOP_PAGE_HELP };

#define TOP_FILTER_MAX 128

struct top_view {
    enum top_kind kind; /* TOP_CGROUPS or TOP_CPUS */
    bool by_pmu;
    enum top_page page;
    size_t sort[N_TOP_KINDS]; /* columns; top_column_count() is the name */
    bool reverse;
    bool frozen;
    bool typing; /* a filter */
    char filters[N_TOP_KINDS][TOP_FILTER_MAX];
    size_t first; /* line of the page that is at the top of the screen */
    uint64_t interval_ns;
    bool quit;
};

void top_view_init(struct top_view *view, uint64_t interval_ns);
/* Keys act on the table that is shown (NULL before the first reading); of its lines, `height` are seen. */
struct top_page_extent {
    const struct top_table *table;
    size_t lines, height;
};
void top_view_apply_key(struct top_view *view, int key, const struct top_page_extent *size);
/* Keeps the first line where a page has fewer lines than before. */
void top_view_limit(struct top_view *view, const struct top_page_extent *size);

/* The filter of what is shown, which is changed in place. */
static inline char *top_view_filter(struct top_view *view)
{
    return view->filters[view->kind];
}

/*
 * Whether a row passes the filter: a part of its path or of a name in any case; or, with one of `*?[`, a pattern of
 * either, without a slash of its last component; or KEY=PATTERN, of the name with this key.
 */
bool top_view_shows(const struct top_view *view, const struct top_row *row);

/* A key of a list for people, and what it does; NULL past the last. */
struct top_view_help {
    const char *keys, *text;
};
const struct top_view_help *top_view_help_at(size_t i);

/* A text about a cgroup, to the right of the numbers. */
struct top_layout_text {
    const char *title;
    const char *(*text)(const struct top_row *row);
    size_t least, most; /* columns: it is shortened to the least where there is no more room */
};

#define TOP_TEXTS 4

extern const struct top_layout_text top_layout_texts[TOP_TEXTS];

struct top_layout {
    size_t columns[TOP_COLUMNS_MAX];
    size_t n;
    size_t name, pmu, texts[TOP_TEXTS]; /* widths, the blanks behind included; 0: not shown */
};

void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, struct top_layout *ret);

#endif
