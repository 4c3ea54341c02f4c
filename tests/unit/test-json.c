/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/test.h"

static void expect(struct buffer *out, const char *expected)
{
    buffer_append_char(out, '\0');
    assert_false(out->failed);
    assert_string_equal(out->data, expected);
    buffer_clear(out);
}

TEST(test_numbers)
{
    static const struct {
        uint64_t in;
        const char *hex, *decimal, *number, *seconds;
    } cases[] = {
        {0, "\"0x0\"", "0", "0", "0.000000000"},
        {1, "\"0x1\"", "1", "1", "0.000000001"},
        {1999999999, "\"0x773593ff\"", "1999999999", "1999999999", "1.999999999"},
        {INT64_MAX, "\"0x7fffffffffffffff\"", "9223372036854775807", "9223372036854775807", "9223372036.854775807"},
        {UINT64_C(1) << 63, "\"0x8000000000000000\"", "9223372036854775808", "-9223372036854775808",
         "9223372036.854775808"},
        {UINT64_MAX, "\"0xffffffffffffffff\"", "18446744073709551615", "-1", "18446744073.709551615"},
    };
    struct buffer out = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_write_hex(&out, cases[i].in);
        expect(&out, cases[i].hex);
        json_write_u64(&out, cases[i].in);
        expect(&out, cases[i].decimal);
        json_write_i64(&out, (int64_t)cases[i].in);
        expect(&out, cases[i].number);
        json_write_seconds(&out, cases[i].in);
        expect(&out, cases[i].seconds);
    }
    buffer_done(&out);
}

TEST(test_strings)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {NULL, "null"},
        {"a \x7f~", "\"a \xef\xbf\xbd~\""},
        {"std::map<int, char>", "\"std::map<int, char>\""},
        {"\"", "\"\\\"\""},
        {"a\nb\x01", "\"a\xef\xbf\xbd"
                     "b\xef\xbf\xbd\""},
        {"\xc3\xa4\xf0\x9f\x98\x80", "\"\xc3\xa4\xf0\x9f\x98\x80\""},
        {"a\xc3", "\"a\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    struct buffer out = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_write_string(&out, cases[i].in);
        expect(&out, cases[i].out);
        if (!cases[i].in)
            continue;
        _cleanup_(freep) char *room = malloc(JSON_ESCAPED_MAX * strlen(cases[i].in) + 2);
        buffer_append(&out, room, (size_t)(json_put_string(room, cases[i].in) - room));
        expect(&out, cases[i].out);
    }
    buffer_done(&out);
}

TEST(test_reals)
{
    static const struct {
        double in;
        const char *out;
    } cases[] = {
        {0, "0.0"},
        {1, "1.0"},
        {1e20, "1e20"},
        {1.5e-7, "1.5e-7"},
        {2.0 / 3, "0.666666666666667"},
        {123456789012345678.0, "1.23456789012346e17"},
        {NAN, "null"},
        {-INFINITY, "null"},
    };
    struct buffer out = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_write_real(&out, cases[i].in);
        expect(&out, cases[i].out);
    }
    buffer_done(&out);
}

/* The output equals jansson's with an indent of two. */
TEST(test_document)
{
    struct buffer out = {0};
    struct json_document document = {.out = &out};
    _cleanup_(json_decrefp) json_t *same =
        json_pack("{s:s, s:I, s:f, s:b, s:[], s:[{s:s}, [i], {}], s:n}", "a", "\"b\"", "i", (json_int_t)-3, "r", 0.25,
                  "t", 1, "none", "list", "x", "y", 1, "n");

    json_document_open(&document, NULL, '{');
    json_document_add_string(&document, "a", "\"b\"");
    json_document_add_i64(&document, "i", -3);
    json_document_add_real(&document, "r", 0.25);
    json_document_add_bool(&document, "t", true);
    json_document_open(&document, "none", '[');
    json_document_close(&document);
    json_document_open(&document, "list", '[');
    json_document_open(&document, NULL, '{');
    json_document_add_string(&document, "x", "y");
    json_document_close(&document);
    json_document_open(&document, NULL, '[');
    json_document_add_i64(&document, NULL, 1);
    json_document_close(&document);
    json_document_open(&document, NULL, '{');
    json_document_close(&document);
    json_document_close(&document);
    json_document_add_string(&document, "n", NULL);
    json_document_close(&document);
    _cleanup_(freep) char *expected = json_dumps(same, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    expect(&out, expected);
    buffer_done(&out);
}

TEST(test_text)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"/etc/p\xc3\xa4th.yaml", "/etc/p\xc3\xa4th.yaml"},
        {"/etc/p\xe4th.yaml", "/etc/p\xef\xbf\xbdth.yaml"},
        {"cut \xc3", "cut \xef\xbf\xbd"},
        {"a \"quote\"\n", "a \"quote\"\xef\xbf\xbd"},
        {"\033[31m \x7f \xc2\x9b", "\xef\xbf\xbd[31m \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *text = json_text(cases[i].in);
        assert_string_equal(json_string_value(text), cases[i].out);
        json_decref(text);
    }
}

TEST_MAIN(NULL, NULL)
