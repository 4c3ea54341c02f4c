/* SPDX-License-Identifier: Apache-2.0 */
/* The table of presets, and how each preset is resolved on the captured machines. */
#include "base/buffer.h"
#include "cmd/list.h"
#include "collectors/collector.h"
#include "perf/event-parse.h"
#include "perf/presets.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

/* Each variant is valid, and only the last variant has no condition. */
TEST(test_table)
{
    for (size_t i = 0; i < n_presets; i++)
        for (size_t k = 0; k < presets[i].n_variants; k++) {
            _cleanup_(event_list_done) struct event_list list = {0};
            const struct preset_variant *variant = &presets[i].variants[k];
            assert_true((variant->listed == NULL) == (k + 1 == presets[i].n_variants));
            assert_true(!variant->events || event_list_parse(variant->events, &list, NULL) == 0);
        }
}

TEST(test_find)
{
    struct error error = {0};

    assert_ptr_equal(preset_find("overview", &error), &presets[0]);
    assert_null(preset_find("topdwon", &error));
    assert_string_equal(error.message, "there is no preset \"topdwon\"; did you mean \"topdown\"?");
}

/* Appends "PMU: events\n" for each row. A preset that is split has a second group with a name like "overview-2". */
static void describe_rows(struct buffer *text, const struct snapshot *snapshot, const char *group)
{
    const char *last = "";

    for (size_t i = 0; i < snapshot->n_rows; i++) {
        const struct row *row = snapshot->rows[i];
        if (row->state == ROW_UNAVAILABLE || str_equal(last, row->pmu))
            continue;
        last = row->pmu;
        buffer_appendf(text, "%s%s%s:", row->pmu, str_equal(row->group, group) ? "" : " ",
                       str_equal(row->group, group) ? "" : row->group);
        for (size_t k = 0; k < row->n_counters; k++)
            buffer_appendf(text, " %s", row->counters[k].event);
        buffer_append_char(text, '\n');
    }
}

/*
 * Returns the groups that a preset resolves to on a machine. Asserts that no failure is reported if `quiet` is true,
 * and at least one if it is false. The function frees the machine.
 */
static char *resolve(struct fake_sys *fake, const struct preset *preset, bool quiet)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    char yaml[256];
    struct rig rig;

    snprintf(yaml, sizeof(yaml),
             "collectors: {self: {enabled: false}, cgroup: {enabled: false}, cpu: {groups: [%s%s%s]}, pmu: {groups: "
             "[%s%s%s]}}",
             preset->of_system ? "" : "{preset: ", preset->of_system ? "" : preset->name, preset->of_system ? "" : "}",
             preset->of_system ? "{preset: " : "", preset->of_system ? preset->name : "", preset->of_system ? "}" : "");
    rig_init(&rig, fake, yaml);
    fake_advance(fake, 1000000);
    fake_advance(fake, 1000000);
    const struct snapshot *snapshot = rig_read(&rig);
    describe_rows(&text, snapshot, preset->name);
    for (size_t i = 0; i < snapshot->n_rows; i++)
        assert_int_not_equal(snapshot->rows[i]->state, ROW_MULTIPLEXED);
    assert_int_equal(registry_failures(rig.registry)->n == 0, quiet);
    rig_done(&rig);
    char *described = buffer_string(&text);
    return described ? described : strdup("");
}

#define OVERVIEW_ARM64                                                                                                 \
    "cycles instructions stall_frontend stall_backend l2d_cache_refill ll_cache_miss_rd br_mis_pred_retired\n"
