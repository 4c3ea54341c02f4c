/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as systemd-machined(8) writes them down, and descriptions of units, as systemd.unit(5) finds them. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/names/path.h"
#include "collectors/names/source.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MACHINES "/run/systemd/machines/"
#define HOME "/home/me"

/* As machine_save() of systemd 252 writes it. */
#define MACHINE(name, scope, service)                                                                                  \
    "# This is private data. Do not parse.\nNAME=" name "\nSCOPE=" scope "\nSERVICE=" service                          \
    "\nROOT=/var/lib/machines/" name "\nLEADER=4711\nCLASS=container\nREALTIME=1700000000000000\nMONOTONIC=1\n"

struct play {
    struct fake_sys *fake;
    void *state;
};

static void play_open(struct play *play)
{
    int fd;

    assert_int_equal(name_source_systemd.open(&play->fake->sys, &play->state, &fd), 0);
    assert_true(fd >= 0);
}

static bool play_dispatch(struct play *play)
{
    return name_source_systemd.dispatch(play->state);
}

static struct names play_find(struct play *play, const char *path)
{
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_systemd.find(play->state, path, &names), 0);
    return names;
}

static void assert_machine(struct play *play, const char *path, const char *container, const char *runtime,
                           const char *source)
{
    _cleanup_(names_done) struct names names = play_find(play, path);

    print_message("%s\n", path);
    assert_string_equal(names.texts[NAME_CONTAINER] ? names.texts[NAME_CONTAINER] : "", container);
    assert_string_equal(names.texts[NAME_RUNTIME] ? names.texts[NAME_RUNTIME] : "", runtime);
    assert_string_equal(names.source ? names.source : "", source);
}

static void assert_described(struct play *play, const char *path, const char *description)
{
    _cleanup_(names_done) struct names names = play_find(play, path);

    print_message("%s\n", path);
    assert_string_equal(names.texts[NAME_DESCRIPTION] ? names.texts[NAME_DESCRIPTION] : "", description);
}

static void play_remove(const struct play *play, const char *path)
{
    char at[PATH_MAX];

    snprintf(at, sizeof(at), "%s%s", play->fake->root, path);
    assert_int_equal(remove(at), 0);
}

static void play_rename(const struct play *play, const char *from, const char *to)
{
    char at[PATH_MAX], other[PATH_MAX];

    snprintf(at, sizeof(at), "%s%s", play->fake->root, from);
    snprintf(other, sizeof(other), "%s%s", play->fake->root, to);
    assert_int_equal(rename(at, other), 0);
}

static int setup(void **state)
{
    struct play *play = calloc(1, sizeof(*play));

    umask(022);
    setenv("HOME", HOME, 1);
    play->fake = fake_sys_new();
    *state = play;
    return 0;
}

static int teardown(void **state)
{
    struct play *play = *state;

    if (play->state)
        name_source_systemd.close(play->state);
    fake_sys_free(play->fake);
    free(play);
    return 0;
}

/* --- machines --- */

