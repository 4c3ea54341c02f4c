/* SPDX-License-Identifier: Apache-2.0 */
/* The connection that is ended where there is no room, and the times of all: connections without libmicrohttpd. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/connection.h"
#include "tests/unit/test.h"

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
    int others[MOST]; /* the clients' ends */
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
    for (size_t i = 0; i < PEER_COUNT_BUCKETS; i++)
        assert_true(LIST_EMPTY(&f->all.peers.buckets[i]));
    connections_done(&f->all);
    sd_event_unref(f->event);
}

/*
 * 's': a stranger, 'l': of this machine, 'u': of a unix socket; each stranger and each local one of its own address.
 * 'c': of this machine, and all of one address.
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
 * 'r': its first head is awaited, 'k': between requests, 'h': a refusal is held back, 'a': it is answered, 'w': its
 * answer waits for something; '!' behind: it has shown a password.
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

    connection->request.verdict = known ? VERDICT_RIGHT : VERDICT_UNKNOWN;
    connection_update_tenure(connection);
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

/* Of eight, at most six for strangers. */
static const struct {
    const char *in;
    char newcomer;
    int out; /* the place of the one that is ended */
} cases[] = {
    {"", 's', ROOM},
    {"lr lr lr lr lr lr lr", 'l', ROOM},
    /* Those between requests go first, those that have waited longest first among them. */
    {"lr lr lr lr lr lr lr lr", 'l', 0},
    {"lr lr lr lk lk lr lr lr", 'l', 3},
    {"la lw lr lr lr lr lr lr", 'l', 2},
    {"la lw lr lr lr lr lh lr", 'l', 6},
    {"la lw lr lr lk lr lh lr", 'l', 4},
    /* Never one that is answered, has shown a password, or comes by a unix socket. */
    {"la la lw lw la la lw lw", 'l', REFUSED},
    {"lk! lk! lk! lk! lk! lk! lk! lk!", 'l', REFUSED},
    {"uk ur uk la lw lk! lk! lh!", 'u', REFUSED},
    {"lk! lk! lk! lk! lk! lk! lr lk!", 'l', 6},
    {"lk! lk! lk! lk! uk lk! lr lk!", 'u', 6},
    /* Strangers before those of this machine. */
    {"lk lr sr sr sr sr sr sr", 'l', 2},
    {"lk lr sr sk sr sr sr sr", 'u', 3},
    {"lk lr sa sa sa sa sa sa", 'l', 0},
    /* The last slots are not for strangers: they make room for each other. */
    {"sr sr sr sr sr sr", 's', 0},
    {"sr sk sr sr sr sr", 's', 1},
    {"sa sa sa sa sa sa", 's', REFUSED},
    {"sa sa sa sa sa sa", 'l', ROOM},
    {"sa sa sa sa sa sa", 'u', ROOM},
    {"sa sa sa sa sa sa lk", 's', REFUSED},
    {"sa sa sa sa sa", 's', ROOM},
    /* One that has shown a password is no stranger any more. */
    {"sk! sk! sk! sk! sk! sk!", 's', ROOM},
    {"sk! sk! sr sr sr sr lr lr", 's', 2},
    {"lr lr lr lk lr lr lr lr", 's', 3},
    /* A crowd makes room for itself, and for others. */
    {"lk lr cr cr cr ck cr lr", 'c', 5},
    {"lk lr cr cr cr cr cr lr", 'c', 2},
    {"lk lr cr cr cr cr cr lr", 'l', 2},
    {"lk lr cr cr lr lr lr lr", 'l', 0},
    {"la lr ca cr ca ca ca lk", 'c', 3},
    {"la lr ca ca ca ca ca lk", 'c', 7},
};

static void test_ended_to_make_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        setup(&f);
        fill(&f, cases[i].in);
        struct peer peer = peer_from(cases[i].newcomer, MOST);
        bool admitted = connections_admit(&f.all, &peer);
        int ended = admitted ? ROOM : REFUSED;
        for (size_t k = 0; k < f.n; k++)
            if (f.items[k]->ended)
                ended = (int)k;
        if (ended != cases[i].out)
            fail_msg("\"%s\" and %c: %d, not %d", cases[i].in, cases[i].newcomer, ended, cases[i].out);
        assert_int_equal(admitted, cases[i].out != REFUSED);
        teardown(&f);
    }
}

static void test_per_address(void **state)
{
    struct peer same = peer_from('l', 0), other = peer_from('l', 1);
    struct fixture f;

    (void)state;
    setup(&f);
    for (size_t i = 0; i < limits.connections_per_address; i++) {
        assert_true(connections_admit(&f.all, &same));
        come(&f, 'l')->deadline_ns = 0;
        /* All of one address. */
        peer_counts_remove(&f.all.peers, f.items[i]->count);
        f.items[i]->count = peer_counts_add(&f.all.peers, &same);
    }
    assert_false(connections_admit(&f.all, &same));
    assert_true(connections_admit(&f.all, &other));
    connection_shutdown(f.items[0]);
    assert_true(connections_admit(&f.all, &same));
    teardown(&f);
}

static const struct {
    bool in_asking;
    const char *in;
    unsigned out_seconds;
} idle[] = {
    {false, "sk", 300}, {false, "lk", 300}, {false, "uk", 300}, {false, "sk!", 300}, {true, "sk", 15},
    {true, "lk", 15},   {true, "uk", 300},  {true, "sk!", 300}, {true, "lk!", 300},
};

static void test_idle_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
        struct fixture f;
        setup(&f);
        connections_set_asking(&f.all, idle[i].in_asking);
        fill(&f, idle[i].in);
        uint64_t end = f.now + idle[i].out_seconds * NSEC_PER_SEC;
        assert_int_equal(f.items[0]->deadline_ns, end);
        /* Also of one that is there already. */
        connections_set_asking(&f.all, !idle[i].in_asking);
        connections_set_asking(&f.all, idle[i].in_asking);
        assert_int_equal(f.items[0]->deadline_ns, end);
        teardown(&f);
    }
}

/* A wrong password after a right one. */
static void test_tenure(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    fill(&f, "sk! sk uk");
    assert_int_equal(f.items[0]->tenure, TENURE_KNOWN);
    f.items[0]->request.verdict = VERDICT_UNKNOWN;
    connection_update_tenure(f.items[0]);
    assert_int_equal(f.items[0]->tenure, TENURE_KNOWN);
    for (size_t i = 0; i < f.n; i++) {
        f.items[i]->request.verdict = VERDICT_WRONG;
        connection_update_tenure(f.items[i]);
    }
    assert_int_equal(f.items[0]->tenure, TENURE_STRANGER);
    assert_int_equal(f.items[1]->tenure, TENURE_STRANGER);
    assert_int_equal(f.items[2]->tenure, TENURE_KNOWN);
    f.items[1]->request.certified = true;
    connection_update_tenure(f.items[1]);
    assert_int_equal(f.items[1]->tenure, TENURE_KNOWN);
    teardown(&f);
}

static void test_reserved(void **state)
{
    static const unsigned table[][2] = {{1, 0}, {2, 1}, {3, 1}, {4, 2}, {16, 2}, {24, 3}, {512, 64}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(connections_reserved(table[i][0]), table[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_to_make_room), cmocka_unit_test(test_per_address),
        cmocka_unit_test(test_idle_time),          cmocka_unit_test(test_tenure),
        cmocka_unit_test(test_reserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
