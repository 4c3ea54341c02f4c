/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered responses, kept as long as nothing new was read: however many clients ask within one reading, it is rendered
 * and compressed once per form.
 */
#ifndef HTTP_RESPONSE_CACHE_H
#define HTTP_RESPONSE_CACHE_H

#include <microhttpd.h>

#include "collectors/snapshot.h"

enum response_form { RESPONSE_TEXT, RESPONSE_OPENMETRICS, RESPONSE_COUNTERS };

struct response_key {
    enum response_form format;
    bool gzip; /* the client takes it */
    uint32_t mask;
};

/* Whether one response serves for both. */
bool response_key_equal(const struct response_key *a, const struct response_key *b);

struct cached_response {
    struct response_key key;
    struct MHD_Response *response; /* NULL where the place is free */
    uint64_t last_use;
};

#define RESPONSE_CACHE_MAX 8

struct response_cache {
    struct cached_response pages[RESPONSE_CACHE_MAX]; /* all of one reading */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t uses;
};

/* Forgets all; also where the headers that responses carry change. */
void response_cache_done(struct response_cache *pages);
/* Borrowed until the next response_cache_store(); NULL where it must be rendered. Forgets what is of another reading.
 */
struct MHD_Response *response_cache_find(struct response_cache *pages, const struct snapshot *snapshot,
                                         const struct response_key *key);
/* Takes over the response, in place of the one that was used longest ago. After a response_cache_find() that found
 * nothing. */
void response_cache_store(struct response_cache *pages, const struct response_key *key, struct MHD_Response *response);

#endif
