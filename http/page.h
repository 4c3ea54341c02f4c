/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered responses, kept as long as nothing new was read: however many clients ask within one reading, it is rendered
 * and compressed once per form.
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include <microhttpd.h>

#include "collectors/snapshot.h"

enum page_format { PAGE_TEXT, PAGE_OPENMETRICS, PAGE_COUNTERS };

struct page_key {
    enum page_format format;
    bool gzip; /* the client takes it */
    uint32_t mask;
};

/* Whether one response serves for both. */
bool page_key_equal(const struct page_key *a, const struct page_key *b);

struct page {
    struct page_key key;
    struct MHD_Response *response; /* NULL where the place is free */
    uint64_t last_use;
};

#define PAGES_MAX 8

struct pages {
    struct page pages[PAGES_MAX]; /* all of one reading */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t uses;
};

/* Forgets all; also where the headers that responses carry change. */
void pages_done(struct pages *pages);
/* Borrowed until the next pages_store(); NULL where it must be rendered. Forgets what is of another reading. */
struct MHD_Response *pages_find(struct pages *pages, const struct snapshot *snapshot, const struct page_key *key);
/* Takes over the response, in place of the one that was used longest ago. After a pages_find() that found nothing. */
void pages_store(struct pages *pages, const struct page_key *key, struct MHD_Response *response);

#endif
