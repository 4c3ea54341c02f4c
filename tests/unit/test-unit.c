/* SPDX-License-Identifier: Apache-2.0 */
/* The units of Linux's drivers: each with its source, and what one count of the event is. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/unit.h"
#include "tests/unit/test.h"

static double resolved(const char *unit, double scale, char **ret_base)
{
    double amount;

    assert_int_equal(unit_resolve(unit, scale, ret_base, &amount), 0);
    return amount;
}

/*
 * All drivers of Linux 6.1 and 6.12 that register a PMU and write a unit or a scale, by the files that call
 * perf_pmu_register(); the others write neither. Where another version of Linux is named, it has the driver or the
 * value. `wrong`: what the unit as it is written would make of it.
 */
static const struct {
    const char *source, *event, *in_unit, *in_scale; /* "" where there is no such file, as pmu.c has it */
    const char *out_base;
    double out_amount;
    const char *wrong;
} drivers[] = {
    {"drivers/devfreq/event/rockchip-dfi.c, 6.12", "read-bytes", "MB", "9.536743164e-07", "bytes", 1, "0.954 bytes"},
    {"drivers/perf/amlogic/meson_ddr_pmu_core.c, 6.12", "total_rw_bytes", "MB", "1.52587890625e-05", "bytes", 16,
     "15.3 bytes"},
    {"arch/arm/mach-imx/mmdc.c, 6.1 and 6.12", "read-bytes", "MB", "0.000001", "bytes", 1, NULL},
    {"arch/x86/events/intel/cqm.c, before 4.14", "total_bytes", "MB", "1e-6", "bytes", 1, NULL},
    {"arch/x86/events/intel/cqm.c, before 4.14", "llc_occupancy", "Bytes", "65536", "bytes", 65536, NULL},
    {"arch/x86/events/intel/uncore_snb.c, 6.1 and 6.12", "data_reads", "MiB", "6.103515625e-5", "bytes", 64, NULL},
    {"arch/x86/events/intel/uncore_snbep.c, 6.1 and 6.12", "cas_count_read", "MiB", "6.103515625e-5", "bytes", 64,
     NULL},
    {"arch/x86/events/intel/uncore_snbep.c, 6.1 and 6.12", "bw_in_port0 of Skylake", "MiB", "3.814697266e-6", "bytes",
     4, "4.0000000005 bytes"},
    {"arch/x86/events/intel/uncore_snbep.c, 6.1.192 and 6.12", "bw_in_port0 of Snow Ridge", "MiB", "3.0517578125e-5",
     "bytes", 32, NULL},
    {"arch/x86/events/rapl.c, 6.1 and 6.12", "energy-pkg", "Joules", "2.3283064365386962890625e-10", "joules", 0x1p-32,
     NULL},
    {"drivers/powercap/intel_rapl_common.c, 6.12", "energy-pkg", "Joules", "2.3283064365386962890625e-10", "joules",
     0x1p-32, NULL},
    {"arch/x86/events/amd/power.c, 6.1 and 6.12", "power-pkg", "mWatts", "1.000000e-3", "watts", 1e-3 * 1e-3, "mwatts"},
    {"arch/x86/events/msr.c, 6.1 and 6.12", "cpu_thermal_margin", "C", "", "celsius", 1, NULL},
    {"arch/x86/events/intel/core.c, 6.1 and 6.12", "topdown-total-slots", "", "4", "", 4, NULL},
    {"drivers/gpu/drm/i915/i915_pmu.c, 6.1 and 6.12", "rc6-residency", "ns", "", "seconds", 1e-9, NULL},
    {"drivers/gpu/drm/i915/i915_pmu.c, 6.1 and 6.12", "actual-frequency", "M", "", "", 1e6, "m"},
    {"drivers/gpu/drm/xe/xe_pmu.c, 6.15", "gt-c6-residency", "ms", "", "seconds", 1e-3, NULL},
    {"arch/powerpc/perf/imc-pmu.c, 6.1 and 6.12: as the firmware has it", "PM_MCS3_...", "MiB", "4", "bytes", 4194304,
     NULL},
};

