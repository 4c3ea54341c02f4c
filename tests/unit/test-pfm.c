/* SPDX-License-Identifier: Apache-2.0 */
/* Event names that libpfm4 knows. */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <strings.h>

/* Excludes libpfm4's own copy of struct perf_event_attr, as perf/pfm.c does. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/cleanup.h"
#include "perf/attr.h"
#include "perf/pfm.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/parse-event.h"
#include "tests/unit/test.h"

/*
 * libpfm4's names on machines with several kinds of core. The test simulates libpfm4: it defines its functions, and
 * dlopen() opens the test program itself. The tables are those of Debian 12 on arm64, without those of the Cortex-A55
 * and A76.
 */

enum { GAP, KERNEL, A53, A57, N1, A76, UNCORE, N_PMUS };

static struct simulated_pmu {
    const char *name;
    pfm_pmu_type_t type;
    bool hidden, detected;
    int first_event;
} pmus[N_PMUS] = {
    [KERNEL] = {"perf", PFM_PMU_TYPE_OS_GENERIC, false, true, 0},
    [A53] = {"arm_ac53", PFM_PMU_TYPE_CORE, false, false, 1},
    [A57] = {"arm_ac57", PFM_PMU_TYPE_CORE, false, false, 5},
    [N1] = {"arm_n1", PFM_PMU_TYPE_CORE, false, false, 6},
    [A76] = {"arm_ac76", PFM_PMU_TYPE_CORE, true, false, 10},
    [UNCORE] = {"hisi_sccl1_ddrc0", PFM_PMU_TYPE_UNCORE, false, true, 11},
};

/* The numbers are from Arm's manuals. The last event of the A53 exists on no other core. */
static const struct simulated_event {
    int pmu;
    const char *name;
    uint64_t code;
    const char *mask;
} events[] = {
    {KERNEL, "PERF_COUNT_HW_CPU_CYCLES", 0, NULL},
    {A53, "L2D_CACHE_REFILL", 0x17, NULL},
    {A53, "CPU_CYCLES", 0x11, NULL},
    {A53, "BUS_CYCLES", 0x1d, NULL},
    {A53, "OWN_EVENT", 0xc2, NULL},
    {A57, "L2D_CACHE_REFILL", 0x17, NULL},
    {N1, "L2D_CACHE_REFILL", 0x17, NULL},
    {N1, "STALL_BACKEND", 0x24, NULL},
    {N1, "MASKED", 0x70, "BIG"},
    {N1, "L2D_CACHE_WB", 0x18, NULL},
    {A76, "NEW_NAME", 0x18, NULL},
    {UNCORE, "FLUX_WR", 5, NULL},
};

static unsigned n_loads, n_asked;
static bool missing;
static char asked[256];

void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    assert_string_equal(name, "libpfm.so.4");
    assert_true(flags & RTLD_NODELETE);
    n_loads++;
    return __real_dlopen(missing ? "libpfm-that-is-not-there.so" : NULL, RTLD_NOW);
}

pfm_err_t pfm_initialize(void)
{
    assert_string_equal(getenv("LIBPFM_ENCODE_INACTIVE"), "1");
    return PFM_SUCCESS;
}

const char *pfm_strerror(int code)
{
    return code == PFM_ERR_ATTR ? "invalid event attribute" : "no text";
}

pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *output)
{
    if ((int)pmu >= N_PMUS)
        return PFM_ERR_INVAL;
    if (!pmus[pmu].name || pmus[pmu].hidden)
        return PFM_ERR_NOTSUPP;
    output->name = pmus[pmu].name;
    output->type = pmus[pmu].type;
    output->first_event = pmus[pmu].first_event;
    output->is_present = pmus[pmu].detected;
    return PFM_SUCCESS;
}

int pfm_get_event_next(int i)
{
    return i + 1 < (int)ARRAY_SIZE(events) && events[i + 1].pmu == events[i].pmu ? i + 1 : -1;
}

pfm_err_t pfm_get_event_info(int i, pfm_os_t os, pfm_event_info_t *output)
{
    assert_int_equal(os, PFM_OS_PERF_EVENT);
    output->name = events[i].name;
    output->desc = "Described";
    output->idx = i;
    output->nattrs = events[i].mask ? 2 : 1;
    return PFM_SUCCESS;
}

