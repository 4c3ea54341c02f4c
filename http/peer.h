/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client at the other end of a connection, as limits and permissions see it, and counts per address.
 *
 * Only peer_identify() makes system calls. Counts are kept in a hash table; addresses are compared by peer_same().
 */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include <sys/queue.h>
#include <sys/socket.h>

#include "base/util.h"

/* Who the process at the other end of a unix socket is, in ascending order of its rights. */
enum peer_role {
    PEER_ANYBODY, /* any other process; also used for other sockets */
    PEER_MEMBER,  /* is in the group of the socket's file */
    PEER_OWNER,   /* root, or the daemon's own user */
};

struct peer {
    bool unix_socket;
    bool local; /* the client is on this machine */
    enum peer_role role;
    unsigned char key[8]; /* the IPv4 address, or the /64 of the IPv6 address; limits treat equal keys as one address */
};

/* Addresses of unknown families all yield the same peer, a stranger. */
struct peer peer_of(const struct sockaddr *address, socklen_t size);

/* The IDs of "nobody", and of users and groups that are not mapped in this user namespace. */
#define PEER_ID_NOBODY 65534

/* The process at the other end of a unix socket when it connected, as reported by the kernel (SO_PEERCRED, unix(7)). */
struct peer_credentials {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary groups */
    size_t n_groups;
};

/*
 * Returns the role of a process. `own` is the user of the daemon, `group` the group of the socket, or PEER_ID_NOBODY if
 * the socket has none. The user and the group "nobody" never get more than PEER_ANYBODY. A pure function.
 */
enum peer_role peer_role_of(const struct peer_credentials *credentials, uid_t own, gid_t group);
/* Sets the role of the peer of a unix socket whose group is `group`. */
void peer_identify(struct peer *peer, int fd, gid_t group);

/* Whether limits per address treat both as the same address. */
bool peer_same(const struct peer *a, const struct peer *b);

/* The count of one address. */
struct peer_count;

#define PEER_COUNT_BUCKETS 256

/* Counts by address. Must be zero-initialized. It holds no memory once everything that was added is removed. */
struct peer_counts {
    unsigned n; /* total over all addresses */
    LIST_HEAD(, peer_count) buckets[PEER_COUNT_BUCKETS];
};

/* Returns how many are counted for this address; at least one. */
unsigned peer_count_n(const struct peer_count *count);
unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer);
/* Counts one more; undone by passing the result to peer_counts_remove(). Returns NULL when out of memory. */
struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer);
void peer_counts_remove(struct peer_counts *counts, struct peer_count *count);

/* Returns how many of `most` one address may have. */
unsigned peer_limit(const struct peer *peer, unsigned most, unsigned most_per_address);
/* Whether one more fits within the limits. */
bool peer_counts_have_room(const struct peer_counts *counts, const struct peer *peer, unsigned most,
                           unsigned most_per_address);

#endif
