/* SPDX-License-Identifier: Apache-2.0 */
/* The installed libpfm4 and its tables, with a CPU model selected by an environment variable. */
#include "perf/attr.h"
#include "perf/pfm.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

#ifdef __x86_64__
#define MODEL "skl"
#else
#define MODEL "arm_ac53"
#endif

struct sample {
    const char *in, *in_pmu;
    uint64_t out[PFM_WORDS];
};

#ifdef __x86_64__
/* Intel's encodings (SDM volume 3, "Performance Monitoring Events"): event, unit mask << 8, counter mask << 24. */
static const struct sample samples[] = {
    {"SKL::UNHALTED_CORE_CYCLES", "cpu", {0x3c}},
    {"skl::INST_RETIRED:ANY_P", "cpu", {0xc0}},
    {"INST_RETIRED:ANY_P", "cpu", {0xc0}},
    {"skl::UOPS_ISSUED:STALL_CYCLES", "cpu", {0x180010e}},
    {"skl::UOPS_ISSUED:ANY:c=2", "cpu", {0x200010e}},
    {"skl::OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT:SNP_NONE", "cpu", {0x1b7, 0x801c0001}},
};
#else
/* Arm's encodings (Architecture Reference Manual, "PMU event number space"). */
static const struct sample samples[] = {
    {"arm_ac55::L2D_CACHE_REFILL", "armv8_cortex_a55", {0x17}},       {"CPU_CYCLES", "armv8_cortex_a55", {0x11}},
#ifdef __aarch64__ /* libpfm4 on 32-bit Arm lacks the Neoverse N1, whose table replaces that of the A76 (pfm-pmu.c) */
    {"ARM_CORTEX_A76::L2D_CACHE_REFILL", "armv8_cortex_a76", {0x17}}, {"L2D_CACHE_REFILL", "armv8_cortex_a76", {0x17}},
    {"arm_ac76::INST_RETIRED", "armv8_cortex_a76", {0x08}},
#endif
};
#endif

static int setup(void **state)
{
#ifdef __x86_64__
    struct fake_sys *fake = fake_machine_one_pmu();
#else
    struct fake_sys *fake = fake_machine_big_little();
#endif

    setenv("LIBPFM_FORCE_PMU", MODEL, 1);
    *state = machine_of(&fake->sys);
    fake_sys_free(fake);
    return 0;
}

static int teardown(void **state)
{
    machine_free(*state);
    return 0;
}

TEST(test_encode)
{
    const struct machine *machine = *state;

    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct pfm_words words;
        int r = pfm_encode(machine_find_pmu(machine, samples[i].in_pmu), samples[i].in, &words);
        if (r < 0 || memcmp(words.words, samples[i].out, sizeof(words.words)) != 0)
            fail_msg("%s: %d, %#jx %#jx", samples[i].in, r, (uintmax_t)words.words[0], (uintmax_t)words.words[1]);
    }
}

/* Events of another CPU model are refused. libpfm4 would encode them, and the kernel would count something else. */
TEST(test_other_model)
{
    const struct machine *machine = *state;
    struct pfm_words words;
    struct error error = {0};

#ifdef __x86_64__
    static const char other[] = "hsw::UNHALTED_CORE_CYCLES";
#else
    static const char other[] = "arm_ac57::L2D_CACHE_REFILL";
#endif
    for (unsigned cpu = 0; cpu < 4; cpu++)
        assert_int_equal(pfm_encode(machine_core_pmu(machine, cpu), other, &words), -ENOENT);
    assert_int_equal(pfm_explain(machine, other, 0, &error), -ENODEV);
    assert_non_null(strstr(error.message, "this machine has no PMU of the kind"));
}

static void count(void *userdata, const char *name, const char *description)
{
    assert_non_null(strstr(name, "::"));
    assert_true(strlen(description) > 0);
    ++*(unsigned *)userdata;
}

/* If sysfs lists no events, all events of libpfm4 are listed. Otherwise, arm64 cores list only those in sysfs. */
TEST(test_list)
{
    struct pmu pmu = *machine_core_pmu(*state, 0);
    unsigned n = 0, n_listed = 0;

    pfm_list(&pmu, count, &n_listed);
    pmu.n_events = 0;
    pfm_list(&pmu, count, &n);
    assert_true(n >= 20);
#ifdef __x86_64__
    assert_int_equal(n_listed, n);
#else
    assert_in_range(n_listed, 1, n - 1);
#endif
}

TEST_MAIN(setup, teardown)
