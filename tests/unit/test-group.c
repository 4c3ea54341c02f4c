/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and partitions over machines that tests play. */
#include "perf/group.h"
#include "perf/partition.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

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

static void test_counts(void **state)
{
    const struct attr attrs[] = {HARDWARE(0), HARDWARE(1), SOFTWARE(3)};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group_reading reading;

    (void)state;
    struct group *group = open_whole(fake, attrs, 3);
    fake_rate(fake, (struct fake_rate){.type = PERF_TYPE_HARDWARE, .config = 1, .count = 3, .ns = 1});
    fake_advance(fake, 10);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.enabled, 0);
    assert_int_equal(group_enable(group), 0);
    fake_advance(fake, 100);
    unsigned before = fake->calls[FAKE_READ];
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(fake->calls[FAKE_READ], before + 1);
    assert_int_equal(reading.n, 3);
    assert_int_equal(reading.enabled, 100);
    assert_int_equal(reading.running, 100);
    assert_int_equal(reading.values[0], 100);
    assert_int_equal(reading.values[1], 300);
    assert_int_equal(group_disable(group), 0);
    fake_advance(fake, 100);
    assert_int_equal(group_read(group, &reading), 0);
    assert_int_equal(reading.enabled, 100);
    group_free(group);
    fake_sys_free(fake);
}

static void test_read_format(void **state)
{
    const struct attr attrs[] = {HARDWARE(0), HARDWARE(1)};
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    struct group *group = open_whole(fake, attrs, 2);
    const struct perf_event_attr *leader = fake_attr(fake, FAKE_FD_FIRST),
                                 *sibling = fake_attr(fake, FAKE_FD_FIRST + 1);
    assert_int_equal(leader->read_format, PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                              PERF_FORMAT_TOTAL_TIME_RUNNING);
    assert_true(leader->disabled);
    assert_false(sibling->disabled);
    assert_false(leader->inherit);
    group_free(group);
    fake_sys_free(fake);
}

/* A reading from a CPU that left has one member: that is an error and not a value. */
static void test_cpu_leaves(void **state)
{
    const struct attr attrs[] = {HARDWARE(0), HARDWARE(1)};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group_reading reading = {.enabled = 77};

    (void)state;
    struct group *group = open_whole(fake, attrs, 2);
    assert_int_equal(group_enable(group), 0);
    fake_set_online(fake, 0, false);
    assert_int_equal(group_read(group, &reading), -EBADMSG);
    assert_int_equal(reading.enabled, 77);
    group_free(group);
    fake_sys_free(fake);
}

static void test_read_fails(void **state)
{
    static const struct {
        int in_error, out_result;
    } cases[] = {{0, -ENODATA}, {EIO, -EIO}, {EINTR, -EINTR}};
    const struct attr attr = HARDWARE(0);
    struct group_reading reading;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_machine_one_pmu();
        struct group *group;
        assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), 0);
        fake_fail(fake, (struct fake_failure){.call = FAKE_READ, .error = cases[i].in_error, .times = 1});
        assert_int_equal(group_read(group, &reading), cases[i].out_result);
        assert_int_equal(group_read(group, &reading), 0);
        group_free(group);
        fake_sys_free(fake);
    }
}

static void test_open_leaves_nothing(void **state)
{
    const struct attr attr = HARDWARE(0);
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group *group = NULL;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE});
    assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), -EMFILE);
    assert_null(group);
    fake_fail_no_more(fake);
    fake_fail(fake, (struct fake_failure){.call = FAKE_IOCTL, .error = ENOTTY});
    assert_int_equal(group_open(&fake->sys, &attr, &on_cpu_0, &group), -ENOTTY);
    assert_null(group);
    assert_int_equal(fake->n_open, 0);
    assert_null(group_free(NULL));
    fake_sys_free(fake);
}

static void test_too_many(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct attr attrs[GROUP_MEMBERS_MAX + 1];
    int errors[GROUP_MEMBERS_MAX + 1];
    struct group *group = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
        attrs[i] = (struct attr)SOFTWARE(3);
    assert_int_equal(group_open_many(&fake->sys, attrs, ARRAY_SIZE(attrs), true, &on_cpu_0, errors, &group), -E2BIG);
    assert_null(group);
    group = open_whole(fake, attrs, GROUP_MEMBERS_MAX);
    assert_int_equal(group_size(group), GROUP_MEMBERS_MAX);
    group_free(group);
    fake_sys_free(fake);
}

/* Pinned is said of the leader alone: on a sibling the kernel refuses it. */
static void test_pinned_leader(void **state)
{
    struct attr attrs[] = {HARDWARE(0), HARDWARE(1)};
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    attrs[0].kernel.pinned = attrs[1].kernel.pinned = 1;
    struct group *group = open_whole(fake, attrs, 2);
    assert_true(fake_attr(fake, FAKE_FD_FIRST)->pinned);
    assert_false(fake_attr(fake, FAKE_FD_FIRST + 1)->pinned);
    group_free(group);
    fake_sys_free(fake);
}

