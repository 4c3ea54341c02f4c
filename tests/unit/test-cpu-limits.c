/* SPDX-License-Identifier: Apache-2.0 */
/* Clock-rate limits, read from the files of real boards in /sys. */
#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"
#include "tests/unit/wrap-calls.h"

#define POLICY "/sys/devices/system/cpu/cpufreq/policy"
#define THERMAL "/sys/class/thermal/"
#define HWMON "/sys/class/hwmon/"

struct file {
    const char *path, *text;
};

/*
 * A hot Orange Pi 5: the kernel's thermal governor limits the big cores of the first cluster. Policies, frequencies and
 * cooling device types are those of Linux 6.1.
 */
static const struct file orange_pi_5[] = {
    {POLICY "0/related_cpus", "0 1 2 3\n"},
    {POLICY "0/scaling_max_freq", "1800000\n"},
    {POLICY "0/cpuinfo_max_freq", "1800000\n"},
    {POLICY "4/related_cpus", "4 5\n"},
    {POLICY "4/scaling_max_freq", "1200000\n"},
    {POLICY "4/cpuinfo_max_freq", "2256000\n"},
    {POLICY "6/related_cpus", "6 7\n"},
    {POLICY "6/scaling_max_freq", "2256000\n"},
    {POLICY "6/cpuinfo_max_freq", "2256000\n"},
    {THERMAL "cooling_device0/type", "cpufreq-cpu0\n"},
    {THERMAL "cooling_device0/cur_state", "0\n"},
    {THERMAL "cooling_device0/max_state", "6\n"},
    {THERMAL "cooling_device1/type", "cpufreq-cpu4\n"},
    {THERMAL "cooling_device1/cur_state", "4\n"},
    {THERMAL "cooling_device1/max_state", "8\n"},
    {THERMAL "cooling_device3/type", "devfreq-fb000000.gpu\n"},
    {THERMAL "cooling_device3/cur_state", "1\n"},
    {THERMAL "cooling_device3/max_state", "6\n"},
    {THERMAL "thermal_zone0/type", "soc-thermal\n"},
    {NULL, NULL},
};

/* A Raspberry Pi 4 with a weak supply, kernel 5.10: one policy, the older type of cooling device. */
static const struct file raspberry_pi_4[] = {
    {POLICY "0/related_cpus", "0 1 2 3\n"},
    {POLICY "0/scaling_max_freq", "1500000\n"},
    {POLICY "0/cpuinfo_max_freq", "1500000\n"},
    {THERMAL "cooling_device0/type", "thermal-cpufreq-0\n"},
    {THERMAL "cooling_device0/cur_state", "0\n"},
    {THERMAL "cooling_device0/max_state", "3\n"},
    {HWMON "hwmon0/name", "cpu_thermal\n"},
    {HWMON "hwmon1/name", "rpi_volt\n"},
    {HWMON "hwmon1/in0_lcrit_alarm", "1\n"},
    /* Reading this file makes the kernel log a warning. */
    {"/sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n"},
    {NULL, NULL},
};

/* Malformed or missing files, which give no series. */
static const struct file odd[] = {
    {POLICY "0/related_cpus", "0 x\n"},
    {POLICY "0/scaling_max_freq", "1500000\n"},
    {POLICY "1/related_cpus", "1 99\n"},
    {POLICY "1/scaling_max_freq", "<unknown>\n"},
    {POLICY "1/cpuinfo_max_freq", "2000000\n"},
    {POLICY "2/scaling_max_freq", "1500000\n"},
    {THERMAL "cooling_device0/type", "cpufreq-cpu0\n"},
    {THERMAL "cooling_device0/cur_state", "0\n"},
    {THERMAL "cooling_device0/max_state", "0\n"},
    {THERMAL "cooling_device1/type", "cpufreq-cpu1\n"},
    {THERMAL "cooling_device2/cur_state", "1\n"},
    {THERMAL "cooling_device2/max_state", "1\n"},
    {NULL, NULL},
};

static void add_files(struct fake_sys *fake, const struct file *files)
{
    for (; files->path; files++)
        fake_file(fake, files->path, "%s", files->text);
}

