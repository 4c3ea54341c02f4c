/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as it was before, for a process that dies of a signal: a fault, an abort, a timer of another program. It
 * is put back by a handler that calls only what signal-safety(7) lists, and then the signal ends the process as ever.
 *
 * The terminal of `perfcountd top`, by ncurses, which is loaded when the screen is opened: only what differs from the
 * frame before is written.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "base/error.h"
#include "top/frame.h"

struct top_screen;

/*
 * Standard input and output are its terminal. -ENOTTY where they are none, -ENOSYS without ncurses, -ENODEV for a type
 * of terminal that is not known or cannot move the cursor; with a sentence. Signals that resize, stop and end the
 * process must be blocked.
 */
int top_screen_open(struct top_screen **ret, struct error *error);
/* The terminal is as it was before. Takes NULL. */
struct top_screen *top_screen_close(struct top_screen *screen);

size_t top_screen_width(const struct top_screen *screen);
size_t top_screen_height(const struct top_screen *screen);
/* After SIGWINCH. */
void top_screen_update_size(struct top_screen *screen);

void top_screen_show(struct top_screen *screen, const struct top_frame *frame);
/* The next key as top-view.h has it. -EAGAIN where none was pressed. */
int top_screen_read_key(struct top_screen *screen);

/* Before the process stops, and after it goes on. */
void top_screen_suspend(struct top_screen *screen);
void top_screen_resume(struct top_screen *screen);

#endif
