/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for pprof.c where perfcountd is built without protobuf-c. */
#include "formats/writers.h"

static int pprof_check(struct error *error)
{
    return error_set(error, -ENOSYS,
                     "protobuf-c, which writes pprof, is not built into this perfcountd (configure "
                     "--with-protobuf-c); folded stacks are there without it");
}

static void *pprof_begin(const struct writer_source *source, struct buffer *out)
{
    (void)source;
    (void)out;
    return NULL;
}

const struct writer writer_pprof = {.check = pprof_check, .begin = pprof_begin};
