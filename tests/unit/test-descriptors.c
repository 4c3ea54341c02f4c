/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and sampling each hold their share of the descriptors, and no more. */
#include "perf/descriptors.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define GROUP_MAX 6

struct rig {
    struct fake_sys *fake;
    struct descriptors descriptors;
};

static void rig_init(struct rig *rig, struct descriptor_limits limits)
{
    *rig = (struct rig){.fake = fake_machine_no_pmu()};
    descriptors_attach(&rig->descriptors, &rig->fake->sys, &limits);
}

static void rig_done(struct rig *rig)
{
    descriptors_done(&rig->descriptors, &rig->fake->sys);
    assert_null(rig->fake->sys.descriptors);
    assert_int_equal(rig->fake->n_open, 0);
    fake_sys_free(rig->fake);
}

/* Opens a group of `n` events; the machine does not have event `absent`, unless that is -1. Returns how many opened. */
static size_t open_group(struct rig *rig, size_t n, bool samples, bool whole, int absent, int fds[GROUP_MAX])
{
    struct perf_event_attr attrs[GROUP_MAX] = {{0}};
    size_t opened = 0;

    for (size_t i = 0; i < n; i++)
        attrs[i] = (struct perf_event_attr){
            .size = sizeof(attrs[i]),
            .type = (int)i == absent ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
            .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
            .sample_type = samples && i == 0 ? PERF_SAMPLE_IP : 0,
            .disabled = 1,
        };
    struct sys_group group = {.attrs = attrs, .n = n, .pid = -1, .cpu = 0, .leader = -1, .whole = whole};
    rig->fake->sys.open_group(&rig->fake->sys, &group, fds);
    for (size_t i = 0; i < n; i++)
        opened += fds[i] >= 0;
    return opened;
}

static void close_all(struct rig *rig, int *fds, size_t n)
{
    while (n-- > 0)
        if (fds[n] >= 0)
            rig->fake->sys.close(&rig->fake->sys, fds[n]);
}

static const struct {
    const char *name;
    struct descriptor_limits in_limits;
    size_t in_counting, in_sampling; /* descriptors that are open before */
    size_t in_n;
    bool in_samples, in_whole;
    int in_absent;
    size_t out_opened;
    int out_last; /* the error of the last event; 0: it opened */
} cases[] = {
    {"fits", {4, 0, 0}, 0, 0, 4, false, true, -1, 4, 0},
    {"the last event finds no room", {4, 0, 0}, 1, 0, 4, false, false, -1, 3, -EMFILE},
    {"a whole group with one event too many", {4, 0, 0}, 1, 0, 4, false, true, -1, 3, -EMFILE},
    {"no room at all", {2, 0, 0}, 2, 0, 2, false, true, -1, 0, -EMFILE},
    {"nothing for counters", {0, 8, 0}, 0, 0, 2, false, true, -1, 0, -EMFILE},
    {"an event that the machine does not have needs no room", {2, 0, 0}, 0, 0, 3, false, false, 0, 2, 0},
    {"and does not fail for room", {1, 0, 0}, 1, 0, 1, false, true, 0, 0, -ENOENT},
    {"nothing samples", {8, 0, 0}, 0, 0, 1, true, true, -1, 0, -EMFILE},
    {"sampling has its own room", {4, 2, 0}, 4, 0, 2, true, true, -1, 2, 0},
    {"and the room that counting leaves", {4, 2, 0}, 1, 2, 3, true, true, -1, 3, 0},
    {"and no more", {4, 2, 0}, 1, 4, 2, true, false, -1, 1, -EMFILE},
    {"counting leaves the room for samples", {4, 2, 0}, 4, 0, 1, false, true, -1, 0, -EMFILE},
    {"counting cannot have the room that samples took", {4, 2, 0}, 1, 4, 2, false, false, -1, 1, -EMFILE},
    {"more is open than there may be", {0, 1, 0}, 0, 1, 1, false, true, -1, 0, -EMFILE},
};

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int counting[GROUP_MAX], sampling[GROUP_MAX], fds[GROUP_MAX];
        struct rig rig;

        print_message("%s\n", cases[i].name);
        rig_init(&rig, cases[i].in_limits);
        assert_int_equal(open_group(&rig, cases[i].in_counting, false, true, -1, counting), cases[i].in_counting);
        assert_int_equal(open_group(&rig, cases[i].in_sampling, true, true, -1, sampling), cases[i].in_sampling);
        unsigned before = rig.fake->n_open;
        assert_int_equal(
            open_group(&rig, cases[i].in_n, cases[i].in_samples, cases[i].in_whole, cases[i].in_absent, fds),
            cases[i].out_opened);
        assert_int_equal(MIN(fds[cases[i].in_n - 1], 0), cases[i].out_last);
        assert_int_equal(rig.fake->n_open, before + cases[i].out_opened);
        close_all(&rig, fds, cases[i].in_n);
        close_all(&rig, sampling, cases[i].in_sampling);
        close_all(&rig, counting, cases[i].in_counting);
        assert_int_equal(rig.descriptors.n_counting, 0);
        assert_int_equal(rig.descriptors.n_sampling, 0);
        rig_done(&rig);
    }
}

