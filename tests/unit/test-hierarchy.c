/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of cgroups in mountinfo, and the layout of this machine. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/hierarchy.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ROOT_MOUNT "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define UNIFIED "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
#define V1_CPU "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
#define V1_SYSTEMD "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
#define V1_PERF "42 31 0:39 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"

static const struct {
    const char *name, *in, *out_path;
    enum hierarchy_kind out_kind;
    bool out_namespaced;
} found[] = {
    {"v2 alone", ROOT_MOUNT V2, "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"hybrid, perf_event in v2", ROOT_MOUNT V1_CPU V1_SYSTEMD UNIFIED, "/sys/fs/cgroup/unified", HIERARCHY_V2, false},
    {"hybrid, perf_event in v1", UNIFIED V1_CPU V1_PERF, "/sys/fs/cgroup/perf_event", HIERARCHY_V1, false},
    {"v1 first, v2 later", V1_PERF V2, "/sys/fs/cgroup/perf_event", HIERARCHY_V1, false},
    {"v1 with other controllers", "1 0 0:1 / /c rw - cgroup cgroup rw,cpu,perf_event,freezer\n", "/c", HIERARCHY_V1,
     false},
    {"a controller of a longer name", "1 0 0:1 / /c rw - cgroup cgroup rw,xperf_event,perf_events\n" V2,
     "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"a named hierarchy is no controller", "1 0 0:1 / /c rw - cgroup cgroup rw,name=perf_event\n" V2, "/sys/fs/cgroup",
     HIERARCHY_V2, false},
    {"a source of that name", "1 0 0:1 / /c rw - cgroup perf_event rw,cpu\n" V2, "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"escapes", "1 0 0:1 / /a\\040b\\134c\\011d\\012e\\0 rw - cgroup2 none rw\n", "/a b\\c\td\ne\\0", HIERARCHY_V2,
     false},
    {"optional fields", "1 0 0:1 / /c rw shared:7 master:3 propagate_from:2 unbindable - cgroup2 none rw\n", "/c",
     HIERARCHY_V2, false},
    {"no source", "1 0 0:1 / /c rw -  cgroup2 rw\n" V2, "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"an empty source", "1 0 0:1 / /c rw - cgroup2  rw\n", "/c", HIERARCHY_V2, false},
    {"the first of two", "1 0 0:1 / /one rw - cgroup2 none rw\n2 0 0:1 / /two rw - cgroup2 none rw\n", "/one",
     HIERARCHY_V2, false},
    {"the whole before a part", "1 0 0:1 /x.slice /one rw - cgroup2 none rw\n2 0 0:1 / /two rw - cgroup2 none rw\n",
     "/two", HIERARCHY_V2, false},
    {"a part of v1 before the whole of v2", V2 "1 0 0:1 /docker/1 /c rw - cgroup cgroup rw,perf_event\n", "/c",
     HIERARCHY_V1, true},
    {"a mount from outside of the namespace", "1 0 0:1 /../../.. /sys/fs/cgroup ro - cgroup2 none rw\n",
     "/sys/fs/cgroup", HIERARCHY_V2, true},
    {"read-only", "1 0 0:1 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup ro\n", "/sys/fs/cgroup", HIERARCHY_V2, false},
    {"no line break at the end", "1 0 0:1 / /c rw - cgroup2 none rw", "/c", HIERARCHY_V2, false},
    {"lines cut short", "1\n\n2 0 0:1\n3 0 0:1 / /x rw\n4 0 0:1 / /x rw -\n5 0 0:1 / /x rw - cgroup2\n" V2,
     "/sys/fs/cgroup", HIERARCHY_V2, false},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
        _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
        struct error error = {0};
        print_message("%s\n", found[i].name);
        assert_int_equal(hierarchy_parse(found[i].in, &hierarchy, &error), 0);
        assert_string_equal(hierarchy.path, found[i].out_path);
        assert_int_equal(hierarchy.kind, found[i].out_kind);
        assert_int_equal(hierarchy.namespaced, found[i].out_namespaced);
        assert_string_equal(error.message, "");
    }
}

static void test_parse_nothing(void **state)
{
    static const struct {
        const char *in, *out_remedy;
    } cases[] = {
        {"", "mount -t cgroup2 cgroup2 /sys/fs/cgroup"},
        {ROOT_MOUNT, "mount -t cgroup2 cgroup2 /sys/fs/cgroup"},
        {ROOT_MOUNT V1_CPU V1_SYSTEMD, "mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct hierarchy hierarchy = {.namespaced = true};
        struct error error = {0};
        assert_int_equal(hierarchy_parse(cases[i].in, &hierarchy, &error), -ENOENT);
        print_message("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i].out_remedy));
        assert_true(hierarchy.namespaced && !hierarchy.path);
    }
}

static void make_namespace(struct fake_sys *fake, const char *target)
{
    char path[64];

    fake_file(fake, "/proc/self/ns/user", "%s", "");
    snprintf(path, sizeof(path), "%s/proc/self/ns/cgroup", fake->root);
    assert_int_equal(symlink(target, path), 0);
}

static void test_find(void **state)
{
    static const struct {
        const char *in_namespace;
        bool out_namespaced;
    } cases[] = {{"cgroup:[4026531835]", false}, {"cgroup:[4026532541]", true}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
        struct fake_sys *fake = fake_sys_new();
        char expected[64];
        fake_file(fake, "/proc/self/mountinfo", "%s", ROOT_MOUNT V2);
        make_namespace(fake, cases[i].in_namespace);
        assert_int_equal(hierarchy_find(&fake->sys, &hierarchy, NULL), 0);
        snprintf(expected, sizeof(expected), "%s/sys/fs/cgroup", fake->root);
        assert_string_equal(hierarchy.path, expected);
        assert_int_equal(hierarchy.namespaced, cases[i].out_namespaced);
        fake_sys_free(fake);
    }
}

static void test_find_without_proc(void **state)
{
    struct hierarchy hierarchy = {0};
    struct fake_sys *fake = fake_sys_new();
    struct error error = {0};

    (void)state;
    assert_int_equal(hierarchy_find(&fake->sys, &hierarchy, &error), -ENOENT);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "/proc/self/mountinfo"));
    assert_non_null(strstr(error.message, "No such file or directory"));
    assert_null(hierarchy.path);
    fake_sys_free(fake);
}

static void test_this_machine(void **state)
{
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};
    struct error error = {0};
    struct stat status;
    struct sys sys;

    (void)state;
    sys_init(&sys);
    if (hierarchy_find(&sys, &hierarchy, &error) < 0)
        skip_because("%s", error.message);
    print_message("%s %s%s\n", hierarchy.kind == HIERARCHY_V1 ? "v1" : "v2", hierarchy.path,
                  hierarchy.namespaced ? ", a part" : "");
    assert_int_equal(stat(hierarchy.path, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),        cmocka_unit_test(test_parse_nothing),
        cmocka_unit_test(test_find),         cmocka_unit_test(test_find_without_proc),
        cmocka_unit_test(test_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
