/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing a whole content at once: a response, a profile. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buffer.h"

/* Replaces the content by its gzip form. -ENOMEM, with the content as it was. */
int gzip_compress(struct buffer *buffer);

#endif
