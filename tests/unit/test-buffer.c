/* SPDX-License-Identifier: Apache-2.0 */
/* The byte buffer: growth, the sticky error, strings. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/unit/test.h"

static void test_append(void **state)
{
    (void)state;
    _cleanup_(buffer_done) struct buffer buffer = {0};

    buffer_append(&buffer, NULL, 0);
    buffer_append(&buffer, "ab\0c", 4);
    buffer_append_text(&buffer, "def");
    buffer_append_char(&buffer, 'g');
    buffer_appendf(&buffer, "%s-%d", "h", 42);
    assert_int_equal(buffer.size, 12);
    assert_memory_equal(buffer.data, "ab\0cdefgh-42", 12);
}

static void test_grow(void **state)
{
    (void)state;
    _cleanup_(buffer_done) struct buffer buffer = {0};

    for (unsigned i = 0; i < 5000; i++)
        buffer_appendf(&buffer, "%05u", i);
    assert_int_equal(buffer.size, 25000);
    assert_true(buffer.capacity >= buffer.size);
    for (unsigned i = 0; i < 5000; i++) {
        char text[6];
        snprintf(text, sizeof(text), "%05u", i);
        assert_memory_equal(buffer.data + 5 * i, text, 5);
    }
}

static void test_reserve(void **state)
{
    (void)state;
    _cleanup_(buffer_done) struct buffer buffer = {0};

    for (unsigned i = 0; i < 100; i++) {
        char *room = buffer_reserve(&buffer, i * 7);
        assert_non_null(room);
        memset(room, (int)i, i * 7);
        buffer_advance(&buffer, i * 7);
    }
    assert_int_equal(buffer.size, 7 * 99 * 100 / 2);
    assert_int_equal(buffer.data[buffer.size - 1], 99);
}

static void test_failure_sticks(void **state)
{
    (void)state;
    struct buffer buffer = {0};

    buffer_append_text(&buffer, "before");
    assert_null(buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    buffer_append_text(&buffer, "lost");
    buffer_appendf(&buffer, "%d", 1);
    assert_int_equal(buffer.size, 6);
    assert_null(buffer_string(&buffer));
    assert_null(buffer.data);
    assert_false(buffer.failed);
}

static void test_clear_keeps_the_memory(void **state)
{
    (void)state;
    _cleanup_(buffer_done) struct buffer buffer = {0};

    buffer_append_text(&buffer, "text");
    buffer_reserve(&buffer, SIZE_MAX / 2);
    char *data = buffer.data;
    buffer_clear(&buffer);
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 0);
    buffer_append_text(&buffer, "x");
    assert_ptr_equal(buffer.data, data);
}

static void test_string(void **state)
{
    (void)state;
    struct buffer buffer = {0};

    _cleanup_(freep) char *empty = buffer_string(&buffer);
    assert_string_equal(empty, "");
    buffer_append_text(&buffer, "text");
    _cleanup_(freep) char *text = buffer_string(&buffer);
    assert_string_equal(text, "text");
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_clear_keeps_the_memory),
        cmocka_unit_test(test_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
