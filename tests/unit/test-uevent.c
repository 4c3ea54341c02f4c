/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the kernel about CPUs and about other things. */
#include "base/cleanup.h"
#include "perf/uevent.h"
#include "tests/unit/test.h"

#define MESSAGE(text) text, sizeof(text)

static const struct {
    const char *in_message;
    size_t in_size;
    int out_result;
    enum uevent_change out_change;
    unsigned out_cpu;
} cases[] = {
    {MESSAGE("offline@/devices/system/cpu/cpu3\0ACTION=offline\0SEQNUM=7"), 0, UEVENT_OFFLINE, 3},
    {MESSAGE("online@/devices/system/cpu/cpu127\0ACTION=online"), 0, UEVENT_ONLINE, 127},
    {MESSAGE("add@/devices/system/cpu/cpu0"), 0, UEVENT_ONLINE, 0},
    {MESSAGE("remove@/devices/system/cpu/cpu5"), 0, UEVENT_OFFLINE, 5},
    {MESSAGE("change@/devices/system/cpu/cpu5"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpufreq/policy0"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu0/cache/index0"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/system/cpu/cpu99999999999999999999"), -ENOENT, 0, 0},
    {MESSAGE("add@/devices/virtual/net/veth0"), -ENOENT, 0, 0},
    {MESSAGE("libudev\0\xfe\xed\xca\xfe"), -ENOENT, 0, 0},
    {"online@/devices/system/cpu/cpu12", 31, -ENOENT, 0, 0}, /* not terminated */
    {"", 0, -ENOENT, 0, 0},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum uevent_change change = UEVENT_ONLINE;
        unsigned cpu = 0;
        print_message("%s\n", cases[i].in_message);
        assert_int_equal(uevent_parse(cases[i].in_message, cases[i].in_size, &change, &cpu), cases[i].out_result);
        assert_int_equal(change, cases[i].out_change);
        assert_int_equal(cpu, cases[i].out_cpu);
    }
}

static void test_nothing_waits(void **state)
{
    _cleanup_(closep) int fd = uevent_open();
    enum uevent_change change;
    unsigned cpu;

    (void)state;
    if (fd == -EPROTONOSUPPORT || fd == -EPERM)
        skip_because("no netlink sockets here: %s", strerror(-fd));
    assert_true(fd >= 0);
    assert_int_equal(uevent_receive(fd, &change, &cpu), -EAGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_nothing_waits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