pfm_err_t pfm_get_event_attr_info(int i, int k, pfm_os_t os, pfm_event_attr_info_t *output)
{
    assert_int_equal(os, PFM_OS_PERF_EVENT);
    output->name = k == 0 && events[i].mask ? events[i].mask : "u";
    output->type = k == 0 && events[i].mask ? PFM_ATTR_UMASK : PFM_ATTR_MOD_BOOL;
    output->desc = "masked";
    return PFM_SUCCESS;
}

pfm_err_t pfm_get_os_event_encoding(const char *text, int levels, pfm_os_t os, void *args)
{
    pfm_perf_encode_arg_t *arg = args;
    const char *colons = strstr(text, "::");
    size_t size = (size_t)(colons - text), event_size = strcspn(colons + 2, ":");

    assert_int_equal(os, PFM_OS_PERF_EVENT);
    assert_int_equal(levels, PFM_PLM0 | PFM_PLM3 | PFM_PLMH);
    snprintf(asked, sizeof(asked), "%s", text);
    n_asked++;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        const char *pmu = pmus[events[i].pmu].name, *rest = colons + 2 + event_size;
        if (strlen(pmu) != size || strncasecmp(pmu, text, size) != 0 || strlen(events[i].name) != event_size ||
            strncasecmp(events[i].name, colons + 2, event_size) != 0)
            continue;
        if (*rest && (!events[i].mask || strcasecmp(rest + 1, events[i].mask) != 0))
            return PFM_ERR_ATTR;
        arg->attr->type = events[i].pmu == UNCORE ? 42 : PERF_TYPE_RAW;
        arg->attr->config = events[i].code | (*rest ? 1 : 0);
        arg->attr->config1 = *rest ? 7 : 0;
        arg->attr->exclude_guest = 1; /* libpfm4 sets it by default */
        return PFM_SUCCESS;
    }
    return PFM_ERR_NOTFOUND;
}

struct fixture {
    struct fake_sys *fake;
    struct machine *machine;
};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture.fake = fake_machine_big_little();
    fake_add_pmu(fixture.fake, "hisi_sccl1_ddrc0", 42, "cpumask", "0");
    fixture.machine = machine_of(&fixture.fake->sys);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    machine_free(fixture->machine);
    fake_sys_free(fixture->fake);
    return 0;
}

static int restart(void **state)
{
    pmus[A76].hidden = true;
    pmus[A53].detected = false;
    missing = false;
    n_loads = n_asked = 0;
    return 0;
}

static const struct {
    const char *in;
    unsigned in_cpu;
    uint32_t out_type; /* expected type of the PMU; 0: this CPU does not have the event */
    uint64_t out_config, out_config1;
    const char *out_asked;
} build_cases[] = {
    {"ARM_CORTEX_A76::L2D_CACHE_REFILL", 4, 9, 0x17, 0, "arm_n1::L2D_CACHE_REFILL"},
    {"ARM_CORTEX_A76::L2D_CACHE_REFILL", 3, 0, 0, 0, NULL},
    {"arm_ac76::stall_backend", 7, 9, 0x24, 0, "arm_n1::stall_backend"},
    {"arm_ac55::L2D_CACHE_REFILL", 0, 8, 0x17, 0, "arm_ac53::L2D_CACHE_REFILL"},
    {"arm_ac55::L2D_CACHE_REFILL", 5, 0, 0, 0, NULL},
    {"arm_ac76::MASKED:BIG", 4, 9, 0x71, 7, "arm_n1::MASKED:BIG"},
    {"L2D_CACHE_REFILL", 0, 8, 0x17, 0, "arm_ac53::L2D_CACHE_REFILL"},
    {"L2D_CACHE_REFILL", 4, 9, 0x17, 0, "arm_n1::L2D_CACHE_REFILL"},
    {"MASKED:BIG", 4, 9, 0x71, 7, "arm_n1::MASKED:BIG"},
    {"MASKED:BIG:k", 0, 0, 0, 0, NULL},
    {"hisi_sccl1_ddrc0::FLUX_WR", 0, 0, 0, 0, NULL}, /* an uncore PMU with a cpumask: its events are not per CPU */
    /* A similar core's table is used in place of a missing one, except for events that only the similar core has. */
    {"arm_ac55::OWN_EVENT", 0, 0, 0, 0, NULL},
    {"arm_ac53::L2D_CACHE_REFILL", 0, 0, 0, 0, NULL},
};

