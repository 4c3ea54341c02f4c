/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that fit the width: numbers are left out from the right, and texts are added where there is room. */
#ifndef TOP_LAYOUT_H
#define TOP_LAYOUT_H

#include "top/view.h"

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
