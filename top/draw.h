/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of `perfcountd top` that are text: keys, and what is not counted.
 *
 * All that `perfcountd top` shows at once, and how it becomes a frame: a head, a page and a line of keys.
 */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include "top/frame.h"
#include "top/view.h"

struct top_scene {
    const char *host, *kernel; /* kernel: "" where it is not known */
    const char *source;        /* "own counters", "unix:/run/perfcountd.sock", ... */
    const char *clock;         /* the time of the reading, "12:34:56" */
    const char *error;         /* "" while readings arrive */
    bool paused;               /* a daemon that counts nothing for now */
    json_t *failures;          /* as /api/v1/status has them; NULL: not known */
    struct top_table *table;   /* NULL before the first reading */
    struct top_table *pmus;
};

/* Sorts the table as the view wants it, and limits the view to what there is. *ret is what keys act on. */
void top_scene_write(struct top_scene *scene, struct top_view *view, struct top_frame *frame,
                     struct top_page_extent *ret);

#endif
