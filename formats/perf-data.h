/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of perf's format, written field by field into a buffer, in the machine's byte order.
 *
 * The start of perf's format for pipes: events, machine and clock (writer_perf_data).
 */
#ifndef FORMATS_PERF_DATA_H
#define FORMATS_PERF_DATA_H

#include <linux/perf_event.h>

#include "base/buffer.h"
#include "sampler/writer.h"

/* Begins a record. Returns where it starts, for perf_data_bytes_end(). */
size_t perf_data_bytes_begin(struct buffer *out, uint32_t type, uint16_t misc);
/* Pads to a multiple of 8 and writes the size into the header. A record that is too large is taken back. */
void perf_data_bytes_end(struct buffer *out, size_t start);
/* With its NUL. */
void perf_data_bytes_write_text(struct buffer *out, const char *text);

#endif
