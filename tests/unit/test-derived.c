/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of derived metrics: each is whole, and its names are those that events have. */
#include <stdio.h>

#include "derived/derived.h"
#include "derived/formula.h"
#include "perf/event/parse.h"
#include "tests/unit/test.h"

static void test_rows(void **state)
{
    static const char *const units[] = {"ratio", "per 1000 instructions", "hertz", "cpus", "bytes per second", "watts"};
    const struct derived_metric *metric;
    size_t i, k;

    (void)state;
    for (i = 0; (metric = derived_at(i)); i++) {
        print_message("%s\n", metric->name);
        assert_true(derived_find(metric->name) == metric); /* no name twice */
        assert_int_equal(strspn(metric->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(metric->name));
        for (k = 0; k < ARRAY_SIZE(units) && !str_equal(units[k], metric->unit); k++)
            continue;
        assert_true(k < ARRAY_SIZE(units));
        assert_true(metric->help[0] >= 'A' && metric->help[0] <= 'Z');
        assert_int_equal(metric->help[strlen(metric->help) - 1], '.');
        assert_true(metric->targets && metric->formulas[0].text);
        for (k = 0; metric->formulas[k].text; k++) {
            struct formula formula;
            assert_int_equal(formula_parse(metric->formulas[k].text, &formula, NULL), 0);
            assert_true(formula.n_names > 0 && metric->formulas[k].source[0]);
        }
        assert_true(k <= DERIVED_FORMULAS_MAX);
    }
    assert_int_equal(i, derived_count());
    assert_null(derived_find("no_such_metric"));
}

/* How a user writes the events: those that sysfs or libpfm4 names, and those that need a name. */
static const char *const written[] = {
    "cycles",
    "cycles:u",
    "cycles:k",
    "instructions",
    "instructions:u",
    "instructions:k",
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
    "task-clock",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "L1-dcache-load-misses",
    "L1-icache-load-misses",
    "LLC-loads",
    "LLC-load-misses",
    "dTLB-load-misses",
    "dTLB-store-misses",
    "iTLB-load-misses",
    /* sysfs of Arm's PMUv3 */
    "stall_frontend",
    "stall_backend",
    "br_retired",
    "br_mis_pred_retired",
    "inst_spec",
    "l1d_cache",
    "l1d_cache_refill",
    "l1i_cache_refill",
    "l2d_cache",
    "l2d_cache_refill",
    "ll_cache_rd",
    "ll_cache_miss_rd",
    "dtlb_walk",
    "l1d_tlb_refill",
    "l1i_tlb_refill",
    "l2d_tlb_refill",
    "itlb_walk",
    "op_retired",
    "op_spec",
    "stall_slot",
    "stall_slot_frontend",
    "stall_slot_backend",
    /* libpfm4 */
    "arm_n1::LD_SPEC",
    "arm_n1::ST_SPEC",
    "arm_n1::DP_SPEC",
    "arm_n1::ASE_SPEC",
    "arm_n1::VFP_SPEC",
    "arm_n1::CRYPTO_SPEC",
    "arm_n1::BR_IMMED_SPEC",
    "arm_n1::BR_INDIRECT_SPEC",
    "MEM_LOAD_RETIRED:L1_MISS",
    "MEM_LOAD_RETIRED:L2_MISS",
    "MEM_LOAD_RETIRED:L3_MISS",
    "DTLB_LOAD_MISSES:WALK_COMPLETED",
    "DTLB_STORE_MISSES:WALK_COMPLETED",
    "ITLB_MISSES:WALK_COMPLETED",
    /* sysfs of Intel */
    "topdown-retiring",
    "topdown-bad-spec",
    "topdown-fe-bound",
    "topdown-be-bound",
    /* AMD, as perf names them */
    "cpu/event=0x45,umask=0xf0,name=ls_l1_d_tlb_miss_all_l2_miss/",
    "cpu/event=0x85,umask=0x0f,name=bp_l1_tlb_miss_l2_tlb_miss_all/",
    "cpu/event=0xc1,name=ex_ret_ops/",
    "cpu/event=0xaa,umask=0x07,name=de_src_op_disp_all/",
    "cpu/event=0x1a0,umask=0x01,name=de_no_dispatch_per_slot_no_ops_from_frontend/",
    "cpu/event=0x1a0,umask=0x1e,name=de_no_dispatch_per_slot_backend_stalls/",
    "cpu/event=0x1a0,umask=0x60,name=de_no_dispatch_per_slot_smt_contention/",
    "amd_umc/event=0x0a,rdwrmask=1,name=umc_cas_cmd_rd/",
    "amd_umc/event=0x0a,rdwrmask=2,name=umc_cas_cmd_wr/",
    "amd_umc/event=0x0a,name=umc_cas_cmd_all/",
    /* memory controllers and RAPL */
    "rockchip_ddr/read-bytes/",
    "rockchip_ddr/write-bytes/",
    "rockchip_ddr/bytes/",
    "uncore_imc/cas_count_read/",
    "uncore_imc/cas_count_write/",
    "uncore_imc/data_reads/",
    "uncore_imc/data_writes/",
    "uncore_imc_free_running/data_read/",
    "uncore_imc_free_running/data_write/",
    "uncore_imc_free_running/data_total/",
    "uncore_imc_free_running/read/",
    "uncore_imc_free_running/write/",
    "arm_cmn/hnf_mc_reqs/",
    "uncore_dmc/read_txns/",
    "uncore_dmc/write_txns/",
    "imx8_ddr/read-cycles,name=imx8mm_ddr_read_cycles/",
    "imx8_ddr/write-cycles,name=imx8mm_ddr_write_cycles/",
    "imx8_ddr/read-cycles,name=imx8mq_ddr_read_cycles/",
    "imx8_ddr/write-cycles,name=imx8mq_ddr_write_cycles/",
    "imx8_ddr/read-cycles,name=imx8mn_ddr_read_cycles/",
    "imx8_ddr/write-cycles,name=imx8mn_ddr_write_cycles/",
    "meson_ddr_bw/total_rw_bytes/",
    "energy-pkg",
    "energy-cores",
    "energy-core",
    "energy-ram",
    "energy-gpu",
    "energy-psys",
};

static bool is_written(const char *name)
{
    static const char *const others[] = {"running_time", "enabled_time", "slots"};
    unsigned cs;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (str_equal(name, others[i]))
            return true;
    /* Twelve channels of AMD's data fabric. */
    if (sscanf(name, "local_processor_%*[a-z]_data_beats_cs%u", &cs) == 1)
        return cs < 12;
    for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
        struct event event;
        assert_int_equal(event_parse(written[i], &event, NULL), 0);
        bool same = derived_names_event(name, event.metric);
        event_done(&event);
        if (same)
            return true;
    }
    return false;
}

/* Each name in a formula is the name of an event's metric, as the parser of events makes it. */
static void test_names(void **state)
{
    const struct derived_metric *metric;

    (void)state;
    for (size_t i = 0; (metric = derived_at(i)); i++)
        for (size_t k = 0; metric->formulas[k].text; k++) {
            struct formula formula;
            assert_int_equal(formula_parse(metric->formulas[k].text, &formula, NULL), 0);
            for (size_t n = 0; n < formula.n_names; n++)
                if (!is_written(formula.names[n]))
                    fail_msg("%s: nothing is named %s", metric->name, formula.names[n]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
