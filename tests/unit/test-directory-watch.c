/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that come, go, are replaced and cannot be trusted, on the real inotify, below a root of their own. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/names/directory-watch.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define LOGS "/var/log/containers"
#define PODS "/var/log/pods"

/* The names that a listener knows, of one letter each. */
struct heard {
    bool names[128];
    size_t n_found;
};

struct play {
    struct fake_sys *fake;
    struct directory_watches watches;
    struct heard logs, pods;
};

static void on_found(void *userdata, const char *name)
{
    struct heard *heard = userdata;

    heard->n_found++;
    if (!name[1])
        heard->names[name[0] & 127] = true;
}

static void on_gone(void *userdata, const char *name)
{
    struct heard *heard = userdata;

    if (!name[1])
        heard->names[name[0] & 127] = false;
}

static void on_cleared(void *userdata)
{
    struct heard *heard = userdata;

    memset(heard->names, 0, sizeof(heard->names));
}

static void add(struct play *play, const char *path, struct heard *heard)
{
    struct directory_listener listener = {heard, on_found, on_gone, on_cleared};

    directory_watches_add(&play->watches, path, &listener);
}

static const char *rooted(const struct play *play, const char *path)
{
    static char text[4][PATH_MAX];
    static unsigned n;

    n = (n + 1) % 4;
    snprintf(text[n], sizeof(text[n]), "%s%s", play->fake->root, path);
    return text[n];
}

static void make(const struct play *play, const char *path)
{
    assert_int_equal(mkdir(rooted(play, path), 0755), 0);
}

static void move(const struct play *play, const char *from, const char *to)
{
    assert_int_equal(rename(rooted(play, from), rooted(play, to)), 0);
}

static void write_file(const struct play *play, const char *path)
{
    fake_file(play->fake, path, "x");
}

static void unmake(const struct play *play, const char *path)
{
    assert_int_equal(remove(rooted(play, path)), 0);
}

static void assert_heard(const struct heard *heard, const char *expected)
{
    char text[129] = "", *to = text;

    for (int i = 0; i < 128; i++)
        if (heard->names[i])
            *to++ = (char)i;
    assert_string_equal(text, expected);
}

/* Dispatches; then the names of the logs are these. */
static void assert_logs(struct play *play, enum directory_state state, const char *expected)
{
    directory_watches_dispatch(&play->watches);
    assert_heard(&play->logs, expected);
    assert_int_equal(play->watches.at[0].state, state);
    /* And nothing is left to hear. */
    assert_false(directory_watches_dispatch(&play->watches));
}

static int setup(void **state)
{
    struct play *play = calloc(1, sizeof(*play));

    umask(022);
    play->fake = fake_sys_new();
    directory_watches_init(&play->watches, &play->fake->sys);
    *state = play;
    return 0;
}

static int teardown(void **state)
{
    struct play *play = *state;

    directory_watches_done(&play->watches);
    fake_sys_free(play->fake);
    free(play);
    return 0;
}

static void test_names(void **state)
{
    struct play *play = *state;

    write_file(play, LOGS "/a");
    write_file(play, LOGS "/.hidden");
    add(play, LOGS, &play->logs);
    assert_logs(play, DIRECTORY_LISTED, "a");
    assert_int_equal(play->logs.n_found, 1);
    write_file(play, LOGS "/b");
    write_file(play, LOGS "/.other");
    make(play, LOGS "/c");
    assert_true(directory_watches_dispatch(&play->watches));
    assert_logs(play, DIRECTORY_LISTED, "abc");
    move(play, LOGS "/b", LOGS "/d");
    unmake(play, LOGS "/a");
    assert_logs(play, DIRECTORY_LISTED, "cd");
    /* Nothing below is watched. */
    write_file(play, LOGS "/c/x");
    assert_false(directory_watches_dispatch(&play->watches));
    /* Another file of a known name is found again. */
    size_t n = play->logs.n_found;
    write_file(play, LOGS "/.new");
    move(play, LOGS "/.new", LOGS "/d");
    assert_true(directory_watches_dispatch(&play->watches));
    assert_int_equal(play->logs.n_found, n + 1);
}

