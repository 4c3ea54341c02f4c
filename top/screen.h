/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `perfcountd top` draws on the terminal with ncurses, which is loaded when the screen is opened and writes only what
 * differs from the previous frame.
 *
 * If a signal kills the process (a fault, an abort, a timer), a handler first restores the terminal. The handler calls
 * only async-signal-safe functions (signal-safety(7)), and then the signal takes its default action.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "base/error.h"
#include "top/frame.h"

struct top_screen;

/*
 * Opens the terminal, which must be both standard input and standard output. Returns these errors with a message:
 * -ENOTTY if standard input or output is not a terminal, -ENOSYS without ncurses, -ENODEV if the terminal type is
 * unknown or has no cursor movement. The caller must have blocked SIGWINCH and the signals that stop or terminate the
 * process.
 */
int top_screen_open(struct top_screen **ret, struct error *error);
/* Restores the terminal and frees `screen`, which may be NULL. */
struct top_screen *top_screen_close(struct top_screen *screen);

size_t top_screen_width(const struct top_screen *screen);
size_t top_screen_height(const struct top_screen *screen);
/* Reads the size of the terminal again; must be called after SIGWINCH. */
void top_screen_update_size(struct top_screen *screen);

void top_screen_show(struct top_screen *screen, const struct top_frame *frame);
/*
 * Returns the pressed key as an enum top_key (top/view.h) or a byte; 0 for a key without a function; -EAGAIN if no key
 * was pressed.
 */
int top_screen_read_key(struct top_screen *screen);

/*
 * Restore the terminal before the process is stopped (SIGTSTP), and take the terminal back once the process continues
 * (SIGCONT).
 */
void top_screen_suspend(struct top_screen *screen);
void top_screen_resume(struct top_screen *screen);

#endif
