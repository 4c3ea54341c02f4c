/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: message, position, prefix, and truncation of long messages. */
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "tests/unit/test.h"

TEST(test_set)
{
    struct error error = {.line = 3, .column = 4, .offset = 5};

    assert_int_equal(error_set(&error, -EINVAL, "no %s", "way"), -EINVAL);
    assert_string_equal(error.message, "no way");
    assert_true(error.line == 0 && error.column == 0 && error.offset == 0);
    assert_int_equal(error_set_at(&error, -ENOENT, 7, "at %d", 7), -ENOENT);
    error.line = 2;
    error_prefix(&error, "group %d", 1);
    assert_string_equal(error.message, "group 1: at 7");
    assert_true(error.line == 2 && error.offset == 7);
    assert_int_equal(error_oom(&error), -ENOMEM);
    assert_string_equal(error.message, "out of memory");
    assert_int_equal(error_set(NULL, -EINVAL, "x"), -EINVAL);
    assert_int_equal(error_oom(NULL), -ENOMEM);
    error_prefix(NULL, "x");
}

/*
 * Names in messages come from untrusted sources: control characters and invalid UTF-8 must not reach a terminal or
 * JSON.
 */
TEST(test_names)
{
    static const struct {
        const char *in, *out;
    } names[] = {
        {"/b/\033]0;x\a", "/b/\xef\xbf\xbd]0;x\xef\xbf\xbd"},
        {"\xc2\x9b\x7f", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"two\nlines", "two\xef\xbf\xbdlines"},
        {"caf\xe9 caf\xc3\xa9", "caf\xef\xbf\xbd caf\xc3\xa9"},
    };
    struct error error;
    char prefixed[64];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        error_set(&error, -ENOENT, "%s", names[i].in);
        assert_string_equal(error.message, names[i].out);
        error_prefix(&error, "%s", names[i].in);
        snprintf(prefixed, sizeof(prefixed), "%s: %s", names[i].out, names[i].out);
        assert_string_equal(error.message, prefixed);
    }
}

/* A message that is too long ends with a complete character, wherever it is cut. */
TEST(test_cut)
{
    static const char *const characters[] = {"a", "ä", "€", "😀"};
    struct error error;

    for (size_t c = 0; c < ARRAY_SIZE(characters); c++)
        for (size_t shift = 0; shift < 4; shift++) {
            char text[1024] = "", prefix[1024] = "";
            memset(text, '.', shift);
            while (strlen(text) < 600)
                strcat(text, characters[c]);
            memcpy(prefix, text, sizeof(prefix));
            error_set(&error, -EINVAL, "%s", text);
            size_t size = strlen(error.message);
            assert_true(size < sizeof(error.message) && size >= sizeof(error.message) - 4);
            assert_int_equal(utf8_valid_prefix(error.message, size), size);
            error_prefix(&error, "p");
            size = strlen(error.message);
            assert_int_equal(utf8_valid_prefix(error.message, size), size);
            error_prefix(&error, "%s", prefix);
            size = strlen(error.message);
            assert_true(size < sizeof(error.message) && size >= sizeof(error.message) - 4);
            assert_int_equal(utf8_valid_prefix(error.message, size), size);
        }
}

/* Each errno that libc describes has a name. */
TEST(test_name)
{
    assert_string_equal(error_name(-EACCES), "EACCES");
    assert_string_equal(error_name(-EOPNOTSUPP), "EOPNOTSUPP");
    assert_string_equal(error_name(-EHWPOISON), "EHWPOISON");
    for (int error = 1; error < 200; error++)
        assert_int_equal(str_equal(error_name(-error), "EUNKNOWN"), str_starts(strerror(error), "Unknown error"));
    assert_string_equal(error_name(0), "EUNKNOWN");
    assert_string_equal(error_name(EACCES), "EUNKNOWN");
    assert_string_equal(error_name(INT_MIN), "EUNKNOWN");
}

TEST_MAIN(NULL, NULL)
