/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as systemd, docker, Kubernetes' runtimes, podman, LXC, libvirt and ctr make them. */
#include "base/cleanup.h"
#include "collectors/names/path.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define USER "/user.slice/user-1000.slice/user@1000.service"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b_3c.slice"

static const struct {
    const char *in, *out_unit, *out_slice, *out_container;
} cases[] = {
    {"/", "", "", ""},
    {"", "", "", ""},
    {"/init.scope", "init.scope", "", ""},
    {"/system.slice", "", "system.slice", ""},
    {"/system.slice/ssh.service", "ssh.service", "system.slice", ""},
    {"/system.slice/ssh.service/child", "ssh.service", "system.slice", ""},
    {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "system-getty.slice", ""},
    {"/system.slice/ssh.service.d", "", "system.slice", ""},
    {"/system.slice/.service", "", "system.slice", ""},
    {"/system.slice/home.mount", "home.mount", "system.slice", ""},
    {"/system.slice/cups.socket", "cups.socket", "system.slice", ""},
    {"/system.slice/x.timer", "", "system.slice", ""}, /* has no processes */
    {USER, "user@1000.service", "user-1000.slice", ""},
    {USER "/app.slice/app-foo.scope", "app-foo.scope", "app.slice", ""},
    {"/user.slice/user-0.slice/session-3.scope", "session-3.scope", "user-0.slice", ""},
    /* escapes */
    {"/system.slice/dev-disk-by\\x2duuid-1.swap", "dev-disk-by-uuid-1.swap", "system.slice", ""},
    {USER "/app.slice/app-org.gnome.Foo\\x2dBar@1.service", "app-org.gnome.Foo-Bar@1.service", "app.slice", ""},
    {"/a\\x20b.slice/\\xc3\\xA4.service", "\xc3\xa4.service", "a b.slice", ""},
    {"/\\x5cx2d.service", "\\x2d.service", "", ""}, /* once only */
    {"/\\x.service", "\\x.service", "", ""},
    {"/\\x2g\\x00\\y.service", "\\x2g\\x00\\y.service", "", ""},
    {"/a\\x2fb.service", "a/b.service", "", ""},
    {"/system.slice/_cpu.service", "cpu.service", "system.slice", ""},
    {"/system.slice/__x.service", "_x.service", "system.slice", ""},
    {"/\xff\"\n.service", "\xef\xbf\xbd\"\xef\xbf\xbd.service", "", ""},
    /* docker */
    {"/docker/" ID, "", "", ID},
    {"/docker/" ID "/init", "", "", ID},
    {"/system.slice/docker-" ID ".scope", "docker-" ID ".scope", "system.slice", ID},
    {"/system.slice/docker-" ID ".scope/system.slice/nginx.service", "nginx.service", "system.slice", ID},
    {"/docker/" ID "/docker/" OTHER, "", "", OTHER}, /* docker in docker */
    /* containerd */
    {POD "/cri-containerd-" ID ".scope", "cri-containerd-" ID ".scope", "kubepods-burstable-pod1a2b_3c.slice", ID},
    {"/kubepods/besteffort/pod1a2b-3c/" ID, "", "", ID},
    {"/default/nerdctl-" ID ".scope", "nerdctl-" ID ".scope", "", ID},
    /* cri-o */
    {POD "/crio-" ID ".scope", "crio-" ID ".scope", "kubepods-burstable-pod1a2b_3c.slice", ID},
    {POD "/crio-" ID ".scope/container", "crio-" ID ".scope", "kubepods-burstable-pod1a2b_3c.slice", ID},
    {"/kubepods/pod1/crio-" ID, "", "", ID},
    {POD "/crio-conmon-" ID ".scope", "crio-conmon-" ID ".scope", "kubepods-burstable-pod1a2b_3c.slice", ""},
    /* podman */
    {"/machine.slice/libpod-" ID ".scope", "libpod-" ID ".scope", "machine.slice", ID},
    {"/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", "machine.slice", ID},
    {"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "machine.slice", ""},
    {"/system.slice/web.service/libpod-payload-" ID, "web.service", "system.slice", ID},
    {USER "/user.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", "user.slice", ID},
    {"/libpod_parent/libpod-" ID, "", "", ID},
    /* not quite */
    {"/docker/" ID "0", "", "", ""},
    {"/docker/0123456789abcdef", "", "", ""},
    {"/docker/" OTHER "/x" ID, "", "", OTHER},
    {"/docker-" ID ".slice", "", "docker-" ID ".slice", ""},
    {"/docker-" ID ".scope:docker:" ID, "", "", ID},
    {"/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "", "", ""},
};

#define OTHER_POD "/kubepods-burstable-pod1a2b_3c.slice:cri-containerd:" ID

static const struct {
    const char *in, *out_container, *out_runtime, *out_id;
} containers[] = {
    {"/system.slice/docker-" ID ".scope", "", "docker", ID},
    {"/docker/" ID "/init", "", "docker", ID},
    {POD "/cri-containerd-" ID ".scope", "", "containerd", ID},
    {"/system.slice/nerdctl-" ID ".scope", "", "containerd", ID},
    {"/default/" ID, "", "containerd", ID},
    {POD "/crio-" ID ".scope/container", "", "cri-o", ID},
    {"/machine.slice/libpod-" ID ".scope", "", "podman", ID},
    {"/kubepods/besteffort/pod1a2b-3c/" ID, "", "", ID},
    {"/system.slice:docker:" ID, "", "docker", ID},
    {OTHER_POD, "", "containerd", ID},
    {"/x:crio:" ID, "", "cri-o", ID},
    {"/x:other:" ID, "", "", ""},
    {"/:docker:" ID, "", "docker", ID},
    {"/docker:" ID, "", "", ""},
    /* LXC, Incus and LXD */
    {"/lxc.payload.web", "web", "lxc", ""},
    {"/lxc.payload.web-1/system.slice/nginx.service", "web-1", "lxc", ""},
    {"/lxc.payload.project_web", "project_web", "lxc", ""},
    {USER "/user.slice/lxc.payload.mine", "mine", "lxc", ""},
    {"/lxc.monitor.web", "", "", ""},
    {"/lxc.payload.", "", "", ""},
    {"/lxc/101/ns/init.scope", "101", "lxc", ""},
    {"/lxc", "", "", ""},
    {"/lxc.payload.a\"\n<b>", "a\"\xef\xbf\xbd<b>", "lxc", ""},
    {"/lxc.payload.a\\x2db", "a\\x2db", "lxc", ""}, /* systemd did not write it */
    /* nspawn and libvirt */
    {"/machine.slice/machine-debian.scope/payload", "debian", "", ""},
    {"/machine.slice/machine-my\\x2dbox.scope", "my-box", "", ""},
    {"/machine.slice/systemd-nspawn@my-box.service/payload/system.slice/ssh.service", "my-box", "nspawn", ""},
    {"/machine.slice/systemd-nspawn@.service", "", "", ""},
    {"/machine.slice/machine-qemu\\x2d1\\x2ddebian12.scope/libvirt/vcpu0", "debian12", "libvirt", ""},
    {"/machine.slice/machine-lxc\\x2d1234\\x2da\\x2db.scope", "a-b", "libvirt", ""},
    {"/machine.slice/machine-qemu\\x2ddebian.scope", "qemu-debian", "", ""},
    {"/machine.slice/machine-qemu\\x2d1\\x2d.scope", "qemu-1-", "", ""},
    {"/machine/qemu-2-vm.libvirt-qemu/emulator", "vm", "libvirt", ""},
    {"/machine/vm.libvirt-qemu", "vm", "libvirt", ""},
    {"/machine/c1.libvirt-lxc", "c1", "libvirt", ""},
    /* containerd's ctr */
    {"/default/redis", "redis", "containerd", ""},
    {"/default/redis/child", "redis", "containerd", ""},
    {"/default", "", "", ""},
    {"/x/default/redis", "", "", ""},
    /* the innermost */
    {"/lxc.payload.a/docker/" ID, "", "docker", ID},
    {"/docker/" ID "/lxc.payload.a", "a", "lxc", ""},
    {"/lxc.payload.a/lxc.payload.b/c", "b", "lxc", ""},
};

static const struct {
    const char *in, *out_unit; /* NULL: none */
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
    int64_t out; /* -1: none */
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
    {"/user.slice/user-4294967295.slice", -1}, /* no user: chown(2) */
    {"/user.slice/user-18446744073709552616.slice", -1},
    {"/docker/" ID USER, -1},
    {"/system.slice/user-1000.slice", -1},
};

static void assert_name(const struct names *names, enum name_kind kind, const char *expected)
{
    assert_string_equal(names->texts[kind] ? names->texts[kind] : "", expected);
}

static void test_from_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(names_done) struct names names = {0};
        print_message("%s\n", cases[i].in);
        assert_int_equal(names_from_path(&names, cases[i].in), 0);
        assert_name(&names, NAME_UNIT, cases[i].out_unit);
        assert_name(&names, NAME_SLICE, cases[i].out_slice);
        assert_name(&names, NAME_CONTAINER_ID, cases[i].out_container);
    }
}

static void test_containers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
        _cleanup_(names_done) struct names names = {0};
        print_message("%s\n", containers[i].in);
        assert_int_equal(names_from_path(&names, containers[i].in), 0);
        assert_name(&names, NAME_CONTAINER, containers[i].out_container);
        assert_name(&names, NAME_RUNTIME, containers[i].out_runtime);
        assert_name(&names, NAME_CONTAINER_ID, containers[i].out_id);
        assert_string_equal(names.source ? names.source : "", *containers[i].out_container ? "path" : "");
    }
}

static void test_units(void **state)
{
    (void)state;
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

static void test_nested(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(nested); i++)
        assert_true(path_is_nested(nested[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(path_is_nested(others[i]));
}

static void test_users(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
        uint32_t user = 0;
        print_message("%s\n", users[i].in);
        assert_int_equal(path_find_user(users[i].in, &user), users[i].out >= 0);
        assert_int_equal(user, users[i].out >= 0 ? users[i].out : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_path), cmocka_unit_test(test_containers), cmocka_unit_test(test_units),
        cmocka_unit_test(test_nested),    cmocka_unit_test(test_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
