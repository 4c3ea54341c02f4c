/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of events. test-group-counts.c tests how events are divided into groups. */
#include "perf/group.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct group *, group_free);

#define HARDWARE(number)                                                                                               \
    {                                                                                                                  \
        .kernel = {.type = PERF_TYPE_HARDWARE, .config = (number)}, .scale = 1.0, .unit = ""                           \
    }
#define SOFTWARE(number)                                                                                               \
    {                                                                                                                  \
        .kernel = {.type = PERF_TYPE_SOFTWARE, .config = (number)}, .scale = 1.0, .unit = ""                           \
    }

static const struct group_target on_cpu_0 = {.pid = -1, .cpu = 0};

static struct group *open_whole(struct fake_sys *fake, const struct attr *attrs, size_t n)
{
    int errors[GROUP_MEMBERS_MAX];
    struct group *group = NULL;

    assert_int_equal(group_open_many(&fake->sys, attrs, n, true, &on_cpu_0, errors, &group), 0);
    assert_non_null(group);
    return group;
}

TEST(test_counts)
{
    struct attr attrs[] = {HARDWARE(0), HARDWARE(1), SOFTWARE(3)};
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    struct group_reading reading;

    /* The kernel refuses a pinned sibling, so only the leader is opened as pinned. */
    attrs[0].kernel.pinned = attrs[1].kernel.pinned = 1;
    _cleanup_(group_freep) struct group *group = open_whole(fake, attrs, 3);
    assert_true(fake_attr(fake, group_fd(group, 0))->pinned);
    fake_rate(fake, (struct fake_rate){.type = PERF_TYPE_HARDWARE, .config = 1, .count = 3, .ns = 1});
    fake_advance(fake, 10);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.enabled, 0);
    assert_int_equal(group_enable(group), 0);
    fake_advance(fake, 100);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.n, 3);
    assert_int_equal(reading.enabled, 100);
    assert_int_equal(reading.running, 100);
    assert_int_equal(reading.values[0], 100);
    assert_int_equal(reading.values[1], 300);
    assert_int_equal(group_disable(group), 0);
    fake_advance(fake, 100);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.enabled, 100);
}

TEST(test_read_fails)
{
    static const struct {
        int in_error, out_result;
    } cases[] = {{0, -ENODATA}, {EIO, -EIO}, {EINTR, -EINTR}};
    const struct attr attr = HARDWARE(0);
    struct group_reading reading;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
        struct group *group;
        assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), 0);
        fake_fail(fake, (struct fake_failure){.call = FAKE_READ, .error = cases[i].in_error, .times = 1});
        assert_int_equal(group_read(group, &reading), cases[i].out_result);
        assert_int_equal(group_read(group, &reading), 0);
        group_free(group);
    }
}

TEST(test_open_leaves_nothing)
{
    const struct attr attr = HARDWARE(0);
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    struct group *group = NULL;

    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE});
    assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), -EMFILE);
    assert_null(group);
    fake_fail_no_more(fake);
    fake_fail(fake, (struct fake_failure){.call = FAKE_IOCTL, .error = ENOTTY});
    assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), -ENOTTY);
    assert_null(group);
    assert_int_equal(fake->n_open, 0);
    assert_null(group_free(NULL));
}

TEST(test_too_many)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    struct attr attrs[GROUP_MEMBERS_MAX + 1];
    int errors[GROUP_MEMBERS_MAX + 1];
    _cleanup_(group_freep) struct group *group = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
        attrs[i] = (struct attr)SOFTWARE(3);
    assert_int_equal(group_open_many(&fake->sys, attrs, ARRAY_SIZE(attrs), true, &on_cpu_0, errors, &group), -E2BIG);
    assert_null(group);
    group = open_whole(fake, attrs, GROUP_MEMBERS_MAX);
    assert_int_equal(group_size(group), GROUP_MEMBERS_MAX);
    assert_true(group_always_runs(group)); /* it has only software events */
}

/*
 * The first event that can be opened is the leader. If `whole` is true, the first failure closes the group, and no
 * further event is tried.
 */
