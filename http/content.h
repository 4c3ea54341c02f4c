/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a document as a reply (200): compressed where the client takes it, in a worker thread where it is
 * large, and kept for other requests of the same reading.
 */
#ifndef HTTP_CONTENT_H
#define HTTP_CONTENT_H

#include "http/request.h"

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

#endif
