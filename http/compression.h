/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressing large content in a worker thread (worker.h), while the connections that wait for it are suspended and the
 * event loop goes on. Passwords have a thread of their own, so that many wrong ones do not hold up a scrape.
 */
#ifndef HTTP_COMPRESSION_H
#define HTTP_COMPRESSION_H

#include "http/request.h"
#include "http/worker.h"

/* Smaller content is compressed at once: it takes at most a few milliseconds. */
#define COMPRESSION_SIZE_MIN ((size_t)1 << 20)
/* At most this many at once; further content goes out as it is. */
#define COMPRESSIONS_MAX 8

/*
 * Takes the content over, if it is large enough; the reply (200) comes with the connection's resumption. With a key it
 * is for all that ask for this form of the snapshot; NULL: for this request alone. False: nothing has happened.
 */
bool compression_start(struct request *request, struct buffer *content, const char *type,
                       const struct snapshot *snapshot, const struct response_key *key);
/* Waits for the same content that is being compressed already. False: it is not. */
bool compression_join(struct request *request, const struct snapshot *snapshot, const struct response_key *key);
/* Has the same thread do something else; errors of worker_submit(). */
int compression_submit(struct site *site, struct job *job);

#endif
