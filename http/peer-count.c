/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of each address: see peer-count.h. */
#include "http/peer-count.h"

struct peer_count {
    struct peer peer;
    unsigned n;
    struct peer_count *next; /* of the same bucket */
};

/* A client that has chosen its addresses for one bucket makes a list no longer than there may be connections. */
static size_t bucket_of(const struct peer *peer)
{
    size_t sum = peer->unix_socket;

    for (size_t i = 0; i < sizeof(peer->key); i++)
        sum = sum * 31 + peer->key[i];
    return sum % PEER_COUNT_BUCKETS;
}

static struct peer_count *find(const struct peer_counts *counts, const struct peer *peer)
{
    struct peer_count *count = counts->buckets[bucket_of(peer)];

    while (count && !peer_same(&count->peer, peer))
        count = count->next;
    return count;
}

unsigned peer_count_n(const struct peer_count *count)
{
    return count->n;
}

unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer)
{
    const struct peer_count *count = find(counts, peer);

    return count ? count->n : 0;
}

struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer)
{
    struct peer_count **bucket = &counts->buckets[bucket_of(peer)], *count = find(counts, peer);

    if (!count) {
        count = calloc(1, sizeof(*count));
        if (!count)
            return NULL;
        count->peer = *peer;
        count->next = *bucket;
        *bucket = count;
    }
    count->n++;
    return count;
}

void peer_counts_remove(struct peer_counts *counts, struct peer_count *count)
{
    struct peer_count **at = &counts->buckets[bucket_of(&count->peer)];

    if (--count->n > 0)
        return;
    while (*at != count)
        at = &(*at)->next;
    *at = count->next;
    free(count);
}
