/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/protobuf.h"
#include "tests/unit/test.h"

static void expect(struct buffer *out, const char *expected, size_t size)
{
    assert_false(out->failed);
    assert_int_equal(out->size, size);
    assert_memory_equal(out->data, expected, size);
    buffer_clear(out);
}

#define EXPECT(out, bytes) expect((out), "" bytes, sizeof(bytes) - 1)

/* The examples of https://protobuf.dev/programming-guides/encoding/ among them. */
static void test_fields(void **state)
{
    const uint64_t numbers[] = {3, 270, 86942}, zero = 0;
    struct buffer out = {0};

    (void)state;
    protobuf_write_u64(&out, 1, 150);
    EXPECT(&out, "\x08\x96\x01");
    protobuf_write_u64(&out, 15, 127);
    protobuf_write_u64(&out, 16, 128);
    EXPECT(&out, "\x78\x7f\x80\x01\x80\x01");
    protobuf_write_u64(&out, 1, (uint64_t)INT64_C(-2));
    EXPECT(&out, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    protobuf_write_u64(&out, 1, 0);
    EXPECT(&out, "");
    protobuf_write_text(&out, 2, "testing");
    protobuf_write_text(&out, 2, "");
    EXPECT(&out, "\x12\x07testing\x12\x00");
    protobuf_write_packed(&out, 6, numbers, ARRAY_SIZE(numbers));
    EXPECT(&out, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
    protobuf_write_packed(&out, 6, &zero, 1);
    protobuf_write_packed(&out, 6, numbers, 0);
    EXPECT(&out, "\x32\x01\x00");
    buffer_done(&out);
}

static void test_messages(void **state)
{
    struct buffer out = {0};
    char text[200];

    (void)state;
    size_t start = protobuf_begin_message(&out, 3);
    protobuf_write_u64(&out, 1, 150);
    protobuf_end_message(&out, start);
    EXPECT(&out, "\x1a\x03\x08\x96\x01");
    start = protobuf_begin_message(&out, 3);
    protobuf_end_message(&out, protobuf_begin_message(&out, 1));
    protobuf_end_message(&out, start);
    EXPECT(&out, "\x1a\x02\x0a\x00");
    /* A length that takes two bytes. */
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    start = protobuf_begin_message(&out, 3);
    protobuf_write_text(&out, 2, text);
    protobuf_end_message(&out, start);
    assert_int_equal(out.size, 3 + 3 + 199);
    assert_memory_equal(out.data, "\x1a\xca\x01\x12\xc7\x01xx", 8);
    buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