TEST_WITH(test_build, restart, NULL)
{
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(build_cases); i++) {
        _cleanup_(event_done) struct event event = parsed_event(build_cases[i].in);
        struct attr attr;
        assert_int_equal(event.kind, EVENT_NAME);
        const struct pmu *pmu = attr_pmu(fixture->machine, &event, build_cases[i].in_cpu);
        if (!pmu != !build_cases[i].out_type)
            fail_msg("%s on %u: %s", build_cases[i].in, build_cases[i].in_cpu, pmu ? pmu->name : "none");
        if (!pmu)
            continue;
        assert_int_equal(attr_build(&fixture->fake->sys, fixture->machine, &event, pmu, &attr, NULL), 0);
        assert_string_equal(asked, build_cases[i].out_asked);
        assert_int_equal(attr_check(&fixture->fake->sys, fixture->machine, &event, NULL), 0);
        assert_int_equal(attr.kernel.type, build_cases[i].out_type);
        assert_int_equal(attr.kernel.config, build_cases[i].out_config);
        assert_int_equal(attr.kernel.config1, build_cases[i].out_config1);
        assert_string_equal(attr.unit, "");
        assert_true(attr.scale == 1);
    }
}

/* If libpfm4 has the core's own table, that table is used. */
TEST_WITH(test_newer, restart, NULL)
{
    const struct fixture *fixture = *state;
    struct pfm_words words;

    pmus[A76].hidden = false;
    const struct pmu *pmu = machine_core_pmu(fixture->machine, 4);
    assert_int_equal(pfm_encode(pmu, "ARM_CORTEX_A76::NEW_NAME", &words), 0);
    assert_int_equal(words.words[0], 0x18);
    assert_string_equal(asked, "arm_ac76::NEW_NAME");
    assert_int_equal(pfm_encode(pmu, "ARM_CORTEX_A76::STALL_BACKEND", &words), -ENOENT);
}

/*
 * One PMU serves both kinds of core, as in some vendors' kernels. Names with the PMU's prefix work for both kinds,
 * names without it only for the kind that libpfm4 has detected.
 */
TEST_WITH(test_one_pmu_for_all, restart, NULL)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_sys_new();
    struct pfm_words words;

    fake_cpus(fake, "0-7");
    fake_add_pmu(fake, "armv8_pmuv3", 8, "cpus", "0-7");
    _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
    const struct pmu *pmu = machine_core_pmu(machine, 0);
    assert_int_equal(pfm_encode(pmu, "arm_ac76::STALL_BACKEND", &words), 0);
    assert_int_equal(pfm_encode(pmu, "STALL_BACKEND", &words), -ENOENT);
    assert_int_equal(pfm_encode(pmu, "BUS_CYCLES", &words), -ENOENT);
    pmus[A53].detected = true;
    assert_int_equal(pfm_encode(pmu, "BUS_CYCLES", &words), 0);
    assert_int_equal(words.words[0], 0x1d);
}

TEST_WITH(test_errors, restart, NULL)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *in;
        bool in_missing;
        int out;
        const char *out_message;
    } cases[] = {
        {"arm_ac76::STALL_BACKED", false, -ENOENT,
         "libpfm4's PMU \"arm_ac76\" has no event \"STALL_BACKED\"; did you mean \"STALL_BACKEND\"?"},
        {"arm_ac76::MASKED:BIGG", false, -ENOENT,
         "the event \"MASKED\" of its PMU \"arm_ac76\" with \":BIGG\": invalid event attribute; did you mean "
         "\"BIG\"?"},
        {"MASKED:BIGG", false, -ENOENT, "did you mean \"BIG\"?"},
        {"arm_ac76::MASKED:u=1", false, -ENOENT, "the modifiers u, k, h, G and H at the end"},
        {"arm_ac57::L2D_CACHE_REFILL", false, -ENODEV,
         "this machine has no PMU of the kind that libpfm4 calls \"arm_ac57\""},
        {"arm_ac54::L2D_CACHE_REFILL", false, -ENODEV,
         "libpfm4 has no PMU \"arm_ac54\" for this machine; did you mean \"arm_ac53\""},
        {"ARM_CORTEX_A510::L2D_CACHE_REFILL", false, -ENODEV, "this version of libpfm4 has no PMU \"ARM_CORTEX_A510\""},
        {"perf::PERF_COUNT_HW_CPU_CYCLES", false, -ENOENT, "is the kernel's own"},
        {"STALL_BACKED", false, -ENOENT, "did you mean \"stall_backend\", \"STALL_BACKEND\"?"},
        {"arm_ac76::STALL_BACKEND", true, -ENODEV, "libpfm4, which knows such names, cannot be loaded (libpfm-that-is"},
        {"STALL_BACKEND", true, -ENODEV, "install the package libpfm4"},
        {"cyclse", true, -ENOENT, "there is no event \"cyclse\"; did you mean \"cycles\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = parsed_event(cases[i].in);
        struct error error = {0};
        event.offset = 7;
        missing = cases[i].in_missing;
        int r = attr_check(&fixture->fake->sys, fixture->machine, &event, &error);
        if (r != cases[i].out || error.offset != 7 || !strstr(error.message, cases[i].out_message))
            fail_msg("%s: %d at %zu: %s", cases[i].in, r, error.offset, error.message);
    }
}

