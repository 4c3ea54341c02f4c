/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of `perfcountd top`. It is drawn by ncurses, which is loaded when the screen is opened; only what
 * differs from the previous frame is written.
 *
 * If a signal kills the process (a fault, an abort, a timer), a handler first restores the terminal. The handler calls
 * only functions of signal-safety(7), and then the signal takes its default action.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "base/error.h"
#include "top/frame.h"

struct top_screen;

/*
 * The terminal is standard input and output. Returns -ENOTTY if they are not a terminal, -ENOSYS without ncurses,
 * -ENODEV if the type of terminal is unknown or cannot move the cursor; with a sentence. The caller must have blocked
 * the signals that resize, stop and end the process.
 */
int top_screen_open(struct top_screen **ret, struct error *error);
/* Restores the terminal. `screen` may be NULL. */
struct top_screen *top_screen_close(struct top_screen *screen);

size_t top_screen_width(const struct top_screen *screen);
size_t top_screen_height(const struct top_screen *screen);
/* Must be called after SIGWINCH. */
void top_screen_update_size(struct top_screen *screen);

void top_screen_show(struct top_screen *screen, const struct top_frame *frame);
/* Returns an enum top_key of top/view.h or a byte; 0 for a key that is not used; -EAGAIN if no key was pressed. */
int top_screen_read_key(struct top_screen *screen);

/* Call them before the process stops, and after it continues. */
void top_screen_suspend(struct top_screen *screen);
void top_screen_resume(struct top_screen *screen);

#endif
