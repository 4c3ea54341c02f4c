/* SPDX-License-Identifier: Apache-2.0 */
/* Records other than samples in NDJSON: the fields behind type, time and CPU, which ndjson.c writes. */
#ifndef FORMATS_NDJSON_FIELDS_H
#define FORMATS_NDJSON_FIELDS_H

#include "base/buffer.h"
#include "sampler/writer.h"

/* The kernel has -1 for itself and for a task that has ended. Writes nothing if both are -1. */
void ndjson_write_thread(uint32_t pid, uint32_t tid, struct buffer *out);
void ndjson_write_range(uint64_t address, uint64_t length, uint64_t offset, const char *file, struct buffer *out);
/* Writes nothing if `inode` is 0. */
void ndjson_write_inode(uint32_t major, uint32_t minor, uint64_t inode, struct buffer *out);
/* Writes nothing if `size` is 0. */
void ndjson_write_build_id(const unsigned char *id, size_t size, struct buffer *out);

void ndjson_write_fields(const struct record *record, struct buffer *out);

#endif
