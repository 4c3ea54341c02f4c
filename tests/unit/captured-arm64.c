/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit Arm machines as their /sys shows them: see captured.h. */
#include "tests/unit/captured-play.h"

/*
 * The events of drivers/perf/arm_pmuv3.c (6.7 and later; arch/arm64/kernel/perf_event.c before) that the core counts:
 * sysfs has those whose bit is set in PMCEID0 and PMCEID1. Common to Cortex-A55 and A76, by the PMU chapters of their
 * Technical Reference Manuals; neither has STALL_SLOT, OP_SPEC or OP_RETIRED.
 */
#define ARMV8_EVENT(name, event, number)                                                                               \
    {                                                                                                                  \
        (name), "events/" event, "event=" number                                                                       \
    }
#define ARMV8_FILES(name)                                                                                              \
    {(name), "format/event", "config:0-15"}, {(name), "format/long", "config1:0"},                                     \
        ARMV8_EVENT(name, "sw_incr", "0x0000"), ARMV8_EVENT(name, "l1i_cache_refill", "0x0001"),                       \
        ARMV8_EVENT(name, "l1i_tlb_refill", "0x0002"), ARMV8_EVENT(name, "l1d_cache_refill", "0x0003"),                \
        ARMV8_EVENT(name, "l1d_cache", "0x0004"), ARMV8_EVENT(name, "l1d_tlb_refill", "0x0005"),                       \
        ARMV8_EVENT(name, "inst_retired", "0x0008"), ARMV8_EVENT(name, "exc_taken", "0x0009"),                         \
        ARMV8_EVENT(name, "exc_return", "0x000a"), ARMV8_EVENT(name, "cid_write_retired", "0x000b"),                   \
        ARMV8_EVENT(name, "br_mis_pred", "0x0010"), ARMV8_EVENT(name, "cpu_cycles", "0x0011"),                         \
        ARMV8_EVENT(name, "br_pred", "0x0012"), ARMV8_EVENT(name, "mem_access", "0x0013"),                             \
        ARMV8_EVENT(name, "l1i_cache", "0x0014"), ARMV8_EVENT(name, "l1d_cache_wb", "0x0015"),                         \
        ARMV8_EVENT(name, "l2d_cache", "0x0016"), ARMV8_EVENT(name, "l2d_cache_refill", "0x0017"),                     \
        ARMV8_EVENT(name, "l2d_cache_wb", "0x0018"), ARMV8_EVENT(name, "bus_access", "0x0019"),                        \
        ARMV8_EVENT(name, "memory_error", "0x001a"), ARMV8_EVENT(name, "inst_spec", "0x001b"),                         \
        ARMV8_EVENT(name, "ttbr_write_retired", "0x001c"), ARMV8_EVENT(name, "bus_cycles", "0x001d"),                  \
        ARMV8_EVENT(name, "l2d_cache_allocate", "0x0020"), ARMV8_EVENT(name, "br_retired", "0x0021"),                  \
        ARMV8_EVENT(name, "br_mis_pred_retired", "0x0022"), ARMV8_EVENT(name, "stall_frontend", "0x0023"),             \
        ARMV8_EVENT(name, "stall_backend", "0x0024"), ARMV8_EVENT(name, "l1d_tlb", "0x0025"),                          \
        ARMV8_EVENT(name, "l1i_tlb", "0x0026"), ARMV8_EVENT(name, "l3d_cache_allocate", "0x0029"),                     \
        ARMV8_EVENT(name, "l3d_cache_refill", "0x002a"), ARMV8_EVENT(name, "l3d_cache", "0x002b"),                     \
        ARMV8_EVENT(name, "l2d_tlb_refill", "0x002d"), ARMV8_EVENT(name, "l2d_tlb", "0x002f"),                         \
        ARMV8_EVENT(name, "dtlb_walk", "0x0034"), ARMV8_EVENT(name, "itlb_walk", "0x0035"),                            \
        ARMV8_EVENT(name, "ll_cache_rd", "0x0036"), ARMV8_EVENT(name, "ll_cache_miss_rd", "0x0037"),                   \
    {                                                                                                                  \
        (name), "caps/slots", "0x00000000"                                                                             \
    }
/* Each of the two has some events that the other lacks. */
#define A55_FILES(name)                                                                                                \
    ARMV8_FILES(name), ARMV8_EVENT(name, "ld_retired", "0x0006"), ARMV8_EVENT(name, "st_retired", "0x0007"),           \
        ARMV8_EVENT(name, "pc_write_retired", "0x000c"), ARMV8_EVENT(name, "remote_access_rd", "0x0038")
#define A76_FILES(name) ARMV8_FILES(name), ARMV8_EVENT(name, "remote_access", "0x0031")

/* Six programmable counters and one for cycles. */
#define ARMV8_COUNTERS 7

