/* SPDX-License-Identifier: Apache-2.0 */
/* Path patterns: what each matches, whether it may match below a path, and the errors for invalid ones. */
#include <stdio.h>

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
    /* one component */
    {"/*", "/", true},
    {"/*", "/a", true},
    {"/*", "/a/b", false},
    {"/*.slice", "/system.slice", true},
    {"/*.slice", "/system.slice/a.slice", false},
    {"/system.slice/*.service", "/system.slice/ssh.service", true},
    {"/system.slice/*.service", "/system.slice/ssh.service/child", false},
    {"/*/*", "/a/b", true},
    {"/a*b*c", "/abbcbc", true},
    {"/a*b/c", "/axb/b/c", false},
    {"*", "/", false},
    /* any number of components */
    {"/**", "/", true},
    {"/**", "/a/b/c", true},
    {"**", "/a/b", true},
    {"/a/**", "/a", false},
    {"/a/**", "/a/b/c", true},
    {"/a**", "/a", true},
    {"/a***c", "/ab/b/c", true},
    {"/**/*.scope", "/init.scope", true},
    {"/**/*.scope", "/a/b/c.scope/d", false},
    {"/**/a/**/b", "/x/a/y/z/b", true},
    {"/**/a/**/b", "/x/a/y/z/c", false},
    {"/**/**/**/a", "/b/c/d/e/a", true},
    {"/**/**/**", "/", true},
    {"/a**/b", "/a/b", true},
    {"/a**/b", "/ab", false}, /* the slash may only be missing together with a whole component */
    {"/x/**b", "/xb", false},
    {"**/a", "a", false}, /* every path begins with a slash */
    /* one character */
    {"/?", "/a", true},
    {"/?", "/", false},
    {"/a?b", "/a/b", false},
    {"/\?\?", "/\xc3\xa4", true}, /* one byte */
    {"/[a-c]", "/d", false},
    {"/[!a-c]", "/b", false},
    {"/a[!x]b", "/a/b", false},
    {"/a[.-0]b", "/a/b", false}, /* a range that contains the slash does not match it either */
    {"/[]]", "/]", true},
    {"/[!]]", "/]", false},
    {"/[]a]", "/a", true},
    {"/[a-]", "/-", true},
    {"/[a!]", "/!", true},
    {"/[\\]]", "/]", true},
    {"/[\\a-\\c]x", "/bx", true},
    {"/[\x80-\xff]", "/\xc3", true},
    /* literal characters */
    {"/\\*", "/*", true},
    {"/\\*", "/a", false},
    {"/\\\\", "/\\", true},
    {"/a\\x2db", "/ax2db", true}, /* systemd's escapes need two backslashes */
    {"/a\\\\x2db", "/a\\x2db", true},
    {"/]", "/]", true},
    {"/*", "/\xff\xfe \"", true},
    {"/A", "/a", false},
    /* invalid patterns match nothing */
    {"/[a", "/a", false},
    {"/*\\", "/\\", false},
    {"/[c-a]", "/b", false},
};

TEST(test_match)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (glob_match(cases[i].in_pattern, cases[i].in_path) != cases[i].out)
            fail_msg("%s on %s", cases[i].in_pattern, cases[i].in_path);
    }
}