#define OVERVIEW_X86 "cycles instructions branches branch_misses cache_references cache_misses\n"
#define CACHE_ARM64 "instructions l1d_cache l1d_cache_refill l1i_cache_refill l2d_cache_refill ll_cache_miss_rd\n"
#define CACHE_X86 "instructions cache_references cache_misses l1_dcache_load_misses l1_icache_load_misses\n"
#define BRANCH_ARM64 "cycles instructions br_retired br_mis_pred_retired br_pred br_mis_pred\n"
#define BRANCH_X86 "cycles instructions branches branch_misses\n"
#define TLB_ARM64 "instructions dtlb_walk itlb_walk l1d_tlb_refill l1i_tlb_refill l2d_tlb_refill\n"
#define TLB_X86 "instructions dtlb_load_misses dtlb_store_misses itlb_load_misses\n"
#define TOPDOWN_INTEL "topdown_retiring topdown_bad_spec topdown_fe_bound topdown_be_bound"
#define TOPDOWN_ZEN4                                                                                                   \
    "de_no_dispatch_per_slot_no_ops_from_frontend de_no_dispatch_per_slot_backend_stalls "                             \
    "de_no_dispatch_per_slot_smt_contention de_src_op_disp_all ex_ret_ops\n"
#define UMC(n) "amd_umc_" n ": umc_cas_cmd_rd umc_cas_cmd_wr\n"
#define IMC(n) "uncore_imc_" n ": cas_count_read cas_count_write\n"
#define ARM_PMUV3(pmu)                                                                                                 \
    {                                                                                                                  \
        pmu ": " OVERVIEW_ARM64, pmu ": " CACHE_ARM64, pmu ": " BRANCH_ARM64, pmu ": " TLB_ARM64, "", "", ""           \
    }
#define RK3588(texts) "armv8_cortex_a55: " texts "armv8_cortex_a76: " texts
#define HYBRID(texts) "cpu_core: " texts "cpu_atom: " texts

/* The expected groups per machine and preset, in the order of the preset table. */
static const struct {
    struct fake_sys *(*in)(void);
    const char *out[7];
} machines[] = {
    {captured_rk3588_5_10, ARM_PMUV3("armv8_pmuv3")},
    {captured_rk3588_6_12,
     {RK3588(OVERVIEW_ARM64), RK3588(CACHE_ARM64), RK3588(BRANCH_ARM64), RK3588(TLB_ARM64), "",
      "rockchip_ddr: read_bytes write_bytes\n", ""}},
    {captured_raspberry_pi_5, ARM_PMUV3("armv8_cortex_a76")},
    {captured_altra,
     {"armv8_pmuv3_0: " OVERVIEW_ARM64, "armv8_pmuv3_0: " CACHE_ARM64, "armv8_pmuv3_0: " BRANCH_ARM64,
      "armv8_pmuv3_0: " TLB_ARM64, "", "arm_cmn_0: hnf_mc_reqs\n", ""}},
    {captured_neoverse_n2,
     {"armv8_pmuv3_0: " OVERVIEW_ARM64, "armv8_pmuv3_0: " CACHE_ARM64, "armv8_pmuv3_0: " BRANCH_ARM64,
      "armv8_pmuv3_0: " TLB_ARM64,
      "armv8_pmuv3_0: cycles stall_slot stall_slot_frontend stall_slot_backend op_retired op_spec br_mis_pred\n", "",
      ""}},
    {captured_intel_server,
     {"cpu: " OVERVIEW_X86, "cpu: " CACHE_X86, "cpu: " BRANCH_X86, "cpu: " TLB_X86, "cpu: slots " TOPDOWN_INTEL "\n",
      IMC("0") IMC("1") IMC("2") IMC("3"), "power: energy_pkg energy_ram\n"}},
    {captured_intel_hybrid,
     {HYBRID(OVERVIEW_X86), HYBRID(CACHE_X86), HYBRID(BRANCH_X86), HYBRID(TLB_X86),
      "cpu_core: slots " TOPDOWN_INTEL "\ncpu_atom: " TOPDOWN_INTEL " cycles\n",
      "uncore_imc_free_running_0: data_read data_write\n", "power: energy_pkg energy_cores energy_psys\n"}},
    {captured_amd_server,
     {"cpu: " OVERVIEW_X86, "cpu: " CACHE_X86, "cpu: " BRANCH_X86, "cpu: " TLB_X86, "cpu: " TOPDOWN_ZEN4,
      UMC("0") UMC("1") UMC("2") UMC("3"), "power: energy_pkg\n"}},
};

