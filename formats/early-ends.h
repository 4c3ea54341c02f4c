/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose stacks end early. The kernel finds callers by frame pointers. Without them it finds little more than
 * the function that runs, and a flame graph misleads.
 *
 * Samples are counted for each mapped file, by the innermost function of the program.
 */
#ifndef FORMATS_EARLY_ENDS_H
#define FORMATS_EARLY_ENDS_H

#include "base/intern.h"

/* Further files are left out. */
#define EARLY_ENDS_FILES_MAX 1024

/* Zeroed, it is empty. */
struct early_ends {
    struct string_table files;
    struct early_end {
        uint64_t samples, single; /* `single`: of a stack with one function of the program */
    } * counts;                   /* one for each file, except "" */
    size_t n;
};

void early_ends_done(struct early_ends *ends);
/* Counts samples of a stack whose innermost function of the program is in `file`. On ENOMEM they are left out. */
void early_ends_add(struct early_ends *ends, const char *file, bool single, uint64_t samples);
/*
 * Appends a sentence about the files with at least 20 samples, more than half of which have one function; nothing if
 * there is none. It has the last component of each path, and ends with a letter.
 */
void early_ends_describe(const struct early_ends *ends, struct buffer *sentence);

#endif
