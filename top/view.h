/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's view of `perfcountd top`: what is shown and in which order, how keys change the view, and which columns
 * fit the width of the screen. On a narrow screen, number columns are dropped from the right; on a wide screen, text
 * columns are added. This code uses neither the terminal nor a source of readings.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top/rows.h"

/* Keys that are not a single byte. */
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
    enum top_kind kind; /* kind of the rows shown, TOP_CGROUPS or TOP_CPUS */
    bool by_pmu;
    enum top_page page;
    size_t sort[N_TOP_KINDS]; /* column to sort by, or top_column_count() to sort by name */
    bool reverse;
    bool frozen;
    bool typing; /* the user is typing the filter */
    char filters[N_TOP_KINDS][TOP_FILTER_MAX];
    size_t first; /* number of the first visible line of the page */
    uint64_t interval_ns;
    bool quit;
};

void top_view_init(struct top_view *view, uint64_t interval_ns);
/*
 * The extent of the page that is shown, as needed by the keys: the table on the page (NULL before the first reading),
 * the number of lines on the page, and how many of them are visible.
 */
struct top_page_extent {
    const struct top_table *table;
    size_t lines, height;
};
void top_view_apply_key(struct top_view *view, int key, const struct top_page_extent *size);
/* Scrolls back if the page has become shorter than the scroll position. */
void top_view_limit(struct top_view *view, const struct top_page_extent *size);

/* Returns the filter for the kind of rows shown; the caller may change it. */
static inline char *top_view_filter(struct top_view *view)
{
    return view->filters[view->kind];
}

/*
 * Returns whether a row passes the filter. A row passes if its path or one of its names contains the filter's text;
 * case is ignored. A filter that contains any of `*?[` is a pattern that must match the path or a name; a pattern
 * without a slash is matched against the last component of the path. KEY=PATTERN is matched only against the name of
 * the kind KEY.
 */
bool top_view_shows(const struct top_view *view, const struct top_row *row);

/* A line of the help page, which lists the keys. top_view_help_at() returns NULL after the last line. */
struct top_view_help {
    const char *keys, *text;
};
const struct top_view_help *top_view_help_at(size_t i);

/* A text column about a cgroup, to the right of the numbers. */
struct top_layout_text {
    const char *title;
    const char *(*text)(const struct top_row *row);
    size_t least, most; /* minimum and maximum width; the column is left out if `least` does not fit */
};

#define TOP_TEXTS 4

extern const struct top_layout_text top_layout_texts[TOP_TEXTS];

struct top_layout {
    size_t columns[TOP_COLUMNS_MAX];
    size_t n;
    size_t name, pmu, texts[TOP_TEXTS]; /* widths of text columns, including trailing blanks; 0 if not shown */
    size_t meter;                       /* width of the CPU time bar without its frame; 0 if not shown */
};

/* Chooses the columns and their widths. `meters` is true if bars may be shown. */
void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, bool meters,
                     struct top_layout *ret);

#endif
