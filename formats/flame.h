/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders folded stacks (formats/folded.c) as a flame graph, which is a self-contained SVG. The SVG looks like the
 * flame graph of the web page (web/flame/export.js), with the outermost frames at the top, and has its own script
 * (formats/flame.js) to search and zoom.
 *
 * The folded text may come from an untrusted source: lines that are not folded stacks are dropped, and every name is
 * escaped.
 */
#ifndef FORMATS_FLAME_H
#define FORMATS_FLAME_H

#include "base/buffer.h"

/* Deeper frames are left out. */
#define FLAME_DEPTH_MAX 2048
/* JavaScript represents integers exactly up to this limit. Lines that would exceed this number are left out. */
#define FLAME_SAMPLES_MAX (UINT64_C(1) << 53)

struct flame {
    char *text; /* the stacks, each ending with NUL; frames are separated by FLAME_SEPARATOR */
    struct flame_line {
        const char *stack; /* points into `text` */
        uint64_t samples;
    } * lines; /* sorted, so that lines with a common prefix are adjacent */
    size_t n;
    uint64_t samples; /* sum of the samples of all lines */
    bool is_time;     /* the numbers of samples are microseconds; set by the caller */
    const char *note; /* text after "# " of a comment line; points into `text`; NULL if there is none */
    uint64_t unnamed; /* samples whose innermost frame has no function name, such as "[libc.so.6]" */
};

/* Separates frames in a stack. It sorts before all characters that occur in names. */
#define FLAME_SEPARATOR '\1'

/* Parses folded stacks. `text` need not be NUL-terminated. Returns -ENOMEM. */
int flame_parse(const char *text, size_t size, struct flame *ret);
void flame_done(struct flame *flame);
/* Frames with less than a ten-thousandth of the samples are left out. */
void flame_write(const struct flame *flame, const char *title, struct buffer *out);

#endif
