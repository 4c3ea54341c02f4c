/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user of `perfcountd top` wants to see, how keys change it, and which columns fit the width of the screen. If
 * the screen is narrow, columns of numbers are dropped from the right; if it is wide, columns of text are added. Pure:
 * it uses neither the terminal nor a source of readings.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top/rows.h"

/* Keys that are not single bytes. */
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
    size_t sort[N_TOP_KINDS]; /* columns; top_column_count(): by name */
    bool reverse;
    bool frozen;
    bool typing; /* into the filter */
    char filters[N_TOP_KINDS][TOP_FILTER_MAX];
    size_t first; /* line of the page at the top of the screen */
    uint64_t interval_ns;
    bool quit;
};

void top_view_init(struct top_view *view, uint64_t interval_ns);
/*
 * The page that is shown, on which keys act: its table (NULL before the first reading), its number of lines, and how
 * many of them are visible.
 */
struct top_page_extent {
    const struct top_table *table;
    size_t lines, height;
};
void top_view_apply_key(struct top_view *view, int key, const struct top_page_extent *size);
/* Scrolls back if the page has become shorter. */
void top_view_limit(struct top_view *view, const struct top_page_extent *size);

/* The filter of the kind of rows that is shown; may be changed in place. */
static inline char *top_view_filter(struct top_view *view)
{
    return view->filters[view->kind];
}

/*
 * Whether a row passes the filter: its path or one of its names contains the text, in any case. A filter with one of
 * `*?[` is a pattern for these; without a slash it matches the last component. KEY=PATTERN matches only the name of
 * that kind.
 */
bool top_view_shows(const struct top_view *view, const struct top_row *row);

/* A line of the list of keys; NULL past the last. */
struct top_view_help {
    const char *keys, *text;
};
const struct top_view_help *top_view_help_at(size_t i);

/* A column of text about a cgroup, to the right of the numbers. */
struct top_layout_text {
    const char *title;
    const char *(*text)(const struct top_row *row);
    size_t least, most; /* width in columns: `most`, or down to `least` on a narrow terminal */
};

#define TOP_TEXTS 4

extern const struct top_layout_text top_layout_texts[TOP_TEXTS];

struct top_layout {
    size_t columns[TOP_COLUMNS_MAX];
    size_t n;
    size_t name, pmu, texts[TOP_TEXTS]; /* widths, including the blanks after each; 0: not shown */
    size_t meter;                       /* width of the bar of CPU time, without its frame; 0: not shown */
};

/* `meters` says whether bars may be shown. */
void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, bool meters,
                     struct top_layout *ret);

#endif
