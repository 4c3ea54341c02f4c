/* SPDX-License-Identifier: Apache-2.0 */
/* The number of connections per peer, which connection is closed to make room, and timeouts; without libmicrohttpd. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/connection.h"
#include "http/peer.h"
#include "tests/unit/test.h"

static struct peer parse(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr unix_socket = {.sa_family = AF_UNIX};

    if (str_equal(text, "unix"))
        return peer_of(&unix_socket, sizeof(sa_family_t));
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return peer_of((struct sockaddr *)&in, sizeof(in));
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return peer_of((struct sockaddr *)&in6, sizeof(in6));
}

/* Whether a peer is on this machine, and whether two peers count as the same. */
static const struct {
    const char *in, *in_other;
    bool out_local, out_same;
} peers[] = {
    {"127.0.0.1", "127.0.0.1", true, true},
    {"127.8.9.10", "127.0.0.1", true, false},
    {"::1", "127.0.0.1", true, false},
    {"::ffff:127.0.0.1", "127.0.0.1", true, true},
    {"unix", "unix", true, true},
    {"unix", "0.0.0.0", true, false},
    {"0.0.0.0", "0.0.0.0", false, true},
    {"::", "::1", false, false},
    {"fe80::1", "10.0.0.1", false, false},
    {"10.0.0.1", "10.0.0.2", false, false},
    {"10.0.0.1", "::ffff:10.0.0.1", false, true},
    {"2001:db8::1", "2001:db8::ffff:2", false, true}, /* both addresses are in the same IPv6 network */
    {"2001:db8:0:1::1", "2001:db8:0:2::1", false, false},
};

TEST(test_peers)
{
    struct peer unknown = peer_of(NULL, 0), unix_socket = parse("unix");

    assert_false(unknown.local);
    assert_int_equal(peer_limit(&unknown, 10, 2), 2);
    assert_int_equal(peer_limit(&unix_socket, 10, 2), 5);
    for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
        struct peer peer = parse(peers[i].in), other = parse(peers[i].in_other);
        print_message("%s, %s\n", peers[i].in, peers[i].in_other);
        assert_int_equal(peer.local, peers[i].out_local);
        assert_int_equal(peer_same(&peer, &other), peers[i].out_same);
    }
}

#define OWN 990
#define GROUP 991

static const gid_t with_group[] = {4, GROUP, 27}, without[] = {4, 27}, with_nobody[] = {PEER_ID_NOBODY};

static const struct {
    struct peer_credentials in;
    uid_t in_own;
    gid_t in_group;
    enum peer_role out;
} roles[] = {
    {{0, 0, NULL, 0}, OWN, GROUP, PEER_OWNER},
    {{0, 0, NULL, 0}, PEER_ID_NOBODY, PEER_ID_NOBODY, PEER_OWNER},
    {{OWN, 1, NULL, 0}, OWN, GROUP, PEER_OWNER},
    {{OWN, GROUP, NULL, 0}, OWN, GROUP, PEER_OWNER},
    {{1000, GROUP, NULL, 0}, OWN, GROUP, PEER_MEMBER},
    {{1000, 1000, with_group, 3}, OWN, GROUP, PEER_MEMBER},
    {{1000, 1000, with_group, 1}, OWN, GROUP, PEER_ANYBODY},
    {{1000, 1000, without, 2}, OWN, GROUP, PEER_ANYBODY},
    {{1000, 1000, NULL, 0}, OWN, GROUP, PEER_ANYBODY},
    {{1000, 0, NULL, 0}, OWN, GROUP, PEER_ANYBODY},
    {{GROUP, OWN, NULL, 0}, OWN, GROUP, PEER_ANYBODY},
    /* A group that does not exist, and the group "nobody", have no members. */
    {{1000, 1000, with_group, 3}, OWN, PEER_ID_NOBODY, PEER_ANYBODY},
    {{PEER_ID_NOBODY, PEER_ID_NOBODY, with_nobody, 1}, PEER_ID_NOBODY, PEER_ID_NOBODY, PEER_ANYBODY},
    {{1000, PEER_ID_NOBODY, NULL, 0}, OWN, PEER_ID_NOBODY, PEER_ANYBODY},
};

TEST(test_roles)
{
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
        if (peer_role_of(&roles[i].in, roles[i].in_own, roles[i].in_group) != roles[i].out)
            fail_msg("case %zu", i);
}

