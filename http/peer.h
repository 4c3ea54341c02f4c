/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client at the other end, as limits and permissions see it. Pure, but for peer_identify().
 *
 * Counts for each address, as peer_same() compares addresses; found without looking at other addresses.
 */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include <sys/queue.h>
#include <sys/socket.h>

#include "base/util.h"

struct peer {
    bool unix_socket;
    bool local;           /* on this machine */
    bool trusted;         /* by its user or group: see peer_may_operate() */
    unsigned char key[8]; /* equal for addresses that count as one: an IPv4 address, an IPv6 /64 */
};

/* Addresses of unknown families are all one stranger. */
struct peer peer_of(const struct sockaddr *address, socklen_t size);

/* The user and group of strangers: nobody, and users that have no number here. */
#define PEER_ID_NOBODY 65534

/* The process at the other end of a unix socket as it was when it connected, from the kernel. */
struct peer_credentials {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary */
    size_t n_groups;
};

/*
 * Whether it is root, of the user `own` (the daemon's), or of the group `group` (its socket's; PEER_ID_NOBODY where no
 * group counts). Pure. The user and group "nobody" are those of strangers, even if others have them.
 */
bool peer_may_operate(const struct peer_credentials *credentials, uid_t own, gid_t group);
/* Sets `trusted` of the peer of a unix socket, for a socket that belongs to `group`. */
void peer_identify(struct peer *peer, int fd, gid_t group);

/* Whether limits per address count them as one. */
bool peer_same(const struct peer *a, const struct peer *b);

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
