/* SPDX-License-Identifier: Apache-2.0 */
/* Replies for which there is no memory, over real sockets: each is refused by a sentence, and the connection stays. */
#include "base/cleanup.h"
#include "http/reply.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static json_t *no_document(void *userdata, enum service_document which)
{
    (void)userdata;
    (void)which;
    return NULL;
}

static void test_no_memory(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    f.fake.service.document = no_document;
    int fd = served_ask(&f, "GET /api/v1/status", "");
    _cleanup_(freep) char *refused = served_receive_text(&f, fd, false);
    assert_int_equal(served_status(refused), 503);
    assert_has(refused, "Retry-After: 1\r\n");
    assert_has(refused, "{\"error\": \"" REPLY_NO_MEMORY "\", \"status\": 503}");
    served_send(fd, "GET /metrics", "");
    served_expect_last(&f, fd, "HTTP/1.1 200 OK");
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