#define MOST 16

static const struct server_limits limits = {
    .connections = 8,
    .connections_per_address = 6,
    .memory_per_connection = 8192,
    .request_ns = 10 * NSEC_PER_SEC,
    .keepalive_ns = 300 * NSEC_PER_SEC,
    .response_ns = 60 * NSEC_PER_SEC,
};

struct fixture {
    uint64_t now;
    struct service service;
    sd_event *event;
    struct connections all;
    struct connection *items[MOST];
    int others[MOST]; /* sockets of the clients */
    size_t n;
};

static uint64_t fake_now(void *userdata)
{
    return ((struct fixture *)userdata)->now;
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){.now = 1000 * NSEC_PER_SEC};
    f->service = (struct service){.userdata = f, .now = fake_now};
    assert_int_equal(sd_event_new(&f->event), 0);
    assert_int_equal(connections_init(&f->all, f->event, &f->service, &limits), 0);
}

static void teardown(struct fixture *f)
{
    for (size_t i = 0; i < f->n; i++) {
        close(f->items[i]->fd);
        connection_free(f->items[i]);
        close(f->others[i]);
    }
    assert_int_equal(f->all.n_there + f->all.n[0] + f->all.n[1] + f->all.n[2], 0);
    connections_done(&f->all);
    sd_event_unref(f->event);
}

/*
 * Makes a peer. 's': a stranger, 'l': local, 'u': on a unix socket. Each peer has its own address, except that all
 * peers 'c' are local and share one.
 */
static struct peer peer_from(char who, size_t number)
{
    struct peer peer = {.unix_socket = who == 'u', .local = who != 's'};

    if (who == 'c')
        number = 100;
    if (who != 'u')
        peer.key[0] = (unsigned char)(number + 1);
    return peer;
}

static struct connection *come(struct fixture *f, char who)
{
    struct peer peer = peer_from(who, f->n);
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct connection *connection = connection_new(&f->all, NULL, NULL, fds[0], &peer);
    assert_non_null(connection);
    f->items[f->n] = connection;
    f->others[f->n++] = fds[1];
    f->now += NSEC_PER_SEC;
    return connection;
}

/*
 * Sets the state of a connection. 'r': waits for its first request, 'k': idle between requests, 'h': a refusal is
 * delayed, 'a': a response is being sent, 'w': the response waits for something. `known`: the client has sent a correct
 * password.
 */
static void put(struct connection *connection, char state, bool known)
{
    static const struct {
        char state;
        enum deadline deadline;
    } states[] = {{'r', DEADLINE_REQUEST},
                  {'k', DEADLINE_KEEPALIVE},
                  {'h', DEADLINE_HELD},
                  {'a', DEADLINE_RESPONSE},
                  {'w', DEADLINE_NONE}};

    connection->request.result = known ? PASSWORD_RIGHT : PASSWORD_UNKNOWN;
    connection_update_class(connection);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (states[i].state == state && state != 'r')
            connection_set_deadline(connection, states[i].deadline);
}

static void fill(struct fixture *f, const char *in)
{
    for (; *in; in += 2 + (in[2] == '!') + (in[2 + (in[2] == '!')] == ' '))
        put(come(f, in[0]), in[1], in[2] == '!');
}

#define REFUSED (-1)
#define ROOM (-2)

/*
 * There may be eight connections, at most six of them from strangers. In `in`, "!" marks a client with a correct
 * password.
 */
