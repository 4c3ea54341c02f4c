/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of `perfcountd top` that are text: keys, and what is not counted. */
#ifndef TOP_PAGE_H
#define TOP_PAGE_H

#include "top/frame.h"
#include "top/view.h"

/* Lines of text that are longer than the screen is wide are continued on the next. */
struct top_page_text {
    struct buffer text; /* each line ends with '\n' */
    size_t width, lines;
};

void top_page_text_done(struct top_page_text *page);
/* Zeroed but for `width`. */
void top_page_text_append_help(struct top_page_text *page);
/* `failures` as /api/v1/status has them. Those without an event, such as a limit, are not counted. */
size_t top_page_count_events(const json_t *failures);
/* The first collector that fails; NULL where none does. */
const char *top_page_find_failed(const json_t *failures);

void top_page_text_append_failures(struct top_page_text *page, const json_t *failures);
/* At most `height` lines, from the first that is shown. */
void top_page_text_write(const struct top_page_text *page, size_t first, size_t height, struct top_frame *frame);

#endif
