/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents that serve counters: /api/v1/counters, /api/v1/rates, and the two Prometheus expositions.
 *
 * Counter values are exact in JSON: integers are written with all their digits. The tables at the end map each format
 * of counters and of samples to its content type and its writer.
 */
#ifndef FORMATS_COUNTERS_H
#define FORMATS_COUNTERS_H

#include "base/buffer.h"
#include "collectors/rates.h"
#include "formats/query.h"
#include "sampler/writer.h"

/* What a value of the parameter `totals` of /api/v1/rates stands for. */
struct totals_kind {
    const char *name;
    enum totals_order order;
};

/* Sums over the CPUs of each PMU or, with totals_cgroup, over all PMUs for each cgroup. */
extern const struct totals_kind totals_pmu, totals_cgroup;

/*
 * Returns the kind of totals with that name. For an unknown name, returns NULL with an error that lists the known
 * names.
 */
const struct totals_kind *totals_kind_find(const char *name, struct error *error);

/*
 * Appends one JSON document, followed by a line feed: the rates and ratios from the baseline to the snapshot. The
 * document is the body of /api/v1/rates and, with the counts of each row, the output of `perfcountd stat --json`. Only
 * rows that pass `filter` (NULL for all rows) are written, in `order` (NULL for the order of the snapshot). Unless
 * `totals` is NULL, the rows are followed by their sums, to which `order` does not apply. Unknown values are written as
 * null. Returns -ENOMEM on failure.
 */
int rates_json_write(struct buffer *out, const struct baseline *baseline, const struct snapshot *snapshot,
                     const struct filter *filter, const struct order *order, const struct totals_kind *totals,
                     bool counts);

/* Appends the body of /api/v1/counters: the counters that pass `filter` (NULL: all). Returns -ENOMEM on failure. */
int counters_write(struct buffer *buffer, const struct snapshot *snapshot, const struct filter *filter,
                   const char *hostname);

enum counter_format_kind { COUNTERS_TEXT, COUNTERS_OPENMETRICS, COUNTERS_JSON };

struct counter_format {
    const char *content_type;
    /*
     * Appends the counters that pass `filter` (NULL: all). The text formats use only the filter's collectors and ignore
     * the rest of it. Returns -ENOMEM on failure.
     */
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
