/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP/1.0: whole, in parts, cut off, and hostile. */
#include "base/cleanup.h"
#include "daemon/top/top-reply.h"
#include "tests/unit/test.h"

#define HEAD "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *in;
    bool in_ended;
    int out;
    unsigned out_status;
    const char *out_body;
} cases[] = {
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

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct top_reply reply = {0};
        struct error error = {0};
        int r = top_reply_parse(cases[i].in, strlen(cases[i].in), cases[i].in_ended, &reply, &error);
        if (r != cases[i].out)
            fail_msg("%s: %d", cases[i].in, r);
        if (r == 0) {
            assert_int_equal(reply.status, cases[i].out_status);
            assert_int_equal(reply.size, strlen(cases[i].out_body));
            assert_memory_equal(reply.body, cases[i].out_body, reply.size);
        } else if (r != -EAGAIN) {
            assert_true(error.message[0]);
        }
    }
}

/* Wherever the answer is cut, more is wanted; and no byte behind the end is read. */
static void test_parts(void **state)
{
    const char *text = cases[0].in;
    struct top_reply reply;

    (void)state;
    for (size_t i = 0; i < strlen(text); i++) {
        _cleanup_(freep) char *part = malloc(i + 1);
        assert_non_null(part);
        memcpy(part, text, i);
        assert_int_equal(top_reply_parse(part, i, false, &reply, NULL), -EAGAIN);
        assert_int_equal(top_reply_parse(part, i, true, &reply, NULL), -EBADMSG);
    }
}

static void test_limits(void **state)
{
    _cleanup_(freep) char *text = malloc(TOP_REPLY_MAX + 1);
    struct top_reply reply;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', TOP_REPLY_MAX + 1);
    memcpy(text, HEAD "Aa: ", strlen(HEAD "Aa: "));
    assert_int_equal(top_reply_parse(text, TOP_REPLY_HEAD_MAX + 1, false, &reply, NULL), -EMSGSIZE);
    memcpy(text, HEAD "\r\n", strlen(HEAD "\r\n"));
    assert_int_equal(top_reply_parse(text, TOP_REPLY_MAX, false, &reply, NULL), -EAGAIN);
    assert_int_equal(top_reply_parse(text, TOP_REPLY_MAX + 1, false, &reply, NULL), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
