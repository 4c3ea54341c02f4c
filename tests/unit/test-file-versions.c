/* SPDX-License-Identifier: Apache-2.0 */
/* A file that has changed is noticed, however it was changed; one that has not is not. */
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/auth/file-versions.h"
#include "tests/unit/test.h"

static void put(const char *path, const char *text)
{
    _cleanup_(fclosep) FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
}

static void overwrite(void)
{
    put("file", "other");
}

static void lengthen(void)
{
    put("file", "longer than that");
}

static void replace(void)
{
    put("new", "hello");
    assert_int_equal(rename("new", "file"), 0);
}

static void end(void)
{
    assert_int_equal(unlink("file"), 0);
}

static void forbid(void)
{
    assert_int_equal(chmod("file", 0), 0);
}

static void swap_link(void)
{
    assert_int_equal(symlink("b", "link.new"), 0);
    assert_int_equal(rename("link.new", "link"), 0);
}

static void nothing(void)
{
}

static void look_alike(void)
{
    put("unrelated", "x");
}

static const struct {
    const char *name;
    void (*change)(void);
    bool outdated;
} cases[] = {
    {"nothing", nothing, false},
    {"another file", look_alike, false},
    {"other content", overwrite, true},
    {"more content", lengthen, true},
    {"another file by rename", replace, true},
    {"gone", end, true},
    {"rights", forbid, true},
    {"a link to a directory that is swapped", swap_link, true},
};

static void test_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char directory[] = "/tmp/perfcountd-versions.XXXXXX", command[128];
        _cleanup_(file_versions_done) struct file_versions versions = {0};

        print_message("%s\n", cases[i].name);
        assert_non_null(mkdtemp(directory));
        assert_int_equal(chdir(directory), 0);
        assert_int_equal(mkdir("a", 0700), 0);
        assert_int_equal(mkdir("b", 0700), 0);
        put("a/file", "hello");
        put("b/file", "hello");
        put("file", "hello");
        assert_int_equal(symlink("a", "link"), 0);
        assert_int_equal(file_versions_add(&versions, "file"), 0);
        assert_int_equal(file_versions_add(&versions, NULL), 0);
        assert_int_equal(file_versions_add(&versions, "link/file"), 0);
        assert_int_equal(file_versions_add(&versions, "missing"), 0);
        assert_int_equal(versions.n, 3);
        assert_false(file_versions_changed(&versions));
        cases[i].change();
        assert_int_equal(file_versions_changed(&versions), cases[i].outdated);
        assert_int_equal(chdir("/"), 0);
        snprintf(command, sizeof(command), "rm -r %s", directory);
        assert_int_equal(system(command), 0);
    }
}

static void test_appears(void **state)
{
    char path[] = "/tmp/perfcountd-version.XXXXXX";
    _cleanup_(file_versions_done) struct file_versions versions = {0};
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    assert_int_equal(file_versions_add(&versions, path), 0);
    assert_false(file_versions_changed(&versions));
    put(path, "");
    assert_true(file_versions_changed(&versions));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_appears),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
