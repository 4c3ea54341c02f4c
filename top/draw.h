/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws `perfcountd top`: turns a reading and the user's view of the reading into a frame. A frame consists of a head,
 * then the table of rows or a page of text (the keys, or the events that are not counted), then a line of keys.
 */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include "top/frame.h"
#include "top/view.h"

struct top_scene {
    const char *host, *kernel; /* host name; kernel release, or "" if unknown */
    const char *source;        /* source of the readings, such as "own counters" or "unix:/run/perfcountd.sock" */
    const char *clock;         /* time of the reading, "12:34:56" */
    const char *error;         /* why there are no new readings, or "" */
    bool paused;               /* the daemon has paused counting */
    json_t *failures;          /* `failures` from /api/v1/status, or NULL if unknown */
    struct top_table *table;   /* table of rows, or NULL before the first reading */
    struct top_table *pmus;
};

/*
 * Sorts scene->table as selected in `view`, limits the scroll position of `view` to the page, and appends all lines to
 * `frame`. *ret is the extent of the page, for top_view_apply_key().
 */
void top_scene_write(struct top_scene *scene, struct top_view *view, struct top_frame *frame,
                     struct top_page_extent *ret);

#endif
