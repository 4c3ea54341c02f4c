/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects programs whose stacks end early. The kernel finds callers by frame pointers. Without them it finds little
 * more than the running function, and a flame graph is misleading.
 *
 * Samples are counted for each mapped file, by the innermost function of the program.
 */
#ifndef FORMATS_EARLY_ENDS_H
#define FORMATS_EARLY_ENDS_H

#include "base/intern.h"

/* Limit of the number of files; further files are left out. */
#define EARLY_ENDS_FILES_MAX 1024

/* It is empty when zeroed. */
struct early_ends {
    struct string_table files;
    struct early_end {
        uint64_t samples, single; /* `single`: samples of stacks with only one function of the program */
    } * counts;                   /* one for each file in `files`, except "" */
    size_t n;
};

void early_ends_done(struct early_ends *ends);
/*
 * Counts samples of a stack whose innermost function of the program is in `file`. If memory runs out, they are left
 * out.
 */
void early_ends_add(struct early_ends *ends, const char *file, bool single, uint64_t samples);
/*
 * Appends a sentence about the files that have at least 20 samples, if more than half of a file's stacks have only one
 * function. Appends nothing if there is no such file. The sentence names the last component of each path, and ends with
 * a letter.
 */
void early_ends_describe(const struct early_ends *ends, struct buffer *sentence);

#endif
