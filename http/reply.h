/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the reply to a request.
 *
 * Content is compressed if the client accepts it. Large content is compressed in a worker thread (http/worker.h) while
 * the connections that wait for it are suspended. Passwords have a worker of their own, so many wrong ones do not delay
 * a scrape. Compressed content of a snapshot is cached for other requests within the same reading.
 *
 * If memory runs out, the request has no reply. It is then answered by 503 with REPLY_NO_MEMORY; if even that fails,
 * its connection is closed.
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http/request.h"
#include "http/worker.h"

/* Empties the cache. Also called when the headers that responses carry change. */
void response_cache_done(struct response_cache *cache);
/*
 * Replies with the cached content of this form of the snapshot, or waits for the one that is being compressed. Returns
 * false if neither is there, so that the caller writes the content.
 */
bool content_find(struct request *request, const struct snapshot *snapshot, const struct response_key *key);
/*
 * Replies with the content, and takes ownership of it. If `key` is not NULL, the reply is cached for this form of the
 * snapshot; call it only after content_find() has returned false. If `key` is NULL, the reply is for this request only.
 */
void content_reply(struct request *request, struct buffer *content, const char *type, bool gzip,
                   const struct snapshot *snapshot, const struct response_key *key);
/* Replies with the document, and takes ownership of it. NULL means that memory ran out. */
void content_reply_json(struct request *request, json_t *document, bool gzip);

/* Smaller content is compressed in the event loop, which takes a few milliseconds at most. */
#define COMPRESSION_SIZE_MIN ((size_t)1 << 20)
/* Limit of concurrent compressions. Beyond it, content is sent uncompressed. */
#define COMPRESSIONS_MAX 8
/* Runs another job on the compression thread. Returns the errors of worker_submit(). */
int compression_submit(struct site *site, struct job *job);

#define VARY_ALL "Accept, Accept-Encoding"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_JSON "application/json"
#define TYPE_HTML "text/html; charset=utf-8"

/* Sets the reply. Takes ownership of the response; NULL means that memory ran out. */
void reply_set(struct request *request, unsigned status, struct MHD_Response *response);

/*
 * Makes a response of the buffer's content, which it takes. The content is compressed if `gzip` is true and it is large
 * enough. `vary` may be NULL. Returns NULL when out of memory.
 */
struct MHD_Response *reply_make(struct buffer *content, const char *type, const char *vary, bool gzip);

/*
 * Adds the headers that describe the content; `compressed` means by gzip. Takes ownership of the response. Returns NULL
 * if it is NULL, or when out of memory.
 */
struct MHD_Response *reply_label(struct MHD_Response *response, const char *type, const char *vary, bool compressed);

/* Replies with a line of text. */
void reply_text(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Replies with a sentence: as a JSON document under /api/, else as a line of text. */
void reply_error(struct request *request, unsigned status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Replies that the query is wrong: 400 with the error's message, or 503 if `code` is -ENOMEM. */
void reply_wrong(struct request *request, int code, const struct error *error);
/* Replies 503 with a sentence; the client may retry after a second. */
void reply_busy(struct request *request, const char *sentence);

/* The sentence about a path that is not served; its second argument is a suggestion or "". */
#define REPLY_NO_PATH "no such path: %.256s (see / for the list)%s"

/* The text of the reply when the actual reply did not fit in memory. */
#define REPLY_NO_MEMORY                                                                                                \
    "out of memory for this reply; request less by parameters, or raise the memory limit of the service "              \
    "(MemoryMax= of the unit)"

#endif
