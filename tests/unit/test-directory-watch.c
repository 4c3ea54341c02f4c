/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that appear, disappear, are replaced or cannot be trusted, with the kernel's inotify. */
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/directory-watch.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

#define LOGS "/var/log/containers"
#define PODS "/var/log/pods"

/* The one-letter names that a listener currently knows. */
struct received {
    bool names[128];
    size_t n_found;
};

/* The state of the current test. */
static struct sim {
    struct fake_sys *fake;
    struct directory_watches watches;
    struct received logs, pods;
} sim;

static void on_found(void *userdata, const char *name)
{
    struct received *received = userdata;

    received->n_found++;
    if (!name[1])
        received->names[name[0] & 127] = true;
}

static void on_gone(void *userdata, const char *name)
{
    struct received *received = userdata;

    if (!name[1])
        received->names[name[0] & 127] = false;
}

static void on_cleared(void *userdata)
{
    struct received *received = userdata;

    memset(received->names, 0, sizeof(received->names));
}

static void add(const char *path, struct received *received)
{
    struct directory_listener listener = {received, on_found, on_gone, on_cleared};

    directory_watches_add(&sim.watches, path, &listener);
}

static const char *rooted(const char *path)
{
    return fake_path(sim.fake, path);
}

static void make(const char *path)
{
    assert_int_equal(mkdir(rooted(path), 0755), 0);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(rooted(from), rooted(to)), 0);
}

static void write_file(const char *path)
{
    fake_file(sim.fake, path, "x");
}

static void unmake(const char *path)
{
    assert_int_equal(remove(rooted(path)), 0);
}

static void assert_received(const struct received *received, const char *expected)
{
    char text[129] = "", *to = text;

    for (int i = 0; i < 128; i++)
        if (received->names[i])
            *to++ = (char)i;
    assert_string_equal(text, expected);
}

/* Dispatches, then compares the names of the logs and the state of the directory. */
static void assert_logs(enum directory_state state, const char *expected)
{
    directory_watches_dispatch(&sim.watches);
    assert_received(&sim.logs, expected);
    assert_int_equal(sim.watches.at[0].state, state);
    /* No further events are pending. */
    assert_false(directory_watches_dispatch(&sim.watches));
}

static int setup(void **state)
{
    memset(&sim, 0, sizeof(sim));
    umask(022);
    sim.fake = fake_sys_new();
    directory_watches_init(&sim.watches, &sim.fake->sys);
    return 0;
}

static int teardown(void **state)
{
    directory_watches_done(&sim.watches);
    fake_sys_free(sim.fake);
    return 0;
}

TEST_WITH(test_names, setup, teardown)
{
    write_file(LOGS "/a");
    write_file(LOGS "/.hidden");
    add(LOGS, &sim.logs);
    assert_logs(DIRECTORY_LISTED, "a");
    assert_int_equal(sim.logs.n_found, 1);
    write_file(LOGS "/b");
    write_file(LOGS "/.other");
    make(LOGS "/c");
    assert_true(directory_watches_dispatch(&sim.watches));
    assert_logs(DIRECTORY_LISTED, "abc");
    move(LOGS "/b", LOGS "/d");
    unmake(LOGS "/a");
    assert_logs(DIRECTORY_LISTED, "cd");
    /* Subdirectories are not watched. */
    write_file(LOGS "/c/x");
    assert_false(directory_watches_dispatch(&sim.watches));
    /* A different file with a known name is reported again. */
    size_t n = sim.logs.n_found;
    write_file(LOGS "/.new");
    move(LOGS "/.new", LOGS "/d");
    assert_true(directory_watches_dispatch(&sim.watches));
    assert_int_equal(sim.logs.n_found, n + 1);
}

TEST_WITH(test_comes_later, setup, teardown)
{
    add(LOGS, &sim.logs);
    assert_logs(DIRECTORY_MISSING, "");
    make("/etc");
    make("/var");
    assert_logs(DIRECTORY_MISSING, "");
    make("/var/log");
    write_file("/var/log/syslog");
    assert_false(directory_watches_dispatch(&sim.watches));
    make(LOGS "x");
    assert_false(directory_watches_dispatch(&sim.watches));
    make(LOGS);
    write_file(LOGS "/a");
    assert_true(directory_watches_dispatch(&sim.watches));
    assert_logs(DIRECTORY_LISTED, "a");
}

TEST_WITH(test_replaced, setup, teardown)
{
    write_file(LOGS "/a");
    add(LOGS, &sim.logs);
    move(LOGS, "/var/log/old");
    write_file("/var/log/old/b");
    assert_logs(DIRECTORY_MISSING, "");
    write_file(LOGS "/c");
    assert_logs(DIRECTORY_LISTED, "c");
    /* The directory is replaced between two dispatches. */
    write_file("/var/log/new/d");
    move(LOGS, "/var/log/older");
    move("/var/log/new", LOGS);
    assert_logs(DIRECTORY_LISTED, "d");
    write_file("/var/log/older/e");
    write_file(LOGS "/f");
    assert_logs(DIRECTORY_LISTED, "df");
    /* The directory is removed, then its parents are renamed. */
    unmake(LOGS "/d");
    unmake(LOGS "/f");
    unmake(LOGS);
    assert_logs(DIRECTORY_MISSING, "");
    move("/var/log", "/var/logs");
    move("/var", "/vars");
    assert_logs(DIRECTORY_MISSING, "");
    write_file(LOGS "/g");
    assert_logs(DIRECTORY_LISTED, "g");
    write_file("/var/log/containers-too/x");
    assert_false(directory_watches_dispatch(&sim.watches));
}

