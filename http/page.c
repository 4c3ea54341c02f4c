/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered responses, kept as long as nothing new was read: see page.h. */
#include "http/page.h"

static void page_clear(struct page *page)
{
    /* A response that is still being sent has its own reference. */
    if (page->response)
        MHD_destroy_response(page->response);
    *page = (struct page){0};
}

void pages_done(struct pages *pages)
{
    for (size_t i = 0; i < PAGES_MAX; i++)
        page_clear(&pages->pages[i]);
    *pages = (struct pages){0};
}

bool page_key_equal(const struct page_key *a, const struct page_key *b)
{
    return a->format == b->format && a->gzip == b->gzip && a->mask == b->mask;
}

struct MHD_Response *pages_find(struct pages *pages, const struct snapshot *snapshot, const struct page_key *key)
{
    if (pages->snapshot != snapshot || pages->generation != snapshot->generation) {
        pages_done(pages);
        pages->snapshot = snapshot;
        pages->generation = snapshot->generation;
    }
    for (size_t i = 0; i < PAGES_MAX; i++) {
        struct page *page = &pages->pages[i];
        if (!page->response || !page_key_equal(&page->key, key))
            continue;
        page->last_use = ++pages->uses;
        return page->response;
    }
    return NULL;
}

void pages_store(struct pages *pages, const struct page_key *key, struct MHD_Response *response)
{
    struct page *oldest = &pages->pages[0];

    for (size_t i = 1; i < PAGES_MAX; i++)
        if (pages->pages[i].last_use < oldest->last_use)
            oldest = &pages->pages[i];
    page_clear(oldest);
    *oldest = (struct page){.key = *key, .response = response, .last_use = ++pages->uses};
}
