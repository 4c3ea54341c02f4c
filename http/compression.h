/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressing what is large in a worker thread (worker.h), while the connections that wait for it are suspended and the
 * event loop goes on. Passwords have a thread of their own, so that many wrong ones do not hold up a scrape.
 */
#ifndef HTTP_COMPRESSION_H
#define HTTP_COMPRESSION_H

#include "http/request.h"
#include "http/worker.h"

/* What is smaller is compressed at once: it takes at most a few milliseconds. */
#define COMPRESSION_SIZE_MIN ((size_t)1 << 20)
/* At once; what comes then goes out as it is. */
#define COMPRESSIONS_MAX 8

/* What it is, for others who ask for the same, and for site->pages when it is done. */
struct compression_key {
    struct response_key key;
    const struct snapshot *snapshot;
};

/*
 * Takes the content over, if it is large enough; the reply (200) comes with the connection's resumption. `page` is NULL
 * for what is for this request alone. False: nothing has happened.
 */
bool compression_start(struct request *request, struct buffer *content, const char *type, const char *vary,
                       const struct compression_key *page);
/* Waits for what is being compressed already. False: there is no such thing. */
bool compression_join(struct request *request, const struct snapshot *snapshot, const struct response_key *key);
/* Has the same thread do something else; errors of worker_submit(). */
int compression_submit(struct site *site, struct job *job);
/* The request waits no longer; does not resume the connection. */
void compression_leave(struct request *request);

#endif
