/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as systemd, docker, Kubernetes' runtimes and podman make them. */
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
    {"/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "", "", ""},
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_from_path)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
