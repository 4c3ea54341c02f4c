/* SPDX-License-Identifier: Apache-2.0 */
/* The program file of this process, as a person may name it in a command; the name that the process goes by. */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include "base/util.h"

/* No path that is given has more characters: perf/reason.c has messages of 512 with it. */
#define PROGRAM_PATH_MAX 150

/*
 * Writes the path, where a shell takes it as it is; else "$(command -v perfcountd)". `size` must be more than
 * PROGRAM_PATH_MAX.
 */
void program_path(char *text, size_t size);
/* Sets the name of this process, and its arguments where there is room for it in them, as `ps` shows both. */
void program_set_name(const char *name);

#endif
