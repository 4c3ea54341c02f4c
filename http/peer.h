/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client at the other end of a connection, as far as limits and permissions are concerned, and counts per address.
 *
 * Only peer_identify() makes system calls. Counts are kept in a hash table, in which addresses are compared with
 * peer_same().
 */
#ifndef HTTP_PEER_H
#define HTTP_PEER_H

#include <sys/queue.h>
#include <sys/socket.h>

#include "base/util.h"

/* The role of the process at the other end of a unix socket, in ascending order of rights. */
enum peer_role {
    PEER_ANYBODY, /* any other process, and every peer on a TCP socket */
    PEER_MEMBER,  /* a process in the group of the socket's file */
    PEER_OWNER,   /* a process that runs as root or as the daemon's user */
};

struct peer {
    bool unix_socket;
    bool local; /* the client is on this machine */
    enum peer_role role;
    unsigned char key[8]; /* IPv4 address, or /64 of the IPv6 address; limits treat equal keys as one address */
};

/* Returns the peer with this address. Addresses of unknown families are all treated as one peer, a stranger. */
struct peer peer_of(const struct sockaddr *address, socklen_t size);

/*
 * The ID of the user and group "nobody", which the kernel also reports for users and groups that are not mapped in this
 * user namespace.
 */
#define PEER_ID_NOBODY 65534

/* The process at the other end of a unix socket when it connected, as reported by the kernel (SO_PEERCRED, unix(7)). */
struct peer_credentials {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary groups */
    size_t n_groups;
};

/*
 * Returns the role of a process. `own` is the user of the daemon, and `group` is the group of the socket, or
 * PEER_ID_NOBODY if the socket has no group. The user and the group "nobody" never get more than PEER_ANYBODY. A pure
 * function.
 */
enum peer_role peer_role_of(const struct peer_credentials *credentials, uid_t own, gid_t group);
/* Sets the role of a peer on a unix socket whose group is `group`. */
void peer_identify(struct peer *peer, int fd, gid_t group);

/* Returns whether limits per address treat both peers as one address. */
bool peer_same(const struct peer *a, const struct peer *b);

/* The count for one address. */
struct peer_count;

#define PEER_COUNT_BUCKETS 256

/*
 * Counts for each address, for example of connections. The struct must be zero-initialized, and uses no memory once
 * everything that was added has been removed.
 */
struct peer_counts {
    unsigned n; /* total count of all addresses */
    LIST_HEAD(, peer_count) buckets[PEER_COUNT_BUCKETS];
};

/* Returns the count of an address, which is at least 1. */
unsigned peer_count_n(const struct peer_count *count);
unsigned peer_counts_get(const struct peer_counts *counts, const struct peer *peer);
/*
 * Increments the count of an address; passing the result to peer_counts_remove() decrements it again. Returns NULL when
 * out of memory.
 */
struct peer_count *peer_counts_add(struct peer_counts *counts, const struct peer *peer);
void peer_counts_remove(struct peer_counts *counts, struct peer_count *count);

/* Returns the limit for one address if all addresses together are limited to `most`. */
unsigned peer_limit(const struct peer *peer, unsigned most, unsigned most_per_address);
/* Returns whether this peer's count may grow by one within the limits. */
bool peer_counts_have_room(const struct peer_counts *counts, const struct peer *peer, unsigned most,
                           unsigned most_per_address);

#endif
