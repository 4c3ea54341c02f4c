/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that come and go, in directories that tests make, on a machine that they play. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/fd.h"
#include "perf/descriptors.h"
#include "tests/unit/cgroup-play.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/test.h"

/* As on kernels before 6.2 where no descriptor is left to list the open ones with. */
int __wrap_fd_count_open(int directory, uint64_t *ret);
int __wrap_fd_count_open(int directory, uint64_t *ret)
{
    (void)directory;
    (void)ret;
    return -EMFILE;
}

/* The time that they may linger does not bound their number: the oldest leave. */
static void test_many_short_lived(void **state)
{
    struct cgroup_play play;

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 4, linger: 1h");
    cgroup_play_make(&play, 9999);
    for (unsigned i = 0; i < 100; i++) {
        cgroup_play_make(&play, i);
        fake_advance(play.rig.fake, 1000);
        cgroup_play_drop(&play, i);
        assert_true(play.set.n <= 5);
        assert_int_equal(cgroup_play_state(&play, i), 'l');
    }
    assert_int_equal(cgroup_play_state(&play, 9999), 'w');
    assert_int_equal(cgroup_play_state(&play, 95), '-');
    for (unsigned i = 96; i < 100; i++)
        assert_int_equal(cgroup_play_state(&play, i), 'l');
    assert_int_equal(play.rig.snapshot.n_rows, 5);
    cgroup_play_done(&play);
}

/* One that came back and went again is no old one. */
static void test_comes_back(void **state)
{
    struct cgroup_play play;

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 2, linger: 1h");
    for (unsigned i = 0; i < 2; i++) {
        cgroup_play_make(&play, i);
        fake_advance(play.rig.fake, 1000);
        cgroup_play_drop(&play, i);
    }
    cgroup_play_make(&play, 0);
    assert_int_equal(cgroup_play_state(&play, 0), 'w');
    fake_advance(play.rig.fake, 1000);
    cgroup_play_drop(&play, 0);
    cgroup_play_make(&play, 2);
    fake_advance(play.rig.fake, 1000);
    cgroup_play_drop(&play, 2);
    assert_int_equal(cgroup_play_state(&play, 0), 'l');
    assert_int_equal(cgroup_play_state(&play, 1), '-');
    assert_int_equal(cgroup_play_state(&play, 2), 'l');
    fake_advance(play.rig.fake, 3600 * NSEC_PER_SEC);
    cgroup_play_dispatch(&play);
    assert_int_equal(play.set.n, 0);
    cgroup_play_done(&play);
}

/* Descriptors that are set aside for others are not for cgroups: those that fit are chosen before any is opened. */
static void test_share_of_descriptors(void **state)
{
    struct descriptors descriptors = {0};
    struct cgroup_play play;

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 4");
    descriptors_attach(&descriptors, &play.rig.fake->sys, &(struct descriptor_limits){.counting = 9});
    for (unsigned i = 1; i <= 3; i++)
        cgroup_play_make(&play, i);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(cgroup_play_state(&play, 2), 'w');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.limit, 2);
    assert_int_equal(descriptors.n_counting, 8);
    cgroup_play_drop(&play, 1);
    assert_int_equal(cgroup_play_state(&play, 3), 'w');
    assert_int_equal(play.set.n_dropped, 0);
    cgroup_play_drop(&play, 2);
    cgroup_play_drop(&play, 3);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &play.rig.fake->sys);
    cgroup_play_done(&play);
}

/* The daemon counts itself, in two descriptors on each kind of core, which are opened behind all cgroups. */
static void test_room_for_self(void **state)
{
    struct descriptors descriptors = {0};
    struct cgroup_play play;

    (void)state;
    cgroup_play_init_on(&play, fake_machine_one_pmu(), "max_cgroups: 4");
    descriptors_attach(&descriptors, &play.rig.fake->sys, &(struct descriptor_limits){.counting = 17});
    cgroup_play_make(&play, 1);
    cgroup_play_make(&play, 2);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(descriptors.n_counting, 8);
    descriptors.limits.counting = 18;
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(descriptors.n_counting, 16);
    cgroup_play_drop(&play, 1);
    cgroup_play_drop(&play, 2);
    descriptors_done(&descriptors, &play.rig.fake->sys);
    cgroup_play_done(&play);
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
    struct cgroup_play play;

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 4");
    cgroup_play_make(&play, 1);
    cgroup_counts_end(play.set.counts[0], &play.rig.fake->sys);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_select(&play.set, &play.rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(cgroup_play_state(&play, 1), 'l');
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.span, REASON_PASSES);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(play.set.n_dropped, 0);
    assert_int_equal(play.set.span, REASON_LASTS);
    cgroup_play_done(&play);
}

