/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that come and go, in directories that tests make, on a machine that they play. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/fd.h"
#include "collectors/cgroup/set.h"
#include "perf/descriptors.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/* As on kernels before 6.2 where no descriptor is left to list the open ones with. */
int __wrap_fd_count_open(int directory, uint64_t *ret);
int __wrap_fd_count_open(int directory, uint64_t *ret)
{
    (void)directory;
    (void)ret;
    return -EMFILE;
}

/* A rig and the cgroups of its machine. */
struct play {
    struct rig rig;
    struct cgroup_set set;
};

static void play_init_on(struct play *play, struct fake_sys *fake, const char *settings)
{
    struct error error;
    char text[512];

    snprintf(text, sizeof(text),
             "collectors: {cgroup: {include: '/c*', groups: [{name: core, events: '{cs,faults}'}], %s}}", settings);
    fake_file(fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    *play = (struct play){0};
    rig_init_collector(&play->rig, fake, "cgroup", text);
    assert_int_equal(cgroup_set_open(&play->set, &play->rig.context, &error), 0);
    assert_int_equal(cgroup_set_configure(&play->set, &play->rig.context), 0);
}

static void play_init(struct play *play, const char *settings)
{
    play_init_on(play, fake_machine_no_pmu(), settings);
}

static void play_done(struct play *play)
{
    cgroup_set_done(&play->set, &play->rig.context);
    rig_done(&play->rig);
}

static void dispatch(struct play *play)
{
    cgroup_set_dispatch(&play->set, &play->rig.context);
}

static const char *path_of(const struct play *play, unsigned i, char path[128])
{
    snprintf(path, 128, "%s/sys/fs/cgroup/c%04u", play->rig.fake->root, i);
    return path;
}

static void make(struct play *play, unsigned i)
{
    char path[128];

    assert_int_equal(mkdir(path_of(play, i, path), 0755), 0);
    dispatch(play);
}

static void drop(struct play *play, unsigned i)
{
    char path[128];

    assert_int_equal(rmdir(path_of(play, i, path)), 0);
    dispatch(play);
}

/* 'w' for one that is watched, 'l' for one that lingers, '-' for none. */
static char state_of(const struct play *play, unsigned i)
{
    char name[16], state = '-';

    snprintf(name, sizeof(name), "/c%04u", i);
    for (size_t k = 0; k < play->set.n; k++) {
        const struct cgroup_counts *counts = play->set.counts[k];
        if (!str_equal(counts->path, name))
            continue;
        assert_int_equal(state, '-');
        state = counts->node ? 'w' : 'l';
    }
    return state;
}

/* The time that they may linger does not bound their number: the oldest leave. */
static void test_many_short_lived(void **state)
{
    struct play play;

    (void)state;
    play_init(&play, "max_cgroups: 4, linger: 1h");
    make(&play, 9999);
    for (unsigned i = 0; i < 100; i++) {
        make(&play, i);
        fake_advance(play.rig.fake, 1000);
        drop(&play, i);
        assert_true(play.set.n <= 5);
        assert_int_equal(state_of(&play, i), 'l');
    }
    assert_int_equal(state_of(&play, 9999), 'w');
    assert_int_equal(state_of(&play, 95), '-');
    for (unsigned i = 96; i < 100; i++)
        assert_int_equal(state_of(&play, i), 'l');
    assert_int_equal(play.rig.snapshot.n_rows, 5);
    play_done(&play);
}

/* One that came back and went again is no old one. */
static void test_comes_back(void **state)
{
    struct play play;

    (void)state;
    play_init(&play, "max_cgroups: 2, linger: 1h");
    for (unsigned i = 0; i < 2; i++) {
        make(&play, i);
        fake_advance(play.rig.fake, 1000);
        drop(&play, i);
    }
    make(&play, 0);
    assert_int_equal(state_of(&play, 0), 'w');
    fake_advance(play.rig.fake, 1000);
    drop(&play, 0);
    make(&play, 2);
    fake_advance(play.rig.fake, 1000);
    drop(&play, 2);
    assert_int_equal(state_of(&play, 0), 'l');
    assert_int_equal(state_of(&play, 1), '-');
    assert_int_equal(state_of(&play, 2), 'l');
    fake_advance(play.rig.fake, 3600 * NSEC_PER_SEC);
    dispatch(&play);
    assert_int_equal(play.set.n, 0);
    play_done(&play);
}

/* Descriptors that are set aside for others are not for cgroups: those that fit are chosen before any is opened. */
static void test_share_of_descriptors(void **state)
{
    struct descriptors descriptors = {0};
    struct play play;

    (void)state;
    play_init(&play, "max_cgroups: 4");
    descriptors_attach(&descriptors, &play.rig.fake->sys, &(struct descriptor_limits){.counting = 9});
    for (unsigned i = 1; i <= 3; i++)
        make(&play, i);
    assert_int_equal(state_of(&play, 1), 'w');
    assert_int_equal(state_of(&play, 2), 'w');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.limit, 2);
    assert_int_equal(descriptors.n_counting, 8);
    drop(&play, 1);
    assert_int_equal(state_of(&play, 3), 'w');
    assert_int_equal(play.set.n_dropped, 0);
    drop(&play, 2);
    drop(&play, 3);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &play.rig.fake->sys);
    play_done(&play);
}