TEST(test_many)
{
    const struct attr attrs[] = {HARDWARE(2), HARDWARE(0), HARDWARE(2), SOFTWARE(3)};
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    struct group *group = NULL;
    int errors[4];

    fake_fail(fake, (struct fake_failure){
                        .call = FAKE_OPEN, .error = ENOENT, .on_event = true, .type = PERF_TYPE_HARDWARE, .config = 2});
    assert_int_equal(group_open_many(&fake->sys, attrs, 4, false, &on_cpu_0, errors, &group), 0);
    assert_int_equal(group_size(group), 2);
    assert_int_equal(errors[0], -ENOENT);
    assert_int_equal(errors[1], 0);
    assert_int_equal(errors[2], -ENOENT);
    assert_int_equal(errors[3], 0);
    for (int i = 0; i < 2; i++) {
        const struct perf_event_attr *attr = fake_attr(fake, group_fd(group, (size_t)i));
        assert_int_equal(attr->disabled, i == 0);
        assert_int_equal(attr->enable_on_exec, i == 0);
    }
    group_free(group);
    assert_int_equal(group_open_many(&fake->sys, attrs + 1, 3, true, &on_cpu_0, errors, &group), 0);
    assert_null(group);
    assert_int_equal(errors[0], 0);
    assert_int_equal(errors[1], -ENOENT);
    assert_int_equal(errors[2], -ECANCELED);
    assert_int_equal(fake->n_open, 0);
    assert_int_equal(group_open_many(&fake->sys, attrs, 1, false, &on_cpu_0, errors, &group), 0);
    assert_null(group);
}

TEST(test_capacity)
{
    static const struct {
        struct fake_sys *(*in_machine)(void);
        const char *in_pmu;
        int in_error, out_result;
        unsigned out_counters;
    } cases[] = {
        {fake_machine_one_pmu, "cpu", 0, 0, 4},
        {fake_machine_one_pmu, "cpu", EACCES, -EACCES, 0},
        {fake_machine_big_little, "armv8_cortex_a76", 0, 0, 6},
        {fake_machine_no_pmu, "cpu", 0, -ENODATA, 0},
        {fake_machine_no_pmu, "software", 0, -ENODATA, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = cases[i].in_machine();
        unsigned counters = 0;
        _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
        const struct pmu *pmu = machine_find_pmu(machine, cases[i].in_pmu);
        assert_non_null(pmu);
        if (cases[i].in_error)
            fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = cases[i].in_error});
        assert_int_equal(group_probe_capacity(&fake->sys, pmu, &counters), cases[i].out_result);
        assert_int_equal(counters, cases[i].out_counters);
    }
}

/*
 * A subgroup has some members of the group in any order, and may also have clocks. The group stays open as long as the
 * subgroup exists.
 */
TEST(test_part)
{
    const struct attr attrs[] = {HARDWARE(0), HARDWARE(1), SOFTWARE(3)};
    const int members[] = {2, GROUP_CLOCK, GROUP_CLOCK, 0, GROUP_CLOCK};
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    struct group_reading reading;

    struct group *group = open_whole(fake, attrs, 3);
    struct group *part = group_subgroup(group, members, ARRAY_SIZE(members)),
                 *other = group_subgroup(group, members, 1);
    assert_false(group_always_runs(part));
    assert_int_equal(group_descriptors(group), 3);
    assert_int_equal(group_descriptors(part), 0);
    assert_int_equal(group_id(part, 3), group_id(group, 0));
    fake_rate(fake, (struct fake_rate){.type = PERF_TYPE_SOFTWARE, .config = 3, .count = 7, .ns = 1});
    assert_int_equal(group_enable(part), 0);
    fake_advance(fake, 100);
    group_free(group);
    group_free(other);
    assert_int_equal(fake->n_open, 3);
    assert_int_equal(group_read(part, &reading), 0);
    assert_int_equal(reading.n, 5);
    assert_int_equal(reading.enabled, 100);
    assert_int_equal(reading.values[0], 700);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(reading.values[i], 100);
    assert_int_equal(group_disable(part), 0);
    fake_advance(fake, 100);
    assert_int_equal(group_read(part, &reading), 0);
    assert_int_equal(reading.running, 100);
    fake_set_online(fake, 0, false);
    assert_int_equal(group_read(part, &reading), -EBADMSG);
    group_free(part);
    assert_int_equal(fake->n_open, 0);
}

TEST_MAIN(NULL, NULL)
