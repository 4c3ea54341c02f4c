/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site.h"

static void cached_response_clear(struct cached_response *item)
{
    /* Responses that are being sent hold their own reference. */
    if (item->response)
        MHD_destroy_response(item->response);
    *item = (struct cached_response){0};
}

void response_cache_done(struct response_cache *cache)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++)
        cached_response_clear(&cache->items[i]);
    *cache = (struct response_cache){0};
}

bool response_key_equal(const struct response_key *a, const struct response_key *b)
{
    return a->format == b->format && a->gzip == b->gzip && a->mask == b->mask;
}

struct MHD_Response *response_cache_find(struct response_cache *cache, const struct snapshot *snapshot,
                                         const struct response_key *key)
{
    if (cache->snapshot != snapshot || cache->generation != snapshot->generation) {
        response_cache_done(cache);
        cache->snapshot = snapshot;
        cache->generation = snapshot->generation;
    }
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
        struct cached_response *item = &cache->items[i];
        if (!item->response || !response_key_equal(&item->key, key))
            continue;
        item->last_use = ++cache->uses;
        return item->response;
    }
    return NULL;
}

void response_cache_store(struct response_cache *cache, const struct response_key *key, struct MHD_Response *response)
{
    struct cached_response *oldest = &cache->items[0];

    for (size_t i = 1; i < RESPONSE_CACHE_MAX; i++)
        if (cache->items[i].last_use < oldest->last_use)
            oldest = &cache->items[i];
    cached_response_clear(oldest);
    *oldest = (struct cached_response){.key = *key, .response = response, .last_use = ++cache->uses};
}