static const struct captured_pmu rk3588_5_10_pmus[] = {CORE("armv8_pmuv3", 8, "0-7", ARMV8_COUNTERS), {0}};
static const struct captured_file rk3588_5_10_files[] = {A55_FILES("armv8_pmuv3"), {0}};

struct fake_sys *captured_rk3588_5_10(void)
{
    return captured_play(
        &(struct captured){"0-7", "5.10.160-rockchip-rk3588", "2", rk3588_5_10_pmus, rk3588_5_10_files, false});
}

static const struct captured_pmu rk3588_6_1_pmus[] = {
    CORE("armv8_cortex_a55", 8, "0-3", ARMV8_COUNTERS),
    CORE("armv8_cortex_a76", 9, "4-7", ARMV8_COUNTERS),
    SYSTEM("arm_dsu_0", 10, "0", 8),
    {0},
};
static const struct captured_file rk3588_6_1_files[] = {
    A55_FILES("armv8_cortex_a55"),
    A76_FILES("armv8_cortex_a76"),
    {"arm_dsu_0", "associated_cpus", "0-7"},
    {"arm_dsu_0", "format/event", "config:0-31"},
    {"arm_dsu_0", "events/cycles", "event=0x11"},
    {"arm_dsu_0", "events/bus_access", "event=0x19"},
    {"arm_dsu_0", "events/l3d_cache", "event=0x2b"},
    {"arm_dsu_0", "events/l3d_cache_refill", "event=0x2a"},
    {0},
};

struct fake_sys *captured_rk3588_6_1(void)
{
    return captured_play(&(struct captured){"0-7", "6.1.0-35-arm64", "2", rk3588_6_1_pmus, rk3588_6_1_files, false});
}

/*
 * drivers/devfreq/event/rockchip-dfi.c, 6.7 and later, on the node dfi@fe060000 of rk3588-base.dtsi. Each event
 * is a sum that the driver keeps, so that there is no limit to their number.
 */
#define ROCKCHIP_BYTES(event, number)                                                                                  \
    {"rockchip_ddr", "events/" event, "event=" number}, {"rockchip_ddr", "events/" event ".unit", "MB"},               \
    {                                                                                                                  \
        "rockchip_ddr", "events/" event ".scale", "9.536743164e-07"                                                    \
    }

static const struct captured_pmu rk3588_6_12_pmus[] = {
    CORE("armv8_cortex_a55", 8, "0-3", ARMV8_COUNTERS),
    CORE("armv8_cortex_a76", 9, "4-7", ARMV8_COUNTERS),
    SYSTEM("rockchip_ddr", 10, "0", 0),
    {0},
};
static const struct captured_file rk3588_6_12_files[] = {
    A55_FILES("armv8_cortex_a55"),
    A76_FILES("armv8_cortex_a76"),
    {"rockchip_ddr", "format/event", "config:0-7"},
    {"rockchip_ddr", "events/cycles", "event=0x0"},
    ROCKCHIP_BYTES("read-bytes", "0x1"),
    ROCKCHIP_BYTES("write-bytes", "0x2"),
    ROCKCHIP_BYTES("read-bytes0", "0x3"),
    ROCKCHIP_BYTES("write-bytes0", "0x4"),
    ROCKCHIP_BYTES("read-bytes1", "0x5"),
    ROCKCHIP_BYTES("write-bytes1", "0x6"),
    ROCKCHIP_BYTES("read-bytes2", "0x7"),
    ROCKCHIP_BYTES("write-bytes2", "0x8"),
    ROCKCHIP_BYTES("read-bytes3", "0x9"),
    ROCKCHIP_BYTES("write-bytes3", "0xa"),
    ROCKCHIP_BYTES("bytes", "0xb"),
    {0},
};

struct fake_sys *captured_rk3588_6_12(void)
{
    return captured_play(&(struct captured){"0-7", "6.12.48", "2", rk3588_6_12_pmus, rk3588_6_12_files, false});
}

/* bcm2712.dtsi: compatible "arm,cortex-a76-pmu". */
static const struct captured_pmu raspberry_pi_5_pmus[] = {CORE("armv8_cortex_a76", 8, "0-3", ARMV8_COUNTERS), {0}};
static const struct captured_file raspberry_pi_5_files[] = {A76_FILES("armv8_cortex_a76"), {0}};

struct fake_sys *captured_raspberry_pi_5(void)
{
    return captured_play(
        &(struct captured){"0-3", "6.12.25+rpt-rpi-2712", "2", raspberry_pi_5_pmus, raspberry_pi_5_files, false});
}

/*
 * Neoverse N1: drivers/perf/arm_pmu_acpi.c names the PMU; the events of the A76, which it comes from, and those of the
 * Statistical Profiling Extension. drivers/perf/arm-cmn.c and drivers/perf/arm_dmc620_pmu.c, whose names hold the
 * address of the controller, 6.8; the latter takes one event in a group, and has no cpumask before 6.15.
 */