static void test_drivers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
        _cleanup_(freep) char *base = NULL;
        double scale = 1;
        assert_true(!drivers[i].in_scale[0] || number_parse_double(drivers[i].in_scale, &scale) == 0);
        double amount = resolved(drivers[i].in_unit, scale, &base);
        if (amount != drivers[i].out_amount || !str_equal(base, drivers[i].out_base))
            fail_msg("%s, %s: %.17g %s", drivers[i].source, drivers[i].event, amount, base);
    }
}

static const struct {
    const char *name, *base;
    double decimal, binary; /* `binary` is 0 where the unit has no other meaning */
} units[] = {
    {"Joules", "joules", 1, 0},
    {"J", "joules", 1, 0},
    {"Bytes", "bytes", 1, 0},
    {"B", "bytes", 1, 0},
    {"KiB", "bytes", 1024, 0},
    {"MiB", "bytes", 1048576, 0},
    {"GiB", "bytes", 1073741824, 0},
    {"KB", "bytes", 1000, 1024},
    {"MB", "bytes", 1e6, 1048576},
    {"GB", "bytes", 1e9, 1073741824},
    {"ns", "seconds", 1e-9, 0},
    {"us", "seconds", 1e-6, 0},
    {"ms", "seconds", 1e-3, 0},
    {"s", "seconds", 1, 0},
    {"seconds", "seconds", 1, 0},
    {"Hz", "hertz", 1, 0},
    {"KHz", "hertz", 1e3, 0},
    {"MHz", "hertz", 1e6, 0},
    {"GHz", "hertz", 1e9, 0},
    {"W", "watts", 1, 0},
    {"Watts", "watts", 1, 0},
    {"mW", "watts", 1e-3, 0},
    {"mWatts", "watts", 1e-3, 0},
    {"V", "volts", 1, 0},
    {"C", "celsius", 1, 0},
    {"%", "ratio", 1e-2, 0},
    {"percent", "ratio", 1e-2, 0},
    {"M", "", 1e6, 0},
    {"CPU Ticks", "cpu_ticks", 1, 0},
    {"??", "", 1, 0},
    {"", "", 1, 0},
};

static bool is_near(double a, double b, double ratio)
{
    return a >= b * (1 - ratio) && a <= b * (1 + ratio);
}

/* Every unit at scales from 1e-15 to 1e6, as numbers of few digits and as powers of two: only rounding is undone. */
static void test_every_unit(void **state)
{
    static const double steps[] = {1, 1.6, 2.5, 3.3, 0x1p-1, 0x1p-2};

    (void)state;
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

/* The scale of a count of `bytes` bytes in units of `unit` bytes, with ten digits as the kernel writes it. */
static double written_scale(unsigned bytes, double unit)
{
    char text[32];
    double scale;

    snprintf(text, sizeof(text), "%.9e", bytes / unit);
    assert_int_equal(number_parse_double(text, &scale), 0);
    return scale;
}

static bool is_whole(double number)
{
    return number == (double)(uint64_t)number;
}

/* Each number of bytes is the number of bytes, by powers of 1000 and by powers of 1024. */
static void test_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        for (unsigned bytes = 1; bytes <= 4096 && str_equal(units[i].base, "bytes"); bytes++) {
            _cleanup_(freep) char *base = NULL, *other = NULL;
            assert_true(resolved(units[i].name, written_scale(bytes, units[i].decimal), &base) == bytes);
            if (units[i].binary > 0 && !is_whole(bytes / units[i].binary * units[i].decimal))
                assert_true(resolved(units[i].name, written_scale(bytes, units[i].binary), &other) == bytes);
        }
}

static void test_is_base(void **state)
{
    static const struct {
        const char *in;
        bool out;
    } texts[] = {{"bytes", true}, {"seconds", true}, {"ratio", true}, {"", false}, {"MiB", false}, {"byte", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(unit_is_base(texts[i].in), texts[i].out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_every_unit),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_is_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
