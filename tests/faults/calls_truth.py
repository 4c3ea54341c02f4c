# SPDX-License-Identifier: Apache-2.0
"""Bounds of the totals of a daemon, by measures that the daemon has no part in."""
import os
import re
import time

SERIES = re.compile(r"^(\w+_total)(\{[^}]*\})? (\S+)")
# The kernel adds up its own counts a moment before or after the daemon reads its.
SLACK = 300


def kernel_count(file, key):
    with open(file, encoding="ascii") as text:
        for line in text:
            if line.startswith(key + " "):
                return int(line.split()[1])
    raise KeyError(key)


class Truth:
    """Holds each scrape against the one before, and against what the kernel and the loads say."""

    def __init__(self):
        self.started = time.monotonic()
        self.faults_before = kernel_count("/proc/vmstat", "pgfault")
        self.switches_before = kernel_count("/proc/stat", "ctxt")
        self.loads = {}  # of a cgroup: faults that its loads had
        self.last = {}
        self.wrong = []

    def add_load(self, cgroup, faults):
        self.loads[cgroup] = self.loads.get(cgroup, 0) + faults

    def take(self, text):
        """A scrape, in the text format. Returns its totals by series."""
        totals = {}
        for line in text.splitlines():
            match = SERIES.match(line)
            if match:
                totals[match.group(1) + (match.group(2) or "")] = float(match.group(3))
        for series, value in totals.items():
            if value < self.last.get(series, 0):
                self.wrong.append("%s fell from %.9g to %.9g" % (series, self.last[series], value))
        self.last.update(totals)
        self.check_bounds(totals)
        return totals

    def check_bounds(self, totals):
        elapsed = time.monotonic() - self.started
        faults = kernel_count("/proc/vmstat", "pgfault") - self.faults_before
        switches = kernel_count("/proc/stat", "ctxt") - self.switches_before
        sums = {}
        for series, value in totals.items():
            name = series.split("{")[0]
            if "group=\"soft" in series and name.startswith("perf_cpu_"):
                sums[name] = sums.get(name, 0) + value
            if name.startswith("perf_cpu_group_") and name.endswith("_seconds_total"):
                self.bound(series, value, elapsed)
            if name == "perf_cgroup_task_clock_seconds_total":
                self.bound(series, value, elapsed * os.cpu_count())
            if name == "perf_cgroup_minor_faults_total":
                cgroup = re.search(r'cgroup="([^"]*)"', series).group(1)
                self.bound(series, value, self.loads.get(cgroup, 0))
        self.bound("all minor faults", sums.get("perf_cpu_minor_faults_total", 0), faults + SLACK)
        self.bound("all context switches", sums.get("perf_cpu_context_switches_total", 0), switches + SLACK)

    def bound(self, what, value, most):
        if value > most + 0.01:
            self.wrong.append("%s is %.9g, but %.9g at most were there" % (what, value, most))
