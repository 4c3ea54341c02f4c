/* SPDX-License-Identifier: Apache-2.0 */
/* How many connections there are from each address, as peer_same() sees addresses: found without looking at others. */
#ifndef HTTP_PEER_COUNT_H
#define HTTP_PEER_COUNT_H

#include "http/peer.h"

/* One address that has connections. */
struct peer_count;

#define PEER_COUNT_BUCKETS 256

/* All zero: none. Ends by itself with the last connection. */
struct peer_counts {
    struct peer_count *buckets[PEER_COUNT_BUCKETS];
};

/* Of the address that has this one; at least one. */
unsigned peer_count_n(const struct peer_count *count);
unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer);
/* One more; what it returns is to be given to peer_counts_remove(). NULL when out of memory. */
struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer);
void peer_counts_remove(struct peer_counts *counts, struct peer_count *count);

#endif
