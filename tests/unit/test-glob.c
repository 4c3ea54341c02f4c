/* SPDX-License-Identifier: Apache-2.0 */
/* Path patterns: what each matches, what is refused and where, and that none takes long. */
#include <time.h>

#include "base/glob.h"
#include "tests/unit/test.h"

static const struct {
    const char *in_pattern, *in_path;
    bool out;
} cases[] = {
    {"/", "/", true},
    {"/", "", false},
    {"", "", true},
    {"", "/", false},
    {"/a", "/a", true},
    {"/a", "/ab", false},
    {"/ab", "/a", false},
    /* one component */
    {"/*", "/", true},
    {"/*", "/a", true},
    {"/*", "/a/b", false},
    {"/*.slice", "/system.slice", true},
    {"/*.slice", "/.slice", true},
    {"/*.slice", "/system.slice/a.slice", false},
    {"/*.slice", "/system.slices", false},
    {"/system.slice/*.service", "/system.slice/ssh.service", true},
    {"/system.slice/*.service", "/system.slice/ssh.service/child", false},
    {"/system.slice/*.service", "/system.slice/a.slice/ssh.service", false},
    {"/*/*", "/a", false},
    {"/*/*", "/a/b", true},
    {"/a*b*c", "/abbcbc", true},
    {"/a*b*c", "/abbcb", false},
    {"/a*b/c", "/axb/b/c", false},
    {"*", "/", false},
    /* any number of them */
    {"/**", "/", true},
    {"/**", "/a", true},
    {"/**", "/a/b/c", true},
    {"**", "/a/b", true},
    {"**", "", true},
    {"/a/**", "/a", false},
    {"/a/**", "/a/", true},
    {"/a/**", "/a/b/c", true},
    {"/a**", "/a", true},
    {"/a**c", "/ab/b/c", true},
    {"/a***c", "/ab/b/c", true},
    {"/**/*.scope", "/init.scope", true},
    {"/**/*.scope", "/a/b/c.scope", true},
    {"/**/*.scope", "/a/b/c.scope/d", false},
    {"/**/a/**/b", "/a/b", true},
    {"/**/a/**/b", "/x/a/y/z/b", true},
    {"/**/a/**/b", "/x/a/y/z/c", false},
    {"/**/**/**/a", "/a", true},
    {"/**/**/**/a", "/b/c/d/e/a", true},
    {"/**/**/**", "/", true},
    {"/**/**/", "/", true},
    {"/**/**/x**", "/x/y", true},
    {"/a**/b", "/a/b", true},
    {"/a**/b", "/ab", false}, /* the slash is only left out with a whole component */
    {"/x/**b", "/xb", false},
    {"**/a", "a", false}, /* a path starts with a slash */
    {"/**.service", "/a/b.service", true},
    /* one character */
    {"/?", "/a", true},
    {"/?", "/", false},
    {"/?", "/ab", false},
    {"/a?b", "/a/b", false},
    {"/\?\?", "/\xc3\xa4", true}, /* bytes */
    {"/[a-c]", "/b", true},
    {"/[a-c]", "/d", false},
    {"/[!a-c]", "/d", true},
    {"/[!a-c]", "/b", false},
    {"/a[!x]b", "/a/b", false},
    {"/a[.-0]b", "/a/b", false}, /* neither does a range that has it */
    {"/[]]", "/]", true},
    {"/[!]]", "/]", false},
    {"/[!]]", "/a", true},
    {"/[]a]", "/a", true},
    {"/[a-]", "/-", true},
    {"/[-a]", "/-", true},
    {"/[a!]", "/!", true},
    {"/[\\]]", "/]", true},
    {"/[\\a-\\c]x", "/bx", true},
    {"/[\x80-\xff]", "/\xc3", true},
    {"/[\x80-\xff]", "/a", false},
    {"/user-[0-9][0-9]*.slice", "/user-1000.slice", true},
    /* as it is */
    {"/\\*", "/*", true},
    {"/\\*", "/a", false},
    {"/\\[a]", "/[a]", true},
    {"/\\\\", "/\\", true},
    {"/a\\x2db", "/ax2db", true}, /* systemd's escapes need two backslashes */
    {"/a\\\\x2db", "/a\\x2db", true},
    {"/]", "/]", true},
    {"/a\nb", "/a\nb", true},
    {"/*", "/\xff\xfe \"", true},
    {"/A", "/a", false},
    /* what is refused matches nothing */
    {"/[a", "/a", false},
    {"/[", "/[", false},
    {"/*\\", "/\\", false},
    {"/[c-a]", "/b", false},
};

static void test_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (glob_match(cases[i].in_pattern, cases[i].in_path) != cases[i].out)
            fail_msg("%s on %s", cases[i].in_pattern, cases[i].in_path);
    }
}

static void test_check(void **state)
{
    static const struct {
        const char *in;
        size_t out_offset;
        const char *out;
    } refused[] = {
        {"/[a", 1, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"/x[", 2, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"[]", 0, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"[!]", 0, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"[a]/[a-", 4, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"[a\\", 0, "\"[\" has no \"]\"; write \"\\[\" for the character itself"},
        {"/*\\", 2, "the pattern ends with a backslash; write \"\\\\\" for the character itself"},
        {"/[xc-a]", 3, "the first character of this range comes after its last"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct error error = {0};
        assert_int_equal(glob_check(refused[i].in, &error), -EINVAL);
        assert_string_equal(error.message, refused[i].out);
        assert_int_equal(error.offset, refused[i].out_offset);
    }
    for (size_t i = 0; i + 4 < ARRAY_SIZE(cases); i++)
        assert_int_equal(glob_check(cases[i].in_pattern, NULL), 0);
}

/* The longest pattern of stars on the longest path, where the last character decides. */
static void test_longest(void **state)
{
    static const char *const pieces[] = {"*a", "**a", "**/", "**/?", "?*", "[a-c]**", "*?*?"};
    static char pattern[GLOB_MAX + 8] = "/", path[GLOB_MAX];
    struct error error = {0};

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 2] = 'b';
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        size_t length = strlen(pieces[i]), n = (GLOB_MAX - 3) / length;
        clock_t start = clock();
        for (size_t k = 0; k < n; k++)
            memcpy(pattern + 1 + k * length, pieces[i], length + 1);
        memcpy(pattern + 1 + n * length, "X", 2);
        assert_int_equal(glob_check(pattern, NULL), 0);
        assert_false(glob_match(pattern, path));
        print_message("%s...: %ld ms\n", pieces[i], (long)((clock() - start) * 1000 / CLOCKS_PER_SEC));
        assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    }
    memset(pattern, 'a', GLOB_MAX - 1);
    pattern[GLOB_MAX - 1] = '\0';
    path[0] = path[sizeof(path) - 2] = 'a';
    assert_int_equal(glob_check(pattern, NULL), 0);
    assert_true(glob_match(pattern, path));
    strcat(pattern, "a");
    assert_int_equal(glob_check(pattern, &error), -EINVAL);
    assert_string_equal(error.message, "a pattern has at most 4095 bytes");
    assert_false(glob_match(pattern, pattern));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