static void test_machines(void **state)
{
    struct play *play = *state;

    fake_file(play->fake, MACHINES "debian", "%s", MACHINE("debian", "machine-debian.scope", "systemd-nspawn"));
    play_open(play);
    assert_machine(play, "/machine.slice/machine-debian.scope/payload/init.scope", "debian", "nspawn", "systemd");
    assert_machine(play, "/machine.slice/machine-other.scope", "other", "", "path");
    /* One that comes, as it is written: under a name with a dot first. */
    fake_file(play->fake, MACHINES ".#my-box123", "%s",
              MACHINE("my-box", "machine-my\\\\x2dbox.scope", "systemd-vmspawn"));
    assert_false(play_dispatch(play));
    play_rename(play, MACHINES ".#my-box123", MACHINES "my-box");
    assert_true(play_dispatch(play));
    assert_machine(play, "/machine.slice/machine-my\\x2dbox.scope", "my-box", "vmspawn", "systemd");
    /* In a service of its own, whose name says nothing; nspawn --keep-unit. */
    fake_file(play->fake, MACHINES "build", "%s", MACHINE("build", "builder.service", ""));
    fake_file(play->fake, MACHINES "unit:builder.service", "%s", MACHINE("evil", "builder.service", ""));
    assert_true(play_dispatch(play));
    assert_machine(play, "/system.slice/builder.service/payload", "build", "", "systemd");
    assert_machine(play, "/user.slice/user-1000.slice/user@1000.service/app.slice/builder.service", "", "", "");
    /* A container in it has its own name. */
    assert_machine(play, "/system.slice/builder.service/payload/lxc.payload.inner", "inner", "lxc", "path");
    assert_machine(play, "/system.slice/builder.service/payload/docker/" ID, "", "docker", "");
    play_remove(play, MACHINES "build");
    assert_true(play_dispatch(play));
    assert_machine(play, "/system.slice/builder.service/payload", "", "", "");
}

static void test_libvirt(void **state)
{
    struct play *play = *state;

    fake_file(play->fake, MACHINES "qemu-1-debian", "%s",
              MACHINE("qemu-1-debian", "machine-qemu\\\\x2d1\\\\x2ddebian.scope", "libvirt-qemu"));
    fake_file(play->fake, MACHINES "lxc-77-box", "%s",
              MACHINE("lxc-77-box", "machine-lxc\\\\x2d77\\\\x2dbox.scope", "libvirt-lxc"));
    play_open(play);
    assert_machine(play, "/machine.slice/machine-qemu\\x2d1\\x2ddebian.scope/libvirt/vcpu0", "debian", "libvirt",
                   "systemd");
    assert_machine(play, "/machine.slice/machine-lxc\\x2d77\\x2dbox.scope", "box", "libvirt", "systemd");
}

/* Files that machined did not write. */
static void test_bad_machines(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "SCOPE",
                                        "SCOPE=",
                                        "SCOPE=\\",
                                        "XSCOPE=a.scope",
                                        "SERVICE=a.scope",
                                        "SCOPE=\\\nSERVICE=x",
                                        "a\\b=c\\",
                                        "SCOPE=a.service\\"};
    struct play *play = *state;

    play_open(play);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        fake_file(play->fake, MACHINES "a", "%s", texts[i]);
        fake_file(play->fake, MACHINES ".b", "%s", texts[i]);
        play_rename(play, MACHINES ".b", MACHINES "b");
        play_dispatch(play);
        assert_machine(play, "/system.slice/a.scope", "", "", "");
    }
    fake_file(play->fake, MACHINES "directory/x", "x");
    fake_file(play->fake, MACHINES ".<img>", "%s", MACHINE("x", "x.service", "<b>\n\"\xff"));
    play_rename(play, MACHINES ".<img>", MACHINES "<img>");
    assert_true(play_dispatch(play));
    assert_machine(play, "/system.slice/x.service", "<img>", "<b>", "systemd");
}

/* --- descriptions --- */

