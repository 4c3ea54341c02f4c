/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's HTTP client: accepted and refused addresses, with the remedy; HTTP/1.0 replies that are complete,
 * partial, truncated or hostile.
 */
#include "base/cleanup.h"
#include "tests/unit/test.h"
#include "top/http-get.h"

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

TEST(test_good)
{
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_(top_address_done) struct top_address address = {0};
        assert_int_equal(top_address_parse(good[i].in, &address, NULL), 0);
        check_equal(address.path, good[i].out_path);
        check_equal(address.host, good[i].out_host);
        check_equal(address.port, good[i].out_port);
        check_equal(address.prefix, good[i].out_prefix);
    }
}

#define WRONG_FORM "expected http://HOST:PORT, found"
#define WRONG_SCHEME "expected http://HOST:PORT or unix:/PATH"

static const struct {
    const char *in;
    int out;
    const char *out_text;
} bad[] = {
    {"", -EINVAL, WRONG_SCHEME},
    {"board:10298", -EINVAL, WRONG_SCHEME},
    {"HTTP://board", -EINVAL, WRONG_SCHEME},
    {"unix:", -EINVAL, "needs an absolute path"},
    {"unix:run/x", -EINVAL, "needs an absolute path"},
    {"http://", -EINVAL, WRONG_FORM},
    {"http://:1", -EINVAL, WRONG_FORM},
    {"http://a:b", -EINVAL, WRONG_FORM},
    {"http://a:1:2", -EINVAL, WRONG_FORM},
    {"http://[::1", -EINVAL, WRONG_FORM},
    {"http://[::1]x", -EINVAL, WRONG_FORM},
    {"http://a/\r\nX: y", -EINVAL, WRONG_FORM},
    {"http://a/?x", -EINVAL, WRONG_FORM},
    {"http://a b", -EINVAL, WRONG_FORM},
    {"http://me:secret@board", -EPROTONOSUPPORT, "passwords are not supported"},
    {"https://board", -EPROTONOSUPPORT, "https is not supported"},
};

TEST(test_bad)
{
    char path[256] = "unix:/";

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

#define HEAD "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *in;
    bool in_ended;
    int out;
    unsigned out_status;
    const char *out_body;
} replies[] = {
    {HEAD "Content-Length: 2\r\n\r\n{}", false, 0, 200, "{}"},
    {HEAD "content-length:2 \r\n\r\n{}more", false, 0, 200, "{}"},
    {"HTTP/1.0 404 Not Found\nContent-Length: 0\n\n", false, 0, 404, ""},
    {"HTTP/1.1 503\r\n\r\nbusy", true, 0, 503, "busy"},
    {HEAD "\r\nto the end", true, 0, 200, "to the end"},
    {HEAD "\r\nto the end", false, -EAGAIN, 0, NULL},
    {HEAD "Content-Length: 3\r\n\r\n{}", false, -EAGAIN, 0, NULL},
    {HEAD "Content-Length: 3\r\n\r\n{}", true, -EBADMSG, 0, NULL},
    {HEAD "Content-Len", true, -EBADMSG, 0, NULL},
    {"", false, -EAGAIN, 0, NULL},
    {"", true, -EBADMSG, 0, NULL},
    {"HTTP/2 200 OK\r\n\r\n", true, -EBADMSG, 0, NULL},
    {"HTTP/1.1 2000 OK\r\n\r\n", true, -EBADMSG, 0, NULL},
    {"HTTP/1.1 0x5 OK\r\n\r\n", true, -EBADMSG, 0, NULL},
    {"SSH-2.0-OpenSSH_9.2\r\n", false, -EBADMSG, 0, NULL},
    {HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n", false, -EBADMSG, 0, NULL},
    {HEAD "Content-Length: -1\r\n\r\n", false, -EBADMSG, 0, NULL},
    {HEAD "Content-Length:\r\n\r\n", false, -EBADMSG, 0, NULL},
    {HEAD "Content-Length: 18446744073709551616\r\n\r\n", false, -EBADMSG, 0, NULL},
    {HEAD "Content-Length: 18446744073709551615\r\n\r\n", false, -EMSGSIZE, 0, NULL},
    {HEAD "Content-Length: 99999999999\r\n\r\n", false, -EMSGSIZE, 0, NULL},
};

TEST(test_parse)
{
    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct top_reply reply = {0};
        struct error error = {0};
        int r = top_reply_parse(replies[i].in, strlen(replies[i].in), replies[i].in_ended, &reply, &error);
        if (r != replies[i].out)
            fail_msg("%s: %d", replies[i].in, r);
        if (r == 0) {
            assert_int_equal(reply.status, replies[i].out_status);
            assert_int_equal(reply.size, strlen(replies[i].out_body));
            assert_memory_equal(reply.body, replies[i].out_body, reply.size);
        } else if (r != -EAGAIN) {
            assert_true(error.message[0]);
        }
    }
}

/* If a reply is incomplete, wherever it is cut, the parser asks for more. The parser never reads past the end. */
TEST(test_parts)
{
    const char *text = replies[0].in;
    struct top_reply reply;

    for (size_t i = 0; i < strlen(text); i++) {
        _cleanup_(freep) char *part = malloc(i + 1);
        assert_non_null(part);
        memcpy(part, text, i);
        assert_int_equal(top_reply_parse(part, i, false, &reply, NULL), -EAGAIN);
        assert_int_equal(top_reply_parse(part, i, true, &reply, NULL), -EBADMSG);
    }
}

TEST(test_limits)
{
    _cleanup_(freep) char *text = malloc(TOP_REPLY_MAX + 1);
    struct top_reply reply;

    assert_non_null(text);
    memset(text, 'a', TOP_REPLY_MAX + 1);
    memcpy(text, HEAD "Aa: ", strlen(HEAD "Aa: "));
    assert_int_equal(top_reply_parse(text, TOP_REPLY_HEAD_MAX + 1, false, &reply, NULL), -EMSGSIZE);
    memcpy(text, HEAD "\r\n", strlen(HEAD "\r\n"));
    assert_int_equal(top_reply_parse(text, TOP_REPLY_MAX, false, &reply, NULL), -EAGAIN);
    assert_int_equal(top_reply_parse(text, TOP_REPLY_MAX + 1, false, &reply, NULL), -EMSGSIZE);
}

/* The error about a password says how to connect without one. */
TEST(test_password)
{
    static const struct top_address local = {.path = (char *)TOP_DEFAULT_SOCKET}, remote = {.host = (char *)"board"};
    static const struct top_reply reply = {.status = 401, .body = ""};
    struct error error;
    json_t *document;

    assert_int_equal(top_reply_document(&local, &reply, &document, &error), -EACCES);
    assert_non_null(strstr(error.message, "run this as root"));
    assert_int_equal(top_reply_document(&remote, &reply, &document, &error), -EACCES);
    assert_non_null(strstr(error.message, "use its unix socket, as root"));
}

TEST_MAIN(NULL, NULL)