static void test_comes_later(void **state)
{
    struct play *play = *state;

    add(play, LOGS, &play->logs);
    assert_logs(play, DIRECTORY_MISSING, "");
    make(play, "/etc");
    make(play, "/var");
    assert_logs(play, DIRECTORY_MISSING, "");
    make(play, "/var/log");
    write_file(play, "/var/log/syslog");
    assert_false(directory_watches_dispatch(&play->watches));
    make(play, LOGS "x");
    assert_false(directory_watches_dispatch(&play->watches));
    make(play, LOGS);
    write_file(play, LOGS "/a");
    assert_true(directory_watches_dispatch(&play->watches));
    assert_logs(play, DIRECTORY_LISTED, "a");
}

static void test_comes_at_once(void **state)
{
    struct play *play = *state;

    add(play, LOGS, &play->logs);
    write_file(play, LOGS "/a");
    assert_logs(play, DIRECTORY_LISTED, "a");
    write_file(play, LOGS "/b");
    assert_logs(play, DIRECTORY_LISTED, "ab");
}

static void test_replaced(void **state)
{
    struct play *play = *state;

    write_file(play, LOGS "/a");
    add(play, LOGS, &play->logs);
    move(play, LOGS, "/var/log/old");
    write_file(play, "/var/log/old/b");
    assert_logs(play, DIRECTORY_MISSING, "");
    write_file(play, LOGS "/c");
    assert_logs(play, DIRECTORY_LISTED, "c");
    /* In one go. */
    write_file(play, "/var/log/new/d");
    move(play, LOGS, "/var/log/older");
    move(play, "/var/log/new", LOGS);
    assert_logs(play, DIRECTORY_LISTED, "d");
    write_file(play, "/var/log/older/e");
    write_file(play, LOGS "/f");
    assert_logs(play, DIRECTORY_LISTED, "df");
    /* Removed, and with what is above it. */
    unmake(play, LOGS "/d");
    unmake(play, LOGS "/f");
    unmake(play, LOGS);
    assert_logs(play, DIRECTORY_MISSING, "");
    move(play, "/var/log", "/var/logs");
    move(play, "/var", "/vars");
    assert_logs(play, DIRECTORY_MISSING, "");
    write_file(play, LOGS "/g");
    assert_logs(play, DIRECTORY_LISTED, "g");
    write_file(play, "/var/log/containers-too/x");
    assert_false(directory_watches_dispatch(&play->watches));
}

/* The directory above both has one watch. */
static void test_two(void **state)
{
    struct play *play = *state;

    make(play, "/var");
    make(play, "/var/log");
    add(play, LOGS, &play->logs);
    add(play, PODS, &play->pods);
    write_file(play, LOGS "/a");
    assert_logs(play, DIRECTORY_LISTED, "a");
    write_file(play, PODS "/b");
    assert_logs(play, DIRECTORY_LISTED, "a");
    assert_heard(&play->pods, "b");
    unmake(play, LOGS "/a");
    unmake(play, LOGS);
    write_file(play, PODS "/c");
    assert_logs(play, DIRECTORY_MISSING, "");
    assert_heard(&play->pods, "bc");
    write_file(play, LOGS "/d");
    move(play, PODS, "/var/log/elsewhere");
    assert_logs(play, DIRECTORY_LISTED, "d");
    assert_heard(&play->pods, "");
}

