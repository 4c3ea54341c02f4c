/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of counters and of samples: see formats.h. */
#include "formats/formats.h"

#include <unistd.h>

#include "formats/counters.h"
#include "formats/writers.h"
#include "metrics/exposition.h"

static int write_exposition_text(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter)
{
    return exposition_write(out, &snapshot->metrics, filter_mask(filter), EXPOSITION_TEXT);
}

static int write_exposition_openmetrics(struct buffer *out, const struct snapshot *snapshot,
                                        const struct filter *filter)
{
    return exposition_write(out, &snapshot->metrics, filter_mask(filter), EXPOSITION_OPENMETRICS);
}

static int write_counters_json(struct buffer *out, const struct snapshot *snapshot, const struct filter *filter)
{
    char hostname[256] = "";

    gethostname(hostname, sizeof(hostname) - 1);
    return counters_write(out, snapshot, filter, hostname);
}

const struct counter_format counter_formats[] = {
    [COUNTERS_TEXT] = {"text/plain; version=0.0.4; charset=utf-8", write_exposition_text},
    [COUNTERS_OPENMETRICS] = {"application/openmetrics-text; version=1.0.0; charset=utf-8",
                              write_exposition_openmetrics},
    [COUNTERS_JSON] = {"application/json", write_counters_json},
};

const struct sample_format sample_formats[] = {
    [FORMAT_NDJSON] = {"application/x-ndjson", &writer_ndjson},
    [FORMAT_PERF_DATA] = {"application/octet-stream", &writer_perf_data},
    [FORMAT_PPROF] = {"application/octet-stream", &writer_pprof},
    [FORMAT_FOLDED] = {"text/plain; charset=utf-8", &writer_folded},
};
