/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines as recorded by systemd-machined(8), and descriptions of units as defined by systemd.unit(5) and
 * systemd.syntax(7).
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"
#include "cgroups/systemd-units.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

static const struct {
    const char *in, *out; /* NULL: no description */
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
    /* A comment cannot be continued on the next line, and does not end a continued line. */
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

TEST(test_description)
{
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

TEST(test_specifiers)
{
    for (size_t i = 0; i < ARRAY_SIZE(specifiers); i++) {
        _cleanup_(freep) char *expanded = NULL;
        print_message("%s %s\n", specifiers[i].text, specifiers[i].unit);
        assert_int_equal(unit_file_expand(specifiers[i].text, specifiers[i].unit, &expanded), 0);
        assert_string_equal(expanded, specifiers[i].out);
    }
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MACHINES "/run/systemd/machines/"
#define HOME "/home/me"

/* The format that machine_save() of systemd 252 writes. */
#define MACHINE(name, scope, service)                                                                                  \
    "# This is private data. Do not parse.\nNAME=" name "\nSCOPE=" scope "\nSERVICE=" service                          \
    "\nROOT=/var/lib/machines/" name "\nLEADER=4711\nCLASS=container\nREALTIME=1700000000000000\nMONOTONIC=1\n"

static struct {
    struct fake_sys *fake;
    void *state;
} sim;

static void sim_open(void)
{
    int fd;

    assert_int_equal(name_source_systemd.open(&sim.fake->sys, NULL, &sim.state, &fd), 0);
    assert_true(fd >= 0);
}

static bool sim_dispatch(void)
{
    return name_source_systemd.dispatch(sim.state);
}

static struct names sim_find(const char *path)
{
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_systemd.find(sim.state, path, &names), 0);
    return names;
}

static void assert_machine(const char *path, const char *container, const char *runtime, const char *source)
{
    _cleanup_(names_done) struct names names = sim_find(path);

    print_message("%s\n", path);
    assert_string_equal(names.texts[NAME_CONTAINER] ? names.texts[NAME_CONTAINER] : "", container);
    assert_string_equal(names.texts[NAME_RUNTIME] ? names.texts[NAME_RUNTIME] : "", runtime);
    assert_string_equal(names.source ? names.source : "", source);
}

static void assert_described(const char *path, const char *description)
{
    _cleanup_(names_done) struct names names = sim_find(path);

    print_message("%s\n", path);
    assert_string_equal(names.texts[NAME_DESCRIPTION] ? names.texts[NAME_DESCRIPTION] : "", description);
}

static void sim_rename(const char *from, const char *to)
{
    assert_int_equal(rename(fake_path(sim.fake, from), fake_path(sim.fake, to)), 0);
}

static int setup(void **state)
{
    memset(&sim, 0, sizeof(sim));
    umask(022);
    setenv("HOME", HOME, 1);
    sim.fake = fake_sys_new();
    return 0;
}

static int teardown(void **state)
{
    if (sim.state)
        name_source_systemd.close(sim.state);
    fake_sys_free(sim.fake);
    return 0;
}

/* --- machines --- */

TEST_WITH(test_machines, setup, teardown)
{
    fake_file(sim.fake, MACHINES "debian", "%s", MACHINE("debian", "machine-debian.scope", "systemd-nspawn"));
    sim_open();
    assert_machine("/machine.slice/machine-debian.scope/payload/init.scope", "debian", "nspawn", "systemd");
    assert_machine("/machine.slice/machine-other.scope", "other", "", "path");
    /* systemd-machined first writes a new file under a name that begins with a dot. */
    fake_file(sim.fake, MACHINES ".#my-box123", "%s",
              MACHINE("my-box", "machine-my\\\\x2dbox.scope", "systemd-vmspawn"));
    assert_false(sim_dispatch());
    sim_rename(MACHINES ".#my-box123", MACHINES "my-box");
    assert_true(sim_dispatch());
    assert_machine("/machine.slice/machine-my\\x2dbox.scope", "my-box", "vmspawn", "systemd");
    /* A machine in a service whose name does not contain the machine's name, as with systemd-nspawn --keep-unit. */
    fake_file(sim.fake, MACHINES "build", "%s", MACHINE("build", "builder.service", ""));
    fake_file(sim.fake, MACHINES "unit:builder.service", "%s", MACHINE("evil", "builder.service", ""));
    assert_true(sim_dispatch());
    assert_machine("/system.slice/builder.service/payload", "build", "", "systemd");
    assert_machine("/user.slice/user-1000.slice/user@1000.service/app.slice/builder.service", "", "", "");
    /* A container inside the machine has its own name. */
    assert_machine("/system.slice/builder.service/payload/lxc.payload.inner", "inner", "lxc", "path");
    assert_machine("/system.slice/builder.service/payload/docker/" ID, "", "docker", "");
    assert_int_equal(unlink(fake_path(sim.fake, MACHINES "build")), 0);
    assert_true(sim_dispatch());
    assert_machine("/system.slice/builder.service/payload", "", "", "");
}

TEST_WITH(test_libvirt, setup, teardown)
{
    fake_file(sim.fake, MACHINES "qemu-1-debian", "%s",
              MACHINE("qemu-1-debian", "machine-qemu\\\\x2d1\\\\x2ddebian.scope", "libvirt-qemu"));
    fake_file(sim.fake, MACHINES "lxc-77-box", "%s",
              MACHINE("lxc-77-box", "machine-lxc\\\\x2d77\\\\x2dbox.scope", "libvirt-lxc"));
    sim_open();
    assert_machine("/machine.slice/machine-qemu\\x2d1\\x2ddebian.scope/libvirt/vcpu0", "debian", "libvirt", "systemd");
    assert_machine("/machine.slice/machine-lxc\\x2d77\\x2dbox.scope", "box", "libvirt", "systemd");
}

/* Files that systemd-machined did not write. */
TEST_WITH(test_bad_machines, setup, teardown)
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
    sim_open();
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        fake_file(sim.fake, MACHINES "a", "%s", texts[i]);
        fake_file(sim.fake, MACHINES ".b", "%s", texts[i]);
        sim_rename(MACHINES ".b", MACHINES "b");
        sim_dispatch();
        assert_machine("/system.slice/a.scope", "", "", "");
    }
    fake_file(sim.fake, MACHINES "directory/x", "x");
    fake_file(sim.fake, MACHINES ".<img>", "%s", MACHINE("x", "x.service", "<b>\n\"\xff"));
    sim_rename(MACHINES ".<img>", MACHINES "<img>");
    assert_true(sim_dispatch());
    assert_machine("/system.slice/x.service", "<img>", "<b>", "systemd");
}

