/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for each address: see peer-count.h. */
#include "http/peer-count.h"

struct peer_count {
    struct peer peer;
    unsigned n;
    LIST_ENTRY(peer_count) entry; /* of its bucket */
};

/* Even if a client chooses its addresses for one bucket, its list is no longer than the limit of the whole. */
static size_t peer_bucket(const struct peer *peer)
{
    size_t sum = peer->unix_socket;

    for (size_t i = 0; i < sizeof(peer->key); i++)
        sum = sum * 31 + peer->key[i];
    return sum % PEER_COUNT_BUCKETS;
}

static struct peer_count *peer_count_find(const struct peer_counts *counts, const struct peer *peer)
{
    struct peer_count *count;

    LIST_FOREACH (count, &counts->buckets[peer_bucket(peer)], entry)
        if (peer_same(&count->peer, peer))
            return count;
    return NULL;
}

unsigned peer_count_n(const struct peer_count *count)
{
    return count->n;
}

unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer)
{
    const struct peer_count *count = peer_count_find(counts, peer);

    return count ? count->n : 0;
}

struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer)
{
    struct peer_count *count = peer_count_find(counts, peer);

    if (!count) {
        count = calloc(1, sizeof(*count));
        if (!count)
            return NULL;
        count->peer = *peer;
        LIST_INSERT_HEAD(&counts->buckets[peer_bucket(peer)], count, entry);
    }
    count->n++;
    counts->n++;
    return count;
}

void peer_counts_remove(struct peer_counts *counts, struct peer_count *count)
{
    counts->n--;
    if (--count->n > 0)
        return;
    LIST_REMOVE(count, entry);
    free(count);
}

unsigned peer_limit(const struct peer *peer, unsigned most, unsigned most_per_address)
{
    return peer->unix_socket ? MAX(most_per_address, most / 2) : most_per_address;
}

bool peer_counts_have_room(const struct peer_counts *counts, const struct peer *peer, unsigned most,
                           unsigned most_per_address)
{
    return counts->n < most && peer_counts_get(counts, peer) < peer_limit(peer, most, most_per_address);
}
