/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing a whole response at once, for `Content-Encoding: gzip`. */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include "base/buffer.h"

/* Replaces the content by its gzip form. -ENOMEM, with the content as it was. */
int gzip_compress(struct buffer *buffer);

#endif
