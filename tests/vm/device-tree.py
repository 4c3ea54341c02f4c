#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the device tree of QEMU's virt machine into that of a board with two kinds of core.

usage: device-tree.py CPUS LITTLE BIG <virt.dts >board.dts

The first half of the CPUs become LITTLE (cortex-a55), the others BIG, as far as the PMU drivers are concerned. Both
PMUs use the same private interrupt, which partitions of the interrupt controller tell apart (arm,gic-v3 binding).
"""
import re
import sys


def node(text, start):
    """Returns the position after the "};" that ends the node whose name is at `start`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return text.index(";", match.end()) + 1
    raise SystemExit("device-tree.py: a node has no end")


def replace_node(text, pattern, replacement):
    match = re.search(r"^\s*" + pattern + r" \{", text, re.M)
    if not match:
        raise SystemExit(f"device-tree.py: there is no node {pattern}")
    return text[: match.start()] + replacement + text[node(text, match.start()) :]


def widen(match):
    """Gives each interrupt four cells: the last one refers to the partition, and 0 means none."""
    cells = match.group(2).split()
    triples = [cells[i : i + 3] + ["0x00"] for i in range(0, len(cells), 3)]
    return f"{match.group(1)}<{' '.join(cell for triple in triples for cell in triple)}>"


def partition(number, cpus):
    affinity = " ".join(f"&cpu{cpu}" for cpu in cpus)
    return f"p{number}: interrupt-partition-{number} {{ affinity = <{affinity}>; }};"


def pmu(name, core, number):
    return f'\n{name} {{ compatible = "arm,{core}-pmu"; interrupts = <1 7 4 &p{number}>; }};'


def main():
    count, little, big = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    text = sys.stdin.read()

    text = replace_node(text, r"pcie@[0-9a-f]+", "")
    text = re.sub(r"(\n\s*interrupts = )<([^>]*)>", widen, text)
    text = re.sub(r"(\n\s*)cpu@([0-9a-f]+) \{", lambda m: f"{m[1]}cpu{int(m[2], 16)}: cpu@{m[2]} {{", text)
    text = replace_node(text, "pmu", pmu("pmu-little", little, 0) + pmu("pmu-big", big, 1))

    controller = re.search(r"^\s*intc@[0-9a-f]+ \{", text, re.M)
    end = node(text, controller.start())
    gic = text[controller.start() : end].replace("#interrupt-cells = <0x03>", "#interrupt-cells = <4>")
    partitions = partition(0, range(count // 2)) + partition(1, range(count // 2, count))
    gic = re.sub(r"(\n\s*)(its@)", lambda m: f"{m[1]}ppi-partitions {{ {partitions} }};{m[1]}{m[2]}", gic, count=1)
    if "ppi-partitions" not in gic or "<4>" not in gic:
        raise SystemExit("device-tree.py: unexpected node of the interrupt controller")
    sys.stdout.write(text[: controller.start()] + gic + text[end:])


main()
