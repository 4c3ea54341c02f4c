/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered responses, kept as long as nothing new was read: see response-cache.h. */
#include "http/response-cache.h"

static void page_clear(struct cached_response *page)
{
    /* A response that is still being sent has its own reference. */
    if (page->response)
        MHD_destroy_response(page->response);
    *page = (struct cached_response){0};
}

void response_cache_done(struct response_cache *pages)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++)
        page_clear(&pages->pages[i]);
    *pages = (struct response_cache){0};
}

bool response_key_equal(const struct response_key *a, const struct response_key *b)
{
    return a->format == b->format && a->gzip == b->gzip && a->mask == b->mask;
}

struct MHD_Response *response_cache_find(struct response_cache *pages, const struct snapshot *snapshot,
                                         const struct response_key *key)
{
    if (pages->snapshot != snapshot || pages->generation != snapshot->generation) {
        response_cache_done(pages);
        pages->snapshot = snapshot;
        pages->generation = snapshot->generation;
    }
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
        struct cached_response *page = &pages->pages[i];
        if (!page->response || !response_key_equal(&page->key, key))
            continue;
        page->last_use = ++pages->uses;
        return page->response;
    }
    return NULL;
}

void response_cache_store(struct response_cache *pages, const struct response_key *key, struct MHD_Response *response)
{
    struct cached_response *oldest = &pages->pages[0];

    for (size_t i = 1; i < RESPONSE_CACHE_MAX; i++)
        if (pages->pages[i].last_use < oldest->last_use)
            oldest = &pages->pages[i];
    page_clear(oldest);
    *oldest = (struct cached_response){.key = *key, .response = response, .last_use = ++pages->uses};
}
