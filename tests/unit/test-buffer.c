/* SPDX-License-Identifier: Apache-2.0 */
/* The byte buffer: growth, the sticky error, strings. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/unit/test.h"

TEST(test_append)
{
    _cleanup_(buffer_done) struct buffer buffer = {0};

    buffer_append(&buffer, NULL, 0);
    buffer_append(&buffer, "ab\0c", 4);
    buffer_append_text(&buffer, "def");
    buffer_append_char(&buffer, 'g');
    buffer_appendf(&buffer, "%s-%d", "h", 42);
    assert_int_equal(buffer.size, 12);
    assert_memory_equal(buffer.data, "ab\0cdefgh-42", 12);
    for (unsigned i = 0; i < 5000; i++)
        buffer_appendf(&buffer, "%05u", i);
    assert_int_equal(buffer.size, 12 + 25000);
    assert_memory_equal(buffer.data + 12 + 5 * 1234, "01234", 5);
}

TEST(test_failure_sticks)
{
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

TEST(test_string)
{
    struct buffer buffer = {0};

    _cleanup_(freep) char *empty = buffer_string(&buffer);
    assert_string_equal(empty, "");
    buffer_append_text(&buffer, "before");
    buffer_clear(&buffer);
    buffer_append_text(&buffer, "text");
    _cleanup_(freep) char *text = buffer_string(&buffer);
    assert_string_equal(text, "text");
    assert_null(buffer.data);
}

TEST_MAIN(NULL, NULL)
