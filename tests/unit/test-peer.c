/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

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

static const struct {
    const char *in;
    bool out;
} locals[] = {
    {"127.0.0.1", true}, {"127.8.9.10", true}, {"::1", true}, {"::ffff:127.0.0.1", true}, {"unix", true},
    {"10.0.0.1", false}, {"0.0.0.0", false},   {"::", false}, {"::ffff:10.0.0.1", false}, {"fe80::1", false},
};

static void test_local(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(locals); i++) {
        struct peer peer = parse(locals[i].in);
        assert_int_equal(peer.local, locals[i].out);
    }
    struct peer unknown = peer_of(NULL, 0);
    assert_false(unknown.local);
}

static const struct {
    const char *in[2];
    bool out;
} pairs[] = {
    {{"10.0.0.1", "10.0.0.1"}, true},
    {{"10.0.0.1", "10.0.0.2"}, false},
    {{"10.0.0.1", "::ffff:10.0.0.1"}, true},
    {{"2001:db8::1", "2001:db8::ffff:2"}, true},
    {{"2001:db8:0:1::1", "2001:db8:0:2::1"}, false},
    {{"unix", "unix"}, true},
    {{"unix", "0.0.0.0"}, false},
    {{"::1", "127.0.0.1"}, false},
};

static void test_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        struct peer a = parse(pairs[i].in[0]), b = parse(pairs[i].in[1]);
        assert_int_equal(peer_same(&a, &b), pairs[i].out);
    }
}

#define OWN 990
#define GROUP 991

static const gid_t with_group[] = {4, GROUP, 27}, without[] = {4, 27}, with_nobody[] = {PEER_ID_NOBODY};

static const struct {
    struct peer_credentials in;
    uid_t in_own;
    gid_t in_group;
    bool out;
} operators[] = {
    {{0, 0, NULL, 0}, OWN, GROUP, true},
    {{0, 0, NULL, 0}, PEER_ID_NOBODY, PEER_ID_NOBODY, true},
    {{OWN, 1, NULL, 0}, OWN, GROUP, true},
    {{1000, GROUP, NULL, 0}, OWN, GROUP, true},
    {{1000, 1000, with_group, 3}, OWN, GROUP, true},
    {{1000, 1000, with_group, 1}, OWN, GROUP, false},
    {{1000, 1000, without, 2}, OWN, GROUP, false},
    {{1000, 1000, NULL, 0}, OWN, GROUP, false},
    {{1000, 0, NULL, 0}, OWN, GROUP, false},
    {{GROUP, OWN, NULL, 0}, OWN, GROUP, false},
    /* A group that no file shows, and the group "nobody". */
    {{1000, 1000, with_group, 3}, OWN, PEER_ID_NOBODY, false},
    {{PEER_ID_NOBODY, PEER_ID_NOBODY, with_nobody, 1}, PEER_ID_NOBODY, PEER_ID_NOBODY, false},
    {{1000, PEER_ID_NOBODY, NULL, 0}, OWN, PEER_ID_NOBODY, false},
};

static void test_operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
        if (peer_may_operate(&operators[i].in, operators[i].in_own, operators[i].in_group) != operators[i].out)
            fail_msg("case %zu", i);
}

/* Both ends of a pair are this process; the ends of a loopback connection are unknown. */
static void test_identify(void **state)
{
    struct peer peer = {.local = true, .unix_socket = true};
    int fds[2], tcp = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    peer_identify(&peer, fds[0], PEER_ID_NOBODY);
    assert_int_equal(peer.trusted, geteuid() != PEER_ID_NOBODY);
    peer_identify(&peer, tcp, getegid());
    assert_false(peer.trusted);
    peer = (struct peer){.local = true};
    peer_identify(&peer, fds[0], getegid());
    assert_false(peer.trusted);
    close(fds[0]);
    close(fds[1]);
    close(tcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_identify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