static uint64_t enabled_of(struct cgroup_play *play)
{
    cgroup_counts_read(play->set.counts[0], &play->rig.fake->sys);
    return play->rig.snapshot.rows[0]->enabled_ns;
}

/* A CPU left when no directory could be opened: its groups are dead, and are opened again as soon as possible. */
static void test_no_descriptor_in_a_hotplug(void **state)
{
    struct cgroup_play play;

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 4");
    cgroup_play_make(&play, 1);
    assert_int_equal(play.rig.fake->n_open, 4);
    fake_set_online(play.rig.fake, 1, false);
    fake_set_online(play.rig.fake, 1, true);
    assert_int_equal(cpuset_add(&play.rig.left, 1), 0);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    cpuset_done(&play.rig.left);
    assert_int_equal(play.set.span, REASON_PASSES);
    assert_int_equal(play.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 2 : 4);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(play.set.span, REASON_LASTS);
    assert_int_equal(play.rig.fake->n_open, 4);
    assert_int_equal(enabled_of(&play), 0);
    cgroup_play_done(&play);
}

/* The next one is opened before the directory is looked at again, and before the others are selected. */
static void test_opened_at_once(void **state)
{
    struct cgroup_play play;
    char path[128];

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 2");
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(mkdir(cgroup_play_path(&play, i, path), 0755), 0);
    play.set.context = &play.rig.context;
    cgroup_tree_dispatch(play.set.tree);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(cgroup_play_state(&play, 2), 'w');
    assert_int_equal(cgroup_play_state(&play, 3), '-');
    assert_int_equal(play.set.n_free, 0);
    cgroup_play_dispatch(&play);
    assert_int_equal(play.set.n_dropped, 1);
    assert_int_equal(play.set.n, 2);
    assert_int_equal(play.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 8 : 4);
    for (unsigned i = 1; i <= 3; i++)
        cgroup_play_drop(&play, i);
    assert_int_equal(play.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 4);
    assert_int_equal(cgroup_tree_watches(play.set.tree), 1);
    cgroup_play_done(&play);
}

/* Other patterns: cgroups that were there all the time are watched, and those that were watched are not. */
static void test_other_patterns(void **state)
{
    const char *patterns[] = {"/d/*", "/c*"};
    struct cgroup_play play;
    char path[160];

    (void)state;
    cgroup_play_init(&play, "max_cgroups: 4");
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/d", play.rig.fake->root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/d/e", play.rig.fake->root);
    assert_int_equal(mkdir(path, 0755), 0);
    cgroup_play_make(&play, 1);
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
        assert_int_equal(cgroup_play_state(&play, 1), i ? 'w' : 'l');
        assert_int_equal(cgroup_tree_watches(play.set.tree), i ? 1 : 2);
    }
    assert_int_equal(rmdir(path), 0);
    path[strlen(path) - 2] = '\0';
    assert_int_equal(rmdir(path), 0);
    cgroup_play_drop(&play, 1);
    cgroup_play_done(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_short_lived),
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_no_descriptor_for_the_directory),
        cmocka_unit_test(test_no_descriptor_in_a_hotplug),
        cmocka_unit_test(test_opened_at_once),
        cmocka_unit_test(test_other_patterns),
    };
    /* Of a cgroup's own descriptors, which with bpf it does not have. */
    const struct CMUnitTest tests_of_perf[] = {
        cmocka_unit_test(test_share_of_descriptors),
        cmocka_unit_test(test_room_for_self),
    };
    int failed = cgroup_rig_run_tests(tests);

    cgroup_rig_use(ENGINE_PERF);
    return failed + cmocka_run_group_tests(tests_of_perf, NULL, NULL);
}