#define DMC620_FILES(name)                                                                                             \
    {name, "format/event", "config2:3-8"}, {name, "format/clkdiv2", "config2:9"},                                      \
        {name, "events/clkdiv2_rdwr", "event=0x12,clkdiv2=0x1"},                                                       \
    {                                                                                                                  \
        name, "events/clk_cycle_count", "event=0x0,clkdiv2=0x0"                                                        \
    }

static const struct captured_pmu altra_pmus[] = {
    CORE("armv8_pmuv3_0", 8, "0-31", ARMV8_COUNTERS),
    SYSTEM("arm_cmn_0", 9, "0", 4),
    SYSTEM("arm_dsu_0", 10, "0", 6),
    SYSTEM("arm_dsu_1", 11, "2", 6),
    {.name = "arm_dmc620_10008c000", .type = 12, .counters = 1},
    {.name = "arm_dmc620_10008c400", .type = 13, .counters = 1},
    {0},
};
static const struct captured_file altra_files[] = {
    A76_FILES("armv8_pmuv3_0"),
    ARMV8_EVENT("armv8_pmuv3_0", "sample_pop", "0x4000"),
    ARMV8_EVENT("armv8_pmuv3_0", "sample_feed", "0x4001"),
    ARMV8_EVENT("armv8_pmuv3_0", "sample_filtrate", "0x4002"),
    ARMV8_EVENT("armv8_pmuv3_0", "sample_collision", "0x4003"),
    {"arm_cmn_0", "format/type", "config:0-15"},
    {"arm_cmn_0", "format/eventid", "config:16-26"},
    {"arm_cmn_0", "identifier", "43401"},
    {"arm_cmn_0", "events/dtc_cycles", "type=0x3"},
    {"arm_cmn_0", "events/hnf_cache_miss", "type=0x5,eventid=0x1"},
    {"arm_cmn_0", "events/hnf_slc_sf_cache_access", "type=0x5,eventid=0x2"},
    {"arm_cmn_0", "events/hnf_mc_retries", "type=0x5,eventid=0xc"},
    {"arm_cmn_0", "events/hnf_mc_reqs", "type=0x5,eventid=0xd"},
    {"arm_dsu_0", "associated_cpus", "0-1"},
    {"arm_dsu_0", "format/event", "config:0-31"},
    {"arm_dsu_0", "events/cycles", "event=0x11"},
    {"arm_dsu_1", "associated_cpus", "2-3"},
    {"arm_dsu_1", "format/event", "config:0-31"},
    {"arm_dsu_1", "events/cycles", "event=0x11"},
    DMC620_FILES("arm_dmc620_10008c000"),
    DMC620_FILES("arm_dmc620_10008c400"),
    {0},
};

struct fake_sys *captured_altra(void)
{
    return captured_play(&(struct captured){"0-31", "6.8.0-60-generic", "4", altra_pmus, altra_files, false});
}

/* Neoverse N2: what its Technical Reference Manual adds, and five operations in a cycle (PMMIR_EL1.SLOTS). */
static const struct captured_pmu neoverse_n2_pmus[] = {CORE("armv8_pmuv3_0", 8, "0-3", ARMV8_COUNTERS), {0}};
static const struct captured_file neoverse_n2_files[] = {
    A76_FILES("armv8_pmuv3_0"),
    ARMV8_EVENT("armv8_pmuv3_0", "l1d_cache_lmiss_rd", "0x0039"),
    ARMV8_EVENT("armv8_pmuv3_0", "op_retired", "0x003a"),
    ARMV8_EVENT("armv8_pmuv3_0", "op_spec", "0x003b"),
    ARMV8_EVENT("armv8_pmuv3_0", "stall", "0x003c"),
    ARMV8_EVENT("armv8_pmuv3_0", "stall_slot_backend", "0x003d"),
    ARMV8_EVENT("armv8_pmuv3_0", "stall_slot_frontend", "0x003e"),
    ARMV8_EVENT("armv8_pmuv3_0", "stall_slot", "0x003f"),
    ARMV8_EVENT("armv8_pmuv3_0", "cnt_cycles", "0x4004"),
    ARMV8_EVENT("armv8_pmuv3_0", "stall_backend_mem", "0x4005"),
    {"armv8_pmuv3_0", "caps/slots", "0x00000005"},
    {0},
};

struct fake_sys *captured_neoverse_n2(void)
{
    return captured_play(
        &(struct captured){"0-3", "6.8.0-60-generic", "4", neoverse_n2_pmus, neoverse_n2_files, false});
}

static const struct captured_pmu raspberry_pi_pmus[] = {{0}};
static const struct captured_file raspberry_pi_files[] = {{0}};

struct fake_sys *captured_raspberry_pi(void)
{
    return captured_play(&(struct captured){"0-3", "6.1.21-v8+", "2", raspberry_pi_pmus, raspberry_pi_files, false});
}
