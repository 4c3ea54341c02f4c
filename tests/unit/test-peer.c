/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "http/peer.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
