/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that samples are served in. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "sampler/writer.h"

enum sample_format_kind { FORMAT_NDJSON, FORMAT_PERF_DATA, FORMAT_PPROF, FORMAT_FOLDED };

struct sample_format {
    const char *content_type;
    const struct writer *writer;
};

/* Indexed by `enum sample_format_kind`. */
extern const struct sample_format sample_formats[];

#endif