/* The daemon counts itself, in two descriptors on each kind of core, which are opened behind all cgroups. */
static void test_room_for_self(void **state)
{
    struct descriptors descriptors = {0};
    struct play play;

    (void)state;
    play_init_on(&play, fake_machine_one_pmu(), "max_cgroups: 4");
    descriptors_attach(&descriptors, &play.rig.fake->sys, &(struct descriptor_limits){.counting = 17});
    make(&play, 1);
    make(&play, 2);
    assert_int_equal(state_of(&play, 1), 'w');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(descriptors.n_counting, 8);
    descriptors.limits.counting = 18;
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(descriptors.n_counting, 16);
    drop(&play, 1);
    drop(&play, 2);
    descriptors_done(&descriptors, &play.rig.fake->sys);
    play_done(&play);
}

/* No descriptor is left in this process from now on; returns what restores them. */
static struct rlimit leave_no_room(void)
{
    struct rlimit before, none;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

/* Its directory cannot be opened for want of descriptors: it is dropped until there are some. */
static void test_no_descriptor_for_the_directory(void **state)
{
    struct play play;

    (void)state;
    play_init(&play, "max_cgroups: 4");
    make(&play, 1);
    cgroup_counts_end(play.set.counts[0], &play.rig.fake->sys);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_select(&play.set, &play.rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(state_of(&play, 1), 'l');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.span, REASON_PASSES);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(state_of(&play, 1), 'w');
    assert_int_equal(play.set.n_dropped, 0);
    assert_int_equal(play.set.span, REASON_LASTS);
    play_done(&play);
}

static uint64_t enabled_of(struct play *play)
{
    cgroup_counts_read(play->set.counts[0], &play->rig.fake->sys);
    return play->rig.snapshot.rows[0]->enabled_ns;
}

/* A CPU left when no directory could be opened: its groups are dead, and are opened again as soon as possible. */
static void test_no_descriptor_in_a_hotplug(void **state)
{
    struct play play;

    (void)state;
    play_init(&play, "max_cgroups: 4");
    make(&play, 1);
    assert_int_equal(play.rig.fake->n_open, 4);
    fake_set_online(play.rig.fake, 1, false);
    fake_set_online(play.rig.fake, 1, true);
    assert_int_equal(cpuset_add(&play.rig.left, 1), 0);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    cpuset_done(&play.rig.left);
    assert_int_equal(play.set.span, REASON_PASSES);
    assert_int_equal(play.rig.fake->n_open, 2);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(play.set.span, REASON_LASTS);
    assert_int_equal(play.rig.fake->n_open, 4);
    assert_int_equal(enabled_of(&play), 0);
    play_done(&play);
}

/* The next one is opened before the directory is looked at again, and before the others are selected. */
static void test_opened_at_once(void **state)
{
    struct play play;
    char path[128];

    (void)state;
    play_init(&play, "max_cgroups: 2");
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(mkdir(path_of(&play, i, path), 0755), 0);
    play.set.context = &play.rig.context;
    cgroup_tree_dispatch(play.set.tree);
    assert_int_equal(state_of(&play, 1), 'w');
    assert_int_equal(state_of(&play, 2), 'w');
    assert_int_equal(state_of(&play, 3), '-');
    assert_int_equal(play.set.n_free, 0);
    dispatch(&play);
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.n, 2);
    assert_int_equal(play.rig.fake->n_open, 8);
    for (unsigned i = 1; i <= 3; i++)
        drop(&play, i);
    assert_int_equal(play.rig.fake->n_open, 0);
    assert_int_equal(cgroup_tree_watches(play.set.tree), 1);
    play_done(&play);
}

/* Other patterns: cgroups that were there all the time are watched, and those that were watched are not. */
static void test_other_patterns(void **state)
{
    const char *patterns[] = {"/d/*", "/c*"};
    struct play play;
    char path[160];

    (void)state;
    play_init(&play, "max_cgroups: 4");
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/d", play.rig.fake->root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/d/e", play.rig.fake->root);
    assert_int_equal(mkdir(path, 0755), 0);
    make(&play, 1);
    assert_int_equal(play.set.n_wanted, 1);
    assert_int_equal(cgroup_tree_watches(play.set.tree), 1);
    char *include[] = {NULL, NULL};
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        struct config config = *play.rig.context.config;
        struct collector_context context = play.rig.context;
        include[i] = (char *)patterns[i];
        config.cgroup.include = &include[i];
        context.config = &config;
        assert_int_equal(cgroup_set_configure(&play.set, &context), 0);
        assert_int_equal(play.set.n_wanted, 1);
        assert_int_equal(play.rig.fake->n_open, 4);
        assert_int_equal(state_of(&play, 1), i ? 'w' : 'l');
        assert_int_equal(cgroup_tree_watches(play.set.tree), i ? 1 : 2);
    }
    assert_int_equal(rmdir(path), 0);
    path[strlen(path) - 2] = '\0';
    assert_int_equal(rmdir(path), 0);
    drop(&play, 1);
    play_done(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_short_lived),
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_share_of_descriptors),
        cmocka_unit_test(test_room_for_self),
        cmocka_unit_test(test_no_descriptor_for_the_directory),
        cmocka_unit_test(test_no_descriptor_in_a_hotplug),
        cmocka_unit_test(test_opened_at_once),
        cmocka_unit_test(test_other_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
