/* SPDX-License-Identifier: Apache-2.0 */
/* The writers of the sample formats (sampler/writer.h). */
#ifndef FORMATS_WRITERS_H
#define FORMATS_WRITERS_H

#include "sampler/writer.h"

extern const struct writer writer_ndjson, writer_perf_data, writer_pprof, writer_folded;

/*
 * perf_data_count() and pprof_count() count the samples in a complete output of a format, which may come from an
 * untrusted source. Both functions return -EBADMSG if the output is incomplete or not in the format, or -ENOMEM.
 */
int perf_data_count(const void *bytes, size_t size, uint64_t *ret);
int pprof_count(const void *bytes, size_t size, uint64_t *ret);

#endif
