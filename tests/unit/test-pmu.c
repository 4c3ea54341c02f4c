/* SPDX-License-Identifier: Apache-2.0 */
/* PMUs from sysfs, the format of their terms, and the units of their events. */
#include "base/cleanup.h"
#include "base/number.h"
#include "perf/pmu.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

/* --- PMUs from sysfs, including malformed files --- */

static struct pmu *load_pmu(struct fake_sys *fake, const char *name)
{
    struct pmu *pmu = NULL;
    assert_int_equal(pmu_load(&fake->sys, name, &fake->online, &pmu, NULL), 0);
    return pmu;
}

TEST(test_scopes)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();
    static const struct {
        const char *in_name, *in_file, *in_cpus;
        enum pmu_scope out_scope;
        const char *out_cpus;
    } cases[] = {
        {"core", "cpus", "2-3", PMU_CORE, "2-3"},    {"offline", "cpus", "", PMU_CORE, ""},
        {"uncore", "cpumask", "0", PMU_SYSTEM, "0"}, {"cpu", NULL, NULL, PMU_CORE, "0-7"},
        {"msr", NULL, NULL, PMU_ANY, "0-7"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_pmu_file(fake, cases[i].in_name, "type", "42");
        if (cases[i].in_file)
            fake_pmu_file(fake, cases[i].in_name, cases[i].in_file, cases[i].in_cpus);
        struct pmu *pmu = load_pmu(fake, cases[i].in_name);
        assert_int_equal(pmu->type, 42);
        _cleanup_(freep) char *cpus = cpuset_format(&pmu->cpus);
        assert_int_equal(pmu->scope, cases[i].out_scope);
        assert_string_equal(cpus, cases[i].out_cpus);
        pmu_free(pmu);
    }
}

TEST(test_load)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();

    fake_pmu_file(fake, "armv8_cortex_a76", "caps/slots", "0x00000005");
    fake_pmu_file(fake, "armv8_cortex_a55", "caps/slots", "300");
    fake_pmu_file(fake, "armv8_cortex_a55", "caps/threshold_max", "many");
    struct pmu *pmu = load_pmu(fake, "armv8_cortex_a55");
    assert_int_equal(pmu->slots, 0);
    assert_true(pmu->threshold_max == UINT64_MAX);
    pmu_free(pmu);
    pmu = load_pmu(fake, "armv8_cortex_a76");
    assert_int_equal(pmu->slots, 5);
    assert_string_equal(pmu->name, "armv8_cortex_a76");
    assert_int_equal(pmu->type, 9);
    assert_int_equal(pmu->threshold_max, 0xfff);
    assert_false(pmu->absent);
    assert_int_equal(pmu->n_formats, 2);
    assert_int_equal(pmu_find_format(pmu, "long")->word, 1);
    assert_null(pmu_find_format(pmu, "umask"));
    assert_string_equal(pmu_find_event(pmu, "stall_backend")->terms, "event=0x0024");
    assert_null(pmu_find_event(pmu, "bus_cycles"));
    pmu_free(pmu);
}

