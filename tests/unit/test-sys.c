/* SPDX-License-Identifier: Apache-2.0 */
/* The seam on the real machine: files and directories below a root, and errors of system calls as -errno. */
#include <sys/stat.h>

#include "base/cleanup.h"
#include "perf/sys.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static void test_read_file(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""}, {"\n", ""}, {"0-3\n", "0-3"}, {"a\nb\n\n", "a\nb"}, {" kept ", " kept "},
    };
    struct fake_sys *fake = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *text = NULL;
        fake_file(fake, "/sys/x/y", "%s", cases[i].in);
        assert_int_equal(sys_read_file(&fake->sys, "/sys/x/y", &text), 0);
        assert_string_equal(text, cases[i].out);
    }
}

static void test_read_file_errors(void **state)
{
    struct fake_sys *fake = *state;
    char *untouched = (char *)"untouched", large[70 * 1024];

    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    fake_file(fake, "/sys/large", "%s", large);
    assert_int_equal(sys_read_file(&fake->sys, "/sys/none", &untouched), -ENOENT);
    assert_int_equal(sys_read_file(&fake->sys, "/sys", &untouched), -EISDIR);
    assert_int_equal(sys_read_file(&fake->sys, "/sys/large", &untouched), -EFBIG);
    assert_int_equal(sys_read_file(&fake->sys, large, &untouched), -ENAMETOOLONG);
    assert_int_equal(sys_read_filef(&fake->sys, &untouched, "/%s", large), -ENAMETOOLONG);
    assert_string_equal(untouched, "untouched");
}

static void test_list_directory(void **state)
{
    struct fake_sys *fake = *state;
    static const char *const expected[] = {"a", "b", "c"};
    char **names = NULL;
    size_t n = 0;

    fake_file(fake, "/sys/d/c", "x");
    fake_file(fake, "/sys/d/a/x", "x");
    fake_file(fake, "/sys/d/.hidden", "x");
    fake_file(fake, "/sys/d/b", "x");
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/none", &names, &n), -ENOENT);
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/d/b", &names, &n), -ENOTDIR);
    assert_null(names);
    assert_int_equal(sys_list_directory(&fake->sys, "/sys/d", &names, &n), 0);
    assert_int_equal(n, ARRAY_SIZE(expected));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], expected[i]);
    strings_free(names, n);
    strings_free(NULL, 0);
}

static void test_real_machine(void **state)
{
    struct sys sys;
    struct perf_event_attr attr = {.type = UINT32_MAX, .size = 1};
    char byte;

    (void)state;
    sys_init(&sys);
    assert_string_equal(sys.root, "");
    uint64_t before = sys.now(&sys, CLOCK_MONOTONIC);
    assert_true(before > 0);
    assert_true(sys.now(&sys, CLOCK_MONOTONIC) >= before);
    assert_int_equal(sys.read(&sys, -1, &byte, 1), -EBADF);
    if (runs_emulated())
        leave_out("qemu has no ioctl(2) of perf events");
    else
        assert_int_equal(sys.ioctl(&sys, -1, PERF_EVENT_IOC_ENABLE, 0), -EBADF);
    assert_int_equal(sys.close(&sys, -1), -EBADF);
    /* E2BIG for the size, unless a sandbox refuses the call as a whole. */
    assert_true(sys.perf_event_open(&sys, &attr, 0, -1, -1, 0) < 0);
    assert_true(sys.mount_tracefs(&sys, "/does/not/exist") < 0);
}

static int setup(void **state)
{
    *state = fake_sys_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    fake_sys_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_file_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_list_directory, setup, teardown),
        cmocka_unit_test(test_real_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
