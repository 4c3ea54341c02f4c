/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "sampler/backlog.h"
#include "tests/unit/test.h"

static void count_call(void *userdata)
{
    ++*(unsigned *)userdata;
}

static void append(struct backlog *backlog, size_t size)
{
    char *room = buffer_reserve(&backlog->bytes, size);

    assert_non_null(room);
    memset(room, 'x', size);
    buffer_advance(&backlog->bytes, size);
}

/* Samples are dropped from the limit on, until half of it was taken; other records have a quarter more. */
static void test_limit(void **state)
{
    _cleanup_(backlog_done) struct backlog backlog = {0};
    static char bytes[100];

    (void)state;
    append(&backlog, 99);
    assert_false(backlog_refuses(&backlog, 100, true));
    append(&backlog, 1);
    assert_true(backlog_refuses(&backlog, 100, true));
    assert_false(backlog_refuses(&backlog, 100, false));
    append(&backlog, 25);
    assert_true(backlog_refuses(&backlog, 100, false));
    assert_int_equal(backlog_take(&backlog, bytes, 75), 75);
    assert_true(backlog_refuses(&backlog, 100, true));
    assert_int_equal(backlog_take(&backlog, bytes, 1), 1);
    assert_false(backlog_refuses(&backlog, 100, true));
}

/* The client is called once after it found nothing: for bytes, or for the end. */
static void test_ready(void **state)
{
    unsigned calls = 0;
    _cleanup_(backlog_done) struct backlog backlog = {.ready = count_call, .userdata = &calls};
    char bytes[4];

    (void)state;
    append(&backlog, 4);
    backlog_notify(&backlog);
    assert_int_equal(calls, 0); /* it has not asked */
    assert_int_equal(backlog_take(&backlog, bytes, 4), 4);
    assert_int_equal(backlog_take(&backlog, bytes, 4), 0);
    backlog_notify(&backlog);
    assert_int_equal(calls, 0); /* there is nothing */
    append(&backlog, 1);
    backlog_notify(&backlog);
    backlog_notify(&backlog);
    assert_int_equal(calls, 1);
    assert_int_equal(backlog_take(&backlog, bytes, 4), 1);
    assert_int_equal(backlog_take(&backlog, bytes, 4), 0);
    backlog.complete = true;
    backlog_notify(&backlog);
    assert_int_equal(calls, 2);
    assert_int_equal(backlog_take(&backlog, bytes, 4), -ENODATA);
}

/* Bytes keep their order however they are taken; much memory is given back when all were taken. */
static void test_bytes(void **state)
{
    _cleanup_(backlog_done) struct backlog backlog = {0};
    const size_t size = (size_t)3 << 20;
    char bytes[1000];
    size_t taken = 0;
    ssize_t n;

    (void)state;
    for (size_t i = 0; i < size; i++)
        buffer_append_char(&backlog.bytes, (char)(i % 251));
    while ((n = backlog_take(&backlog, bytes, sizeof(bytes))) > 0)
        for (ssize_t i = 0; i < n; i++, taken++)
            assert_true(bytes[i] == (char)(taken % 251));
    assert_int_equal(taken, size);
    assert_int_equal(backlog.bytes.capacity, 0);
}

/* Bytes that found no memory are missing: the end is an error, also where all that was there has been taken. */
static void test_cut_short(void **state)
{
    const size_t sizes[] = {4, (size_t)2 << 20};
    static char bytes[(size_t)2 << 20];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(backlog_done) struct backlog backlog = {0};
        append(&backlog, sizes[i]);
        assert_null(buffer_reserve(&backlog.bytes, SIZE_MAX));
        assert_int_equal(backlog_take(&backlog, bytes, sizes[i]), sizes[i]);
        backlog.complete = true;
        assert_int_equal(backlog_take(&backlog, bytes, sizes[i]), -ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_cut_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
