/* SPDX-License-Identifier: Apache-2.0 */
/* Weak and strict groups on PMUs without some of their events or counters. */
#include "perf/partition.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define EVENTS_MAX 5
#define NONE SIZE_MAX

struct wanted {
    uint32_t type;
    uint64_t config;
};

struct result {
    const char *name;
    struct fake_sys *(*in_machine)(void);
    bool in_strict;
    size_t n;
    struct wanted in_events[EVENTS_MAX];
    size_t out_groups;
    size_t out_group_of[EVENTS_MAX]; /* NONE: not counted */
    int out_errors[EVENTS_MAX];
    size_t out_culprit;
};

#define HW PERF_TYPE_HARDWARE
#define SW PERF_TYPE_SOFTWARE

static const struct result results[] = {
    {"fits whole", fake_machine_one_pmu, false, 3, {{HW, 0}, {HW, 1}, {SW, 3}}, 1, {0, 0, 0}, {0}, 0},
    {"five events, two counters",
     fake_machine_two_counters,
     false,
     5,
     {{HW, 0}, {HW, 1}, {HW, 2}, {HW, 3}, {HW, 4}},
     3,
     {0, 0, 1, 1, 2},
     {0},
     0},
    {"software needs no counter and stays with the first",
     fake_machine_two_counters,
     false,
     4,
     {{HW, 0}, {HW, 1}, {HW, 2}, {SW, 3}},
     2,
     {0, 0, 1, 0},
     {0},
     0},
    {"no PMU: only software is counted",
     fake_machine_no_pmu,
     false,
     3,
     {{HW, 0}, {SW, 3}, {HW, 1}},
     1,
     {NONE, 0, NONE},
     {-ENOENT, 0, -ENOENT},
     0},
    {"nothing can be counted",
     fake_machine_no_pmu,
     false,
     2,
     {{HW, 0}, {HW, 1}},
     0,
     {NONE, NONE},
     {-ENOENT, -ENOENT},
     0},
    {"strict and fits", fake_machine_two_counters, true, 2, {{HW, 0}, {HW, 1}}, 1, {0, 0}, {0}, 0},
    {"strict and too large",
     fake_machine_two_counters,
     true,
     3,
     {{HW, 0}, {HW, 1}, {HW, 2}},
     0,
     {NONE, NONE, NONE},
     {-EINVAL, -EINVAL, -EINVAL},
     2},
    {"strict and a member is missing",
     fake_machine_no_pmu,
     true,
     2,
     {{SW, 3}, {HW, 0}},
     0,
     {NONE, NONE},
     {-ENOENT, -ENOENT},
     1},
};

static size_t group_of(const struct partition *partition, size_t member)
{
    for (size_t i = 0; i < partition->n_groups; i++)
        if (partition->groups[i].events & event_bit(member))
            return i;
    return NONE;
}

static void check_partition(const struct result *result)
{
    struct fake_sys *fake = result->in_machine();
    struct group_target target = {.pid = -1, .cpu = 1};
    struct attr attrs[EVENTS_MAX] = {0};
    struct partition partition = {0};

    print_message("%s\n", result->name);
    for (size_t i = 0; i < result->n; i++) {
        attrs[i].kernel.type = result->in_events[i].type;
        attrs[i].kernel.config = result->in_events[i].config;
    }
    assert_int_equal(
        partition_open(&fake->sys, attrs, event_bit(result->n) - 1, result->in_strict, &target, &partition), 0);
    assert_int_equal(partition.n_groups, result->out_groups);
    unsigned counted = 0;
    for (size_t i = 0; i < result->n; i++) {
        assert_true(group_of(&partition, i) == result->out_group_of[i]);
        assert_int_equal(partition.errors[i], result->out_errors[i]);
        counted += result->out_group_of[i] != NONE;
    }
    if (result->in_strict)
        assert_int_equal(partition.culprit, result->out_culprit);
    assert_int_equal(fake->n_open, counted);
    partition_done(&partition);
    fake_sys_free(fake);
}

static void test_results(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(results); i++)
        check_partition(&results[i]);
}

/* Each group is enabled, and on a PMU with two counters three groups get their share. */
static void test_groups_count(void **state)
{
    struct fake_sys *fake = fake_machine_two_counters();
    struct group_target target = {.pid = -1, .cpu = 0};
    struct attr attrs[5] = {0};
    struct partition partition;
    struct group_reading reading;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        attrs[i].kernel.config = i;
    assert_int_equal(partition_open(&fake->sys, attrs, 0x1f, false, &target, &partition), 0);
    fake_advance(fake, 300 * NSEC_PER_MSEC);
    for (size_t i = 0; i < partition.n_groups; i++) {
        assert_int_equal(group_read(partition.groups[i].group, &reading), 0);
        assert_int_equal(reading.enabled, 300 * NSEC_PER_MSEC);
        assert_true(reading.running > 0 && reading.running < reading.enabled);
    }
    partition_done(&partition);
    fake_sys_free(fake);
}

/* Descriptors run out half-way: the events that are open are counted, the others have an error. */
static void test_descriptors_run_out(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group_target target = {.pid = -1, .cpu = 0};
    struct attr attrs[3] = {0};
    struct partition partition;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        attrs[i].kernel.config = i;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 2});
    assert_int_equal(partition_open(&fake->sys, attrs, 0x7, false, &target, &partition), 0);
    assert_int_equal(partition.n_groups, 1);
    assert_int_equal(partition.groups[0].events, 0x3);
    assert_int_equal(partition.errors[2], -EMFILE);
    partition_done(&partition);
    fake_sys_free(fake);
}

static void test_enable_fails(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group_target target = {.pid = -1, .cpu = 0};
    struct attr attrs[2] = {0};
    struct partition partition;

    (void)state;
    attrs[1].kernel.config = 1;
    /* Two calls ask for ids, the third enables. */
    fake_fail(fake, (struct fake_failure){.call = FAKE_IOCTL, .error = ENODEV, .after = 2});
    assert_int_equal(partition_open(&fake->sys, attrs, 0x3, false, &target, &partition), 0);
    assert_int_equal(partition.n_groups, 0);
    assert_int_equal(partition.errors[0], -ENODEV);
    assert_int_equal(partition.errors[1], -ENODEV);
    partition_done(&partition);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_groups_count),
        cmocka_unit_test(test_descriptors_run_out),
        cmocka_unit_test(test_enable_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
