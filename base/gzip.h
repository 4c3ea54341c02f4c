/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing a whole content at once: a response, a profile. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buffer.h"

struct libdeflate_compressor;

/* Memory for one compression, so that it can run where none may be asked for. */
struct gzip {
    struct libdeflate_compressor *compressor;
    struct buffer compressed;
};

/* For a content of at most `size` bytes. -ENOMEM. */
int gzip_prepare(struct gzip *gzip, size_t size);
/* Asks for no memory. -ENOMEM: the content is larger than what was prepared for. */
int gzip_run(struct gzip *gzip, const struct buffer *content);
/* Moves the gzip form to `content`, in place of what is there. */
void gzip_take(struct gzip *gzip, struct buffer *content);
void gzip_done(struct gzip *gzip);

/* All of it: replaces the content by its gzip form. -ENOMEM, with the content as it was. */
int gzip_compress(struct buffer *buffer);

#endif
