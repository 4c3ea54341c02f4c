/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that fit the width: numbers are left out from the right, and texts are added where there is room. */
#ifndef DAEMON_TOP_TOP_LAYOUT_H
#define DAEMON_TOP_TOP_LAYOUT_H

#include "daemon/top/top-view.h"

struct top_layout {
    size_t columns[TOP_COLUMNS_MAX];
    size_t n;
    size_t name, pmu, unit, slice, container; /* widths, the blank behind included; 0: not shown */
};

void top_layout_make(const struct top_view *view, const struct top_table *table, size_t width, struct top_layout *ret);

#endif
