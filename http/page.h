/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page at / and its files, which are served from the daemon's own memory.
 *
 * Browsers cache these files, and revalidate them by ETag on each use.
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "base/buffer.h"
#include "base/util.h"
#include "http/request.h"
#include "web/assets.h"

/*
 * Returns whether a line of If-None-Match contains this strong ETag, which is given with its quotes. ETags are compared
 * weakly, ignoring W/ (RFC 9110, section 13.1.2). Pure.
 */
bool etag_is_in(const char *etag, const char *if_none_match);

#define PAGE_PATH "/page/"

/* Appends the uncompressed content of a file in web/ to the buffer. Returns the errors of gzip_decode(). */
int page_decode(struct buffer *buffer, const struct asset *asset);

#endif