TEST(test_machines)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        for (size_t k = 0; k < n_presets; k++) {
            _cleanup_(freep) char *described = resolve(machines[i].in(), &presets[k], true);
            if (!str_equal(described, machines[i].out[k]))
                fail_msg("machine %zu: preset %s resolves to\n%sexpected\n%s", i, presets[k].name, described,
                         machines[i].out[k]);
        }
}

/* The x86 NMI watchdog occupies a counter, so six events never fit on AMD's six counters or Intel's four at once. */
TEST(test_watchdog)
{
    static struct fake_sys *(*const in[])(void) = {captured_intel_server, captured_amd_server};

    for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
        struct fake_sys *fake = in[i]();
        fake_file(fake, "/proc/sys/kernel/nmi_watchdog", "1\n");
        _cleanup_(freep) char *described = resolve(fake, preset_find("overview", NULL), true);
        assert_string_equal(described, "cpu: cycles instructions branches branch_misses cache_misses\n");
    }
    struct fake_sys *fake = captured_raspberry_pi_5();
    fake_file(fake, "/proc/sys/kernel/nmi_watchdog", "1\n");
    _cleanup_(freep) char *described = resolve(fake, preset_find("overview", NULL), true);
    assert_string_equal(described, "armv8_cortex_a76: " OVERVIEW_ARM64);
}

/* Zen 4 is recognized by an event name. The same name on another PMU is ignored. */
TEST(test_not_zen4)
{
    struct fake_sys *fake = captured_amd_server();

    fake_pmu_file(fake, "cpu", "events/ref-cycles", "event=0x00,umask=0x03");
    _cleanup_(freep) char *described = resolve(fake, preset_find("topdown", NULL), true);
    assert_string_equal(described, "");
}

/* Without a hardware PMU the reason is reported, unless the preset's PMU is optional. */
TEST(test_no_pmu)
{
    for (size_t i = 0; i < n_presets; i++) {
        bool quiet = presets[i].of_system || str_equal(presets[i].name, "topdown");
        _cleanup_(freep) char *described = resolve(captured_raspberry_pi(), &presets[i], quiet);
        assert_string_equal(described, "");
    }
}

/* An event that the kernel does not know for this PMU is omitted silently; any other refusal is reported. */
TEST(test_refused)
{
    static const struct {
        int in_error;
        const char *out;
        bool out_quiet;
    } cases[] = {
        {ENOENT, "cpu: cycles instructions branches branch_misses cache_references\n", true},
        {EACCES, "cpu: cycles instructions branches branch_misses cache_references\n", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_sys *fake = captured_intel_server();
        rig_refuse(fake, cases[i].in_error, PERF_COUNT_HW_CACHE_MISSES, -1);
        _cleanup_(freep) char *described = resolve(fake, preset_find("overview", NULL), cases[i].out_quiet);
        assert_string_equal(described, cases[i].out);
    }
}

/* A named event that sysfs does not list is not opened by its number. */
TEST(test_unlisted)
{
    struct fake_sys *fake = fake_machine_big_little();

    _cleanup_(freep) char *described = resolve(fake, preset_find("overview", NULL), true);
    assert_string_equal(described, "armv8_cortex_a55: cycles instructions l2d_cache_refill\n"
                                   "armv8_cortex_a76: cycles instructions stall_backend l2d_cache_refill\n");
}

TEST(test_list)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();
    _cleanup_(machine_freep) struct machine *machine = NULL;

    assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);
    json_t *list = presets_list(machine);
    assert_int_equal(json_array_size(list), n_presets);
    json_t *pmu = json_array_get(json_object_get(json_array_get(list, 0), "pmus"), 1);
    _cleanup_(freep) char *text = json_dumps(pmu, JSON_COMPACT);
    assert_string_equal(text, "{\"pmu\":\"armv8_cortex_a76\",\"cpus\":\"4-7\",\"events\":[\"cycles\",\"instructions\","
                              "\"stall_backend\",\"l2d_cache_refill\"],\"left_out\":[\"stall_frontend\","
                              "\"ll_cache_miss_rd\",\"br_mis_pred_retired\"]}");
    json_decref(list);
}

TEST_MAIN(NULL, NULL)
