/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names and labels derived from a cgroup's path, for paths created by systemd, docker, Kubernetes, podman, LXC,
 * libvirt and ctr.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "cgroups/path.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define USER "/user.slice/user-1000.slice/user@1000.service"
#define POD_SLICE "kubepods-burstable-pod1a2b_3c.slice"
#define POD "/kubepods.slice/kubepods-burstable.slice/" POD_SLICE
#define DOCKER "/system.slice/docker-" ID ".scope"
#define NSPAWN "/machine.slice/systemd-nspawn@"
#define QEMU "/machine.slice/machine-qemu\\x2d1"

/* The names in a path: a unit and its slice, and a container's name, runtime and id. */
static const struct {
    const char *in, *out_unit, *out_slice, *out_container, *out_runtime, *out_id;
} cases[] = {
    {"/", "", "", "", "", ""},
    {"", "", "", "", "", ""},
    {"/init.scope", "init.scope", "", "", "", ""},
    {"/system.slice", "", "system.slice", "", "", ""},
    {"/system.slice/ssh.service/child", "ssh.service", "system.slice", "", "", ""},
    {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "system-getty.slice", "", "", ""},
    {"/system.slice/ssh.service.d", "", "system.slice", "", "", ""},
    {"/system.slice/.service", "", "system.slice", "", "", ""},
    {"/system.slice/home.mount", "home.mount", "system.slice", "", "", ""},
    {"/system.slice/cups.socket", "cups.socket", "system.slice", "", "", ""},
    {"/system.slice/x.timer", "", "system.slice", "", "", ""}, /* units of this kind have no processes */
    {USER, "user@1000.service", "user-1000.slice", "", "", ""},
    {USER "/app.slice/app-foo.scope", "app-foo.scope", "app.slice", "", "", ""},
    {"/user.slice/user-0.slice/session-3.scope", "session-3.scope", "user-0.slice", "", "", ""},
    /* escape sequences */
    {"/system.slice/dev-disk-by\\x2duuid-1.swap", "dev-disk-by-uuid-1.swap", "system.slice", "", "", ""},
    {"/a\\x20b.slice/\\xc3\\xA4.service", "\xc3\xa4.service", "a b.slice", "", "", ""},
    {"/\\x5cx2d.service", "\\x2d.service", "", "", "", ""}, /* the result is not decoded again */
    {"/\\x.service", "\\x.service", "", "", "", ""},
    {"/\\x2g\\x00\\y.service", "\\x2g\\x00\\y.service", "", "", "", ""},
    {"/a\\x2fb.service", "a/b.service", "", "", "", ""},
    {"/system.slice/_cpu.service", "cpu.service", "system.slice", "", "", ""},
    {"/system.slice/__x.service", "_x.service", "system.slice", "", "", ""},
    {"/\xff\"\n.service", "\xef\xbf\xbd\"\xef\xbf\xbd.service", "", "", "", ""},
    /* docker */
    {"/docker/" ID "/init", "", "", "", "docker", ID},
    {DOCKER, "docker-" ID ".scope", "system.slice", "", "docker", ID},
    {DOCKER "/system.slice/nginx.service", "nginx.service", "system.slice", "", "docker", ID},
    {"/docker/" ID "/docker/" OTHER, "", "", "", "docker", OTHER}, /* docker in docker */
    {"/system.slice:docker:" ID, "", "", "", "docker", ID},
    {"/:docker:" ID, "", "", "", "docker", ID},
    /* containerd */
    {POD "/cri-containerd-" ID ".scope", "cri-containerd-" ID ".scope", POD_SLICE, "", "containerd", ID},
    {"/" POD_SLICE ":cri-containerd:" ID, "", "", "", "containerd", ID},
    {"/kubepods/besteffort/pod1a2b-3c/" ID, "", "", "", "", ID},
    {"/default/nerdctl-" ID ".scope", "nerdctl-" ID ".scope", "", "", "containerd", ID},
    {"/default/" ID, "", "", "", "containerd", ID},
    {"/default/redis/child", "", "", "redis", "containerd", ""},
    {"/default", "", "", "", "", ""},
    {"/x/default/redis", "", "", "", "", ""},
    /* CRI-O */
    {POD "/crio-" ID ".scope/container", "crio-" ID ".scope", POD_SLICE, "", "cri-o", ID},
    {"/kubepods/pod1/crio-" ID, "", "", "", "cri-o", ID},
    {"/x:crio:" ID, "", "", "", "cri-o", ID},
    {POD "/crio-conmon-" ID ".scope", "crio-conmon-" ID ".scope", POD_SLICE, "", "", ""},
    /* podman */
    {"/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", "machine.slice", "", "podman", ID},
    {"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "machine.slice", "", "", ""},
    {"/system.slice/web.service/libpod-payload-" ID, "web.service", "system.slice", "", "podman", ID},
    {"/libpod_parent/libpod-" ID, "", "", "", "podman", ID},
    /* LXC, Incus and LXD */
    {"/lxc.payload.web-1/system.slice/nginx.service", "nginx.service", "system.slice", "web-1", "lxc", ""},
    {"/lxc.payload.project_web", "", "", "project_web", "lxc", ""},
    {USER "/user.slice/lxc.payload.mine", "user@1000.service", "user.slice", "mine", "lxc", ""},
    {"/lxc.monitor.web", "", "", "", "", ""},
    {"/lxc.payload.", "", "", "", "", ""},
    {"/lxc/101/ns/init.scope", "init.scope", "", "101", "lxc", ""},
    {"/lxc", "", "", "", "", ""},
    {"/lxc.payload.a\"\n<b>", "", "", "a\"\xef\xbf\xbd<b>", "lxc", ""},
    {"/lxc.payload.a\\x2db", "", "", "a\\x2db", "lxc", ""}, /* LXC does not escape names as systemd does */
    /* nspawn and libvirt */
    {"/machine.slice/machine-my\\x2dbox.scope", "machine-my-box.scope", "machine.slice", "my-box", "", ""},
    {NSPAWN "my-box.service/payload", "systemd-nspawn@my-box.service", "machine.slice", "my-box", "nspawn", ""},
    {NSPAWN ".service", "systemd-nspawn@.service", "machine.slice", "", "", ""},
    {QEMU "\\x2ddebian12.scope/vcpu0", "machine-qemu-1-debian12.scope", "machine.slice", "debian12", "libvirt", ""},
    {QEMU "\\x2d.scope", "machine-qemu-1-.scope", "machine.slice", "qemu-1-", "", ""},
    {"/machine.slice/machine-lxc\\x2d12\\x2da\\x2db.scope", "machine-lxc-12-a-b.scope", "machine.slice", "a-b",
     "libvirt", ""},
    {"/machine.slice/machine-qemu\\x2ddebian.scope", "machine-qemu-debian.scope", "machine.slice", "qemu-debian", "",
     ""},
    {"/machine/qemu-2-vm.libvirt-qemu/emulator", "", "", "vm", "libvirt", ""},
    {"/machine/c1.libvirt-lxc", "", "", "c1", "libvirt", ""},
    /* nested containers: the innermost one is named */
    {"/lxc.payload.a/docker/" ID, "", "", "", "docker", ID},
    {"/docker/" ID "/lxc.payload.a", "", "", "a", "lxc", ""},
    {"/lxc.payload.a/lxc.payload.b/c", "", "", "b", "lxc", ""},
    /* paths that look similar but name no container */
    {"/docker/" ID "0", "", "", "", "", ""},
    {"/docker/0123456789abcdef", "", "", "", "", ""},
    {"/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "", "", "", "", ""},
    {"/docker/" OTHER "/x" ID, "", "", "", "docker", OTHER},
    {"/docker-" ID ".slice", "", "docker-" ID ".slice", "", "", ""},
    {"/x:other:" ID, "", "", "", "", ""},
    {"/docker:" ID, "", "", "", "", ""},
};

static const struct {
    const char *in, *out_unit; /* NULL: the path has no unit */
    bool of_user, is_last;
} units[] = {
    {"/", NULL, false, false},
    {"/docker/" ID "/system.slice/nginx.service", NULL, false, false},
    {"/lxc.payload.web/system.slice/nginx.service", NULL, false, false},
    {"/system.slice", "system.slice", false, true},
    {"/system.slice/ssh.service", "ssh.service", false, true},
    {"/system.slice/ssh.service/child", "ssh.service", false, false},
    {"/system.slice/docker-" ID ".scope/system.slice/nginx.service", "docker-" ID ".scope", false, false},
    {"/system.slice/a.service/b.service", "a.service", false, false},
    {"/machine.slice/machine-a\\x2db.scope/payload/init.scope", "machine-a\\x2db.scope", false, false},
    {"/system.slice/_cpu.service", "cpu.service", false, true},
    {"/user.slice/user-1000.slice", "user-1000.slice", false, true},
    {USER, "user@1000.service", false, true},
    {USER "/child", "user@1000.service", false, false},
    {USER "/init.scope", "init.scope", true, true},
    {USER "/app.slice", "app.slice", true, true},
    {USER "/app.slice/app-foo.slice/foo.service", "foo.service", true, true},
    {USER "/app.slice/foo.service/x/y.service", "foo.service", true, false},
    {USER "/user@1001.service/x.service", "user@1001.service", true, false},
    {"/system.slice/user@x.service/x.service", "user@x.service", false, false},
};

static const struct {
    const char *in;
    int64_t out; /* -1: the path names no user */
} users[] = {
    {"/", -1},
    {"/user.slice", -1},
    {"/user.slice/user-1000.slice", 1000},
    {USER "/app.slice", 1000},
    {"/user.slice/user-0.slice/session-1.scope", 0},
    {"/user.slice/user-.slice", -1},
    {"/user.slice/user-1000.slicex", -1},
    {"/user.slice/user-1x.slice", -1},
    {"/user.slice/user--1.slice", -1},
    {"/user.slice/user-4294967294.slice", 4294967294},
    {"/user.slice/user-4294967295.slice", -1}, /* not a valid uid: chown(2) ignores it */
    {"/user.slice/user-18446744073709552616.slice", -1},
    {"/docker/" ID USER, -1},
    {"/system.slice/user-1000.slice", -1},
};

static void assert_name(const struct names *names, enum name_kind kind, const char *expected)
{
    assert_string_equal(names->texts[kind] ? names->texts[kind] : "", expected);
}

TEST(test_from_path)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(names_done) struct names names = {0};
        print_message("%s\n", cases[i].in);
        assert_int_equal(names_from_path(&names, cases[i].in), 0);
        assert_name(&names, NAME_UNIT, cases[i].out_unit);
        assert_name(&names, NAME_SLICE, cases[i].out_slice);
        assert_name(&names, NAME_CONTAINER, cases[i].out_container);
        assert_name(&names, NAME_RUNTIME, cases[i].out_runtime);
        assert_name(&names, NAME_CONTAINER_ID, cases[i].out_id);
        assert_string_equal(names.source ? names.source : "", *cases[i].out_container ? "path" : "");
    }
}