/* The first that opens leads; `whole` takes all or none, and tries nothing behind the first that fails. */
static void test_many(void **state)
{
    const struct attr attrs[] = {HARDWARE(2), HARDWARE(0), HARDWARE(2), SOFTWARE(3)};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group *group = NULL;
    int errors[4];

    (void)state;
    fake_fail(fake, (struct fake_failure){
                        .call = FAKE_OPEN, .error = ENOENT, .on_event = true, .type = PERF_TYPE_HARDWARE, .config = 2});
    assert_int_equal(group_open_many(&fake->sys, attrs, 4, false, &on_cpu_0, errors, &group), 0);
    assert_int_equal(group_size(group), 2);
    assert_int_equal(errors[0], -ENOENT);
    assert_int_equal(errors[1], 0);
    assert_int_equal(errors[2], -ENOENT);
    assert_int_equal(errors[3], 0);
    assert_true(fake_attr(fake, group_fd(group, 0))->disabled);
    assert_false(fake_attr(fake, group_fd(group, 1))->disabled);
    group_free(group);
    assert_int_equal(group_open_many(&fake->sys, attrs + 1, 3, true, &on_cpu_0, errors, &group), 0);
    assert_null(group);
    assert_int_equal(errors[0], 0);
    assert_int_equal(errors[1], -ENOENT);
    assert_int_equal(errors[2], -ECANCELED);
    assert_int_equal(fake->n_open, 0);
    assert_int_equal(group_open_many(&fake->sys, attrs, 1, false, &on_cpu_0, errors, &group), 0);
    assert_null(group);
    fake_sys_free(fake);
}

static void test_capacity(void **state)
{
    static const struct {
        struct fake_sys *(*in_machine)(void);
        const char *in_pmu;
        int out_result;
        unsigned out_counters;
    } cases[] = {
        {fake_machine_one_pmu, "cpu", 0, 4},
        {fake_machine_two_counters, "cpu", 0, 2},
        {fake_machine_big_little, "armv8_cortex_a55", 0, 6},
        {fake_machine_big_little, "armv8_cortex_a76", 0, 6},
        {fake_machine_no_pmu, "cpu", -ENODATA, 0},
        {fake_machine_no_pmu, "software", -ENODATA, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = cases[i].in_machine();
        unsigned counters = 0;
        struct machine *machine = machine_of(&fake->sys);
        const struct pmu *pmu = machine_find_pmu(machine, cases[i].in_pmu);
        assert_non_null(pmu);
        assert_int_equal(group_probe_capacity(&fake->sys, pmu, &counters), cases[i].out_result);
        assert_int_equal(counters, cases[i].out_counters);
        machine_free(machine);
        fake_sys_free(fake);
    }
}

static void test_capacity_not_allowed(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    unsigned counters;

    (void)state;
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EACCES});
    struct machine *machine = machine_of(&fake->sys);
    assert_int_equal(group_probe_capacity(&fake->sys, machine_find_pmu(machine, "cpu"), &counters), -EACCES);
    machine_free(machine);
    fake_sys_free(fake);
}

/* A part has some of the members in an order of its own, and a clock that is no member; it keeps the group open. */
static void test_part(void **state)
{
    const struct attr attrs[] = {HARDWARE(0), HARDWARE(1), SOFTWARE(3)};
    const int members[] = {2, GROUP_CLOCK, GROUP_CLOCK, 0, GROUP_CLOCK};
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group_reading reading;

    (void)state;
    struct group *group = open_whole(fake, attrs, 3);
    struct group *part = group_part(group, members, ARRAY_SIZE(members)), *other = group_part(group, members, 1);
    assert_int_equal(group_size(part), 5);
    assert_int_equal(group_descriptors(group), 3);
    assert_int_equal(group_descriptors(part), 0);
    assert_int_equal(group_fd(part, 0), group_fd(group, 2));
    assert_int_equal(group_id(part, 3), group_id(group, 0));
    assert_int_equal(group_fd(part, 1), -1);
    assert_int_equal(group_id(part, 1), 0);
    fake_rate(fake, (struct fake_rate){.type = PERF_TYPE_SOFTWARE, .config = 3, .count = 7, .ns = 1});
    assert_int_equal(group_enable(part), 0);
    fake_advance(fake, 100);
    group_free(group);
    group_free(other);
    assert_int_equal(fake->n_open, 3);
    unsigned before = fake->calls[FAKE_READ];
    assert_int_equal(group_read(part, &reading), 0);
    assert_int_equal(fake->calls[FAKE_READ], before + 1);
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
    fake_sys_free(fake);
}

static void test_always_runs(void **state)
{
    const struct attr hardware[] = {SOFTWARE(1), HARDWARE(0)}, software[] = {SOFTWARE(1), SOFTWARE(3)};
    const int first = 0;
    struct fake_sys *fake = fake_machine_one_pmu();
    struct group *with = open_whole(fake, hardware, 2), *without = open_whole(fake, software, 2);

    (void)state;
    assert_false(group_always_runs(with));
    assert_true(group_always_runs(without));
    struct group *part = group_part(with, &first, 1);
    assert_false(group_always_runs(part));
    group_free(part);
    group_free(group_ref(with)); /* an owner more, and one less */
    assert_int_equal(fake->n_open, 4);
    group_free(with);
    group_free(without);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_read_format),
        cmocka_unit_test(test_cpu_leaves),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_open_leaves_nothing),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_pinned_leader),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_capacity_not_allowed),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_always_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
