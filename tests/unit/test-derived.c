/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics: their values, and the machines on which they are available. */
#include <math.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "metrics/derived.h"
#include "metrics/formula.h"
#include "perf/event-parse.h"
#include "perf/machine.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

/*
 * Neoverse N2: 10^9 cycles with 5 slots each. In 2 * 10^9 slots nothing was started; three quarters of the rest
 * retired.
 */
#define ARM_SLOTS "cpu_cycles=1e9 stall_slot=2e9 op_retired=3e9 op_spec=4e9"
#define INTEL_SLOTS "slots=1e10 topdown_retiring=4e9 topdown_bad_spec=1e9 topdown_fe_bound=2e9 topdown_be_bound=3e9"
#define ZEN_SLOTS                                                                                                      \
    "de_src_op_disp_all=3e9 de_no_dispatch_per_slot_no_ops_from_frontend=1e9"                                          \
    " de_no_dispatch_per_slot_backend_stalls=1.5e9 de_no_dispatch_per_slot_smt_contention=5e8"
#define BEATS_4(kind, a, b, c, d)                                                                                      \
    "local_processor_" kind "_data_beats_cs" a "=1e6 local_processor_" kind "_data_beats_cs" b "=1e6 "                 \
    "local_processor_" kind "_data_beats_cs" c "=1e6 local_processor_" kind "_data_beats_cs" d "=1e6 "
#define BEATS(kind)                                                                                                    \
    BEATS_4(kind, "0", "1", "2", "3") BEATS_4(kind, "4", "5", "6", "7") BEATS_4(kind, "8", "9", "10", "11")

