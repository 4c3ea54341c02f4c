/* SPDX-License-Identifier: Apache-2.0 */
/* The sample formats, one writer each (sampler/writer.h). */
#ifndef FORMATS_WRITERS_H
#define FORMATS_WRITERS_H

#include "sampler/writer.h"

extern const struct writer writer_ndjson, writer_perf_data, writer_pprof, writer_folded;

/*
 * Count the samples in a complete output, which may come from an untrusted source. Return -EBADMSG if it is incomplete
 * or not in the format, or -ENOMEM.
 */
int perf_data_count(const void *bytes, size_t size, uint64_t *ret);
int pprof_count(const void *bytes, size_t size, uint64_t *ret);

#endif