static const struct {
    const char *path, *text;
} files[] = {
    {"/usr/lib/systemd/system/ssh.service", "OpenBSD Secure Shell server"},
    {"/usr/lib/systemd/system/getty@.service", "Getty on %I"},
    {"/usr/lib/systemd/system/user-.slice.d/10-defaults.conf", "User Slice of UID %j"},
    {"/usr/lib/systemd/system/user@.service", "User Manager for UID %i"},
    {"/usr/lib/systemd/system/a.service", "library's"},
    {"/etc/systemd/system/a.service", "mine"},
    {"/run/systemd/transient/a.service", "transient"},
    {"/usr/lib/systemd/system/b@.service", "template"},
    {"/usr/lib/systemd/system/b@x.service", "instance"},
    {"/usr/lib/systemd/system/c.service", "file"},
    {"/usr/lib/systemd/system/c.service.d/50-a.conf", "drop-in 50"},
    {"/etc/systemd/system/c.service.d/20-b.conf", "drop-in 20"},
    {"/usr/lib/systemd/system/d.service", "file"},
    {"/usr/lib/systemd/system/d.service.d/50-a.conf", "library's drop-in"},
    {"/etc/systemd/system/d.service.d/50-a.conf", "my drop-in"},
    {"/usr/lib/systemd/system/d.service.d/60-a.conf.bak", "no drop-in"},
    {"/usr/lib/systemd/system/e.service", "file"},
    {"/etc/systemd/system/e.service.d/50-a.conf", ""},
    {"/usr/lib/systemd/system/f-g-h@.service", "file"},
    {"/run/systemd/system/f-.service.d/a.conf", "of all that begin with f-: %j"},
    {"/usr/lib/systemd/system/i@.service.d/a.conf", "drop-in of the template: %i"},
    {"/run/systemd/transient/session-3.scope", "Session 3 of User me"},
    {"/run/systemd/transient/docker-" ID ".scope", "libcontainer container " ID},
    {"/usr/lib/systemd/system/quad.service", "A quadlet"},
    {"/usr/lib/systemd/user/pipewire.service", "PipeWire Multimedia Service"},
    {"/usr/lib/systemd/user/app.slice", "User Application Slice"},
    {"/usr/lib/systemd/system/only.service", "of the system"},
    {"/run/systemd/generator/j\\x2dk.mount", "escaped %N"},
    {"/usr/lib/systemd/system/l.service", "<img src=x onerror=alert(1)>\"\xff\xe2\x80\xa8"},
};

#define U "/user.slice/user-1000.slice/user@1000.service"

static const struct {
    const char *path, *out;
} described[] = {
    {"/system.slice/ssh.service", "OpenBSD Secure Shell server"},
    {"/system.slice/ssh.service/child", "OpenBSD Secure Shell server"},
    {"/system.slice/none.service", ""},
    {"/system.slice", ""},
    {"/init.scope", ""},
    {"/", ""},
    {"/system.slice/system-getty.slice/getty@tty1.service", "Getty on tty1"},
    {"/system.slice/system-getty.slice/getty@a-b.service", "Getty on a/b"},
    {"/user.slice/user-1000.slice", "User Slice of UID 1000"},
    {U, "User Manager for UID 1000"},
    {"/system.slice/a.service", "transient"},
    {"/system.slice/b@x.service", "instance"},
    {"/system.slice/b@y.service", "template"},
    {"/system.slice/c.service", "drop-in 50"},
    {"/system.slice/d.service", "my drop-in"},
    {"/system.slice/e.service", ""},
    {"/system.slice/f-g-h@1.service", "of all that begin with f-: h"},
    {"/system.slice/i@1.service", "drop-in of the template: 1"},
    {"/user.slice/user-1000.slice/session-3.scope", "Session 3 of User me"},
    {"/system.slice/docker-" ID ".scope", ""},
    {"/system.slice/quad.service/libpod-payload-" ID, "A quadlet"},
    {U "/session.slice/pipewire.service", "PipeWire Multimedia Service"},
    {U "/app.slice", "User Application Slice"},
    {U "/app.slice/only.service", ""},
    {"/system.slice/pipewire.service", ""},
    {"/system.slice/j\\x2dk.mount", "escaped j\\x2dk"},
    {"/system.slice/l.service", "<img src=x onerror=alert(1)>\"\xef\xbf\xbd\xef\xbf\xbd"},
    /* The same names in a container are of its own manager. */
    {"/docker/" ID "/system.slice/ssh.service", ""},
    {"/lxc.payload.x/system.slice/ssh.service", ""},
    {"/system.slice/docker-" ID ".scope/system.slice/ssh.service", ""},
};

static void test_descriptions(void **state)
{
    struct play *play = *state;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        fake_file(play->fake, files[i].path, "[Unit]\nDescription=%s\n", files[i].text);
    play_open(play);
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < ARRAY_SIZE(described); i++)
            assert_described(play, described[i].path, described[i].out);
}

