/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the parts of a record in perf's file format into a buffer, in the machine's byte order. The writer of whole
 * streams (writer_perf_data) is declared in formats/writers.h.
 */
#ifndef FORMATS_PERF_DATA_H
#define FORMATS_PERF_DATA_H

#include <linux/perf_event.h>

#include "base/buffer.h"
#include "sampler/writer.h"

/* Begins a record with its header. Returns the record's offset in the buffer, which perf_data_bytes_end() needs. */
size_t perf_data_bytes_begin(struct buffer *out, uint32_t type, uint16_t misc);
/* Pads the record to a multiple of 8 bytes and fills in its size. Removes the record if it exceeds 64 KiB. */
void perf_data_bytes_end(struct buffer *out, size_t start);
/* Appends the text including its NUL. */
void perf_data_bytes_write_text(struct buffer *out, const char *text);

#endif