/* A closed descriptor makes room for another, any number of times. */
static void test_gives_back(void **state)
{
    int fds[GROUP_MAX], none[GROUP_MAX];
    struct rig rig;

    (void)state;
    rig_init(&rig, (struct descriptor_limits){.counting = 3});
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(open_group(&rig, 3, false, true, -1, fds), 3);
        assert_int_equal(open_group(&rig, 1, false, true, -1, none), 0);
        close_all(&rig, fds, 3);
    }
    rig_done(&rig);
}

/* A single event, which is closed at once, is not counted. */
static void test_tries(void **state)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .disabled = 1};
    struct rig rig;

    (void)state;
    rig_init(&rig, (struct descriptor_limits){0});
    struct sys *sys = &rig.fake->sys;
    int fd = sys->perf_event_open(sys, &attr, -1, 0, -1, 0);
    assert_true(fd >= 0);
    assert_int_equal(sys->close(sys, fd), 0);
    assert_int_equal(rig.descriptors.n_counting, 0);
    rig_done(&rig);
}

/* Those that were opened otherwise: all of them count, or none. */
static void test_keep(void **state)
{
    struct rig rig;
    int fds[3], more[GROUP_MAX];

    (void)state;
    rig_init(&rig, (struct descriptor_limits){.counting = 3});
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = rig.fake->sys.open_file(&rig.fake->sys, "/proc", 0);
    assert_int_equal(open_group(&rig, 1, false, false, -1, more), 1);
    assert_int_equal(descriptors_keep(&rig.fake->sys, fds, 3), -EMFILE);
    assert_int_equal(rig.descriptors.n_counting, 1);
    close_all(&rig, more, 1);
    assert_int_equal(descriptors_keep(&rig.fake->sys, fds, 3), 0);
    assert_int_equal(rig.descriptors.n_counting, 3);
    assert_int_equal(open_group(&rig, 1, false, false, -1, more), 0);
    close_all(&rig, fds, 3);
    assert_int_equal(rig.descriptors.n_counting, 0);
    rig_done(&rig);
}

static void test_room(void **state)
{
    int fds[GROUP_MAX];
    struct rig rig;

    (void)state;
    rig_init(&rig, (struct descriptor_limits){.counting = 6, .sampling = 1, .files = 7});
    struct sys *sys = &rig.fake->sys;
    assert_int_equal(descriptors_room(sys, 0), 6);
    assert_int_equal(open_group(&rig, 4, false, true, -1, fds), 4);
    assert_int_equal(descriptors_room(sys, 0), 2);
    assert_int_equal(descriptors_room(sys, 3), 5);
    assert_int_equal(descriptors_room(sys, 9), 6);
    rig.descriptors.limits.counting = 1;
    assert_int_equal(descriptors_room(sys, 2), 0);
    assert_int_equal(descriptors_files(sys), 7);
    close_all(&rig, fds, 4);
    descriptors_done(&rig.descriptors, sys);
    assert_int_equal(descriptors_room(sys, 0), UINT64_MAX);
    assert_int_equal(descriptors_files(sys), UINT64_MAX);
    descriptors_done(&rig.descriptors, sys);
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits), cmocka_unit_test(test_gives_back), cmocka_unit_test(test_tries),
        cmocka_unit_test(test_keep),   cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