/* A malformed file of the PMU itself is an error. */
TEST(test_garbled_pmu)
{
    static const struct {
        const char *in_file, *in_text;
        int out;
        const char *out_message;
    } cases[] = {
        {"type", "x", -EINVAL, "/type is not the number of a PMU: \"x\""},
        {"type", "4294967296", -EINVAL, "/type is not the number of a PMU"},
        {"type", "-1", -EINVAL, "/type is not the number of a PMU"},
        {"type", "", -EINVAL, "/type is not the number of a PMU"},
        {"other", "9", -ENOENT, "cannot read /sys/bus/event_source/devices/p/type: "},
        {"cpus", "0-x", -EINVAL, "/cpus cannot be understood, \"0-x\""},
        {"cpumask", "99999", -ERANGE, "/cpumask cannot be understood"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
        struct pmu *untouched = NULL;
        struct error error = {0};
        if (!str_equal(cases[i].in_file, "other"))
            fake_pmu_file(fake, "p", "type", "9");
        fake_pmu_file(fake, "p", cases[i].in_file, cases[i].in_text);
        assert_int_equal(pmu_load(&fake->sys, "p", &fake->online, &untouched, &error), cases[i].out);
        assert_null(untouched);
        if (!strstr(error.message, cases[i].out_message))
            fail_msg("%s", error.message);
    }
}

TEST(test_names)
{
    static const struct {
        const char *in_written, *in_name;
        bool out;
    } cases[] = {
        {"uncore_imc", "uncore_imc", true},
        {"uncore_imc", "uncore_imc_0", true},
        {"uncore_imc_1", "uncore_imc_12", false},
        {"uncore_imc", "uncore_imc_", false},
        {"uncore_imc", "uncore_imc_free_running_0", false},
        {"uncore_imc_0", "uncore_imc", false},
        {"cpu", "cpu_core", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(pmu_name_matches(cases[i].in_written, cases[i].in_name), cases[i].out);
}

/* A malformed event or format file loses its own entry, not the whole PMU. */
TEST(test_garbled_files)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    static const struct {
        const char *path, *text;
    } files[] = {
        {"events/energy-pkg.snapshot", "1"}, {"events/energy-pkg.per-pkg", "1"},
        {"events/bad-terms", "event=,"},     {"events/empty", ""},
        {"events/bad-scale", "event=1"},     {"events/bad-scale.scale", "two"},
        {"events/zero-scale", "event=1"},    {"events/zero-scale.scale", "0"},
        {"events/minus-scale", "event=1"},   {"events/minus-scale.scale", "-1"},
        {"events/fine", "event=1"},          {"events/directory/x", "event=1"},
        {"format/bad", "config:99"},         {"format/fine", "config:8"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        fake_pmu_file(fake, "power", files[i].path, files[i].text);
    struct pmu *pmu = load_pmu(fake, "power");
    assert_int_equal(pmu->n_events, 2);
    assert_non_null(pmu_find_event(pmu, "energy-pkg"));
    assert_non_null(pmu_find_event(pmu, "fine"));
    assert_int_equal(pmu->n_formats, 2);
    assert_non_null(pmu_find_format(pmu, "fine"));
    assert_non_null(strstr(defects_find(&pmu->defects, "bad"), "cannot be understood"));
    assert_null(defects_find(&pmu->defects, "fine"));
    pmu_free(pmu);
}

/*
 * A common event of Armv8 exists if sysfs lists its number. Other event numbers, and numbers on other PMUs, are assumed
 * to exist.
 */
TEST(test_has_number)
{
    static const struct {
        const char *in_pmu;
        uint64_t in;
        bool out;
    } cases[] = {
        {"armv8_cortex_a76", 0x17, true}, {"armv8_cortex_a76", 0x24, true},    {"armv8_cortex_a76", 0x1d, false},
        {"armv8_cortex_a55", 0x1d, true}, {"armv8_cortex_a55", 0x24, false},   {"armv8_cortex_a55", 0x3f, false},
        {"armv8_cortex_a55", 0x40, true}, {"armv8_cortex_a55", 0x4000, false}, {"armv8_cortex_a55", 0x4040, true},
        {"software", 0x17, true},
    };
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu *pmu = load_pmu(fake, cases[i].in_pmu);
        assert_int_equal(pmu_has_number(pmu, cases[i].in), cases[i].out);
        pmu_free(pmu);
    }
}

/* --- formats of terms: their grammar, and how values are stored in bits --- */

TEST(test_parse)
{
    static const struct {
        const char *in;
        unsigned out_word;
        uint64_t out_bits;
    } cases[] = {
        {"config:0-7", 0, 0xff},        {"config:63", 0, UINT64_C(1) << 63},
        {"config:0-63", 0, UINT64_MAX}, {"config1:0-7,32-35", 1, 0xf000000ff},
        {"config2:1,3,5", 2, 0x2a},     {"config3:32-35,0-7", 3, 0xf000000ff},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format format;
        assert_int_equal(pmu_format_parse(cases[i].in, &format, NULL), 0);
        assert_int_equal(format.word, cases[i].out_word);
        assert_true(format.bits == cases[i].out_bits);
        assert_null(format.name);
    }
}

TEST(test_parse_errors)
{
    static const struct {
        const char *in;
        size_t out_offset;
    } cases[] = {
        {"", 0},           {"config", 0},        {"config4:0", 0},
        {"konfig:0", 0},   {"config:", 7},       {"config:0-", 9},
        {"config:7-0", 7}, {"config:64", 7},     {"config:0-64", 9},
        {"config:0,", 9},  {"config:0,,1", 9},   {"config:0 ,1", 8},
        {"config:x", 7},   {"config:0-7\n", 10}, {"config:99999999999999999999", 7},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format untouched = {.word = 77};
        struct error error = {0};
        assert_int_equal(pmu_format_parse(cases[i].in, &untouched, &error), -EINVAL);
        assert_int_equal(error.offset, cases[i].out_offset);
        assert_int_equal(untouched.word, 77);
    }
}

TEST(test_deposit)
{
    static const struct {
        uint64_t in_bits, in_value, in_word;
        int out;
        uint64_t out_word;
    } cases[] = {
        {0xff, 0x3c, 0, 0, 0x3c},
        {0xff00, 0x01, 0xffff, 0, 0x01ff}, /* overwrites the previous bits */
        {0xf000000ff, 0xabc, 0, 0, 0xa000000bc},
        {0x2a, 0x5, 0, 0, 0x22},
        {UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX},
        {0xf000000ff, 0x1000, 7, -ERANGE, 7},
        {1, 2, 0, -ERANGE, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu_format format = {.bits = cases[i].in_bits};
        uint64_t word = cases[i].in_word;
        assert_int_equal(pmu_format_deposit(&format, cases[i].in_value, &word), cases[i].out);
        assert_true(word == cases[i].out_word);
    }
}

/* --- units in kernel drivers, with the source file and the amount per count --- */

static double resolved(const char *unit, double scale, char **ret_base)
{
    double amount;

    assert_int_equal(unit_resolve(unit, scale, ret_base, &amount), 0);
    return amount;
}

/*
 * All drivers of Linux 6.1 and 6.12 that register a PMU and write a unit or a scale, found by searching for the callers
 * of perf_pmu_register(). The other drivers write neither a unit nor a scale. If an entry names another version of
 * Linux, the driver or the value is from that version. "" means that the file is absent.
 */
static const struct {
    const char *source, *in_unit, *in_scale, *out_base;
    double out_amount;
} drivers[] = {
    {"drivers/devfreq/event/rockchip-dfi.c, 6.12", "MB", "9.536743164e-07", "bytes", 1},
    {"drivers/perf/amlogic/meson_ddr_pmu_core.c, 6.12", "MB", "1.52587890625e-05", "bytes", 16},
    {"arch/arm/mach-imx/mmdc.c", "MB", "0.000001", "bytes", 1},
    {"arch/x86/events/intel/cqm.c, before 4.14: total_bytes", "MB", "1e-6", "bytes", 1},
    {"arch/x86/events/intel/cqm.c, before 4.14: llc_occupancy", "Bytes", "65536", "bytes", 65536},
    {"arch/x86/events/intel/uncore_snb.c: data_reads", "MiB", "6.103515625e-5", "bytes", 64},
    {"arch/x86/events/intel/uncore_snbep.c: Skylake's bw_in_port0", "MiB", "3.814697266e-6", "bytes", 4},
    {"arch/x86/events/intel/uncore_snbep.c, 6.1.192: Snow Ridge's", "MiB", "3.0517578125e-5", "bytes", 32},
    {"arch/x86/events/rapl.c", "Joules", "2.3283064365386962890625e-10", "joules", 0x1p-32},
    {"arch/x86/events/amd/power.c", "mWatts", "1.000000e-3", "watts", 1e-3 * 1e-3},
    {"arch/x86/events/msr.c: cpu_thermal_margin", "C", "", "celsius", 1},
    {"arch/x86/events/intel/core.c: topdown-total-slots", "", "4", "", 4},
    {"drivers/gpu/drm/i915/i915_pmu.c: rc6-residency", "ns", "", "seconds", 1e-9},
    {"drivers/gpu/drm/i915/i915_pmu.c: actual-frequency", "M", "", "", 1e6},
    {"drivers/gpu/drm/xe/xe_pmu.c, 6.15: gt-c6-residency", "ms", "", "seconds", 1e-3},
    {"arch/powerpc/perf/imc-pmu.c, with a value set by the firmware", "MiB", "4", "bytes", 4194304},
};

TEST(test_drivers)
{
    assert_false(unit_is_base("MiB"));
    assert_false(unit_is_base("byte"));
    for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
        _cleanup_(freep) char *base = NULL;
        double scale = 1;
        assert_true(!drivers[i].in_scale[0] || number_parse_double(drivers[i].in_scale, &scale) == 0);
        double amount = resolved(drivers[i].in_unit, scale, &base);
        assert_int_equal(unit_is_base(base), base[0] != '\0');
        if (amount != drivers[i].out_amount || !str_equal(base, drivers[i].out_base))
            fail_msg("%s: %.17g %s", drivers[i].source, amount, base);
    }
}

static const struct {
    const char *name, *base;
    double decimal, binary; /* decimal and binary factor to the base unit; 0: the unit has no binary meaning */
} units[] = {
    {"Joules", "joules", 1, 0},
    {"Bytes", "bytes", 1, 0},
    {"KiB", "bytes", 1024, 0},
    {"MiB", "bytes", 1048576, 0},
    {"GiB", "bytes", 1073741824, 0},
    {"KB", "bytes", 1000, 1024},
    {"MB", "bytes", 1e6, 1048576},
    {"GB", "bytes", 1e9, 1073741824},
    {"ns", "seconds", 1e-9, 0},
    {"us", "seconds", 1e-6, 0},
    {"ms", "seconds", 1e-3, 0},
    {"seconds", "seconds", 1, 0},
    {"Hz", "hertz", 1, 0},
    {"KHz", "hertz", 1e3, 0},
    {"MHz", "hertz", 1e6, 0},
    {"GHz", "hertz", 1e9, 0},
    {"Watts", "watts", 1, 0},
    {"mW", "watts", 1e-3, 0},
    {"mWatts", "watts", 1e-3, 0},
    {"V", "volts", 1, 0},
    {"%", "ratio", 1e-2, 0},
    {"CPU Ticks", "cpu_ticks", 1, 0},
    {"", "", 1, 0},
};

static bool is_near(double a, double b, double ratio)
{
    return a >= b * (1 - ratio) && a <= b * (1 + ratio);
}

/*
 * Every unit with scales from 1e-15 to 1e6, as short decimal numbers and as powers of two. Scales with a rounding error
 * are corrected, others are left as they are.
 */
TEST(test_every_unit)
{
    static const double steps[] = {1, 1.6, 2.5, 3.3, 0x1p-1, 0x1p-2};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        for (double power = 1e-15; power < 1e7; power *= 10)
            for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
                _cleanup_(freep) char *base = NULL;
                double scale = power * steps[k], amount = resolved(units[i].name, scale, &base);
                assert_string_equal(base, units[i].base);
                if (!is_near(amount, scale * units[i].decimal, 1.1e-9) &&
                    !(units[i].binary > 0 && is_near(amount, scale * units[i].binary, 1.1e-9)))
                    fail_msg("%.17g %s: %.17g %s", scale, units[i].name, amount, base);
            }
}

TEST_MAIN(NULL, NULL)
