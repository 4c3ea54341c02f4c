/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of counters limits the size of the groups. arm64's PMUv3 has a cycle counter and, on Cortex-A55 and A76,
 * six others. Intel has 4 to 8 besides the fixed ones for cycles, instructions and slots. AMD's CPUs have six in all.
 * The NMI watchdog may hold a counter (on Intel the one for cycles): then the kernel opens a group that needs all
 * counters, but never schedules it.
 */
#include "perf/presets.h"

#include "base/text.h"

/*
 * drivers/perf/arm_pmuv3.c lists cpu_cycles and the other events that the CPU implements, by PMCEID.
 * arch/x86/events/core.c lists cpu-cycles.
 */
#define ARM_PMUV3 .listed = "cpu_cycles"
#define X86 .listed = "cpu-cycles"
/* The code of ref-cycles on Zen 4 and 5: amd_zen4_perfmon_event_map in arch/x86/events/amd/core.c (Linux 6.10). */
#define AMD_ZEN4 .listed = "ref-cycles", .terms = "event=0x120,umask=0x01"

#define CPU_SLOT(umask, name) "cpu/event=0x1a0,umask=" umask ",name=de_no_dispatch_per_slot_" name "/"

const struct preset presets[] = {
    {
        .name = "overview",
        .help = "where the cycles go: instructions, stalls, misses",
        .n_variants = 4,
        .variants = {{ARM_PMUV3, .events = "cycles,instructions,stall_frontend,stall_backend,l2d_cache_refill,"
                                           "ll_cache_miss_rd,br_mis_pred_retired"},
                     {X86, .alone = true,
                      .events = "cycles,instructions,branches,branch-misses,cache-references,cache-misses"},
                     {X86, .events = "cycles,instructions,branches,branch-misses,cache-misses"},
                     {.events = "cycles,instructions"}},
    },
    {
        .name = "cache",
        .help = "cache misses at each level",
        .n_variants = 2,
        .variants = {{ARM_PMUV3, .events = "instructions,l1d_cache,l1d_cache_refill,l1i_cache_refill,l2d_cache_refill,"
                                           "ll_cache_miss_rd"},
                     {.events = "instructions,cache-references,cache-misses,L1-dcache-load-misses,"
                                "L1-icache-load-misses"}},
    },
    {
        .name = "branch",
        .help = "branches and branch mispredictions",
        .n_variants = 2,
        .variants = {{ARM_PMUV3, .events = "cycles,instructions,br_retired,br_mis_pred_retired,br_pred,br_mis_pred"},
                     {.events = "cycles,instructions,branches,branch-misses"}},
    },
    {
        .name = "tlb",
        .help = "TLB misses and page table walks",
        .n_variants = 2,
        .variants = {{ARM_PMUV3,
                      .events = "instructions,dtlb_walk,itlb_walk,l1d_tlb_refill,l1i_tlb_refill,l2d_tlb_refill"},
                     {.events = "instructions,dTLB-load-misses,dTLB-store-misses,iTLB-load-misses"}},
    },
    {
        /*
         * Intel's topdown metric events are correct only in a group whose leader is slots
         * (tools/perf/Documentation/topdown.txt); Intel's small cores have the same events without slots. On older
         * Intel CPUs, topdown-total-slots counts per core, not per CPU, and is left out. Arm: telemetry specification
         * of the Neoverse N2. AMD: tools/perf/pmu-events/arch/x86/amdzen4/pipeline.json; the slots are the sum of the
         * first four events.
         */
        .name = "topdown",
        .help = "the first level of top-down analysis: slots that retired, and why the others were lost",
        .strict = true,
        .n_variants = 5,
        .variants = {{.listed = "slots",
                      .events = "slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound"},
                     {.listed = "topdown-retiring",
                      .events = "topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound,cycles"},
                     {.listed = "stall_slot",
                      .events = "cycles,stall_slot,stall_slot_frontend,stall_slot_backend,op_retired,op_spec,"
                                "br_mis_pred"},
                     {AMD_ZEN4,
                      .events =
                          CPU_SLOT("0x01", "no_ops_from_frontend") "," CPU_SLOT("0x1e", "backend_stalls") "," CPU_SLOT(
                              "0x60", "smt_contention") ","
                                                        "cpu/event=0xaa,umask=0x07,name=de_src_op_disp_all/,"
                                                        "cpu/event=0xc1,name=ex_ret_ops/"},
                     {.events = NULL}},
    },
    {
        /*
         * The names are those of the drivers: drivers/devfreq/event/rockchip-dfi.c,
         * arch/x86/events/intel/uncore_snbep.c (servers) and uncore_snb.c (the others),
         * drivers/perf/fsl_imx8_ddr_perf.c, drivers/perf/thunderx2_pmu.c, drivers/perf/arm-cmn.c, drivers/perf/amlogic.
         * Counters that would count the same bytes again are left out: the free-running counters of Intel's servers,
         * Arm's dmc620 beside a mesh. AMD's driver lists no events:
         * tools/perf/pmu-events/arch/x86/amdzen4/memory-controller.json.
         */
        .name = "memory",
        .help = "bytes that the memory controllers read and write",
        .of_system = true,
        .n_variants = 1,
        .variants = {{.events = "rockchip_ddr/read-bytes/,rockchip_ddr/write-bytes/,"
                                "uncore_imc/cas_count_read/,uncore_imc/cas_count_write/,"
                                "uncore_imc/data_reads/,uncore_imc/data_writes/,"
                                "uncore_imc_free_running/data_read/,uncore_imc_free_running/data_write/,"
                                "amd_umc/event=0x0a,rdwrmask=0x1,name=umc_cas_cmd_rd/,"
                                "amd_umc/event=0x0a,rdwrmask=0x2,name=umc_cas_cmd_wr/,"
                                "imx8_ddr0/read-cycles/,imx8_ddr0/write-cycles/,"
                                "uncore_dmc/read_txns/,uncore_dmc/write_txns/,arm_cmn/hnf_mc_reqs/,"
                                "meson_ddr_bw/total_rw_bytes/"}},
    },
    {
        /* The names are those of arch/x86/events/rapl.c. */
        .name = "energy",
        .help = "the energy used by the machine's parts",
        .of_system = true,
        .n_variants = 1,
        .variants = {{.events = "power/energy-pkg/,power/energy-cores/,power/energy-ram/,power/energy-gpu/,"
                                "power/energy-psys/"}},
    },
};
const size_t n_presets = ARRAY_SIZE(presets);

