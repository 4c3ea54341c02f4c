/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML tree: the meaning of words, and the file position of each byte of a value. */
#include <stdio.h>

#include "base/cleanup.h"
#include "config/yaml.h"
#include "tests/unit/test.h"

static void parse(const char *text, struct document *ret)
{
    struct error error = {0};

    if (document_parse(text, strlen(text), ret, &error) < 0)
        fail_msg("%s: %u:%u: %s", text, error.line, error.column, error.message);
}

TEST(test_words)
{
    static const struct {
        const char *in, *out_text;
        bool out_null, out_is_bool, out_bool;
    } cases[] = {
        {"- true", NULL, false, true, true},
        {"- True", NULL, false, true, true},
        {"- FALSE", NULL, false, true, false},
        {"- tRUE", "tRUE", false, false, false},
        {"- yes", "yes", false, false, false},
        {"- 'true'", "true", false, false, false},
        {"- \"true\"", "true", false, false, false},
        {"- null", NULL, true, false, false},
        {"- NULL", NULL, true, false, false},
        {"- ~", NULL, true, false, false},
        {"-", NULL, true, false, false},
        {"- ''", "", false, false, false},
        {"- 'null'", "null", false, false, false},
        {"- 017", "017", false, false, false},
        {"- 1.5", "1.5", false, false, false},
        {"- \"\\u00e4\\x41\"", "äA", false, false, false},
        {"- []", NULL, false, false, false},
        {"- {}", NULL, false, false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(document_done) struct document document = {0};
        bool value = !cases[i].out_bool;
        parse(cases[i].in, &document);
        const yaml_node_t *n = document_item(&document, document_root(&document), 0);
        assert_null(document_item(&document, document_root(&document), 1));
        assert_int_equal(node_is_null(n), cases[i].out_null);
        assert_int_equal(node_bool(n, &value), cases[i].out_is_bool);
        assert_int_equal(value, cases[i].out_is_bool ? cases[i].out_bool : !cases[i].out_bool);
        if (cases[i].out_text)
            assert_string_equal(node_text(n), cases[i].out_text);
        else
            assert_null(node_text(n));
    }
}

TEST(test_places)
{
    static const struct {
        const char *in;
        size_t in_offset;
        unsigned out_line, out_column;
    } cases[] = {
        {"- abc", 0, 1, 3},          {"- abc", 2, 1, 5},      {"- abc", 99, 1, 6}, {"- 'abc'", 0, 1, 4},
        {"- \"abc\"", 2, 1, 6},      {"#\n-   abc", 1, 2, 6}, {"- äbc", 2, 1, 4}, /* columns count characters */
        {"- 'ä', 'b'", 0, 0, 0},     {"- 'a''b'", 1, 1, 3}, /* a value with escapes: the position is its start */
        {"- \"\\u0041b\"", 1, 1, 3}, {"- a\n  b", 2, 1, 3}, /* a value of several lines: the position is its start */
        {"- [a]", 1, 1, 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(document_done) struct document document = {0};
        unsigned line, column;
        if (cases[i].out_line == 0) {
            assert_int_equal(document_parse(cases[i].in, strlen(cases[i].in), &document, NULL), -EINVAL);
            continue;
        }
        parse(cases[i].in, &document);
        const yaml_node_t *n = document_item(&document, document_root(&document), 0);
        document_position_at(&document, n, cases[i].in_offset, &line, &column);
        if (line != cases[i].out_line || column != cases[i].out_column)
            fail_msg("%s: %zu is at %u:%u", cases[i].in, cases[i].in_offset, line, column);
        document.builtin = true;
        document_position_at(&document, n, cases[i].in_offset, &line, &column);
        assert_int_equal(line, 0);
        assert_int_equal(column, 0);
    }
}

TEST(test_pairs)
{
    _cleanup_(document_done) struct document document = {0};
    const yaml_node_t *key = NULL, *value = NULL;
    struct error error = {0};

    parse("a: 1\n'b c': 2\na: 3\n", &document);
    const yaml_node_t *map = document_root(&document);
    assert_int_equal(document_pair(&document, map, 1, &key, &value, &error), 1);
    assert_string_equal(node_text(key), "b c");
    assert_string_equal(node_text(value), "2");
    assert_int_equal(document_pair(&document, map, 2, &key, &value, &error), -EINVAL);
    assert_string_equal(error.message, "key \"a\" is given twice, first in line 1");
    assert_int_equal(error.line, 3);
    assert_string_equal(node_text(value), "2"); /* the error leaves `value` unchanged */
    assert_int_equal(document_pair(&document, map, 3, &key, &value, &error), 0);
}

TEST(test_empty)
{
    static const char *const texts[] = {"", "\n", "# x", "---", "--- ~\n...\n", "null"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(document_done) struct document document = {0};
        parse(texts[i], &document);
        assert_null(document_root(&document));
    }
}

/* An error quotes the value, cut to a length but never within a character. */
TEST(test_expected)
{
    _cleanup_(document_done) struct document document = {0};
    struct error error = {0};

    parse("- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaääää", &document); /* 59 times "a" */
    const yaml_node_t *n = document_item(&document, document_root(&document), 0);
    assert_int_equal(document_expected(&document, n, "less", &error), -EINVAL);
    assert_string_equal(error.message,
                        "expected less, found \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"...");
    assert_int_equal(document_expected(&document, n, "less", NULL), -EINVAL);
}

/*
 * Secrets may contain line breaks, and no error quotes them. Control characters other than line breaks are refused as
 * usual.
 */
TEST(test_secret)
{
    static const struct {
        const char *in, *out;
    } items[] = {
        {"|\n  a\n  b\n", "expected less, found a string"}, {"hunter2", "expected less, found a string"},
        {"true", "expected less, found a boolean"},         {"[hunter2]", "expected less, found a list"},
        {"{hunter2: x}", "expected less, found a map"},     {"", "expected less, found nothing"},
    };
    static const char *const refused[] = {"- \"a\\rb\"", "- \"a\\nb\\0\"", "- \"a\\n\\n\\t\""};

    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        _cleanup_(document_done) struct document document = {0};
        struct error error = {0};
        char text[64];
        snprintf(text, sizeof(text), "- %s", items[i].in);
        assert_int_equal(document_parse_secret(text, strlen(text), &document, &error), 0);
        const yaml_node_t *n = document_item(&document, document_root(&document), 0);
        assert_int_equal(document_expected(&document, n, "less", &error), -EINVAL);
        assert_string_equal(error.message, items[i].out);
    }
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct document document = {0};
        struct error error = {0};
        assert_int_equal(document_parse_secret(refused[i], strlen(refused[i]), &document, &error), -EINVAL);
        assert_true(str_starts(error.message, "this string contains a control character, "));
    }
}

TEST_MAIN(NULL, NULL)
