/* SPDX-License-Identifier: Apache-2.0 */
/* How each call of the seam may fail: the errors of its manual, and results that lie. */
#ifndef TESTS_FAULTS_SEAM_H
#define TESTS_FAULTS_SEAM_H

#include "tests/faults/faults.h"

enum seam_lie {
    LIE_NONE,    /* it fails with `error` */
    LIE_SHORT,   /* a read of half of it */
    LIE_EMPTY,   /* a read of 0 bytes; a file without text */
    LIE_MORE,    /* a group that says that it has one member more */
    LIE_FEWER,   /* one less, with as many bytes as that has */
    LIE_ID,      /* the id of another event */
    LIE_BACK,    /* counts that fall */
    LIE_TIME,    /* times that fall */
    LIE_RUNNING, /* it ran for longer than it was enabled */
    LIE_TWICE,   /* the same bytes as the last time: nothing counted */
};

struct seam_variant {
    const char *name;
    int error; /* positive */
    enum seam_lie lie;
};

const char *seam_call_name(enum seam_call call);
/* NULL past the last. */
const struct seam_variant *seam_variant(enum seam_call call, unsigned n);
unsigned seam_count_variants(enum seam_call call);

#endif
