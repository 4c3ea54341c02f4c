/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of samples: see formats.h. */
#include "formats/formats.h"

#include "formats/writers.h"

const struct sample_format sample_formats[] = {
    [FORMAT_NDJSON] = {"application/x-ndjson", &writer_ndjson},
    [FORMAT_PERF_DATA] = {"application/octet-stream", &writer_perf_data},
    [FORMAT_PPROF] = {"application/octet-stream", &writer_pprof},
    [FORMAT_FOLDED] = {"text/plain; charset=utf-8", &writer_folded},
};