const struct preset *preset_find(const char *name, struct error *error)
{
    struct suggest suggest = {.wrong = name};
    char nearest[256];

    for (size_t i = 0; i < n_presets; i++) {
        if (str_equal(presets[i].name, name))
            return &presets[i];
        suggest_consider(&suggest, presets[i].name);
    }
    error_set(error, -ENOENT, "there is no preset \"%s\"%s", name,
              suggest.n > 0 ? suggest_format(&suggest, nearest, sizeof(nearest)) : "; see \"perfcountd list-presets\"");
    return NULL;
}

static bool preset_variant_is_for(const struct preset_variant *variant, const struct pmu *pmu)
{
    const struct pmu_event *event = variant->listed ? pmu_find_event(pmu, variant->listed) : NULL;

    return !variant->listed ||
           (event && (!variant->terms || str_equal(event->terms, variant->terms)) && !(variant->alone && pmu->watched));
}

size_t preset_choose(const struct preset *preset, const struct pmu *pmu)
{
    size_t i = 0;

    while (i + 1 < preset->n_variants && !preset_variant_is_for(&preset->variants[i], pmu))
        i++;
    return i;
}

/* A name with a garbled file counts as listed, so that the defect is reported. */
static bool pmu_lists(const struct pmu *pmu, const char *name)
{
    return pmu_find_event(pmu, name) || defects_find(&pmu->defects, name);
}

bool preset_event_is_listed(const struct event *event, const struct pmu *pmu)
{
    if (event->kind == EVENT_NAME)
        return pmu_lists(pmu, event->name);
    if (event->kind == EVENT_PMU && event->n_terms == 1 && !event->terms[0].text)
        return pmu_lists(pmu, event->terms[0].name);
    return true;
}
