/* SPDX-License-Identifier: Apache-2.0 */
/* Units' files as systemd.syntax(7) has them, and the specifiers of systemd.unit(5). */
#include "base/cleanup.h"
#include "collectors/names/unit-file.h"
#include "tests/unit/test.h"

static const struct {
    const char *in, *out; /* NULL: there is none */
} files[] = {
    {"", NULL},
    {"[Unit]\n", NULL},
    {"[Unit]\nDescription=OpenBSD Secure Shell server\nAfter=network.target\n", "OpenBSD Secure Shell server"},
    {"# c\n; c\n[Unit]\n\n  Description = a b \t\r\n[Service]\nDescription=no\n", "a b"},
    {"[Unit]\nDescription=last line", "last line"},
    {"Description=before\n[Unit]\n", NULL},
    {"[Service]\nDescription=no\n[Unit]\nDescription=yes\n", "yes"},
    {"[Unit]\nDescription=one\nDescription=two\n", "two"},
    {"[Unit]\nDescription=one\nDescription=\n", ""},
    {"[Unit]\nDescription\n", NULL},
    {"[Unit]\nDescriptions=no\nXDescription=no\nDocumentation=no\n", NULL},
    {"[Unit]\n#Description=no\n;Description=no\n", NULL},
    /* A comment is not continued, and does not end what is. */
    {"[Unit]\n# c \\\nDescription=yes\n", "yes"},
    {"[Unit]\nDescription=a\\\n# c\n  b\\\n; c\nc\n", "a   b c"},
    {"[Unit]\nDescription=a\\\n", "a"},
    {"[Unit]\nDescription=a\\", "a"},
    {"[Unit]\nAfter=x\\\nDescription=no\n", NULL},
    {"[Unit]\nDescription==\n", "="},
    {"[Unit\nDescription=no\n", NULL},
    {"[Unitx]\nDescription=no\n", NULL},
    {"[Unit]\nDescription=\xff<b>\"\n", "\xff<b>\""},
    {"\n\n\n", NULL},
    {"\\", NULL},
    {"[Unit]\n=\n==\nDescription=x\n", "x"},
};

static const struct {
    const char *text, *unit, *out;
} specifiers[] = {
    {"Getty on %I", "getty@tty1.service", "Getty on tty1"},
    {"File System Check on %f", "systemd-fsck@dev-disk-by\\x2duuid-A\\x2D1.service",
     "File System Check on /dev/disk/by-uuid/A-1"},
    {"%i|%I", "a@b-c\\x20d.service", "b-c\\x20d|b/c d"},
    {"%p|%P|%n|%N", "a-b@c.service", "a-b|a/b|a-b@c.service|a-b@c"},
    {"%p|%n|%N|%i.", "ssh.service", "ssh|ssh.service|ssh|."},
    {"User Slice of UID %j", "user-1000.slice", "User Slice of UID 1000"},
    {"%J", "a-b\\x2dc@x-y.service", "b-c"},
    {"%f", "home-x.mount", "/home/x"},
    {"100 %% %", "a.service", "100 % %"},
    {"%H %u %", "a.service", "%H %u %"},
    {"%%i", "a@b.service", "%i"},
    {"%I", "a@%i.service", "%i"},
    {"%n%n%n", "x@.service", "x@.servicex@.servicex@.service"},
    {"[%i]", "x@.service", "[]"},
    {"%N", "a.b@c.d.service", "a.b@c.d"},
    {"%I", "a@\\x0\\x00\\xzz\\x.service", "\\x0\\x00\\xzz\\x"},
    {"%i", "a.b@", ""},
    {"%n", "", ""},
};

static void test_description(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        _cleanup_(freep) char *found = NULL;
        print_message("%zu %s\n", i, files[i].in);
        assert_int_equal(unit_file_description(files[i].in, &found), files[i].out ? 0 : -ENOENT);
        if (files[i].out)
            assert_string_equal(found, files[i].out);
        else
            assert_null(found);
    }
}

static void test_specifiers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(specifiers); i++) {
        _cleanup_(freep) char *expanded = NULL;
        print_message("%s %s\n", specifiers[i].text, specifiers[i].unit);
        assert_int_equal(unit_file_expand(specifiers[i].text, specifiers[i].unit, &expanded), 0);
        assert_string_equal(expanded, specifiers[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_description), cmocka_unit_test(test_specifiers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
