/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph: renders folded stacks (formats/folded.c) as a self-contained SVG. It looks like the flame graph of the
 * web page (web/flame/export.js), with the outermost frames at the top, and has its own script (formats/flame.js) to
 * search and zoom.
 *
 * The folded text may come from an untrusted source: lines that are not folded stacks are left out, and every name is
 * escaped.
 */
#ifndef FORMATS_FLAME_H
#define FORMATS_FLAME_H

#include "base/buffer.h"

/* Frames below this depth are left out. */
#define FLAME_DEPTH_MAX 2048
/* JavaScript represents integers exactly up to this limit. Lines that would exceed it are left out. */
#define FLAME_SAMPLES_MAX (UINT64_C(1) << 53)

struct flame {
    char *text; /* the stacks, each with its NUL; frames are separated by FLAME_SEPARATOR */
    struct flame_line {
        const char *stack; /* points into `text` */
        uint64_t samples;
    } * lines; /* sorted: lines with a common beginning are neighbours */
    size_t n;
    uint64_t samples; /* sum over all lines */
    bool is_time;     /* set by the caller: samples are microseconds */
    const char *note; /* points into `text`: the sentence of a line that begins with "# "; NULL if there is none */
    uint64_t unnamed; /* samples of lines whose innermost frame is not named by a function, such as "[libc.so.6]" */
};

/* Sorts below all characters of a name. */
#define FLAME_SEPARATOR '\1'

/* `text` is not NUL-terminated. Returns -ENOMEM. */
int flame_parse(const char *text, size_t size, struct flame *ret);
void flame_done(struct flame *flame);
/* Frames that have less than a ten-thousandth of the samples are left out. */
void flame_write(const struct flame *flame, const char *title, struct buffer *out);

#endif