TEST(test_units)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        struct path_unit unit;
        print_message("%s\n", units[i].in);
        assert_int_equal(path_find_unit(units[i].in, &unit), units[i].out_unit != NULL);
        if (!units[i].out_unit)
            continue;
        assert_string_equal(unit.name, units[i].out_unit);
        assert_int_equal(unit.of_user, units[i].of_user);
        assert_int_equal(unit.is_last, units[i].is_last);
        if (unit.of_user)
            assert_int_equal(unit.user, 1000);
    }
}

TEST(test_nested)
{
    static const char *const nested[] = {
        "/docker/" ID "/docker/" OTHER,
        "/system.slice/docker-" ID ".scope/docker-" OTHER ".scope/init",
        "/lxc.payload.a/docker/" ID,
        "/docker/" ID "/lxc.payload.a",
        "/machine.slice/machine-a.scope/payload/machine.slice/libpod-" ID ".scope",
    };
    static const char *const others[] = {
        "/",
        "/docker/" ID,
        POD "/crio-" ID ".scope/container",
        "/docker/" ID "/docker-" ID ".scope",
        "/lxc.payload.a/b",
        "/system.slice/docker-" ID ".scope/system.slice/nginx.service",
    };

    for (size_t i = 0; i < ARRAY_SIZE(nested); i++)
        assert_true(path_is_nested(nested[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(path_is_nested(others[i]));
}

TEST(test_users)
{
    for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
        uint32_t user = 0;
        print_message("%s\n", users[i].in);
        assert_int_equal(path_find_user(users[i].in, &user), users[i].out >= 0);
        assert_int_equal(user, users[i].out >= 0 ? users[i].out : 0);
    }
}

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *in, *out_plain, *out_distinct;
    bool out_ambiguous;
} label_cases[] = {
    {"/", "/", "/", false},
    {"/system.slice/a b\"\\.service", "/system.slice/a b\"\\.service", "/system.slice/a b\"\\.service", false},
    {"/\033[31m\n\x7f", "/" FFFD "[31m" FFFD FFFD, "/" FFFD "[31m" FFFD FFFD "#1b0a7f", true},
    {"/\xc2\x9b", "/" FFFD FFFD, "/" FFFD FFFD "#c29b", true},
    {"/\xc2\xa0", "/\xc2\xa0", "/\xc2\xa0", false},
    {"/caf\xc3\xa9#e9", "/caf\xc3\xa9#e9", "/caf\xc3\xa9#e9", false},
    {"/caf\xe9", "/caf" FFFD, "/caf" FFFD "#e9", true},
    {"/\xff/\xfe", "/" FFFD "/" FFFD, "/" FFFD "/" FFFD "#fffe", true},
    {"/\xc3(", "/" FFFD "(", "/" FFFD "(#c3", true},
    {"/" FFFD, "/" FFFD, "/" FFFD "#--", true},
    {"/" FFFD "#ff", "/" FFFD "#ff", "/" FFFD "#ff#--", true},
    /*
     * In a label, U+FFFD looks like a replaced byte, so the tail after "#", which lists the replaced bytes, must tell
     * them apart.
     */
    {FFFD "a\xef"
          "a\xbf"
          "a\xbd",
     FFFD "a" FFFD "a" FFFD "a" FFFD, FFFD "a" FFFD "a" FFFD "a" FFFD "#--efbfbd", true},
    {"\xef"
     "a\xbf"
     "a\xbd"
     "a" FFFD,
     FFFD "a" FFFD "a" FFFD "a" FFFD, FFFD "a" FFFD "a" FFFD "a" FFFD "#efbfbd--", true},
};

TEST(test_labels)
{
    for (size_t i = 0; i < ARRAY_SIZE(label_cases); i++) {
        _cleanup_(freep) char *plain = NULL, *distinct = NULL;
        assert_int_equal(cgroup_label(label_cases[i].in, CGROUP_LABEL_PLAIN, &plain), 0);
        assert_int_equal(cgroup_label(label_cases[i].in, CGROUP_LABEL_DISTINCT, &distinct), 0);
        assert_string_equal(plain, label_cases[i].out_plain);
        assert_string_equal(distinct, label_cases[i].out_distinct);
        assert_int_equal(cgroup_label_is_ambiguous(plain), label_cases[i].out_ambiguous);
    }
}

/*
 * Tests all paths that consist of up to four of these pieces: characters of the tail, U+FFFD, invalid UTF-8, and
 * control characters as a whole and as separate bytes.
 */
static const char *const pieces[] = {"",  "\xff", "\xef", "\xbf", "\xbd",     FFFD,  "#",
                                     "-", "f",    "\033", "\xc2", "\xc2\x9b", "\x9b"};

#define N_PATHS (13 * 13 * 13 * 13)

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t unique(char **texts, size_t n)
{
    size_t distinct = 0;

    qsort(texts, n, sizeof(*texts), compare);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || !str_equal(texts[i - 1], texts[i]);
    return distinct;
}

TEST(test_no_two_paths_are_one)
{
    char **paths = calloc(N_PATHS, sizeof(*paths)), **labels = calloc(N_PATHS, sizeof(*labels));

    for (size_t i = 0; i < N_PATHS; i++) {
        char path[16] = "";
        for (size_t k = 0, rest = i; k < 4; k++, rest /= ARRAY_SIZE(pieces))
            strcat(path, pieces[rest % ARRAY_SIZE(pieces)]);
        paths[i] = strdup(path);
        assert_int_equal(cgroup_label(path, CGROUP_LABEL_DISTINCT, &labels[i]), 0);
        assert_int_equal(utf8_printable_prefix(labels[i], strlen(labels[i])), strlen(labels[i]));
    }
    assert_int_equal(unique(labels, N_PATHS), unique(paths, N_PATHS));
    for (size_t i = 0; i < N_PATHS; i++) {
        free(paths[i]);
        free(labels[i]);
    }
    free(paths);
    free(labels);
}

TEST_MAIN(NULL, NULL)