/* --- descriptions --- */

static const struct {
    const char *path, *text;
} unit_files[] = {
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
    {"/system.slice/l.service", "<img src=x onerror=alert(1)>\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    /* Inside a container, the same unit names belong to the container's own manager. */
    {"/docker/" ID "/system.slice/ssh.service", ""},
    {"/lxc.payload.x/system.slice/ssh.service", ""},
    {"/system.slice/docker-" ID ".scope/system.slice/ssh.service", ""},
};

TEST_WITH(test_descriptions, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_SIZE(unit_files); i++)
        fake_file(sim.fake, unit_files[i].path, "[Unit]\nDescription=%s\n", unit_files[i].text);
    sim_open();
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < ARRAY_SIZE(described); i++)
            assert_described(described[i].path, described[i].out);
}

/* A user's own unit files are read only if this process runs as that user. */
TEST_WITH(test_of_user, setup, teardown)
{
    char path[256], own[128];

    fake_file(sim.fake, HOME "/.config/systemd/user/mine.service", "[Unit]\nDescription=my %%n\n");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/run/user/%u/systemd/transient/run.service", geteuid() + i);
        fake_file(sim.fake, path, "[Unit]\nDescription=run by %u\n", geteuid() + i);
    }
    sim_open();
    for (unsigned i = 0; i < 2; i++) {
        snprintf(own, sizeof(own), "/user.slice/user-%u.slice/user@%u.service/app.slice/", geteuid() + i,
                 geteuid() + i);
        snprintf(path, sizeof(path), "%srun.service", own);
        char expected[32];
        snprintf(expected, sizeof(expected), "run by %u", geteuid());
        assert_described(path, i == 0 ? expected : "");
        snprintf(path, sizeof(path), "%smine.service", own);
        assert_described(path, i == 0 ? "my mine.service" : "");
    }
}

/* Files are not read again until the unit is gone. */
TEST_WITH(test_kept, setup, teardown)
{
    fake_file(sim.fake, "/etc/systemd/system/a.service", "[Unit]\nDescription=one\n");
    sim_open();
    assert_described("/system.slice/a.service", "one");
    assert_described("/system.slice/b.service", "");
    fake_file(sim.fake, "/etc/systemd/system/a.service", "[Unit]\nDescription=two\n");
    fake_file(sim.fake, "/etc/systemd/system/b.service", "[Unit]\nDescription=b\n");
    name_source_systemd.forget(sim.state, "/system.slice/a.service/child");
    name_source_systemd.forget(sim.state, "/docker");
    assert_described("/system.slice/a.service", "one");
    assert_described("/system.slice/b.service", "");
    name_source_systemd.forget(sim.state, "/system.slice/a.service");
    name_source_systemd.forget(sim.state, "/system.slice/b.service");
    name_source_systemd.forget(sim.state, "/system.slice/b.service");
    assert_described("/system.slice/a.service", "two");
    assert_described("/system.slice/b.service", "b");
}

static unsigned opened;

static int count_and_open(struct sys *sys, const char *path, int flags)
{
    opened++;
    return sys_own_open_file(sys, path, flags);
}

/* The number of units that are kept is bounded, even if their names are long. */
TEST_WITH(test_many, setup, teardown)
{
    char path[700], name[600];

    fake_file(sim.fake, "/etc/systemd/system/a@.service", "[Unit]\nDescription=%%i\n");
    sim_open();
    for (size_t i = 0; i < 5000; i++) {
        snprintf(path, sizeof(path), "/system.slice/a@%zu.service", i);
        snprintf(name, sizeof(name), "%zu", i);
        _cleanup_(names_done) struct names names = sim_find(path);
        assert_string_equal(names.texts[NAME_DESCRIPTION], name);
    }
    wrap_calls(&sim.fake->sys, (struct sys_calls){.open_file = count_and_open});
    for (size_t i = 4990; i < 5000; i++) {
        snprintf(path, sizeof(path), "/system.slice/a@%zu.service", i);
        snprintf(name, sizeof(name), "%zu", i);
        assert_described(path, name);
    }
    assert_int_equal(opened, 0);
    assert_described("/system.slice/a@0.service", "0");
    assert_true(opened > 0);
    for (size_t length = 200; length < 300; length += 11) {
        memset(name, length % 2 ? '-' : 'x', length);
        name[length] = '\0';
        snprintf(path, sizeof(path), "/system.slice/%s.service", name);
        assert_described(path, "");
    }
}

TEST_MAIN(NULL, NULL)
