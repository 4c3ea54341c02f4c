/* SPDX-License-Identifier: Apache-2.0 */
/* A record of perf's format, written field by field into a buffer, in the machine's byte order. */
#ifndef FORMATS_PERF_DATA_BYTES_H
#define FORMATS_PERF_DATA_BYTES_H

#include <linux/perf_event.h>

#include "base/buffer.h"

/* Types above the kernel's own (tools/lib/perf/include/perf/event.h). */
enum {
    PERF_DATA_HEADER_ATTR = 64,
    PERF_DATA_HEADER_BUILD_ID = 67,
    PERF_DATA_FINISHED_ROUND = 68,
    PERF_DATA_HEADER_FEATURE = 80,
};

/* Begins a record. Returns where it starts, for perf_data_bytes_end(). */
size_t perf_data_bytes_begin(struct buffer *out, uint32_t type, uint16_t misc);
/* Pads to a multiple of 8 and writes the size into the header. A record that is too large is taken back. */
void perf_data_bytes_end(struct buffer *out, size_t start);

static inline void perf_data_bytes_write_u32(struct buffer *out, uint32_t value)
{
    buffer_append(out, &value, sizeof(value));
}

static inline void perf_data_bytes_write_u64(struct buffer *out, uint64_t value)
{
    buffer_append(out, &value, sizeof(value));
}

/* Appends zeros up to the next multiple of 8 from `start`. */
void perf_data_bytes_pad(struct buffer *out, size_t start);
/* With its NUL. */
void perf_data_bytes_write_text(struct buffer *out, const char *text);

#endif
