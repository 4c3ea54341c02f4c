/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for each address, as peer_same() compares addresses; found without looking at other addresses. */
#ifndef HTTP_PEER_COUNT_H
#define HTTP_PEER_COUNT_H

#include <sys/queue.h>

#include "http/peer.h"

/* One address that has something. */
struct peer_count;

#define PEER_COUNT_BUCKETS 256

/* All zero: nothing is counted. Ends by itself when all is removed. */
struct peer_counts {
    unsigned n; /* of all addresses */
    LIST_HEAD(, peer_count) buckets[PEER_COUNT_BUCKETS];
};

/* Of the address that has this one; at least one. */
unsigned peer_count_n(const struct peer_count *count);
unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer);
/* Counts one more, until peer_counts_remove() is given the result. NULL when out of memory. */
struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer);
void peer_counts_remove(struct peer_counts *counts, struct peer_count *count);

/* How many of `most` one address may have. All clients of a unix socket look the same, and may have half of them. */
unsigned peer_limit(const struct peer *peer, unsigned most, unsigned most_per_address);
/* Whether one more fits within the limits. */
bool peer_counts_have_room(const struct peer_counts *counts, const struct peer *peer, unsigned most,
                           unsigned most_per_address);

#endif
