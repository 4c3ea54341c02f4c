/* SPDX-License-Identifier: Apache-2.0 */
/* Making the reply of a request. Out of memory, there is no reply, and the connection is closed. */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http/request.h"

#define VARY_ALL "Accept, Accept-Encoding"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_JSON "application/json"
#define TYPE_HTML "text/html; charset=utf-8"

/* Replies with a response that the request takes over. */
void reply_set(struct request *request, unsigned status, struct MHD_Response *response);
/*
 * Adds the headers of the web configuration to a response that goes to site->cache; the other replies have them. Takes
 * the response; NULL when it is NULL or out of memory.
 */
struct MHD_Response *reply_add_configured_headers(struct request *request, struct MHD_Response *response);
/* Replies with a response that belongs to site->cache. */
void reply_borrowed(struct request *request, unsigned status, struct MHD_Response *response);

/*
 * A response made of the buffer's content, which it takes; compressed if `gzip` and large enough to be worth it. `vary`
 * may be NULL. NULL when out of memory.
 */
struct MHD_Response *reply_make(struct buffer *content, const char *type, const char *vary, bool gzip);

/* Adds the headers about the content; `compressed` by gzip. Takes the response; NULL when it is NULL or out of memory.
 */
struct MHD_Response *reply_label(struct MHD_Response *response, const char *type, const char *vary, bool compressed);

/* A line of text. */
void reply_text(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* A sentence: a JSON document under /api/, a line of text elsewhere. */
void reply_error(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* 400 for a question that is wrong (`code` and `error` are of its reading); 503 where memory was short to read it. */
void reply_wrong(struct request *request, int code, const struct error *error);
/* 503 with a sentence, for what will be possible in a second or two. */
void reply_busy(struct request *request, const char *sentence);

/* Where a reply could not be made. */
#define REPLY_NO_MEMORY                                                                                                \
    "there is no memory for this reply; ask for less of it by parameters, or raise the memory limit of the service "   \
    "(MemoryMax= of the unit)"

#endif