TEST_WITH(test_not_loaded_without_need, restart, NULL)
{
    const struct fixture *fixture = *state;
    static const char *const known[] = {"cycles",        "r11", "l2d_cache_refill",
                                        "stall_backend", "cs",  "armv8_cortex_a76/l2d_cache_refill/"};

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        _cleanup_(event_done) struct event event = parsed_event(known[i]);
        struct attr attr;
        assert_int_equal(attr_check(&fixture->fake->sys, fixture->machine, &event, NULL), 0);
        for (unsigned cpu = 0; cpu < 8; cpu++) {
            const struct pmu *pmu = attr_pmu(fixture->machine, &event, cpu);
            if (pmu)
                assert_int_equal(attr_build(&fixture->fake->sys, fixture->machine, &event, pmu, &attr, NULL), 0);
        }
    }
    assert_int_equal(n_loads, 0);
}

static void collect(void *userdata, const char *name, const char *description)
{
    size_t used = strlen(userdata);
    snprintf((char *)userdata + used, 512 - used, "%s (%s)\n", name, description);
}

TEST_WITH(test_list, restart, NULL)
{
    const struct fixture *fixture = *state;
    char text[512] = "";

    pfm_list(machine_core_pmu(fixture->machine, 0), collect, text);
    pfm_list(machine_core_pmu(fixture->machine, 4), collect, text);
    assert_string_equal(text, "arm_ac55::L2D_CACHE_REFILL (Described)\n"
                              "arm_ac55::CPU_CYCLES (Described)\n"
                              "arm_ac55::BUS_CYCLES (Described)\n"
                              "arm_ac76::L2D_CACHE_REFILL (Described)\n"
                              "arm_ac76::STALL_BACKEND (Described)\n"
                              "arm_ac76::MASKED:BIG (Described: masked)\n");
}

/* Which PMU in sysfs each PMU of libpfm4 belongs to. */

TEST(test_counts_on)
{
    static const struct {
        const char *in_name, *in_sysfs;
        bool in_detected, in_named, out;
    } cases[] = {
        {"arm_ac76", "armv8_cortex_a76", false, false, true},
        {"arm_ac76", "armv8_cortex_a55", true, true, false},
        {"arm_n2", "armv8_neoverse_n2", false, false, true},
        {"arm_ac76", "armv8_pmuv3", false, false, false},
        {"arm_ac76", "armv8_pmuv3", false, true, true},
        {"arm_ac76", "armv8_pmuv3_0", true, false, true},
        {"skl", "cpu", true, false, true},
        {"skl", "cpu", false, true, false},
        {"skl", "cpu_core", true, true, false},
        {"adl_glc", "cpu_core", true, false, true},
        {"adl_glc", "cpu_core", false, true, false},
        {"adl_glc", "cpu_atom", true, true, false},
        {"adl_grt", "cpu_atom", true, false, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (pfm_pmu_counts_on(cases[i].in_name, cases[i].in_sysfs, cases[i].in_detected, cases[i].in_named) !=
            cases[i].out)
            fail_msg("%zu: %s on %s", i, cases[i].in_name, cases[i].in_sysfs);
}

TEST_MAIN(setup, teardown)
