/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the page and its files: browsers keep them, and ask each time whether they are still the same. */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "base/buffer.h"
#include "http/request.h"
#include "web/assets.h"

#define PAGE_PATH "/page/"

struct page_etag {
    char text[32];
};

/* A strong ETag of bytes with this tag, at most 16 characters; compressed by gzip they have another one. */
struct page_etag page_etag_make(const char *tag, bool gzip);
/* Replies with a response of reply_label(), which is taken; with its head alone (304) if the client has what the ETag
 * is of. */
void page_reply(struct request *request, struct MHD_Response *response, const struct page_etag *etag, const char *vary);

/* Appends a file as it is in web/. Errors of gzip_decode(). */
int page_decode(struct buffer *buffer, const struct asset *asset);

#endif
