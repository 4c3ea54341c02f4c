/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects programs whose stacks end early. The kernel finds callers by frame pointers. Without frame pointers the
 * kernel finds little more than the running function, and a flame graph is misleading.
 *
 * Samples are counted for the mapped file that contains the innermost function of the program.
 */
#ifndef FORMATS_EARLY_ENDS_H
#define FORMATS_EARLY_ENDS_H

#include "base/intern.h"

/* Maximum number of files; further files are left out. */
#define EARLY_ENDS_FILES_MAX 1024

/* A zeroed struct is empty. */
struct early_ends {
    struct string_table files;
    struct early_end {
        uint64_t samples, single; /* all samples, and samples of stacks with only one function of the program */
    } * counts;                   /* counts for each file in `files`, except "" */
    size_t n;
};

void early_ends_done(struct early_ends *ends);
/*
 * Counts samples of a stack whose innermost function of the program is in `file`. If memory runs out, the samples are
 * left out.
 */
void early_ends_add(struct early_ends *ends, const char *file, bool single, uint64_t samples);
/*
 * Appends a sentence about the files with at least 20 samples where more than half of the samples have a stack with
 * only one function. Appends nothing if there is no such file. The sentence names the last component of each file's
 * path, and ends with a letter.
 */
void early_ends_describe(const struct early_ends *ends, struct buffer *sentence);

#endif
