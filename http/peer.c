/* SPDX-License-Identifier: Apache-2.0 */
#include "http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- peer --- */

/* 127.0.0.0/8 */
#define IPV4_LOOPBACK_NET 127

static struct peer ipv4_peer(const unsigned char *bytes)
{
    struct peer peer = {.local = bytes[0] == IPV4_LOOPBACK_NET};

    memcpy(peer.key, bytes, 4);
    return peer;
}

/* An IPv6 host can choose its addresses from a whole /64 (RFC 6177), so limits per address apply to the /64. */
static struct peer ipv6_peer(const struct in6_addr *address)
{
    struct peer peer = {.local = IN6_IS_ADDR_LOOPBACK(address)};

    if (IN6_IS_ADDR_V4MAPPED(address))
        return ipv4_peer(address->s6_addr + 12);
    if (peer.local)
        memcpy(peer.key, address->s6_addr + 8, sizeof(peer.key));
    else
        memcpy(peer.key, address->s6_addr, sizeof(peer.key));
    return peer;
}

struct peer peer_of(const struct sockaddr *address, socklen_t size)
{
    if (address && size >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET)
        return ipv4_peer((const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr);
    if (address && size >= sizeof(struct sockaddr_in6) && address->sa_family == AF_INET6)
        return ipv6_peer(&((const struct sockaddr_in6 *)address)->sin6_addr);
    if (address && size >= sizeof(sa_family_t) && address->sa_family == AF_UNIX)
        return (struct peer){.unix_socket = true, .local = true};
    return (struct peer){0};
}

static bool peer_is_of_group(const struct peer_credentials *credentials, gid_t group)
{
    for (size_t i = 0; i < credentials->n_groups; i++)
        if (credentials->groups[i] == group)
            return true;
    return credentials->gid == group;
}

enum peer_role peer_role_of(const struct peer_credentials *credentials, uid_t own, gid_t group)
{
    if (credentials->uid == 0 || (own != PEER_ID_NOBODY && credentials->uid == own))
        return PEER_OWNER;
    return group != PEER_ID_NOBODY && peer_is_of_group(credentials, group) ? PEER_MEMBER : PEER_ANYBODY;
}

/* Kernels before 4.13 lack SO_PEERGROUPS; there only the process's primary group is considered. */
static gid_t *peer_groups(int fd, size_t *ret_n)
{
    socklen_t size = 0;

    *ret_n = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
        return NULL;
    gid_t *groups = malloc(size);
    if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) {
        free(groups);
        return NULL;
    }
    *ret_n = size / sizeof(*groups);
    return groups;
}

void peer_identify(struct peer *peer, int fd, gid_t group)
{
    _cleanup_(freep) gid_t *groups = NULL;
    struct peer_credentials credentials = {0};
    struct ucred process;
    socklen_t size = sizeof(process);

    peer->role = PEER_ANYBODY;
    if (!peer->unix_socket || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) < 0)
        return;
    groups = peer_groups(fd, &credentials.n_groups);
    credentials.uid = process.uid;
    credentials.gid = process.gid;
    credentials.groups = groups;
    peer->role = peer_role_of(&credentials, geteuid(), group);
}

bool peer_same(const struct peer *a, const struct peer *b)
{
    return a->unix_socket == b->unix_socket && memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

/* --- counts --- */

struct peer_count {
    struct peer peer;
    unsigned n;
    LIST_ENTRY(peer_count) entry; /* links the counts of addresses in the same bucket */
};

/*
 * Returns the bucket of an address. Even if a client chooses addresses with the same hash, no bucket's list gets longer
 * than the limit on the total count.
 */
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