static const struct {
    const char *metric;
    enum derived_target in_target;
    const char *in_pmu;
    unsigned in_slots; /* slots per cycle of the CPUs */
    double out;
    const char *in_rates; /* rates per second */
} cases[] = {
    {"ipc", DERIVED_CPU, "cpu", 0, 1.5, "cycles=2e9 instructions=3e9"},
    {"ipc", DERIVED_CGROUP, "armv8_cortex_a76", 0, 1.5, "cpu_cycles=2e9 inst_retired=3e9"},
    {"ipc_user", DERIVED_CPU, "cpu", 0, 0.25, "cycles_user=4e8 instructions_user=1e8"},
    {"ipc_kernel", DERIVED_CPU, "cpu", 0, 0.5, "cycles_kernel=4e8 instructions_kernel=2e8"},
    {"frontend_stall_ratio", DERIVED_CPU, "armv8_cortex_a55", 0, 0.25, "cycles=1.8e9 stall_frontend=4.5e8"},
    {"frontend_stall_ratio", DERIVED_CPU, "cpu", 0, 0.5, "cycles=1.6e9 stalled_cycles_frontend=8e8"},
    {"backend_stall_ratio", DERIVED_CPU, "armv8_cortex_a55", 0, 0, "cycles=1.8e9 stall_backend=0"},
    {"backend_stall_ratio", DERIVED_CPU, "cpu", 0, 0.25, "cycles=1.6e9 stalled_cycles_backend=4e8"},
    {"frequency_hertz", DERIVED_CGROUP, "cpu", 0, 2.4e+09, "task_clock=0.25 cycles=6e8"},
    {"cpu_frequency_hertz", DERIVED_CPU, "cpu", 0, 2.4e+09, "cycles=6e8"},
    {"cpu_utilization", DERIVED_CGROUP, "software", 0, 1.75, "task_clock=1.75"},
    {"branch_miss_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.025, "br_retired=2e8 br_mis_pred_retired=5e6"},
    {"branch_miss_ratio", DERIVED_CPU, "cpu", 0, 0.05, "branches=2e8 branch_misses=1e7"},
    {"branch_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 5, "inst_retired=1e9 br_mis_pred_retired=5e6"},
    {"branch_mpki", DERIVED_CPU, "cpu", 0, 10, "instructions=1e9 branch_misses=1e7"},
    {"load_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 ld_spec=2e8"},
    {"store_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 st_spec=2e8"},
    {"integer_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 dp_spec=2e8"},
    {"simd_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 ase_spec=2e8"},
    {"scalar_fp_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 vfp_spec=2e8"},
    {"crypto_spec_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.2, "inst_spec=1e9 crypto_spec=2e8"},
    {"branch_spec_ratio", DERIVED_CPU, "armv8_pmuv3_0", 0, 0.2,
     "inst_spec=1e9 br_immed_spec=1.5e8 br_indirect_spec=5e7"},
    {"cache_miss_ratio", DERIVED_CPU, "cpu", 0, 0.25, "cache_references=4e7 cache_misses=1e7"},
    {"cache_miss_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.02, "l1d_cache=4e8 l1d_cache_refill=8e6"},
    {"l1d_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 4, "instructions=2e9 l1d_cache_refill=8e6"},
    {"l1d_mpki", DERIVED_CPU, "cpu", 0, 15, "instructions=2e9 l1_dcache_load_misses=3e7"},
    {"l1d_mpki", DERIVED_CPU, "cpu", 0, 10, "instructions=2e9 mem_load_retired_l1_miss=2e7"},
    {"l1i_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 3, "instructions=2e9 l1i_cache_refill=6e6"},
    {"l1i_mpki", DERIVED_CPU, "cpu", 0, 1, "instructions=2e9 l1_icache_load_misses=2e6"},
    {"l2_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 2, "instructions=2e9 l2d_cache_refill=4e6"},
    {"l2_mpki", DERIVED_CPU, "cpu", 0, 5, "instructions=2e9 mem_load_retired_l2_miss=1e7"},
    {"l2_miss_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.1, "l2d_cache=5e7 l2d_cache_refill=5e6"},
    {"llc_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 0.5, "instructions=2e9 ll_cache_miss_rd=1e6"},
    {"llc_mpki", DERIVED_CPU, "cpu", 0, 2, "instructions=2e9 llc_load_misses=4e6"},
    {"llc_mpki", DERIVED_CPU, "cpu", 0, 1, "instructions=2e9 mem_load_retired_l3_miss=2e6"},
    {"llc_miss_ratio", DERIVED_CPU, "armv8_cortex_a76", 0, 0.25, "ll_cache_rd=8e6 ll_cache_miss_rd=2e6"},
    {"llc_miss_ratio", DERIVED_CPU, "cpu", 0, 0.5, "llc_loads=8e6 llc_load_misses=4e6"},
    {"dtlb_walks_pki", DERIVED_CPU, "armv8_cortex_a76", 0, 1.5, "instructions=2e9 dtlb_walk=3e6"},
    {"dtlb_walks_pki", DERIVED_CPU, "cpu_core", 0, 2, "instructions=2e9 dtlb_load_misses=3e6 dtlb_store_misses=1e6"},
    {"dtlb_walks_pki", DERIVED_CPU, "cpu", 0, 4,
     "instructions=2e9 dtlb_load_misses_walk_completed=3e6 dtlb_store_misses_walk_completed=5e6"},
    {"dtlb_walks_pki", DERIVED_CPU, "cpu", 0, 0.5, "instructions=2e9 ls_l1_d_tlb_miss_all_l2_miss=1e6"},
    {"itlb_walks_pki", DERIVED_CPU, "armv8_cortex_a76", 0, 0.25, "instructions=2e9 itlb_walk=5e5"},
    {"itlb_walks_pki", DERIVED_CPU, "cpu_core", 0, 0.5, "instructions=2e9 itlb_load_misses=1e6"},
    {"itlb_walks_pki", DERIVED_CPU, "cpu", 0, 1, "instructions=2e9 itlb_misses_walk_completed=2e6"},
    {"itlb_walks_pki", DERIVED_CPU, "cpu", 0, 2, "instructions=2e9 bp_l1_tlb_miss_l2_tlb_miss_all=4e6"},
    {"l2_tlb_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 0.5, "instructions=2e9 l2d_tlb_refill=1e6"},
    {"dtlb_load_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 3, "instructions=2e9 l1d_tlb_refill=6e6"},
    {"itlb_load_mpki", DERIVED_CPU, "armv8_cortex_a76", 0, 1.5, "instructions=2e9 l1i_tlb_refill=3e6"},
    {"dtlb_load_mpki", DERIVED_CPU, "cpu", 0, 2, "instructions=2e9 dtlb_load_misses=4e6"},
    {"itlb_load_mpki", DERIVED_CPU, "cpu", 0, 1, "instructions=2e9 itlb_load_misses=2e6"},
    {"topdown_retiring_ratio", DERIVED_CPU, "armv8_pmuv3_0", 5, 0.45, ARM_SLOTS},
    {"topdown_bad_speculation_ratio", DERIVED_CPU, "armv8_pmuv3_0", 5, 0.15, ARM_SLOTS},
    {"topdown_frontend_bound_ratio", DERIVED_CPU, "armv8_pmuv3_0", 5, 0.1, "cpu_cycles=1e9 stall_slot_frontend=5e8"},
    {"topdown_backend_bound_ratio", DERIVED_CPU, "armv8_pmuv3_0", 5, 0.3, "cpu_cycles=1e9 stall_slot_backend=1.5e9"},
    {"topdown_retiring_ratio", DERIVED_CPU, "cpu", 0, 0.4, INTEL_SLOTS},
    {"topdown_bad_speculation_ratio", DERIVED_CPU, "cpu", 0, 0.1, INTEL_SLOTS},
    {"topdown_frontend_bound_ratio", DERIVED_CPU, "cpu", 0, 0.2, INTEL_SLOTS},
    {"topdown_backend_bound_ratio", DERIVED_CPU, "cpu", 0, 0.3, INTEL_SLOTS},
    {"topdown_retiring_ratio", DERIVED_CPU, "cpu", 0, 0.4, ZEN_SLOTS " ex_ret_ops=2.4e9"},
    {"topdown_bad_speculation_ratio", DERIVED_CPU, "cpu", 0, 0.1, ZEN_SLOTS " ex_ret_ops=2.4e9"},
    {"topdown_frontend_bound_ratio", DERIVED_CPU, "cpu", 0, 1 / 6.0, ZEN_SLOTS},
    {"topdown_backend_bound_ratio", DERIVED_CPU, "cpu", 0, 0.25, ZEN_SLOTS},
    {"memory_read_bytes_per_second", DERIVED_PMU, "rockchip_ddr", 0, 6e+09, "read_bytes=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "rockchip_ddr", 0, 2e+09, "write_bytes=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "rockchip_ddr", 0, 8e+09, "read_bytes=6e+09 write_bytes=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "rockchip_ddr", 0, 8e+09, "bytes=8e9"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "mmdc0", 0, 6e+09, "read_bytes=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "mmdc0", 0, 2e+09, "write_bytes=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "mmdc0", 0, 8e+09, "read_bytes=6e+09 write_bytes=2e+09"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "uncore_imc_3", 0, 6e+09, "cas_count_read=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "uncore_imc_3", 0, 2e+09, "cas_count_write=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_imc_3", 0, 8e+09, "cas_count_read=6e+09 cas_count_write=2e+09"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "uncore_imc", 0, 6e+09, "data_reads=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "uncore_imc", 0, 2e+09, "data_writes=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_imc", 0, 8e+09, "data_reads=6e+09 data_writes=2e+09"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_0", 0, 6e+09, "data_read=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_0", 0, 2e+09, "data_write=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_0", 0, 8e+09, "data_read=6e+09 data_write=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_0", 0, 8e+09, "data_total=8e9"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_1", 0, 6e+09, "read=6e+09"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_1", 0, 2e+09, "write=2e+09"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_imc_free_running_1", 0, 8e+09, "read=6e+09 write=2e+09"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "amd_umc_5", 0, 6e+09, "umc_cas_cmd_rd=9.375e+07"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "amd_umc_5", 0, 2e+09, "umc_cas_cmd_wr=3.125e+07"},
    {"memory_bytes_per_second", DERIVED_PMU, "amd_umc_5", 0, 8e+09,
     "umc_cas_cmd_rd=9.375e+07 umc_cas_cmd_wr=3.125e+07"},
    {"memory_bytes_per_second", DERIVED_PMU, "amd_umc_5", 0, 8e+09, "umc_cas_cmd_all=1.25e+08"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "amd_df", 0, 7.68e+08, BEATS("read")},
    {"memory_write_bytes_per_second", DERIVED_PMU, "amd_df", 0, 7.68e+08, BEATS("write")},
    {"memory_bytes_per_second", DERIVED_PMU, "arm_cmn_0", 0, 8e+09, "hnf_mc_reqs=1.25e+08"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "uncore_dmc_0", 0, 6e+09, "read_txns=9.375e+07"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "uncore_dmc_0", 0, 2e+09, "write_txns=3.125e+07"},
    {"memory_bytes_per_second", DERIVED_PMU, "uncore_dmc_0", 0, 8e+09, "read_txns=9.375e+07 write_txns=3.125e+07"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 6e+09, "imx8mm_ddr_read_cycles=3.75e+08"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 2e+09, "imx8mm_ddr_write_cycles=1.25e+08"},
    {"memory_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 8e+09,
     "imx8mm_ddr_read_cycles=3.75e+08 imx8mm_ddr_write_cycles=1.25e+08"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 6e+09, "imx8mq_ddr_read_cycles=3.75e+08"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 2e+09, "imx8mq_ddr_write_cycles=1.25e+08"},
    {"memory_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 8e+09,
     "imx8mq_ddr_read_cycles=3.75e+08 imx8mq_ddr_write_cycles=1.25e+08"},
    {"memory_read_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 6e+09, "imx8mn_ddr_read_cycles=7.5e+08"},
    {"memory_write_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 2e+09, "imx8mn_ddr_write_cycles=2.5e+08"},
    {"memory_bytes_per_second", DERIVED_PMU, "imx8_ddr0", 0, 8e+09,
     "imx8mn_ddr_read_cycles=7.5e+08 imx8mn_ddr_write_cycles=2.5e+08"},
    {"memory_bytes_per_second", DERIVED_PMU, "meson_ddr_bw", 0, 8e+09, "total_rw_bytes=8e9"},
    {"package_watts", DERIVED_PMU, "power", 0, 12.5, "energy_pkg=12.5"},
    {"cores_watts", DERIVED_PMU, "power", 0, 12.5, "energy_cores=12.5"},
    {"dram_watts", DERIVED_PMU, "power", 0, 12.5, "energy_ram=12.5"},
    {"gpu_watts", DERIVED_PMU, "power", 0, 12.5, "energy_gpu=12.5"},
    {"platform_watts", DERIVED_PMU, "power", 0, 12.5, "energy_psys=12.5"},
    {"core_watts", DERIVED_PMU, "power_core", 0, 2.5, "energy_core=2.5"},
};

#define EVENTS_MAX 16

/* The events and rates of "cycles=2e9 instructions=3e9". The names point into `text`. */
struct simulated {
    char *text;
    const char *events[EVENTS_MAX];
    double rates[EVENTS_MAX];
    size_t n;
};

static struct simulated sim(const char *rates)
{
    struct simulated simulated = {.text = strdup(rates)};
    char *at = simulated.text, *word;

    assert_non_null(at);
    while ((word = strsep(&at, " ")))
        if (*word) {
            char *sign = strchr(word, '=');
            assert_true(sign && simulated.n < EVENTS_MAX);
            *sign = '\0';
            simulated.events[simulated.n] = word;
            assert_int_equal(number_parse_double(sign + 1, &simulated.rates[simulated.n++]), 0);
        }
    return simulated;
}

/* Returns the value of case `i` for these events, NAN if the metric is absent. */
static double value_of(size_t i, const char *pmu, const struct simulated *simulated, const struct derived_formula **ret)
{
    const struct metric_set_events events = {cases[i].in_target, pmu, cases[i].in_slots, simulated->events,
                                             simulated->n};
    const struct metric_set_times times = {1, 1, .busy = 0.5, .interval = 2};
    struct metric_set *metric_set = metric_set_new(&events);
    double value = NAN;

    assert_non_null(metric_set);
    *ret = NULL;
    for (size_t k = 0; k < metric_set_count(metric_set); k++)
        if (str_equal(metric_set_metric(metric_set, k)->name, cases[i].metric)) {
            *ret = metric_set_formula(metric_set, k);
            value = metric_set_value(metric_set, k, simulated->rates, &times);
        }
    metric_set_free(metric_set);
    return value;
}

static bool formula_has(const struct derived_formula *formula, const char *event)
{
    struct formula parsed;
    bool has = false;

    assert_int_equal(formula_parse(formula->text, &parsed, NULL), 0);
    for (size_t i = 0; i < parsed.n_names; i++)
        has = has || derived_names_event(parsed.names[i], event);
    return has;
}

/*
 * Checks values. If an event is missing or in another group, the metric is absent; if a rate is unknown, so is the
 * value. A formula for certain PMUs does not apply to others, and one with slots needs a known number of slots.
 */
TEST(test_values)
{
    const struct derived_formula *formula, *other;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct simulated all = sim(cases[i].in_rates);
        double value = value_of(i, cases[i].in_pmu, &all, &formula);
        if (!(fabs(value - cases[i].out) <= 1e-12 * fabs(cases[i].out)))
            fail_msg("%s of %s: %.17g", cases[i].metric, cases[i].in_rates, value);
        for (size_t k = 0; k < all.n; k++) {
            struct simulated simulated = all;
            if (!formula_has(formula, all.events[k]))
                continue;
            simulated.rates[k] = NAN;
            assert_true(isnan(value_of(i, cases[i].in_pmu, &simulated, &other)));
            simulated.events[k] = "another_event";
            assert_true(isnan(value_of(i, cases[i].in_pmu, &simulated, &other)));
            assert_null(other);
        }
        value_of(i, "another_pmu", &all, &other);
        assert_true(formula->pmu || cases[i].in_target != DERIVED_PMU);
        assert_true(other == (formula->pmu ? NULL : formula));
        assert_int_equal(formula_has(formula, "slots"), cases[i].in_slots > 0);
        free(all.text);
    }
}

/*
 * The share of time during which a group was counted, and the share during which a CPU was busy. The latter cannot be
 * computed from a CPU's clock event, which counts even when the CPU is idle.
 */
TEST(test_times)
{
    static const struct {
        enum derived_target in_target;
        const char *in_event, *metric;
        struct metric_set_times in;
        double out;
    } times[] = {
        {DERIVED_PMU, "cycles", "running_ratio", {1, 4, 0, 1}, 0.25},
        {DERIVED_CPU, "cycles", "running_ratio", {0, 4, 0, 1}, 0},
        {DERIVED_CPU, "cycles", "running_ratio", {0, 0, 0, 1}, NAN},
        {DERIVED_CPU, "task_clock", "cpu_utilization", {1, 1, 0, 1}, NAN},
        {DERIVED_CPU, "cycles", "cpu_frequency_hertz", {1, 1, 0.5, 1}, 2},
        {DERIVED_CPU, "cycles", "cpu_frequency_hertz", {10, 10, 0.5, 10}, 20},
        {DERIVED_CPU, "cycles", "cpu_frequency_hertz", {1, 1, 0.09, 1}, NAN},
        {DERIVED_CPU, "cycles", "cpu_frequency_hertz", {1, 1, 0, 0}, NAN},
        {DERIVED_CPU, "cycles", "cpu_frequency_hertz", {1, 1, NAN, 1}, NAN},
        {DERIVED_CGROUP, "cycles", "cpu_frequency_hertz", {1, 1, 0.5, 1}, NAN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        const struct metric_set_events events = {times[i].in_target, "cpu", 0, &times[i].in_event, 1};
        struct metric_set *metric_set = metric_set_new(&events);
        double value = NAN;
        for (size_t k = 0; k < metric_set_count(metric_set); k++)
            if (str_equal(metric_set_metric(metric_set, k)->name, times[i].metric))
                value = metric_set_value(metric_set, k, &(double){1}, &times[i].in);
        assert_int_equal(isnan(value), isnan(times[i].out));
        assert_true(isnan(value) || value == times[i].out);
        metric_set_free(metric_set);
    }
}

/* Every formula has a case above. */
TEST(test_every_formula)
{
    const struct derived_metric *metric;
    const struct derived_formula *formula;

    for (size_t i = 0; (metric = derived_at(i)); i++)
        for (const struct derived_formula *sought = metric->formulas; sought->text; sought++) {
            bool found = str_equal(metric->name, "running_ratio");
            for (size_t k = 0; k < ARRAY_SIZE(cases) && !found; k++) {
                struct simulated simulated = sim(cases[k].in_rates);
                value_of(k, cases[k].in_pmu, &simulated, &formula);
                found = formula == sought && str_equal(metric->name, cases[k].metric);
                free(simulated.text);
            }
            if (!found)
                fail_msg("%s = %s has no case", metric->name, sought->text);
        }
}

/* Captured machines, and the derived metrics that the events in /sys permit for their PMUs */

#define PMU_EVENTS_MAX 64

/* Returns the name of a PMU's event in metrics; the caller frees it. */
static const char *name_event(const struct pmu *pmu, const char *name)
{
    struct event event;

    if (pmu->scope != PMU_CORE)
        return event_metric_name(name);
    assert_int_equal(event_parse(name, &event, NULL), 0);
    char *metric = steal(event.metric);
    event_done(&event);
    return metric;
}

/*
 * Appends "armv8_cortex_a76: ipc frontend_stall_ratio" for a group of all events of the PMU. Leaves out running_ratio,
 * which is always available.
 */
static void describe_pmu(struct buffer *text, const struct pmu *pmu)
{
    const char *names[PMU_EVENTS_MAX];
    const struct metric_set_events events = {
        .target = pmu->scope == PMU_CORE ? DERIVED_CPU : DERIVED_PMU,
        .pmu = pmu->name,
        .slots = pmu->slots,
        .events = names,
        .n = pmu->n_events,
    };

    assert_true(pmu->n_events <= PMU_EVENTS_MAX);
    for (size_t i = 0; i < events.n; i++)
        names[i] = name_event(pmu, pmu->events[i].name);
    struct metric_set *metric_set = metric_set_new(&events);
    size_t n = metric_set_count(metric_set);
    buffer_appendf(text, "%s%s", n > 1 ? pmu->name : "", n > 1 ? ":" : "");
    for (size_t i = 0; i < n; i++)
        if (!str_equal(metric_set_metric(metric_set, i)->name, "running_ratio"))
            buffer_appendf(text, " %s", metric_set_metric(metric_set, i)->name);
    buffer_append_text(text, n > 1 ? "\n" : "");
    metric_set_free(metric_set);
    for (size_t i = 0; i < events.n; i++)
        free((char *)names[i]);
}

/* Cortex-A55 and A76 have no slots, hence no top-down metrics. */
#define ARMV8                                                                                                          \
    ": ipc frontend_stall_ratio backend_stall_ratio cpu_frequency_hertz branch_miss_ratio branch_mpki "                \
    "cache_miss_ratio l1d_mpki "                                                                                       \
    "l1i_mpki l2_mpki l2_miss_ratio llc_mpki llc_miss_ratio dtlb_walks_pki itlb_walks_pki l2_tlb_mpki "                \
    "dtlb_load_mpki itlb_load_mpki"
#define TOPDOWN                                                                                                        \
    " topdown_retiring_ratio topdown_bad_speculation_ratio topdown_frontend_bound_ratio topdown_backend_bound_ratio"
#define MEMORY ": memory_read_bytes_per_second memory_write_bytes_per_second memory_bytes_per_second\n"

static const struct {
    struct fake_sys *(*in)(void);
    const char *out;
} machines[] = {
    {captured_rk3588_5_10, "armv8_pmuv3" ARMV8 "\n"},
    {captured_rk3588_6_1, "armv8_cortex_a55" ARMV8 "\narmv8_cortex_a76" ARMV8 "\n"},
    {captured_rk3588_6_12, "armv8_cortex_a55" ARMV8 "\narmv8_cortex_a76" ARMV8 "\nrockchip_ddr" MEMORY},
    {captured_raspberry_pi_5, "armv8_cortex_a76" ARMV8 "\n"},
    {captured_raspberry_pi, ""},
    {captured_altra, "arm_cmn_0: memory_bytes_per_second\narmv8_pmuv3_0" ARMV8 "\n"},
    {captured_neoverse_n2, "armv8_pmuv3_0" ARMV8 TOPDOWN "\n"},
    {captured_intel_hybrid, "cpu_atom: ipc cpu_frequency_hertz" TOPDOWN "\ncpu_core: ipc cpu_frequency_hertz" TOPDOWN
                            "\npower: package_watts cores_watts platform_watts\nuncore_imc_free_running_0" MEMORY},
    {captured_intel_server, "cpu: ipc cpu_frequency_hertz branch_miss_ratio branch_mpki cache_miss_ratio" TOPDOWN
                            "\npower: package_watts dram_watts\n"
                            "uncore_imc_0" MEMORY "uncore_imc_1" MEMORY "uncore_imc_2" MEMORY "uncore_imc_3" MEMORY
                            "uncore_imc_free_running_0" MEMORY},
    {captured_amd_server, "cpu: ipc frontend_stall_ratio cpu_frequency_hertz branch_miss_ratio branch_mpki "
                          "cache_miss_ratio\npower: package_watts\n"},
};

TEST(test_machines)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        _cleanup_(buffer_done) struct buffer text = {0};
        _cleanup_(fake_sys_freep) struct fake_sys *fake = machines[i].in();
        _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);
        for (size_t k = 0; k < machine->n_pmus; k++)
            describe_pmu(&text, machine->pmus[k]);
        _cleanup_(freep) char *described = buffer_string(&text);
        if (!str_equal(described ? described : "", machines[i].out))
            fail_msg("machine %zu has\n%sinstead of\n%s\n", i, described, machines[i].out);
    }
}

TEST_MAIN(NULL, NULL)