/* Two directories with the same parent share the watch of the parent. */
TEST_WITH(test_two, setup, teardown)
{
    make("/var");
    make("/var/log");
    add(LOGS, &sim.logs);
    add(PODS, &sim.pods);
    write_file(LOGS "/a");
    assert_logs(DIRECTORY_LISTED, "a");
    write_file(PODS "/b");
    assert_logs(DIRECTORY_LISTED, "a");
    assert_received(&sim.pods, "b");
    unmake(LOGS "/a");
    unmake(LOGS);
    write_file(PODS "/c");
    assert_logs(DIRECTORY_MISSING, "");
    assert_received(&sim.pods, "bc");
    write_file(LOGS "/d");
    move(PODS, "/var/log/elsewhere");
    assert_logs(DIRECTORY_LISTED, "d");
    assert_received(&sim.pods, "");
}

TEST_WITH(test_refused, setup, teardown)
{
    static const mode_t modes[] = {0777, 0775, 01777, 0757};
    write_file(LOGS "/a");
    add(LOGS, &sim.logs);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        assert_int_equal(chmod(rooted(LOGS), modes[i]), 0);
        assert_true(directory_watches_dispatch(&sim.watches));
        assert_logs(DIRECTORY_REFUSED, "");
        write_file(LOGS "/b");
        assert_logs(DIRECTORY_REFUSED, "");
        assert_int_equal(chmod(rooted(LOGS), 0755), 0);
        assert_logs(DIRECTORY_LISTED, "ab");
    }
    if (geteuid() != 0)
        skip_because("root, to give a directory away");
    assert_int_equal(chown(rooted(LOGS), 65534, 0), 0);
    assert_logs(DIRECTORY_REFUSED, "");
}

/* --- with an intercepted open --- */

static const char *denied;
static bool moves;

static int open_denied(struct sys *sys, const char *path, int flags)
{
    return denied && str_equal(path, denied) ? -EACCES : sys_own_open_file(sys, path, flags);
}

TEST_WITH(test_unreadable, setup, teardown)
{
    write_file(LOGS "/a");
    wrap_calls(&sim.fake->sys, (struct sys_calls){.open_file = open_denied});
    denied = LOGS;
    add(LOGS, &sim.logs);
    assert_logs(DIRECTORY_UNREADABLE, "");
    /* The watch of the parent reports that the mode has changed. */
    denied = NULL;
    assert_int_equal(chmod(rooted(LOGS), 0711), 0);
    assert_true(directory_watches_dispatch(&sim.watches));
    assert_logs(DIRECTORY_LISTED, "a");
}

/* Replaces the directory once, right after it was opened. */
static int open_and_move(struct sys *sys, const char *path, int flags)
{
    int fd = sys_own_open_file(sys, path, flags);
    if (moves && str_equal(path, LOGS)) {
        moves = false;
        move(LOGS, "/var/log/old");
        write_file(LOGS "/b");
    }
    return fd;
}

TEST_WITH(test_replaced_while_opened, setup, teardown)
{
    write_file(LOGS "/a");
    wrap_calls(&sim.fake->sys, (struct sys_calls){.open_file = open_and_move});
    moves = true;
    add(LOGS, &sim.logs);
    assert_false(moves);
    assert_received(&sim.logs, "b");
    write_file(LOGS "/c");
    write_file("/var/log/old/d");
    assert_logs(DIRECTORY_LISTED, "bc");
}

TEST_WITH(test_overflow, setup, teardown)
{
    unsigned long max = 16384;
    _cleanup_(fclosep) FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file)
        assert_int_equal(fscanf(file, "%lu", &max), 1);
    if (max > 50000)
        skip_because("an inotify queue of less than 50000 events");
    write_file(LOGS "/a");
    add(LOGS, &sim.logs);
    for (size_t i = 0; i < max / 2 + 10; i++) {
        make(LOGS "/x");
        unmake(LOGS "/x");
    }
    write_file(LOGS "/b");
    unmake(LOGS "/a");
    /* One call reads only a limited number of the pending events. */
    while (directory_watches_dispatch(&sim.watches))
        ;
    assert_logs(DIRECTORY_LISTED, "b");
}

TEST_WITH(test_no_inotify, setup, teardown)
{
    directory_watches_done(&sim.watches);
    write_file(LOGS "/a");
    add(LOGS, &sim.logs);
    add(PODS, &sim.pods);
    write_file(LOGS "/b");
    assert_logs(DIRECTORY_UNWATCHED, "a");
    assert_int_equal(sim.watches.at[1].state, DIRECTORY_UNWATCHED);
}

TEST_MAIN(NULL, NULL)
