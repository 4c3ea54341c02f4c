/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that tests play behaves as perf_event_open(2) says. */
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define GROUP (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_event(struct fake_sys *fake, uint32_t type, uint64_t config, int cpu, int leader)
{
    struct perf_event_attr attr = {.type = type, .config = config, .size = sizeof(attr), .read_format = GROUP};

    attr.disabled = leader < 0;
    return fake->sys.perf_event_open(&fake->sys, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static void enable(struct fake_sys *fake, int fd)
{
    assert_int_equal(fake->sys.ioctl(&fake->sys, fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
}

static void assert_read(struct fake_sys *fake, int fd, const uint64_t *expected, size_t n)
{
    uint64_t words[32];

    assert_int_equal(fake->sys.read(&fake->sys, fd, words, sizeof(words)), n * sizeof(words[0]));
    assert_memory_equal(words, expected, n * sizeof(words[0]));
}
#define assert_words(fake, fd, ...)                                                                                    \
    assert_read(fake, fd, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Closes all that is open, and frees. */
static void fake_end(struct fake_sys *fake)
{
    for (int fd = FAKE_FD_FIRST; fake->n_open > 0; fd++)
        fake->sys.close(&fake->sys, fd);
    fake_sys_free(fake);
}

static void test_group_counts(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    uint64_t id = 0;

    (void)state;
    int leader = open_event(fake, PERF_TYPE_HARDWARE, 0, 1, -1);
    int member = open_event(fake, PERF_TYPE_SOFTWARE, 3, 1, leader);
    fake_rate(fake, (struct fake_rate){.type = PERF_TYPE_SOFTWARE, .config = 3, .count = 1, .ns = 300});
    fake_advance(fake, 50);
    assert_words(fake, leader, 2, 0, 0, 0, (uint64_t)leader, 0, (uint64_t)member);
    enable(fake, leader);
    fake_advance(fake, 200);
    assert_words(fake, leader, 2, 200, 200, 200, (uint64_t)leader, 0, (uint64_t)member);
    fake_advance(fake, 100);
    assert_words(fake, leader, 2, 300, 300, 300, (uint64_t)leader, 1, (uint64_t)member);
    assert_int_equal(fake->sys.ioctl(&fake->sys, member, PERF_EVENT_IOC_ID, (unsigned long)&id), 0);
    assert_int_equal(id, member);
    assert_int_equal(fake->sys.read(&fake->sys, leader, &id, sizeof(id)), -ENOSPC);
    assert_int_equal(fake->n_open, 2);
    assert_int_equal(fake->sys.close(&fake->sys, member), 0);
    assert_int_equal(fake->sys.close(&fake->sys, leader), 0);
    assert_int_equal(fake->sys.close(&fake->sys, leader), -EBADF);
    assert_int_equal(fake->n_open, 0);
    fake_sys_free(fake);
}

static void test_two_counters_multiplex(void **state)
{
    struct fake_sys *fake = fake_machine_two_counters();
    int leaders[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        leaders[i] = open_event(fake, PERF_TYPE_HARDWARE, 0, 0, -1);
        assert_true(open_event(fake, PERF_TYPE_HARDWARE, 1, 0, leaders[i]) > 0);
        assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, 2, 0, leaders[i]), -EINVAL);
        enable(fake, leaders[i]);
    }
    fake_advance(fake, 100);
    assert_words(fake, leaders[0], 2, 100, 50, 50, 1000, 50, 1001);
    fake_find_pmu(fake, "cpu")->counters = 0;
    fake_advance(fake, 100);
    assert_words(fake, leaders[0], 2, 200, 50, 50, 1000, 50, 1001);
    fake_end(fake);
}

static void test_refusals(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();
    int little = open_event(fake, 8, 0x11, 0, -1), software = open_event(fake, PERF_TYPE_SOFTWARE, 0, 4, -1);

    (void)state;
    assert_true(little >= FAKE_FD_FIRST && software >= FAKE_FD_FIRST);
    assert_int_equal(open_event(fake, 8, 0x11, 4, -1), -ENOENT);
    assert_int_equal(open_event(fake, 77, 0, 0, -1), -ENOENT);
    assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, 0, 8, -1), -EINVAL);
    assert_int_equal(open_event(fake, 8, 0x11, 1, little), -EINVAL);
    assert_int_equal(open_event(fake, 8, 0x11, 0, 5), -EBADF);
    assert_true(open_event(fake, 9, 0x11, 4, software) > 0);
    assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, UINT64_C(9) << 32, 4, -1), -ENOENT);
    fake->extended_types = true;
    assert_true(open_event(fake, PERF_TYPE_HARDWARE, UINT64_C(9) << 32, 4, -1) > 0);
    assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, UINT64_C(9) << 32, 3, -1), -ENOENT);
    fake_end(fake);
}

