/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a document as a reply (200): compressed where the client takes it, in a worker thread where it is
 * large, and kept for other requests of the same reading.
 *
 * Compressing large content in a worker thread (worker.h), while the connections that wait for it are suspended and the
 * event loop goes on. Passwords have a thread of their own, so that many wrong ones do not hold up a scrape.
 *
 * Making the reply of a request. Out of memory, there is no reply, and the connection is closed.
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "http/request.h"
#include "http/worker.h"

/*
 * Replies with the content that is kept for this form of the snapshot, or waits for the one that is being compressed.
 * False: it has to be written.
 */
bool content_find(struct request *request, const struct snapshot *snapshot, const struct response_key *key);
/*
 * Replies with the content, which it takes. With a key, after a content_find() that found nothing, the reply is kept
 * for this form of the snapshot; NULL: it is for this request alone.
 */
void content_reply(struct request *request, struct buffer *content, const char *type, bool gzip,
                   const struct snapshot *snapshot, const struct response_key *key);
/* Replies with the document, which it takes; NULL is out of memory. */
void content_reply_json(struct request *request, json_t *document, bool gzip);

/* Smaller content is compressed at once: it takes at most a few milliseconds. */
#define COMPRESSION_SIZE_MIN ((size_t)1 << 20)
/* At most this many at once; further content goes out as it is. */
#define COMPRESSIONS_MAX 8
/* Has the same thread do something else; errors of worker_submit(). */
int compression_submit(struct site *site, struct job *job);

#define VARY_ALL "Accept, Accept-Encoding"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_JSON "application/json"
#define TYPE_HTML "text/html; charset=utf-8"

/* Replies with a response that the request takes over. */
void reply_set(struct request *request, unsigned status, struct MHD_Response *response);

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
