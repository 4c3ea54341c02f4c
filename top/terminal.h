/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as it was before, for a process that dies of a signal: a fault, an abort, a timer of another program. It
 * is put back by a handler that calls only what signal-safety(7) lists, and then the signal ends the process as ever.
 */
#ifndef TOP_TERMINAL_H
#define TOP_TERMINAL_H

#include "base/error.h"

/*
 * Remembers the modes of the terminal, before a program changes them. `bytes` (copied, at most 256) show its normal
 * screen and its cursor. There is one terminal in a process: what a handler needs is global. -errno of tcgetattr(3).
 */
int top_terminal_arm(int fd);
void top_terminal_set_bytes(const char *bytes, size_t size);
/* The signals have their default action again. */
void top_terminal_disarm(void);

#endif
