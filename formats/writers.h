/* SPDX-License-Identifier: Apache-2.0 */
/* The sample formats, one writer each (sampler/writer.h). */
#ifndef FORMATS_WRITERS_H
#define FORMATS_WRITERS_H

#include "sampler/writer.h"

extern const struct writer writer_ndjson, writer_perf_data, writer_pprof, writer_folded;

#endif
