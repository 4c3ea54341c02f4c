/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header If-None-Match (RFC 9110, section 13.1.2). Pure.
 *
 * Replies of the page and its files: browsers keep them, and ask each time whether they are still the same.
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "base/buffer.h"
#include "base/util.h"
#include "http/request.h"
#include "web/assets.h"

/* Whether a line of If-None-Match has this ETag, which is strong, with its quotes; W/ makes no difference. */
bool etag_is_in(const char *etag, const char *if_none_match);

#define PAGE_PATH "/page/"

/* Appends a file as it is in web/. Errors of gzip_decode(). */
int page_decode(struct buffer *buffer, const struct asset *asset);

#endif
