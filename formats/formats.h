/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that counters and samples are served in. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "formats/query.h"
#include "sampler/writer.h"

enum counter_format_kind { COUNTERS_TEXT, COUNTERS_OPENMETRICS, COUNTERS_JSON };

struct counter_format {
    const char *content_type;
    /* Appends the counters that pass `filter` (NULL: all); the text formats heed only its collectors. -ENOMEM. */
    int (*write)(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter);
};

/* Indexed by `enum counter_format_kind`. */
extern const struct counter_format counter_formats[];

enum sample_format_kind { FORMAT_NDJSON, FORMAT_PERF_DATA, FORMAT_PPROF, FORMAT_FOLDED };

struct sample_format {
    const char *content_type;
    const struct writer *writer;
};

/* Indexed by `enum sample_format_kind`. */
extern const struct sample_format sample_formats[];

#endif