/* A user's own files are read where they are this process's user's. */
static void test_of_user(void **state)
{
    struct play *play = *state;
    char path[256], own[128];

    fake_file(play->fake, HOME "/.config/systemd/user/mine.service", "[Unit]\nDescription=my %%n\n");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/run/user/%u/systemd/transient/run.service", geteuid() + i);
        fake_file(play->fake, path, "[Unit]\nDescription=run by %u\n", geteuid() + i);
    }
    play_open(play);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(own, sizeof(own), "/user.slice/user-%u.slice/user@%u.service/app.slice/", geteuid() + i,
                 geteuid() + i);
        snprintf(path, sizeof(path), "%srun.service", own);
        char expected[32];
        snprintf(expected, sizeof(expected), "run by %u", geteuid());
        assert_described(play, path, i == 0 ? expected : "");
        snprintf(path, sizeof(path), "%smine.service", own);
        assert_described(play, path, i == 0 ? "my mine.service" : "");
    }
}

/* Files are read once, until the unit is gone. */
static void test_kept(void **state)
{
    struct play *play = *state;

    fake_file(play->fake, "/etc/systemd/system/a.service", "[Unit]\nDescription=one\n");
    play_open(play);
    assert_described(play, "/system.slice/a.service", "one");
    assert_described(play, "/system.slice/b.service", "");
    fake_file(play->fake, "/etc/systemd/system/a.service", "[Unit]\nDescription=two\n");
    fake_file(play->fake, "/etc/systemd/system/b.service", "[Unit]\nDescription=b\n");
    name_source_systemd.forget(play->state, "/system.slice/a.service/child");
    name_source_systemd.forget(play->state, "/docker");
    assert_described(play, "/system.slice/a.service", "one");
    assert_described(play, "/system.slice/b.service", "");
    name_source_systemd.forget(play->state, "/system.slice/a.service");
    name_source_systemd.forget(play->state, "/system.slice/b.service");
    name_source_systemd.forget(play->state, "/system.slice/b.service");
    assert_described(play, "/system.slice/a.service", "two");
    assert_described(play, "/system.slice/b.service", "b");
}

static unsigned opened;

static int count_and_open(struct sys *sys, const char *path, int flags)
{
    opened++;
    return sys_open_file(sys, path, flags);
}

/* More units than are kept, and long names. */
static void test_many(void **state)
{
    struct play *play = *state;
    char path[700], name[600];

    fake_file(play->fake, "/etc/systemd/system/a@.service", "[Unit]\nDescription=%%i\n");
    play_open(play);
    for (size_t i = 0; i < 5000; i++) {
        snprintf(path, sizeof(path), "/system.slice/a@%zu.service", i);
        snprintf(name, sizeof(name), "%zu", i);
        _cleanup_(names_done) struct names names = play_find(play, path);
        assert_string_equal(names.texts[NAME_DESCRIPTION], name);
    }
    play->fake->sys.open_file = count_and_open;
    for (size_t i = 4990; i < 5000; i++) {
        snprintf(path, sizeof(path), "/system.slice/a@%zu.service", i);
        snprintf(name, sizeof(name), "%zu", i);
        assert_described(play, path, name);
    }
    assert_int_equal(opened, 0);
    assert_described(play, "/system.slice/a@0.service", "0");
    assert_true(opened > 0);
    for (size_t length = 200; length < 300; length += 11) {
        memset(name, length % 2 ? '-' : 'x', length);
        name[length] = '\0';
        snprintf(path, sizeof(path), "/system.slice/%s.service", name);
        assert_described(play, path, "");
    }
}

int main(void)
{
#define PLAYED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        PLAYED(test_machines), PLAYED(test_libvirt), PLAYED(test_bad_machines), PLAYED(test_descriptions),
        PLAYED(test_of_user),  PLAYED(test_kept),    PLAYED(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
