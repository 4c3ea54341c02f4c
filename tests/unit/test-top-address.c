/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of daemons: what is understood, and what is refused with which remedy. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "daemon/top/top-address.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    const char *out_path, *out_host, *out_port, *out_prefix;
} good[] = {
    {"unix:/run/perfcountd.sock", "/run/perfcountd.sock", NULL, NULL, ""},
    {"http://board:10298", NULL, "board", "10298", ""},
    {"http://board:10298/", NULL, "board", "10298", ""},
    {"http://board", NULL, "board", "80", ""},
    {"http://board:", NULL, "board", "80", ""},
    {"http://[::1]:10298/", NULL, "::1", "10298", ""},
    {"http://[fe80::1%25]", NULL, "fe80::1%25", "80", ""},
    {"http://proxy/boards/a//", NULL, "proxy", "80", "/boards/a"},
};

static void check_equal(const char *value, const char *expected)
{
    if (expected)
        assert_string_equal(value, expected);
    else
        assert_null(value);
}

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_(top_address_done) struct top_address address = {0};
        assert_int_equal(top_address_parse(good[i].in, &address, NULL), 0);
        check_equal(address.path, good[i].out_path);
        check_equal(address.host, good[i].out_host);
        check_equal(address.port, good[i].out_port);
        check_equal(address.prefix, good[i].out_prefix);
    }
}

static const struct {
    const char *in;
    int out;
    const char *out_text;
} bad[] = {
    {"", -EINVAL, "expected http://HOST:PORT or unix:/PATH"},
    {"board:10298", -EINVAL, "expected http://HOST:PORT or unix:/PATH"},
    {"HTTP://board", -EINVAL, "expected http://HOST:PORT or unix:/PATH"},
    {"unix:", -EINVAL, "needs a path from the root"},
    {"unix:run/x", -EINVAL, "needs a path from the root"},
    {"http://", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://:1", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://a:b", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://a:1:2", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://[::1", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://[::1]x", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://a/\r\nX: y", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://a/?x", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://a b", -EINVAL, "expected http://HOST:PORT, found"},
    {"http://me:secret@board", -EPROTONOSUPPORT, "passwords are not supported"},
    {"https://board", -EPROTONOSUPPORT, "https is not supported"},
};

static void test_bad(void **state)
{
    char path[256] = "unix:/";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct top_address address = {0};
        struct error error = {0};
        assert_int_equal(top_address_parse(bad[i].in, &address, &error), bad[i].out);
        if (!strstr(error.message, bad[i].out_text))
            fail_msg("%s: %s", bad[i].in, error.message);
        assert_null(strstr(error.message, "secret"));
    }
    memset(path + 6, 'x', sizeof(path) - 7);
    assert_int_equal(top_address_parse(path, &(struct top_address){0}, NULL), -EINVAL);
}

static void test_resolve(void **state)
{
    _cleanup_(top_address_done) struct top_address http = {0}, path = {0};

    (void)state;
    assert_int_equal(top_address_parse("http://127.0.0.1:10298", &http, NULL), 0);
    assert_int_equal(top_address_resolve(&http, NULL), 0);
    assert_int_equal(http.n_endpoints, 1);
    const struct sockaddr_in *in = (const struct sockaddr_in *)&http.endpoints[0].address;
    assert_int_equal(in->sin_family, AF_INET);
    assert_int_equal(ntohs(in->sin_port), 10298);
    assert_int_equal(top_address_parse("unix:/a/b", &path, NULL), 0);
    assert_int_equal(top_address_resolve(&path, NULL), 0);
    assert_string_equal(((const struct sockaddr_un *)&path.endpoints[0].address)->sun_path, "/a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_resolve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
