/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated machines with the /sys of real ones, written from published layouts: device trees, kernel sources
 * (drivers/perf, arch/x86/events) and Documentation/ABI; fake-sys.h simulates the kernel of these machines.
 */
#ifndef TESTS_UNIT_CAPTURED_H
#define TESTS_UNIT_CAPTURED_H

#include "tests/unit/fake-sys.h"

/* The vendor's kernel 5.10: its device tree has a single arm,armv8-pmuv3 for all eight cores. */
struct fake_sys *captured_rk3588_5_10(void);
/* Mainline: a PMU for each kind of core, and the DSU, which both kinds share. */
struct fake_sys *captured_rk3588_6_1(void);
/* Mainline with the PMU of the memory controllers, rockchip_ddr. */
struct fake_sys *captured_rk3588_6_12(void);
/* A Raspberry Pi 5 with four Cortex-A76. */
struct fake_sys *captured_raspberry_pi_5(void);
/* Ampere Altra with 32 Neoverse N1: a mesh (arm_cmn), memory controllers (arm_dmc620), DSUs. */
struct fake_sys *captured_altra(void);
/* A virtual machine on Neoverse N2, whose PMU reports slots. */
struct fake_sys *captured_neoverse_n2(void);
/* Alder Lake, with 8 large cores of two threads each, 4 small cores, RAPL, memory controllers and cstate. */
struct fake_sys *captured_intel_hybrid(void);
/* Ice Lake server, two sockets: slots and topdown-*, memory controllers, RAPL. */
struct fake_sys *captured_intel_server(void);
/* Zen 4, 16 CPUs, 2 core complexes: data fabric, L3, 4 memory controllers, RAPL, an IOMMU, IBS. */
struct fake_sys *captured_amd_server(void);
/* A Raspberry Pi whose device tree has no PMU. */
struct fake_sys *captured_raspberry_pi(void);

#endif