TEST(test_match_last)
{
    static const struct {
        const char *in_pattern, *in_path;
        bool out;
    } last[] = {
        {"*.service", "/system.slice/ssh.service", true},
        {"system.slice", "/system.slice/ssh.service", false},
        {"/system.slice/*", "/system.slice/ssh.service", true},
        {"graf*", "grafana", true},
        {"nginx:*", "docker.io/library/nginx:1.25", true},
        {"docker.io/**", "docker.io/library/nginx:1.25", true},
        {"*", "", true},
        {"?*", "/", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(last); i++)
        if (glob_match_last(last[i].in_pattern, last[i].in_path) != last[i].out)
            fail_msg("%s on %s", last[i].in_pattern, last[i].in_path);
}

static const struct {
    const char *in_pattern, *in_path;
    bool out_may, out_all;
} below[] = {
    {"/*.slice", "/", true, false},
    {"/*.slice", "/a.slice", false, false},
    {"/system.slice/*.service", "/system.slice", true, false},
    {"/system.slice/*.service", "/system.slic", false, false},
    {"/system.slice/*.service", "/system.slice/a.service", false, false},
    {"/system.slice/*.slice/*.service", "/system.slice/a.slice", true, false},
    {"/", "/", false, false},
    {"/a", "/", true, false},
    {"/a/", "/a", false, false},
    {"/a/*", "/a", true, false},
    {"/a/[!b]", "/a", true, false},
    {"/**", "/", true, true},
    {"/a/**", "/", true, false},
    {"/a/**", "/a", true, true},
    {"/a/**", "/b", false, false},
    {"/a**", "/a", true, true},
    {"/a/**/", "/a", true, false},
    {"/a/**/b", "/a/x/y", true, false},
    {"/a/**.skip", "/a/x", true, false},
    {"/*/**", "/a", true, true},
    {"/**/*", "/", true, false}, /* the pattern matches all paths below, but this is not detected */
    {"/a\\*b/c", "/a*b", true, false},
    {"/a\\*b/c", "/axb", false, false},
    {"/[a-c]/x", "/d", false, false},
    {"/a/[", "/a", true, false}, /* invalid, so it matches nothing */
    {"", "/", false, false},
};

TEST(test_below)
{
    static char pattern[GLOB_MAX + 1];

    for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
        if (glob_may_match_below(below[i].in_pattern, below[i].in_path) != below[i].out_may)
            fail_msg("%s may match below %s", below[i].in_pattern, below[i].in_path);
        if (glob_match_all_below(below[i].in_pattern, below[i].in_path) != below[i].out_all)
            fail_msg("%s matches all below %s", below[i].in_pattern, below[i].in_path);
    }
    memset(pattern, '*', GLOB_MAX);
    assert_false(glob_may_match_below(pattern, "/"));
    assert_false(glob_match_all_below(pattern, "/"));
}

static void chance_text(char *text, const char *const *pieces, size_t n_pieces, size_t n)
{
    size_t used = 0;

    while (n-- > 0)
        used += (size_t)snprintf(text + used, 64 - used, "%s", pieces[(size_t)rand() % n_pieces]);
    text[used] = '\0';
}

/*
 * For random patterns and paths: if a path matches, each ancestor reports a possible match below; if an ancestor
 * reports that all below it match, the path matches.
 */
TEST(test_below_by_chance)
{
    static const char *const pieces[] = {"/", "/", "*", "**", "?", "a", "b", "/a", "/b", "[ab]", "[!a]", "/**/", "\\a"};
    static const char *const names[] = {"/a", "/b", "/ab", "/ba", "/aab"};
    char pattern[64], path[64];

    srand(13);
    for (size_t i = 0; i < 20000; i++) {
        chance_text(pattern, pieces, ARRAY_SIZE(pieces), 1 + (size_t)rand() % 6);
        chance_text(path, names, ARRAY_SIZE(names), 1 + (size_t)rand() % 5);
        bool matches = glob_match(pattern, path);
        while (!str_equal(path, "/")) {
            char *slash = strrchr(path, '/');
            slash[slash == path] = '\0';
            bool may = glob_may_match_below(pattern, path), all = glob_match_all_below(pattern, path);
            if ((matches && !may) || (all && !matches))
                fail_msg("%s below %s: %d %d", pattern, path, may, all);
        }
    }
}

TEST(test_check)
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

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct error error = {0};
        assert_int_equal(glob_check(refused[i].in, &error), -EINVAL);
        assert_string_equal(error.message, refused[i].out);
        assert_int_equal(error.offset, refused[i].out_offset);
    }
    for (size_t i = 0; i + 3 < ARRAY_SIZE(cases); i++)
        assert_int_equal(glob_check(cases[i].in_pattern, NULL), 0);
}

/*
 * The longest possible path, and patterns of stars of the same length, which fail to match only at the last character.
 * A matcher that backtracks would take forever.
 */
TEST(test_longest)
{
    static const char *const pieces[] = {"*a", "**a", "**/", "**/?", "?*", "[a-c]**", "*?*?"};
    static char pattern[GLOB_MAX + 8] = "/", path[GLOB_MAX];
    struct error error = {0};

    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 2] = 'b';
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        size_t length = strlen(pieces[i]), n = (GLOB_MAX - 3) / length;
        for (size_t k = 0; k < n; k++)
            memcpy(pattern + 1 + k * length, pieces[i], length + 1);
        memcpy(pattern + 1 + n * length, "X", 2);
        assert_int_equal(glob_check(pattern, NULL), 0);
        assert_false(glob_match(pattern, path));
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

TEST_MAIN(NULL, NULL)