/* Returns the number of visible limit series. */
static size_t count_limits(const struct snapshot *snapshot)
{
    static const char *const names[] = {"perfcountd_cpu_frequency_limit_hertz", "perfcountd_cpu_frequency_max_hertz",
                                        "perfcountd_cpu_cooling_ratio", "perfcountd_under_voltage"};
    size_t n = 0;

    for (size_t i = 0; i < snapshot->metrics.n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            for (size_t s = 0;
                 str_equal(snapshot->metrics.families[i]->name, names[k]) && s < snapshot->metrics.families[i]->n; s++)
                n += snapshot->metrics.families[i]->series[s]->visible;
    return n;
}

#define LIMIT "perfcountd_cpu_frequency_limit_hertz{cpu=\"%d\"}"
#define MAXIMUM "perfcountd_cpu_frequency_max_hertz{cpu=\"%d\"}"
#define COOLING "perfcountd_cpu_cooling_ratio{device=\"%s\",type=\"%s\"}"

TEST(test_orange_pi_5)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    add_files(fake, orange_pi_5);
    rig_init(&rig, fake, "{}");
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(count_limits(snapshot), 8 + 8 + 2);
    assert_int_equal(series_value(snapshot, LIMIT, 3), 1800000000);
    assert_int_equal(series_value(snapshot, LIMIT, 5), 1200000000);
    assert_int_equal(series_value(snapshot, MAXIMUM, 5), UINT64_C(2256000000));
    assert_int_equal(series_value(snapshot, LIMIT, 7), UINT64_C(2256000000));
    assert_int_equal(series_value(snapshot, COOLING, "cooling_device0", "cpufreq-cpu0"), 0);
    assert_int_equal(series_value(snapshot, COOLING, "cooling_device1", "cpufreq-cpu4"), 5000);
    /* The board has cooled down. The files of a policy whose CPUs are all offline cannot be read. */
    fake_advance(fake, NSEC_PER_SEC);
    fake_file(fake, POLICY "4/scaling_max_freq", "2256000\n");
    fake_file(fake, THERMAL "cooling_device1/cur_state", "9\n");
    fake_file(fake, POLICY "6/scaling_max_freq", "%s", "");
    snapshot = rig_read(&rig);
    assert_int_equal(series_value(snapshot, LIMIT, 5), UINT64_C(2256000000));
    assert_int_equal(series_value(snapshot, COOLING, "cooling_device1", "cpufreq-cpu4"), 10000);
    assert_int_equal(series_value(snapshot, LIMIT, 6), NOT_SHOWN);
    fake_advance(fake, NSEC_PER_SEC);
    fake_file(fake, POLICY "6/scaling_max_freq", "2256000\n");
    assert_int_equal(series_value(rig_read(&rig), LIMIT, 6), UINT64_C(2256000000));
    /* A reload keeps the series; without the self collector there are none. */
    rig_configure(&rig, "collectors: {cpu: {groups: []}}");
    assert_int_equal(count_limits(rig_read(&rig)), 8 + 8 + 2);
    rig_configure(&rig, "collectors: {self: {enabled: false}}");
    assert_int_equal(count_limits(rig_read(&rig)), 0);
    rig_done(&rig);
}

TEST(test_raspberry_pi_4)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    add_files(fake, raspberry_pi_4);
    rig_init(&rig, fake, "{}");
    const struct snapshot *snapshot = rig_read(&rig);
    assert_int_equal(count_limits(snapshot), 4 + 4 + 1 + 1);
    assert_int_equal(series_value(snapshot, LIMIT, 0), 1500000000);
    assert_int_equal(series_value(snapshot, COOLING, "cooling_device0", "thermal-cpufreq-0"), 0);
    assert_int_equal(series_value(snapshot, "perfcountd_under_voltage{device=\"hwmon1\",type=\"rpi_volt\"}"), 1);
    rig_done(&rig);
}

TEST(test_odd_files)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct rig rig;

    add_files(fake, odd);
    rig_init(&rig, fake, "{}");
    assert_int_equal(count_limits(rig_read(&rig)), 1);
    assert_int_equal(series_value(rig_read(&rig), MAXIMUM, 1), 2000000000);
    rig_done(&rig);
}

static struct sys_calls before;
static unsigned opened;

static int count_and_open(struct sys *sys, const char *path, int flags)
{
    opened += strncmp(path, "/sys/", 5) == 0;
    return before.open_file(sys, path, flags);
}

/* The files of /sys stay open, so a reading does not open them again. */
TEST(test_files_stay_open)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    add_files(fake, orange_pi_5);
    rig_init(&rig, fake, "{}");
    rig_read(&rig);
    before = wrap_calls(&fake->sys, (struct sys_calls){.open_file = count_and_open});
    opened = 0;
    fake_advance(fake, NSEC_PER_SEC);
    fake_file(fake, POLICY "4/scaling_max_freq", "1416000\n");
    assert_int_equal(series_value(rig_read(&rig), LIMIT, 5), 1416000000);
    assert_int_equal(opened, 0);
    rig_done(&rig);
}

/* A machine without a PMU counts no cycles, so the files of its clock-rate limits are not read. */
TEST(test_no_pmu)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct rig rig;

    add_files(fake, raspberry_pi_4);
    rig_init(&rig, fake, "{}");
    assert_int_equal(count_limits(rig_read(&rig)), 0);
    rig_done(&rig);
}

/* The number of policies is limited. */
TEST(test_many_policies)
{
    struct fake_sys *fake = fake_sys_new();
    struct rig rig;

    fake_cpus(fake, "0-63");
    fake_add_pmu(fake, "cpu", 4, "cpus", "0-63")->core = true;
    for (int cpu = 0; cpu < 64; cpu++) {
        char path[128];
        snprintf(path, sizeof(path), POLICY "%d/related_cpus", cpu);
        fake_file(fake, path, "%d\n", cpu);
        snprintf(path, sizeof(path), POLICY "%d/scaling_max_freq", cpu);
        fake_file(fake, path, "3000000\n");
    }
    rig_init(&rig, fake, "{}");
    assert_int_equal(count_limits(rig_read(&rig)), 32);
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
