/* SPDX-License-Identifier: Apache-2.0 */
/* A record of perf's format: see perf-data-bytes.h. */
#include "formats/perf-data-bytes.h"

size_t perf_data_bytes_begin(struct buffer *out, uint32_t type, uint16_t misc)
{
    const struct perf_event_header header = {.type = type, .misc = misc};
    size_t start = out->size;

    buffer_append(out, &header, sizeof(header));
    return start;
}

void perf_data_bytes_pad(struct buffer *out, size_t start)
{
    static const char zeros[8];

    buffer_append(out, zeros, -(out->size - start) % 8);
}

void perf_data_bytes_write_text(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text) + 1);
}

void perf_data_bytes_end(struct buffer *out, size_t start)
{
    perf_data_bytes_pad(out, start);
    if (out->failed)
        return;
    size_t size = out->size - start;
    if (size > UINT16_MAX) {
        out->size = start;
        return;
    }
    uint16_t size16 = (uint16_t)size;
    memcpy(out->data + start + offsetof(struct perf_event_header, size), &size16, sizeof(size16));
}
