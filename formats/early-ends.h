/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects programs whose stacks end early. The kernel follows frame pointers to find callers. Without frame pointers it
 * finds little more than the running function, and a flame graph is misleading.
 *
 * Samples are counted by mapped file: the one that contains the innermost user-space frame.
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
        uint64_t samples, single; /* all samples, and samples with only one user-space frame */
    } * counts;                   /* counts for each file in `files`, except "" */
    size_t n;
};

void early_ends_done(struct early_ends *ends);
/* Counts samples whose innermost user-space frame is in `file`, or drops them if memory runs out. */
void early_ends_add(struct early_ends *ends, const char *file, bool single, uint64_t samples);
/*
 * Appends a sentence about the files with at least 20 samples, more than half of which have only one user-space frame.
 * Appends nothing if there is no such file. The sentence names the last component of each file's path, and ends with a
 * letter.
 */
void early_ends_describe(const struct early_ends *ends, struct buffer *sentence);

#endif
