/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and ratios as JSON: the body of /api/v1/rates, and of `perfcountd stat --json`.
 *
 * Every counter as JSON, exact to the last digit: the body of /api/v1/counters.
 *
 * The formats that counters and samples are served in.
 */
#ifndef FORMATS_COUNTERS_H
#define FORMATS_COUNTERS_H

#include "base/buffer.h"
#include "collectors/rates.h"
#include "formats/query.h"
#include "sampler/writer.h"

/*
 * Appends the rows that pass `filter` (NULL: all), from the baseline to the snapshot, in `order` (NULL: that of the
 * snapshot), with a line feed at the end. With `totals`, also the rows that pass, added up over the CPUs of each PMU;
 * the order does not concern them. A rate that is not known is null. -ENOMEM.
 */
int rates_json_write(struct buffer *out, const struct baseline *baseline, const struct snapshot *snapshot,
                     const struct filter *filter, const struct order *order, bool totals);

/* Appends the document of the counters that pass `filter` (NULL: all). -ENOMEM. */
int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname);

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
