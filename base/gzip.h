/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses a whole buffer at once, such as a response or a profile.
 *
 * gzip_prepare() allocates all memory, so that gzip_run() can be called where allocation is not allowed.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buffer.h"

struct libdeflate_compressor;

/* The state and the memory of one compression. */
struct gzip {
    struct libdeflate_compressor *compressor;
    struct buffer compressed;
};

/* Prepares to compress at most `size` bytes. Initialises the struct. Returns -ENOMEM on failure. */
int gzip_prepare(struct gzip *gzip, size_t size);
/* Compresses `content` without allocating. Returns -ENOMEM if it exceeds the prepared size. */
int gzip_run(struct gzip *gzip, const struct buffer *content);
/* Replaces `content` with the result of gzip_run(). */
void gzip_take(struct gzip *gzip, struct buffer *content);
void gzip_done(struct gzip *gzip);

/* Prepares, runs and takes a compression in one call. Returns -ENOMEM on failure; the buffer is then unchanged. */
int gzip_compress(struct buffer *buffer);

/* Appends the decompressed data. Returns -EBADMSG if it is invalid or not exactly `full_size` bytes, or -ENOMEM. */
int gzip_decode(struct buffer *buffer, const void *compressed, size_t size, size_t full_size);

#endif
