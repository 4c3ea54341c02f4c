/* SPDX-License-Identifier: Apache-2.0 */
/* Listen addresses: how each form is parsed, the errors for invalid ones, and how client addresses are shown. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "config/address.h"
#include "tests/unit/test.h"

#define SUN_PATH_90 "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"

static const struct {
    const char *in, *out_url;
    sa_family_t out_family;
    bool out_any;
} good[] = {
    {":10298", "http://localhost:10298/", AF_INET6, true},
    {":0", "http://localhost:0/", AF_INET6, true},
    {":65535", "http://localhost:65535/", AF_INET6, true},
    {"127.0.0.1:10298", "http://127.0.0.1:10298/", AF_INET, false},
    {"0.0.0.0:80", "http://localhost:80/", AF_INET, false},
    {"[::1]:10298", "http://[::1]:10298/", AF_INET6, false},
    {"[2001:DB8:0::1]:1", "http://[2001:db8::1]:1/", AF_INET6, false},
    {"[fe80::1%1]:80", "http://[fe80::1%25lo]:80/", AF_INET6, false},
    {"[fe80::1%4294967295]:80", "http://[fe80::1%254294967295]:80/", AF_INET6, false},
    {"unix:/run/x.sock", "unix:/run/x.sock", AF_UNIX, false},
    {"unix:" SUN_PATH_90 "/2345678901234567", "unix:" SUN_PATH_90 "/2345678901234567", AF_UNIX,
     false}, /* a path of 107 bytes, the maximum */
};

TEST(test_good)
{
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct address address;
        struct error error = {0};
        if (address_parse(good[i].in, &address, &error) < 0)
            fail_msg("%s: %s", good[i].in, error.message);
        assert_int_equal(address.socket.ss_family, good[i].out_family);
        assert_int_equal(address.any, good[i].out_any);
        _cleanup_(freep) char *url = address_format((struct sockaddr *)&address.socket, address.size);
        assert_string_equal(url, good[i].out_url);
    }
}

static const struct {
    const char *in, *out_part;
} bad[] = {
    {"", "has no port"},
    {"10298", "\"10298\" has no colon: write :10298 for all addresses of this machine, or 127.0.0.1:10298 for this "
              "machine alone"},
    {"127.0.0.1", "has no port"},
    {":", "\"\" is not a port"},
    {":0x50", "\"0x50\" is not a port"},
    {":80 ", "\"80 \" is not a port"},
    {":65536", "port 65536 is out of range (0 to 65535)"},
    {"127.0.0.1:70000", "out of range"},
    {"localhost:10298", "names are not resolved: write 127.0.0.1:10298 or [::1]:10298"},
    {"127.0.0.256:80", "is not an IP address"},
    {" :80", "is not an IP address"},
    {"::1:10298", "in brackets, as in [::1]:10298"},
    {"[::1]", "expected [IPv6]:PORT"},
    {"[::1]10298", "expected [IPv6]:PORT"},
    {"[:80", "expected [IPv6]:PORT"},
    {"[]:10298", "\"\" is not an IPv6 address"},
    {"[127.0.0.1]:10298", "\"127.0.0.1\" is not an IPv6 address"},
    {"[::1%lo]:1", "only link-local addresses"},
    {"[fe80::1%no-such-if]:1", "no network interface \"no-such-if\""},
    {"[fe80::1%4294967296]:1", "no network interface \"4294967296\""},
    {"http://127.0.0.1:80", "is a URL"},
    {"unix:", "must be absolute"},
    {"unix:@abstract", "must be absolute"},
    {"unix:" SUN_PATH_90 "/23456789012345678", "at most 107 bytes, but this one has 108"},
};

TEST(test_bad)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct address address = {.size = 42};
        struct error error = {0};
        assert_int_equal(address_parse(bad[i].in, &address, &error), -EINVAL);
        if (!strstr(error.message, bad[i].out_part))
            fail_msg("%s: %s", bad[i].in, error.message);
        assert_int_equal(address.size, 42);
        assert_int_equal(address_parse(bad[i].in, &address, NULL), -EINVAL);
    }
}

TEST(test_socket)
{
    struct address address;

    assert_int_equal(address_parse("127.0.0.2:258", &address, NULL), 0);
    const struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address.socket;
    assert_int_equal(address.size, sizeof(*ipv4));
    assert_int_equal(ntohs(ipv4->sin_port), 258);
    assert_int_equal(ntohl(ipv4->sin_addr.s_addr), 0x7f000002);
    assert_int_equal(address_parse("[fe80::2%7]:258", &address, NULL), 0);
    const struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address.socket;
    assert_int_equal(address.size, sizeof(*ipv6));
    assert_int_equal(ntohs(ipv6->sin6_port), 258);
    assert_int_equal(ipv6->sin6_scope_id, 7);
    assert_int_equal(ipv6->sin6_addr.s6_addr[15], 2);
    assert_int_equal(address_parse("unix:/x", &address, NULL), 0);
    assert_int_equal(address.size, offsetof(struct sockaddr_un, sun_path) + 3);
    assert_string_equal(((struct sockaddr_un *)&address.socket)->sun_path, "/x");
}

/* What getsockname(2) returns for sockets that systemd created. */
TEST(test_format)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0abc"};
    const size_t start = offsetof(struct sockaddr_un, sun_path);
    static const struct {
        size_t in_size;
        const char *out;
    } cases[] = {{0, "unix:"}, {4, "unix:@abc"}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *text = address_format((struct sockaddr *)&name, (socklen_t)(start + cases[i].in_size));
        assert_string_equal(text, cases[i].out);
    }
    memset(name.sun_path, 'x', sizeof(name.sun_path)); /* the kernel may leave out the NUL */
    _cleanup_(freep) char *full = address_format((struct sockaddr *)&name, sizeof(name));
    assert_int_equal(strlen(full), strlen("unix:") + sizeof(name.sun_path));
}

TEST_MAIN(NULL, NULL)
