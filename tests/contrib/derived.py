#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes promtool tests for the recording rules of derived metrics, from the cases in derived.txt:

    perfcountd list-metrics --json | tests/contrib/derived.py RULES-FILE CASES-FILE >TESTS-FILE

Each case is tested for all collectors that have the metric, with events of one group in two places (CPUs, PMUs, or the
kinds of core of a cgroup). Other input series must not affect the result: a place that has only one of the events, the
same events in separate groups, and, if the formula is for a certain PMU, events of another PMU. All cases are in one
test, each with an `instance` label of its own, since promtool evaluates all rules for each test.
"""
import fnmatch
import json
import re
import sys

UNITS = re.compile(r"_(seconds|bytes|joules)$")
TIMES = {"group_running": "running_time", "group_enabled": "enabled_time"}
BUSY = "busy_time"
MUCH = 1000000


def series_text(name, labels):
    return "%s{%s}" % (name, ", ".join("%s=\"%s\"" % item for item in labels.items()))


class Case:
    """A line of derived.txt: METRIC [@PMU,PMU] EVENTS EVENTS VALUE VALUE VALUE."""

    def __init__(self, line, instance):
        self.node = {"job": "perfcountd", "instance": instance}
        fields = line.split()
        self.metric = fields.pop(0)
        pmus = fields.pop(0)[1:] if fields[0].startswith("@") else "armv8_cortex_a55,armv8_cortex_a76"
        self.pmus = pmus.split(",")
        self.places = [dict(event.split("=") for event in field.split(",")) for field in fields[:2]]
        self.values = [float(value) for value in fields[2:4]]
        self.whole = float(fields[4])
        self.input = []

    def times(self):
        """Returns the names of the group's enabled and running time, if the case has them."""
        return [name for name in self.places[0] if name.startswith("group_")]

    def events(self):
        """Returns the names of the events as they may be in formulas, with and without the unit."""
        names = [UNITS.sub("", name, count=1) for name in self.places[0]]
        return {TIMES.get(name, name) for name in names} | set(self.places[0])

    def formula(self, metric):
        """Returns the index of the metric's formula that uses this case's events."""
        for i, formula in enumerate(metric["formulas"]):
            fits = not formula["pmu"] or fnmatch.fnmatchcase(self.pmus[0], formula["pmu"])
            if fits and set(formula["events"]) <= self.events():
                return i
        sys.exit("derived.txt: no formula of %s uses the events of its case" % self.metric)

    def add(self, collector, labels, events):
        for name, rate in events.items():
            if name == "slots":
                continue
            if name == BUSY:  # a per-CPU series without a group
                self.input.append({"series": series_text("perfcountd_cpu_busy_seconds_total",
                                                         {**self.node, "cpu": labels["cpu"]}),
                                   "values": "0+%gx10" % (60 * float(rate))})
                continue
            self.input.append({"series": series_text("perf_%s_%s_total" % (collector, name), {**self.node, **labels}),
                               "values": "0+%gx10" % (60 * float(rate))})

    def add_decoys(self, collector, labels, formula):
        first, *rest = [name for name in self.places[0] if name not in ("slots", BUSY)]
        pmu = {"pmu": self.pmus[1]}
        if BUSY in self.places[0]:
            self.add(collector, {**labels, "cpu": "5", **pmu, "group": "g"}, {first: MUCH})
        if rest and first not in self.times():
            self.add(collector, {**labels, "cpu": "5", **pmu, "group": "g"}, {first: MUCH})
            self.add(collector, {**labels, "cpu": "0", **pmu, "group": "alone"}, {first: MUCH})
            self.add(collector, {**labels, "cpu": "0", **pmu, "group": "rest"}, {name: MUCH for name in rest})
        if formula["pmu"]:
            self.add(collector, {**labels, "cpu": "0", "pmu": "elsewhere", "group": "g"},
                     {name: MUCH for name in self.places[0]})

    def add_series(self, collector, formula):
        """Adds the input series of one collector, and returns the labels of its cgroup, if it has one."""
        cgroup = {"cgroup": "/a.slice/a.service"} if collector == "cgroup" else {}
        for i, events in enumerate(self.places):
            cpu = {} if cgroup and self.pmus[0] != self.pmus[1] else {"cpu": "04"[i]}
            self.add(collector, {**cgroup, **cpu, "pmu": self.pmus[i], "group": "g"}, events)
        self.add_decoys(collector, cgroup, formula)
        if cgroup:
            self.input.append({"series": series_text("perf_cgroup_info", {
                **self.node, **cgroup, "unit": "a.service", "slice": "a.slice", "container_id": ""}), "values": "1x10"})
        return cgroup

    def test(self, metric, number):
        """Adds the input series of all collectors, and returns the expected results."""
        for i, events in enumerate(self.places):
            if "slots" in events:
                self.input.append({"series": series_text("perfcountd_pmu_slots", {**self.node, "pmu": self.pmus[i]}),
                                   "values": "%sx10" % events["slots"]})
        return [expected for collector in metric["collectors"]
                for expected in self.expected(collector, metric, self.add_series(collector, metric["formulas"][number]))]

    def expected(self, collector, metric, cgroup):
        name = metric["name"]
        rest = "perf_%s_%s" % (collector, name) + ":rate5m"
        if metric["unit"] == "ratio":
            rest = "perf_%s_%s" % (collector, re.sub("_ratio$", "", name)) + ":ratio_rate5m"
        group = {**self.node, **cgroup, "group": "g"}
        levels = {"instance": [(group, self.whole)]}
        if collector == "cpu" and self.pmus[0] == self.pmus[1]:
            levels["instance_pmu"] = [({**group, "pmu": self.pmus[0]}, self.whole)]
        elif collector == "cpu":
            levels["instance_pmu"] = [({**group, "pmu": pmu}, value) for pmu, value in zip(self.pmus, self.values)]
        if cgroup:
            levels = {"cgroup": [(group, self.whole)],
                      "unit": [({**group, "unit": "a.service", "slice": "a.slice"}, self.whole)]}
        selector = "{instance=\"%s\"}" % self.node["instance"]
        return [{"expr": "round(%s:%s%s, 0.0001)" % (level, rest, selector), "eval_time": "8m",
                 "exp_samples": [{"labels": series_text("", labels), "value": value} for labels, value in samples]}
                for level, samples in levels.items()]


def main():
    rules, path = sys.argv[1:]
    metrics = {metric["name"]: metric for metric in json.load(sys.stdin)["metrics"]}
    untested = {(name, i) for name, metric in metrics.items() for i in range(len(metric["formulas"]))}
    series, expected = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            case = Case(line, "line-%d" % number)
            metric = metrics[case.metric]
            formula = case.formula(metric)
            untested.discard((case.metric, formula))
            expected += case.test(metric, formula)
            series += case.input
    for name, i in sorted(untested):
        print("derived.txt has no case for %s: %s" % (name, metrics[name]["formulas"][i]["formula"]), file=sys.stderr)
    if untested:
        sys.exit(1)
    test = {"name": "derived metrics", "interval": "1m", "input_series": series, "promql_expr_test": expected}
    json.dump({"rule_files": [rules], "evaluation_interval": "4m", "tests": [test]}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
