/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that come and go, in directories that tests make, on a machine that they play. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "collectors/cgroup/set.h"
#include "perf/descriptors.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

/* As on kernels before 6.2 where no descriptor is left to list the open ones with. */
int __wrap_fd_count_open(int directory, uint64_t *ret);
int __wrap_fd_count_open(int directory, uint64_t *ret)
{
    (void)directory;
    (void)ret;
    return -EMFILE;
}

struct rig {
    struct fake_sys *fake;
    struct machine *machine;
    struct config *config;
    struct snapshot snapshot;
    struct cpuset left;
    bool stale;
    struct collector_context context;
    struct cgroup_set set;
};

static void rig_init_on(struct rig *rig, struct fake_sys *fake, const char *settings)
{
    static const char *const names[] = {"cgroup", NULL};
    struct error error = {0};
    char text[512];

    *rig = (struct rig){.fake = fake};
    fake_file(rig->fake, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake_file(rig->fake, "/sys/fs/cgroup/cgroup.procs", "%s", "");
    assert_int_equal(machine_load(&rig->fake->sys, &rig->machine, &error), 0);
    int n =
        snprintf(text, sizeof(text),
                 "collectors: {cgroup: {include: '/c*', groups: [{name: core, events: '{cs,faults}'}], %s}}", settings);
    if (config_parse(text, (size_t)n, &rig->config, &error) < 0)
        fail_msg("%s", error.message);
    rig->snapshot.collector_names = names;
    rig->context = (struct collector_context){
        .sys = &rig->fake->sys,
        .machine = rig->machine,
        .config = rig->config,
        .snapshot = &rig->snapshot,
        .left = &rig->left,
        .stale = &rig->stale,
    };
    assert_int_equal(cgroup_set_open(&rig->set, &rig->context, &error), 0);
    assert_int_equal(cgroup_set_configure(&rig->set, &rig->context), 0);
}

static void rig_init(struct rig *rig, const char *settings)
{
    rig_init_on(rig, fake_machine_no_pmu(), settings);
}

static void rig_done(struct rig *rig)
{
    cgroup_set_done(&rig->set, &rig->context);
    assert_int_equal(rig->snapshot.n_rows, 0);
    assert_int_equal(rig->fake->n_open, 0);
    snapshot_done(&rig->snapshot);
    cpuset_done(&rig->left);
    config_free(rig->config);
    machine_free(rig->machine);
    fake_sys_free(rig->fake);
}

static void dispatch(struct rig *rig)
{
    cgroup_tree_dispatch(rig->set.tree);
    if (rig->set.changed)
        cgroup_set_select(&rig->set, &rig->context);
    cgroup_set_forget(&rig->set, &rig->context);
}

static const char *path_of(const struct rig *rig, unsigned i, char path[128])
{
    snprintf(path, 128, "%s/sys/fs/cgroup/c%04u", rig->fake->root, i);
    return path;
}

static void make(struct rig *rig, unsigned i)
{
    char path[128];

    assert_int_equal(mkdir(path_of(rig, i, path), 0755), 0);
    dispatch(rig);
}

static void drop(struct rig *rig, unsigned i)
{
    char path[128];

    assert_int_equal(rmdir(path_of(rig, i, path)), 0);
    dispatch(rig);
}

/* 'w' for one that is watched, 'l' for one that lingers, '-' for none. */
static char state_of(const struct rig *rig, unsigned i)
{
    char name[16], state = '-';

    snprintf(name, sizeof(name), "/c%04u", i);
    for (size_t k = 0; k < rig->set.n; k++) {
        const struct cgroup_counts *counts = rig->set.counts[k];
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
    struct rig rig;

    (void)state;
    rig_init(&rig, "max_cgroups: 4, linger: 1h");
    make(&rig, 9999);
    for (unsigned i = 0; i < 100; i++) {
        make(&rig, i);
        fake_advance(rig.fake, 1000);
        drop(&rig, i);
        assert_true(rig.set.n <= 5);
        assert_int_equal(state_of(&rig, i), 'l');
    }
    assert_int_equal(state_of(&rig, 9999), 'w');
    assert_int_equal(state_of(&rig, 95), '-');
    for (unsigned i = 96; i < 100; i++)
        assert_int_equal(state_of(&rig, i), 'l');
    assert_int_equal(rig.snapshot.n_rows, 5);
    rig_done(&rig);
}

/* One that came back and went again is no old one. */
static void test_comes_back(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, "max_cgroups: 2, linger: 1h");
    for (unsigned i = 0; i < 2; i++) {
        make(&rig, i);
        fake_advance(rig.fake, 1000);
        drop(&rig, i);
    }
    make(&rig, 0);
    assert_int_equal(state_of(&rig, 0), 'w');
    fake_advance(rig.fake, 1000);
    drop(&rig, 0);
    make(&rig, 2);
    fake_advance(rig.fake, 1000);
    drop(&rig, 2);
    assert_int_equal(state_of(&rig, 0), 'l');
    assert_int_equal(state_of(&rig, 1), '-');
    assert_int_equal(state_of(&rig, 2), 'l');
    fake_advance(rig.fake, 3600 * NSEC_PER_SEC);
    dispatch(&rig);
    assert_int_equal(rig.set.n, 0);
    rig_done(&rig);
}

/* What is set aside for others is not for cgroups: those that fit are chosen before any is opened. */
static void test_share_of_descriptors(void **state)
{
    struct descriptors descriptors = {0};
    struct rig rig;

    (void)state;
    rig_init(&rig, "max_cgroups: 4");
    descriptors_attach(&descriptors, &rig.fake->sys, &(struct descriptor_limits){.counting = 9});
    for (unsigned i = 1; i <= 3; i++)
        make(&rig, i);
    assert_int_equal(state_of(&rig, 1), 'w');
    assert_int_equal(state_of(&rig, 2), 'w');
    assert_int_equal(rig.set.n_dropped, 1);
    assert_int_equal(rig.set.limit, 2);
    assert_int_equal(descriptors.n_counting, 8);
    drop(&rig, 1);
    assert_int_equal(state_of(&rig, 3), 'w');
    assert_int_equal(rig.set.n_dropped, 0);
    drop(&rig, 2);
    drop(&rig, 3);
    assert_int_equal(descriptors.n_counting, 0);
    descriptors_done(&descriptors, &rig.fake->sys);
    rig_done(&rig);
}

/* The daemon counts itself, in two descriptors on each kind of core, which are opened behind all cgroups. */
static void test_room_for_self(void **state)
{
    struct descriptors descriptors = {0};
    struct rig rig;

    (void)state;
    rig_init_on(&rig, fake_machine_one_pmu(), "max_cgroups: 4");
    descriptors_attach(&descriptors, &rig.fake->sys, &(struct descriptor_limits){.counting = 17});
    make(&rig, 1);
    make(&rig, 2);
    assert_int_equal(state_of(&rig, 1), 'w');
    assert_int_equal(rig.set.n_dropped, 1);
    assert_int_equal(descriptors.n_counting, 8);
    descriptors.limits.counting = 18;
    assert_int_equal(cgroup_set_configure(&rig.set, &rig.context), 0);
    assert_int_equal(descriptors.n_counting, 16);
    drop(&rig, 1);
    drop(&rig, 2);
    descriptors_done(&descriptors, &rig.fake->sys);
    rig_done(&rig);
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
    struct rig rig;

    (void)state;
    rig_init(&rig, "max_cgroups: 4");
    make(&rig, 1);
    cgroup_counts_end(rig.set.counts[0], &rig.fake->sys);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_select(&rig.set, &rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(state_of(&rig, 1), 'l');
    assert_int_equal(rig.set.n_dropped, 1);
    assert_int_equal(rig.set.span, REASON_PASSES);
    assert_int_equal(cgroup_set_configure(&rig.set, &rig.context), 0);
    assert_int_equal(state_of(&rig, 1), 'w');
    assert_int_equal(rig.set.n_dropped, 0);
    assert_int_equal(rig.set.span, REASON_LASTS);
    rig_done(&rig);
}

static uint64_t enabled_of(struct rig *rig)
{
    cgroup_counts_read(rig->set.counts[0], &rig->fake->sys);
    return rig->snapshot.rows[0]->enabled_ns;
}

/* A CPU left when no directory could be opened: what is open there is dead, and is opened anew as soon as one can. */
static void test_no_descriptor_in_a_hotplug(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, "max_cgroups: 4");
    make(&rig, 1);
    assert_int_equal(rig.fake->n_open, 4);
    fake_set_online(rig.fake, 1, false);
    fake_set_online(rig.fake, 1, true);
    assert_int_equal(cpuset_add(&rig.left, 1), 0);
    struct rlimit before = leave_no_room();
    assert_int_equal(cgroup_set_configure(&rig.set, &rig.context), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    cpuset_done(&rig.left);
    assert_int_equal(rig.set.span, REASON_PASSES);
    assert_int_equal(rig.fake->n_open, 2);
    assert_int_equal(cgroup_set_configure(&rig.set, &rig.context), 0);
    assert_int_equal(rig.set.span, REASON_LASTS);
    assert_int_equal(rig.fake->n_open, 4);
    assert_int_equal(enabled_of(&rig), 0);
    rig_done(&rig);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
