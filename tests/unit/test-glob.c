/* SPDX-License-Identifier: Apache-2.0 */
/* Path patterns: what each matches, there and below, what is refused and where, and that none takes long. */
#include <stdio.h>
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

static void test_match_last(void **state)
{
    static const struct {
        const char *in_pattern, *in_path;
        bool out;
    } last[] = {
        {"*.service", "/system.slice/ssh.service", true},
        {"system.slice", "/system.slice/ssh.service", false},
        {"/system.slice/*", "/system.slice/ssh.service", true},
        {"/*", "/system.slice/ssh.service", false},
        {"grafana", "grafana", true},
        {"graf*", "grafana", true},
        {"nginx:*", "docker.io/library/nginx:1.25", true},
        {"docker.io/**", "docker.io/library/nginx:1.25", true},
        {"docker.io/*", "docker.io/library/nginx:1.25", false},
        {"*", "", true},
        {"?*", "/", false},
    };

    (void)state;
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
    {"/system.slice/*.service", "/", true, false},
    {"/system.slice/*.service", "/system.slice", true, false},
    {"/system.slice/*.service", "/user.slice", false, false},
    {"/system.slice/*.service", "/system.slic", false, false},
    {"/system.slice/*.service", "/system.slice/a.service", false, false},
    {"/system.slice/*.slice/*.service", "/system.slice/a.slice", true, false},
    {"/system.slice/*.slice/*.service", "/system.slice/a.service", false, false},
    {"/", "/", false, false},
    {"/a", "/", true, false},
    {"/a/", "/a", false, false},
    {"/a/*", "/a", true, false},
    {"/a/?", "/a", true, false},
    {"/a/[!b]", "/a", true, false},
    {"/a/*", "/a/b", false, false},
    {"/**", "/", true, true},
    {"/**", "/a/b", true, true},
    {"**", "/", true, true},
    {"/a/**", "/", true, false},
    {"/a/**", "/a", true, true},
    {"/a/**", "/a/b/c", true, true},
    {"/a/**", "/b", false, false},
    {"/a**", "/a", true, true},
    {"/a**", "/", true, false},
    {"/a/***", "/a", true, true},
    {"/a/**/", "/a", true, false},
    {"/a/**/b", "/a/x/y", true, false},
    {"/a/**.skip", "/a/x", true, false},
    {"/*/**", "/a", true, true},
    {"/*/**", "/", true, false},
    {"/**/*", "/", true, false}, /* it does, and is not seen to */
    {"/a\\*b/c", "/a*b", true, false},
    {"/a\\*b/c", "/axb", false, false},
    {"/[a-c]/x", "/b", true, false},
    {"/[a-c]/x", "/d", false, false},
    {"/a/[", "/a", true, false}, /* is refused, and matches nothing */
    {"", "/", false, false},
};

static void test_below(void **state)
{
    static char pattern[GLOB_MAX + 1];

    (void)state;
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

/* The path of the component's parent; "/" of those at the top. */
static bool cut_component(char *path)
{
    char *slash = strrchr(path, '/');
    bool at_root = str_equal(path, "/");

    slash[slash == path] = '\0';
    return !at_root;
}

/* Patterns and paths by chance: of a path that matches, each ancestor says so; where all match below, it does. */
static void test_below_by_chance(void **state)
{
    static const char *const pieces[] = {"/", "/", "*", "**", "?", "a", "b", "/a", "/b", "[ab]", "[!a]", "/**/", "\\a"};
    static const char *const names[] = {"/a", "/b", "/ab", "/ba", "/aab"};
    char pattern[64], path[64], above[64];
    size_t n = runs_emulated() ? 2000 : 100000, n_matches = 0, n_all = 0, n_unneeded = 0;

    (void)state;
    srand(13);
    for (size_t i = 0; i < n; i++) {
        chance_text(pattern, pieces, ARRAY_SIZE(pieces), 1 + (size_t)rand() % 6);
        chance_text(path, names, ARRAY_SIZE(names), 1 + (size_t)rand() % 5);
        bool matches = glob_match(pattern, path);
        n_matches += matches;
        snprintf(above, sizeof(above), "%s", path);
        while (cut_component(above)) {
            bool may = glob_may_match_below(pattern, above), all = glob_match_all_below(pattern, above);
            if ((matches && !may) || (all && !matches))
                fail_msg("%s on %s, below %s: %d %d", pattern, path, above, may, all);
            n_all += all;
            n_unneeded += !may;
        }
    }
    print_message("%zu match, %zu times all do, %zu times none may\n", n_matches, n_all, n_unneeded);
    assert_true(n_matches > n / 30 && n_all > n / 30 && n_unneeded > n / 30);
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
        assert_true(clock() - start < (runs_emulated() ? 60 : 5) * CLOCKS_PER_SEC);
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
        cmocka_unit_test(test_match),           cmocka_unit_test(test_match_last), cmocka_unit_test(test_below),
        cmocka_unit_test(test_below_by_chance), cmocka_unit_test(test_check),      cmocka_unit_test(test_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
