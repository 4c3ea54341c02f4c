/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of a whole content at once: a response, a profile. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buffer.h"

struct libdeflate_compressor;

/* Memory for one compression, so that it can run where no memory may be allocated. */
struct gzip {
    struct libdeflate_compressor *compressor;
    struct buffer compressed;
};

/* Prepares for a content of at most `size` bytes. -ENOMEM. */
int gzip_prepare(struct gzip *gzip, size_t size);
/* Allocates nothing. -ENOMEM for a content that is larger than the prepared size. */
int gzip_run(struct gzip *gzip, const struct buffer *content);
/* Replaces `content` by its compressed form. */
void gzip_take(struct gzip *gzip, struct buffer *content);
void gzip_done(struct gzip *gzip);

/* Replaces the content by its compressed form. -ENOMEM, and then the content is unchanged. */
int gzip_compress(struct buffer *buffer);

/* Appends what was compressed and has `full_size` bytes. -EBADMSG where it has not, -ENOMEM. */
int gzip_decode(struct buffer *buffer, const void *compressed, size_t size, size_t full_size);

#endif