static const struct {
    const char *in;
    char newcomer;
    int out; /* index of the connection that is closed, or ROOM or REFUSED */
} rooms[] = {
    {"", 's', ROOM},
    {"lr lr lr lr lr lr lr", 'l', ROOM},
    /* Idle connections are closed first, then those that wait for a request, the longest wait first. */
    {"lr lr lr lr lr lr lr lr", 'l', 0},
    {"la lw lr lr lr lr lr lr", 'l', 2},
    {"la lw lr lr lr lr lh lr", 'l', 6},
    {"la lw lr lr lk lr lh lr", 'l', 4},
    /* A connection is never closed while it is answered, or if it has a correct password or uses a unix socket. */
    {"la la lw lw la la lw lw", 'l', REFUSED},
    {"lk! lk! lk! lk! lk! lk! lk! lk!", 'l', REFUSED},
    {"lk! lk! lk! lk! lk! lk! lr lk!", 'l', 6},
    {"lk! lk! lk! lk! uk lk! lr lk!", 'u', 6},
    /* Connections from other hosts are closed before local ones. */
    {"lk lr sr sr sr sr sr sr", 'l', 2},
    {"lk lr sr sk sr sr sr sr", 'u', 3},
    {"lk lr sa sa sa sa sa sa", 'l', 0},
    /* Strangers cannot use the last slots, so they only replace each other. */
    {"sr sr sr sr sr sr", 's', 0},
    {"sa sa sa sa sa sa", 's', REFUSED},
    {"sa sa sa sa sa sa", 'l', ROOM},
    {"sa sa sa sa sa sa lk", 's', REFUSED},
    {"sa sa sa sa sa", 's', ROOM},
    /* A client with a correct password is no longer a stranger. */
    {"sk! sk! sk! sk! sk! sk!", 's', ROOM},
    {"sk! sk! sr sr sr sr lr lr", 's', 2},
    {"lr lr lr lk lr lr lr lr", 's', 3},
    /*
     * If one address has many connections, one of these is closed to make room for a new connection from any address.
     */
    {"lk lr cr cr cr ck cr lr", 'c', 5},
    {"lk lr cr cr cr cr cr lr", 'c', 2},
    {"lk lr cr cr cr cr cr lr", 'l', 2},
    {"la lr ca cr ca ca ca lk", 'c', 3},
    {"la lr ca ca ca ca ca lk", 'c', 7},
};

TEST(test_ended_to_make_room)
{
    for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
        struct fixture f;
        setup(&f);
        fill(&f, rooms[i].in);
        struct peer peer = peer_from(rooms[i].newcomer, MOST);
        bool admitted = connections_admit(&f.all, &peer);
        int ended = admitted ? ROOM : REFUSED;
        for (size_t k = 0; k < f.n; k++)
            if (f.items[k]->ended)
                ended = (int)k;
        if (ended != rooms[i].out)
            fail_msg("\"%s\" and %c: %d, not %d", rooms[i].in, rooms[i].newcomer, ended, rooms[i].out);
        assert_int_equal(admitted, rooms[i].out != REFUSED);
        teardown(&f);
    }
}

static const struct {
    bool in_asking;
    const char *in;
    unsigned out_seconds;
} idle[] = {
    {false, "sk", 300}, {false, "lk", 300}, {false, "uk", 300}, {false, "sk!", 300}, {true, "sk", 15},
    {true, "lk", 15},   {true, "uk", 300},  {true, "sk!", 300}, {true, "lk!", 300},
};

TEST(test_idle_time)
{
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
        struct fixture f;
        setup(&f);
        connections_set_asking(&f.all, idle[i].in_asking);
        fill(&f, idle[i].in);
        uint64_t end = f.now + idle[i].out_seconds * NSEC_PER_SEC;
        assert_int_equal(f.items[0]->deadline_ns, end);
        /* Existing connections get the new timeout when credentials become required, or are no longer required. */
        connections_set_asking(&f.all, !idle[i].in_asking);
        connections_set_asking(&f.all, idle[i].in_asking);
        assert_int_equal(f.items[0]->deadline_ns, end);
        teardown(&f);
    }
}

/* A wrong password makes a client a stranger, even after a correct one. */
TEST(test_connection_class)
{
    struct fixture f;

    setup(&f);
    fill(&f, "sk! sk uk");
    assert_int_equal(f.items[0]->connection_class, CONNECTION_KNOWN);
    f.items[0]->request.result = PASSWORD_UNKNOWN;
    connection_update_class(f.items[0]);
    assert_int_equal(f.items[0]->connection_class, CONNECTION_KNOWN);
    for (size_t i = 0; i < f.n; i++) {
        f.items[i]->request.result = PASSWORD_WRONG;
        connection_update_class(f.items[i]);
    }
    assert_int_equal(f.items[0]->connection_class, CONNECTION_STRANGER);
    assert_int_equal(f.items[1]->connection_class, CONNECTION_STRANGER);
    assert_int_equal(f.items[2]->connection_class, CONNECTION_KNOWN);
    f.items[1]->request.certified = true;
    connection_update_class(f.items[1]);
    assert_int_equal(f.items[1]->connection_class, CONNECTION_KNOWN);
    teardown(&f);
}

TEST_MAIN(NULL, NULL)
