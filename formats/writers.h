/* SPDX-License-Identifier: Apache-2.0 */
/* The writers of samples: formats/ndjson.c, perf-data.c, pprof.c and folded.c. */
#ifndef FORMATS_WRITERS_H
#define FORMATS_WRITERS_H

#include "sampler/writer.h"

extern const struct writer writer_ndjson, writer_perf_data, writer_pprof, writer_folded;

#endif