static void test_refused(void **state)
{
    static const mode_t modes[] = {0777, 0775, 01777, 0757};
    struct play *play = *state;

    write_file(play, LOGS "/a");
    add(play, LOGS, &play->logs);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        assert_int_equal(chmod(rooted(play, LOGS), modes[i]), 0);
        assert_true(directory_watches_dispatch(&play->watches));
        assert_logs(play, DIRECTORY_REFUSED, "");
        write_file(play, LOGS "/b");
        assert_logs(play, DIRECTORY_REFUSED, "");
        assert_int_equal(chmod(rooted(play, LOGS), 0755), 0);
        assert_logs(play, DIRECTORY_LISTED, "ab");
    }
    if (geteuid() != 0)
        skip_because("only root can give the directory to another user");
    assert_int_equal(chown(rooted(play, LOGS), 65534, 0), 0);
    assert_logs(play, DIRECTORY_REFUSED, "");
}

/* --- with a hand in the opening of files --- */

static const char *denied;
static struct play *moves;

static int open_denied(struct sys *sys, const char *path, int flags)
{
    return denied && str_equal(path, denied) ? -EACCES : sys_open_file(sys, path, flags);
}

static void test_unreadable(void **state)
{
    struct play *play = *state;

    write_file(play, LOGS "/a");
    play->fake->sys.open_file = open_denied;
    denied = LOGS;
    add(play, LOGS, &play->logs);
    assert_logs(play, DIRECTORY_UNREADABLE, "");
    /* The directory above reports that the mode changed. */
    denied = NULL;
    assert_int_equal(chmod(rooted(play, LOGS), 0711), 0);
    assert_true(directory_watches_dispatch(&play->watches));
    assert_logs(play, DIRECTORY_LISTED, "a");
}

/* Replaces the directory once, right after it was opened. */
static int open_and_move(struct sys *sys, const char *path, int flags)
{
    int fd = sys_open_file(sys, path, flags);
    const struct play *play = moves;

    if (play && str_equal(path, LOGS)) {
        moves = NULL;
        move(play, LOGS, "/var/log/old");
        write_file(play, LOGS "/b");
    }
    return fd;
}

static void test_replaced_while_opened(void **state)
{
    struct play *play = *state;

    write_file(play, LOGS "/a");
    play->fake->sys.open_file = open_and_move;
    moves = play;
    add(play, LOGS, &play->logs);
    assert_null(moves);
    assert_heard(&play->logs, "b");
    write_file(play, LOGS "/c");
    write_file(play, "/var/log/old/d");
    assert_logs(play, DIRECTORY_LISTED, "bc");
}

static void test_overflow(void **state)
{
    struct play *play = *state;
    unsigned long max = 16384;
    _cleanup_(fclosep) FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file)
        assert_int_equal(fscanf(file, "%lu", &max), 1);
    if (max > 50000)
        skip_because("the queue takes %lu events", max);
    write_file(play, LOGS "/a");
    add(play, LOGS, &play->logs);
    for (size_t i = 0; i < max / 2 + 10; i++) {
        make(play, LOGS "/x");
        unmake(play, LOGS "/x");
    }
    write_file(play, LOGS "/b");
    unmake(play, LOGS "/a");
    /* Much is read in turns. */
    while (directory_watches_dispatch(&play->watches))
        ;
    assert_logs(play, DIRECTORY_LISTED, "b");
}

static void test_no_inotify(void **state)
{
    struct play *play = *state;

    directory_watches_done(&play->watches);
    write_file(play, LOGS "/a");
    add(play, LOGS, &play->logs);
    add(play, PODS, &play->pods);
    write_file(play, LOGS "/b");
    assert_logs(play, DIRECTORY_UNWATCHED, "a");
    assert_int_equal(play->watches.at[1].state, DIRECTORY_UNWATCHED);
}

int main(void)
{
#define PLAYED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        PLAYED(test_names),    PLAYED(test_comes_later), PLAYED(test_comes_at_once), PLAYED(test_replaced),
        PLAYED(test_two),      PLAYED(test_refused),     PLAYED(test_unreadable),    PLAYED(test_replaced_while_opened),
        PLAYED(test_overflow), PLAYED(test_no_inotify),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
