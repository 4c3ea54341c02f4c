/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered responses, kept until there is a new reading: however many clients ask within one reading, each form is
 * rendered and compressed once.
 */
#ifndef HTTP_RESPONSE_CACHE_H
#define HTTP_RESPONSE_CACHE_H

#include <microhttpd.h>

#include "formats/formats.h"

struct response_key {
    enum counter_format_kind format;
    bool gzip; /* the client takes it */
    uint32_t mask;
};

/* Whether one response serves for both. */
bool response_key_equal(const struct response_key *a, const struct response_key *b);

struct cached_response {
    struct response_key key;
    struct MHD_Response *response; /* NULL: the slot is free */
    uint64_t last_use;
};

#define RESPONSE_CACHE_MAX 8

struct response_cache {
    struct cached_response items[RESPONSE_CACHE_MAX]; /* all of one reading */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t uses;
};

/* Forgets all; also where the headers that responses carry change. */
void response_cache_done(struct response_cache *cache);
/* Forgets responses of another reading. NULL where it must be rendered; borrowed until the next store. */
struct MHD_Response *response_cache_find(struct response_cache *cache, const struct snapshot *snapshot,
                                         const struct response_key *key);
/* Takes over the response, in place of the least recently used. Call it after a find that found nothing. */
void response_cache_store(struct response_cache *cache, const struct response_key *key, struct MHD_Response *response);

#endif
