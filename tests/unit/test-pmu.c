/* SPDX-License-Identifier: Apache-2.0 */
/* PMUs from sysfs, and garbled files of them. */
#include "base/cleanup.h"
#include "perf/pmu.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static struct pmu *load_pmu(struct fake_sys *fake, const char *name)
{
    struct pmu *pmu = NULL;
    assert_int_equal(pmu_load(&fake->sys, name, &fake->online, &pmu, NULL), 0);
    return pmu;
}

static void assert_cpus(const struct pmu *pmu, enum pmu_scope scope, const char *cpus)
{
    _cleanup_(freep) char *text = cpuset_format(&pmu->cpus);
    assert_int_equal(pmu->scope, scope);
    assert_string_equal(text, cpus);
}

static void test_scopes(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();
    static const struct {
        const char *in_name, *in_file, *in_cpus;
        enum pmu_scope out_scope;
        const char *out_cpus;
    } cases[] = {
        {"core", "cpus", "2-3", PMU_CORE, "2-3"},    {"offline", "cpus", "", PMU_CORE, ""},
        {"uncore", "cpumask", "0", PMU_SYSTEM, "0"}, {"cpu", NULL, NULL, PMU_CORE, "0-7"},
        {"msr", NULL, NULL, PMU_ANY, "0-7"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_pmu_file(fake, cases[i].in_name, "type", "42");
        if (cases[i].in_file)
            fake_pmu_file(fake, cases[i].in_name, cases[i].in_file, cases[i].in_cpus);
        struct pmu *pmu = load_pmu(fake, cases[i].in_name);
        assert_int_equal(pmu->type, 42);
        assert_cpus(pmu, cases[i].out_scope, cases[i].out_cpus);
        pmu_free(pmu);
    }
    fake_sys_free(fake);
}

static void test_bad_caps(void **state)
{
    static const char *const slots[] = {"many", "-1", "300", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
        struct fake_sys *fake = fake_machine_big_little();
        fake_pmu_file(fake, "armv8_cortex_a76", "caps/slots", slots[i]);
        fake_pmu_file(fake, "armv8_cortex_a76", "caps/threshold_max", "many");
        struct pmu *pmu = load_pmu(fake, "armv8_cortex_a76");
        assert_int_equal(pmu->slots, 0);
        assert_true(pmu->threshold_max == UINT64_MAX);
        pmu_free(pmu);
        fake_sys_free(fake);
    }
}

static void test_load(void **state)
{
    struct fake_sys *fake = fake_machine_big_little();

    (void)state;
    fake_pmu_file(fake, "armv8_cortex_a76", "caps/slots", "0x00000005");
    struct pmu *pmu = load_pmu(fake, "armv8_cortex_a76");
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
    fake_sys_free(fake);
}

/* A garbled file of the PMU itself is an error. */
static void test_garbled_pmu(void **state)
{
    static const struct {
        const char *in_file, *in_text;
        int out;
        const char *out_message;
    } cases[] = {
        {"type", "x", -EINVAL, "/type is no number of a PMU: \"x\""},
        {"type", "4294967296", -EINVAL, "/type is no number of a PMU"},
        {"cpus", "0-x", -EINVAL, "/cpus cannot be understood, \"0-x\""},
        {"cpumask", "99999", -ERANGE, "/cpumask cannot be understood"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_machine_no_pmu();
        struct pmu *untouched = NULL;
        struct error error = {0};
        fake_pmu_file(fake, "p", "type", "9");
        fake_pmu_file(fake, "p", cases[i].in_file, cases[i].in_text);
        assert_int_equal(pmu_load(&fake->sys, "p", &fake->online, &untouched, &error), cases[i].out);
        assert_null(untouched);
        if (!strstr(error.message, cases[i].out_message))
            fail_msg("%s", error.message);
        fake_sys_free(fake);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *in_written, *in_name;
        bool out;
    } cases[] = {
        {"uncore_imc", "uncore_imc", true},
        {"uncore_imc", "uncore_imc_0", true},
        {"uncore_imc", "uncore_imc_12", true},
        {"uncore_imc_1", "uncore_imc_12", false},
        {"uncore_imc", "uncore_imc_", false},
        {"uncore_imc", "uncore_imc_free_running_0", false},
        {"uncore_imc_free_running", "uncore_imc_free_running_0", true},
        {"uncore", "uncore_imc_0", false},
        {"uncore_imc_0", "uncore_imc", false},
        {"armv8_cortex", "armv8_cortex_a76", false},
        {"armv8_pmuv3", "armv8_pmuv3_1", true},
        {"cpu", "cpu_core", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(pmu_name_matches(cases[i].in_written, cases[i].in_name), cases[i].out);
}

/* One bad file costs one entry, not the PMU. */
static void test_garbled_files(void **state)
{
    struct fake_sys *fake = fake_machine_one_pmu();
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

    (void)state;
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
    fake_sys_free(fake);
}

static void test_units(void **state)
{
    static const struct {
        const char *in_scale, *in_unit, *out_unit;
        double out_scale;
    } cases[] = {
        {NULL, NULL, "", 1},
        {"2.3283064365386962890625e-10", "Joules", "joules", 0x1p-32},
        {"6.103515625e-5", "MiB", "bytes", 64},
        {"9.536743164e-07", "MB", "bytes", 1}, /* as of rockchip_ddr; the drivers are in test-unit.c */
        {"1e9", "ns", "seconds", 1},
        {"4", NULL, "", 4},
        {NULL, "CPU Ticks", "cpu_ticks", 1},
        {NULL, "%", "ratio", 0.01},
        {NULL, "??", "", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = fake_machine_no_pmu();
        fake_pmu_file(fake, "p", "type", "9");
        fake_pmu_file(fake, "p", "events/e", "event=1");
        if (cases[i].in_scale)
            fake_pmu_file(fake, "p", "events/e.scale", cases[i].in_scale);
        if (cases[i].in_unit)
            fake_pmu_file(fake, "p", "events/e.unit", cases[i].in_unit);
        struct pmu *pmu = load_pmu(fake, "p");
        const struct pmu_event *event = pmu_find_event(pmu, "e");
        assert_string_equal(event->unit, cases[i].out_unit);
        assert_true(event->scale == cases[i].out_scale);
        pmu_free(pmu);
        fake_sys_free(fake);
    }
}

static void test_bad_type(void **state)
{
    static const char *const types[] = {"", "-1", "x", "4294967296"};
    struct fake_sys *fake = fake_machine_no_pmu();
    struct pmu *untouched = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(pmu_load(&fake->sys, "none", &fake->online, &untouched, &error), -ENOENT);
    assert_non_null(strstr(error.message, "none/type cannot be read"));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        fake_pmu_file(fake, "p", "type", types[i]);
        assert_int_equal(pmu_load(&fake->sys, "p", &fake->online, &untouched, &error), -EINVAL);
    }
    assert_null(untouched);
    assert_null(pmu_free(NULL));
    fake_sys_free(fake);
}

/* Common events of Armv8 are there where sysfs lists them; of other numbers and PMUs nothing is known. */
static void test_has_number(void **state)
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
    struct fake_sys *fake = fake_machine_big_little();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pmu *pmu = load_pmu(fake, cases[i].in_pmu);
        assert_int_equal(pmu_has_number(pmu, cases[i].in), cases[i].out);
        pmu_free(pmu);
    }
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_has_number), cmocka_unit_test(test_scopes),   cmocka_unit_test(test_garbled_pmu),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_load),     cmocka_unit_test(test_garbled_files),
        cmocka_unit_test(test_units),      cmocka_unit_test(test_bad_type), cmocka_unit_test(test_bad_caps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
