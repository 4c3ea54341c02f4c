/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines as their /sys shows them, written from the published layouts: device trees, kernel sources
 * (drivers/perf, arch/x86/events) and Documentation/ABI. The kernel behind them is that of fake-sys.h.
 */
#ifndef TESTS_UNIT_CAPTURED_H
#define TESTS_UNIT_CAPTURED_H

#include "tests/unit/fake-sys.h"

/* The vendor's kernel 5.10: its device tree has one arm,armv8-pmuv3 for all eight cores. */
struct fake_sys *captured_rk3588_5_10(void);
/* Mainline: a PMU for each kind of core, and the DSU that both share. */
struct fake_sys *captured_rk3588_6_1(void);
/* Alder Lake: 8 cores with two threads each, 4 small ones; RAPL, memory controllers, cstate. */
struct fake_sys *captured_intel_hybrid(void);
/* Zen 4, 16 CPUs, 2 core complexes: data fabric, L3, 4 memory controllers, RAPL, an IOMMU, IBS. */
struct fake_sys *captured_amd_server(void);
/* A Raspberry Pi whose device tree has no PMU. */
struct fake_sys *captured_raspberry_pi(void);

#endif
