/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derived metrics of memory controllers and energy: see table.h.
 *
 * Where the driver writes a unit, the event's rate is in bytes or joules already (perf/unit.h). Where it writes none,
 * the formula has the bytes of an event: 64 for a cache line or a burst of DDR4 or DDR5. The PMU of i.MX 8 is called
 * the same on all of them, and the bytes of a cycle differ: there an event needs the name that perf has for it.
 */
#include "metrics/table.h"

#define ROCKCHIP "drivers/devfreq/event/rockchip-dfi.c, 6.7"
#define MMDC "arch/arm/mach-imx/mmdc.c, 6.1"
#define UNCORE_SNBEP "arch/x86/events/intel/uncore_snbep.c, 6.1"
#define UNCORE_SNB "arch/x86/events/intel/uncore_snb.c, 6.1"
#define ZEN_UMC "x86/amdzen4/recommended.json, 6.9 (umc_mem_read_bandwidth)"
#define ZEN4 "x86/amdzen4/recommended.json, 6.8 (dram_read_data_for_local_processor)"
#define CMN "drivers/perf/arm-cmn.c, 6.1: requests to memory controllers, of a cache line each"
#define THUNDERX2 "drivers/perf/thunderx2_pmu.c, 6.1: transactions of a cache line each"
#define IMX8 "arm64/freescale/imx8mm/sys/metrics.json, imx8mq, imx8mn, 6.8"
#define MESON "drivers/perf/amlogic/meson_ddr_pmu_core.c, 6.12"
#define RAPL "arch/x86/events/rapl.c, 6.1"
/* Of the twelve channels of a socket; what another socket asks for is not among them. */
#define BEATS(kind)                                                                                                    \
    "64 * (local_processor_" kind "_data_beats_cs0 + local_processor_" kind "_data_beats_cs1 + "                       \
    "local_processor_" kind "_data_beats_cs2 + local_processor_" kind "_data_beats_cs3 + "                             \
    "local_processor_" kind "_data_beats_cs4 + local_processor_" kind "_data_beats_cs5 + "                             \
    "local_processor_" kind "_data_beats_cs6 + local_processor_" kind "_data_beats_cs7 + "                             \
    "local_processor_" kind "_data_beats_cs8 + local_processor_" kind "_data_beats_cs9 + "                             \
    "local_processor_" kind "_data_beats_cs10 + local_processor_" kind "_data_beats_cs11)"

static const struct derived_metric metrics[] = {
    {
        .name = "memory_read_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller read from DRAM.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"read_bytes", "rockchip_ddr", ROCKCHIP, false}, {"read_bytes", "mmdc*", MMDC, false},
            {"cas_count_read", "uncore_imc*", UNCORE_SNBEP, false}, {"data_reads", "uncore_imc*", UNCORE_SNB, false},
            {"data_read", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"read", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * umc_cas_cmd_rd", "amd_umc*", ZEN_UMC, false}, {BEATS("read"), "amd_df", ZEN4, false},
            {"64 * read_txns", "uncore_dmc*", THUNDERX2, false},
            {"16 * imx8mm_ddr_read_cycles", "imx8_ddr*", IMX8, false},
            {"16 * imx8mq_ddr_read_cycles", "imx8_ddr*", IMX8, false},
            {"8 * imx8mn_ddr_read_cycles", "imx8_ddr*", IMX8, false}),
    },
    {
        .name = "memory_write_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller wrote to DRAM.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"write_bytes", "rockchip_ddr", ROCKCHIP, false}, {"write_bytes", "mmdc*", MMDC, false},
            {"cas_count_write", "uncore_imc*", UNCORE_SNBEP, false}, {"data_writes", "uncore_imc*", UNCORE_SNB, false},
            {"data_write", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"write", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * umc_cas_cmd_wr", "amd_umc*", ZEN_UMC, false}, {BEATS("write"), "amd_df", ZEN4, false},
            {"64 * write_txns", "uncore_dmc*", THUNDERX2, false},
            {"16 * imx8mm_ddr_write_cycles", "imx8_ddr*", IMX8, false},
            {"16 * imx8mq_ddr_write_cycles", "imx8_ddr*", IMX8, false},
            {"8 * imx8mn_ddr_write_cycles", "imx8_ddr*", IMX8, false}),
    },
    {
        .name = "memory_bytes_per_second",
        .unit = "bytes per second",
        .help = "Bytes that the memory controller read from DRAM and wrote to it.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS(
            {"bytes", "rockchip_ddr", ROCKCHIP, false}, {"read_bytes + write_bytes", "rockchip_ddr", ROCKCHIP, false},
            {"read_bytes + write_bytes", "mmdc*", MMDC, false},
            {"cas_count_read + cas_count_write", "uncore_imc*", UNCORE_SNBEP, false},
            {"data_reads + data_writes", "uncore_imc*", UNCORE_SNB, false},
            {"data_read + data_write", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"data_total", "uncore_imc_free_running*", UNCORE_SNB, false},
            {"read + write", "uncore_imc_free_running*", UNCORE_SNBEP, false},
            {"64 * (umc_cas_cmd_rd + umc_cas_cmd_wr)", "amd_umc*", ZEN_UMC, false},
            {"64 * umc_cas_cmd_all", "amd_umc*", ZEN_UMC, false}, {"64 * hnf_mc_reqs", "arm_cmn*", CMN, false},
            {"64 * (read_txns + write_txns)", "uncore_dmc*", THUNDERX2, false},
            {"16 * (imx8mm_ddr_read_cycles + imx8mm_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"16 * (imx8mq_ddr_read_cycles + imx8mq_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"8 * (imx8mn_ddr_read_cycles + imx8mn_ddr_write_cycles)", "imx8_ddr*", IMX8, false},
            {"total_rw_bytes", "meson_ddr_bw*", MESON, false}),
    },
    {
        .name = "package_watts",
        .unit = "watts",
        .help = "Power of the processor package.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_pkg", "power*", RAPL, false}),
    },
    {
        .name = "cores_watts",
        .unit = "watts",
        .help = "Power of all cores.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_cores", "power*", RAPL, false}),
    },
    {
        .name = "core_watts",
        .unit = "watts",
        .help = "Power of one core.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_core", "power*", RAPL, false}),
    },
    {
        .name = "dram_watts",
        .unit = "watts",
        .help = "Power of the memory.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_ram", "power*", RAPL, false}),
    },
    {
        .name = "gpu_watts",
        .unit = "watts",
        .help = "Power of the processor's graphics.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_gpu", "power*", RAPL, false}),
    },
    {
        .name = "platform_watts",
        .unit = "watts",
        .help = "Power of the whole platform.",
        .targets = DERIVED_PMU,
        .formulas = FORMULAS({"energy_psys", "power*", RAPL, false}),
    },
};

const struct derived_table derived_machine_table = {metrics, ARRAY_SIZE(metrics)};
