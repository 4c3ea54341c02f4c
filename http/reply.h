/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the replies to requests.
 *
 * Content is compressed if the client accepts it. Large content is compressed in a worker thread (http/worker.h) while
 * the connections that wait for it are suspended. Passwords are checked in another worker thread, so that many wrong
 * passwords do not delay a scrape. Compressed content of a snapshot is cached for other requests within the same
 * reading.
 *
 * If memory runs out while a reply is made, the request is answered with 503 and REPLY_NO_MEMORY; if even that fails,
 * the connection is closed.
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http/request.h"
#include "http/worker.h"

/* Empties the cache. Must also be called when the response headers of the web configuration change. */
void response_cache_done(struct response_cache *cache);
/*
 * Replies with the cached content of this form of the snapshot, or waits while it is being compressed. Returns false if
 * there is none, so that the caller has to write it.
 */
bool content_find(struct request *request, const struct snapshot *snapshot, const struct response_key *key);
/*
 * Replies with the content, and takes ownership of it. If `key` is not NULL, the reply is cached for this form of the
 * snapshot, and content_find() must have returned false before. If `key` is NULL, the reply is for this request only.
 */
void content_reply(struct request *request, struct buffer *content, const char *type, bool gzip,
                   const struct snapshot *snapshot, const struct response_key *key);
/* Replies with the document, and takes ownership of it. If `document` is NULL, memory has run out. */
void content_reply_json(struct request *request, json_t *document, bool gzip);

/* Content smaller than this is compressed in the event loop, which takes at most a few milliseconds. */
#define COMPRESSION_SIZE_MIN ((size_t)1 << 20)
/* Maximum number of concurrent compressions; beyond it, content is sent uncompressed. */
#define COMPRESSIONS_MAX 8
/* Runs some other job on the compression worker. Returns the errors of worker_submit(). */
int compression_submit(struct site *site, struct job *job);

#define VARY_ALL "Accept, Accept-Encoding"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_JSON "application/json"
#define TYPE_HTML "text/html; charset=utf-8"

/* Sets the reply. Takes ownership of the response; NULL means that memory ran out. */
void reply_set(struct request *request, unsigned status, struct MHD_Response *response);

/*
 * Makes a response from the buffer's content, and takes ownership of the content. The content is compressed if `gzip`
 * is true and the content is large enough. `vary` may be NULL. Returns NULL when out of memory.
 */
struct MHD_Response *reply_make(struct buffer *content, const char *type, const char *vary, bool gzip);

/*
 * Adds the headers that describe the content to the response, and takes ownership of the response. `compressed` says
 * whether the content is gzip-compressed. Returns NULL if `response` is NULL, or when out of memory.
 */
struct MHD_Response *reply_label(struct MHD_Response *response, const char *type, const char *vary, bool compressed);

/* Replies with a line of text. */
void reply_text(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Replies with a message: a JSON document for paths under /api/, and a line of text for other paths. */
void reply_error(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Sends status 400 and the error's message in reply to an invalid query, or 503 if `code` is -ENOMEM. */
void reply_wrong(struct request *request, int code, const struct error *error);
/* Replies with 503 and a message, and tells the client to retry after a second. */
void reply_busy(struct request *request, const char *sentence);

/* Format string of the message about a path that is not served; the second argument is a suggestion or "". */
#define REPLY_NO_PATH "no such path: %.256s (see / for the list)%s"

/* Sent instead of a reply for which there was not enough memory. */
#define REPLY_NO_MEMORY                                                                                                \
    "out of memory for this reply; use parameters to request less, or raise the memory limit of the service "          \
    "(MemoryMax= of the unit)"

#endif