static void test_cpu_leaves(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    int leader = open_event(fake, PERF_TYPE_HARDWARE, 0, 3, -1);

    (void)state;
    open_event(fake, PERF_TYPE_HARDWARE, 1, 3, leader);
    enable(fake, leader);
    fake_advance(fake, 10);
    fake_set_online(fake, 3, false);
    fake_advance(fake, 10);
    assert_words(fake, leader, 1, 10, 10, 10, (uint64_t)leader);
    assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, 0, 3, -1), -ENODEV);
    fake_set_online(fake, 3, true);
    fake_advance(fake, 10);
    assert_words(fake, leader, 1, 10, 10, 10, (uint64_t)leader);
    assert_true(open_event(fake, PERF_TYPE_HARDWARE, 0, 3, -1) > 0);
    fake_end(fake);
}

static int open_in_cgroup(struct fake_sys *fake, int cgroup, int cpu, int leader)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = 3, .size = sizeof(attr), .read_format = GROUP};

    return fake->sys.perf_event_open(&fake->sys, &attr, cgroup, cpu, leader, PERF_FLAG_PID_CGROUP);
}

static void test_cgroups(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();

    (void)state;
    int zero = open_in_cgroup(fake, 0, 1, -1), one = open_in_cgroup(fake, 1, 1, -1);
    int all = open_event(fake, PERF_TYPE_SOFTWARE, 3, 1, -1);
    enable(fake, all);
    fake_advance(fake, 100);
    fake_cgroup_run(fake, 1, 1, 10);
    fake_cgroup_run(fake, 1, 2, 10);
    assert_words(fake, all, 1, 100, 100, 100, (uint64_t)all);
    assert_words(fake, zero, 1, 0, 0, 0, (uint64_t)zero);
    assert_words(fake, one, 1, 10, 10, 10, (uint64_t)one);
    assert_int_equal(open_in_cgroup(fake, 0, 1, one), -EINVAL);
    assert_int_equal(open_in_cgroup(fake, 0, -1, -1), -EINVAL);
    assert_int_equal(open_in_cgroup(fake, -1, 0, -1), -EBADF);
    fake_cgroup_remove(fake, 1);
    assert_int_equal(open_in_cgroup(fake, 1, 0, -1), -ENOENT);
    assert_words(fake, one, 1, 10, 10, 10, (uint64_t)one);
    fake_end(fake);
}

static void test_ordered_failures(void **state)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    uint64_t words[8];

    (void)state;
    assert_int_equal(open_event(fake, PERF_TYPE_HARDWARE, 0, 0, -1), -ENOENT);
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = EMFILE, .after = 1, .times = 1});
    int fd = open_event(fake, PERF_TYPE_SOFTWARE, 0, 0, -1);
    assert_true(fd > 0);
    assert_int_equal(open_event(fake, PERF_TYPE_SOFTWARE, 0, 0, -1), -EMFILE);
    assert_true(open_event(fake, PERF_TYPE_SOFTWARE, 0, 0, -1) > 0);
    fake_fail(fake,
              (struct fake_failure){.call = FAKE_OPEN, .error = EACCES, .on_event = true, .type = 1, .config = 3});
    assert_int_equal(open_event(fake, PERF_TYPE_SOFTWARE, 3, 0, -1), -EACCES);
    assert_int_equal(open_event(fake, PERF_TYPE_SOFTWARE, 3, 1, -1), -EACCES);
    assert_true(open_event(fake, PERF_TYPE_SOFTWARE, 4, 0, -1) > 0);
    fake_fail(fake, (struct fake_failure){.call = FAKE_READ, .on_cpu = true, .cpu = 0});
    assert_int_equal(fake->sys.read(&fake->sys, fd, words, sizeof(words)), 0);
    fake_fail_no_more(fake);
    assert_true(fake->sys.read(&fake->sys, fd, words, sizeof(words)) > 0);
    assert_int_equal(fake->calls[FAKE_OPEN], 7);
    fake_end(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_counts),     cmocka_unit_test(test_two_counters_multiplex),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_cpu_leaves),
        cmocka_unit_test(test_ordered_failures), cmocka_unit_test(test_cgroups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
