#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the totals of multiplexed groups with those of a pinned group that always counts the same events.

usage: truth.py URL CONTROL CPU LOAD SECONDS READINGS TOLERANCE
       truth.py URL CONTROL scenario NAME PERCENT BESIDE STEP...

The first form starts the load (steady or changing) on the board's CPU and reads /api/v1/counters READINGS times at
random intervals, and then about once per second of the board's time until the group `pinned` has been enabled for
SECONDS. No total may fall; each group's growth must be within TOLERANCE percent of the pinned group's. Naive scaling,
raw * enabled / running, is applied to the same readings for comparison.

For each reading the daemon runs on this CPU for some milliseconds, and the totals of the groups that run at that time
extrapolate the daemon's events. Therefore the number of readings per second of the board's time must not depend on the
speed of the host. One CPU is always busy: while all are idle, QEMU's clock follows the host's, and on a busy host it
can jump by more than one rotation of the groups. While the load rests, the kernel works, so that the rate of
instructions in user space changes, but the rate of all instructions does not.

The groups of one reading are read one after the other. Therefore the first and the last reading are taken while the
load rests; events that continue meanwhile are compared in proportion to the time that each group was enabled.

The second form lets a task execute steps (guest/spin.c) on CPU 3 while the board runs the shell script BESIDE, and
compares the counts of each cgroup, including its descendants, with what the task counted there itself: they must be
within PERCENT, and page faults must be equal, or within FAULTS if PERCENT:FAULTS is given. Meanwhile the totals are
read: no total falls, no cgroup has less than its children together, and "/" has what the CPUs have. The CPUs are read
after the cgroups, so in each reading they have at least as much as "/", and in the next reading "/" has at least as
much as they had.
"""
import http.client
import json
import os
import random
import sys
import threading
import time
import urllib.parse
import urllib.request

GROUPS = 13
TIMED = ("r08", "r11")


class Series:
    """One event of one group over all readings."""

    def __init__(self, row):
        self.group, self.event = row["group"], row["event"]
        self.first = self.last = None
        self.falls = self.naive_falls = 0
        self.naive = None
        self.depth = 0.0  # the largest decrease of the naive total

    def take(self, row):
        if row["value"] is None or not row["running_ns"]:
            return
        naive = row["raw"] * row["enabled_ns"] / row["running_ns"]
        if self.last:
            self.falls += row["value"] < self.last["value"]
            self.naive_falls += naive < self.naive
            self.depth = max(self.depth, self.naive - naive)
        self.naive = naive
        self.last = row
        if not self.first:
            self.first, self.naive_first = row, naive

    def growth(self, key="value"):
        return self.last[key] - self.first[key]

    def naive_growth(self):
        return self.naive - self.naive_first

    def expected(self, pinned):
        if self.event in TIMED:
            return pinned.growth() * self.growth("enabled_ns") / pinned.growth("enabled_ns")
        return pinned.growth()

    def ratio(self):
        return self.growth("running_ns") / self.growth("enabled_ns")


def percent(value, truth):
    return 100.0 * (value - truth) / truth if truth else 0.0


def output_of(control, script):
    with urllib.request.urlopen(control, script.encode(), timeout=120) as answer:
        output, _, status = answer.read().decode().rpartition("\nstatus ")
        if status != "0\n":
            raise SystemExit(f"NOT OK: the board cannot run {script}: {output}")
        return output


def run(control, script):
    output_of(control, script)


class Board:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=120)
        self.series = {}
        self.readings = 0

    def read(self):
        self.connection.request("GET", "/api/v1/counters?collector=cpu")
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the daemon answers {answer.status}: {body[:200]!r}")
        for row in json.loads(body)["counters"]:
            key = row["group"], row["event"]
            self.series.setdefault(key, Series(row)).take(row)
        self.readings += 1

    def pinned(self):
        found = next((s for s in self.series.values() if s.group == "pinned"), None)
        if not found or not found.last:
            raise SystemExit("NOT OK: the pinned group does not count")
        return found


def observe(board, control, seconds, readings):
    """Reads at short intervals, within one rotation of the groups, and at long ones."""
    while board.readings < readings:
        time.sleep(random.choice((0.0, random.uniform(0, 0.02), random.uniform(0, 0.1))))
        board.read()
    while board.pinned().growth("enabled_ns") < seconds * 1e9:
        run(control, f"sleep {random.uniform(0.5, 1):.3f}")
        board.read()


EVENTS = {"instructions_user": 0, "r08_user": 0, "cycles_user": 1, "r11_user": 1, "page_faults": 2, "task_clock": 3}
NAMES = ("instructions", "cycles", "faults", "time")
# Upper bounds of what guest/spin.c does in the step `follow` between two lookups of its cgroup, including a lookup.
LOOK = (20000, 40000, 0, 500000)


class Watch(threading.Thread):
    """Reads the totals continuously until `ends` is set."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=120)
        self.ends, self.pairs, self.last, self.problems, self.readings = threading.Event(), [], {}, {}, 0
        self.multiplexed = False

    def read(self):
        """Returns totals by (collector, cgroup, group, event)."""
        self.connection.request("GET", "/api/v1/counters")
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the daemon answers {answer.status}: {body[:200]!r}")
        totals = {}
        for row in json.loads(body)["counters"]:
            self.multiplexed |= row["state"] == "multiplexed"
            # Reloads add and remove "more", which starts from 0 each time.
            if row["value"] is None or row["collector"] not in ("cpu", "cgroup") or row["group"] == "more":
                continue
            scale = 1e9 if row["event"] == "task_clock" else 1
            key = row["collector"], row.get("cgroup"), row["group"], row["event"]
            totals[key] = totals.get(key, 0) + row["value"] * scale
            single = key + (row["pmu"], row.get("cpu"))
            if row["value"] < self.last.get(single, 0):
                self.complain("a total fell", f"{single} from {self.last[single]} to {row['value']}")
            self.last[single] = row["value"]
        self.readings += 1
        return totals

    def complain(self, what, text):
        n, first = self.problems.get(what, (0, text))
        self.problems[what] = n + 1, first

    def compare_inside(self, totals):
        inside = {}
        for (collector, cgroup, group, event), value in totals.items():
            if collector == "cgroup" and cgroup != "/":
                above = cgroup.rpartition("/")[0] or "/"
                inside[collector, above, group, event] = inside.get((collector, above, group, event), 0) + value
        for key, value in inside.items():
            if key not in totals or (self.multiplexed and EVENTS.get(key[3], 2) < 2):
                continue
            # With perf, each event reads the clock separately on a context switch: see doc/cgroups.md.
            slack = 20000 + 5e-3 * totals[key] if key[3] == "task_clock" else 0
            if value > totals[key] + slack:
                self.complain("a cgroup has less than its children",
                              f"{key[1]} has {totals[key]:.0f} {key[3]}, its children {value:.0f}")

    def run(self):
        try:
            self.watch()
        except Exception as error:
            self.complain("the readings ended early", repr(error))

    def watch(self):
        while not self.ends.is_set():
            totals = self.read()
            self.compare_inside(totals)
            self.pairs.append({event: (totals["cgroup", "/", group, event], totals["cpu", None, group, event])
                               for (collector, cgroup, group, event) in totals
                               if collector == "cgroup" and cgroup == "/" and ("cpu", None, group, event) in totals
                               and event != "task_clock"})
            time.sleep(0.1)

    def compare_root(self):
        """Compares the growth of "/" with that of the CPUs over a shorter and a longer interval; returns errors (%)."""
        worst = {}
        pairs = [pair for pair in self.pairs if pair]
        for event in pairs[0] if len(pairs) > 3 else ():
            root, cpus = zip(*(pair[event] for pair in pairs if event in pair))
            around, own, within = cpus[-1] - cpus[0], root[-1] - root[1], cpus[-2] - cpus[1]
            worst[event] = max(percent(own, around), 0) if own > around else min(percent(own, within), 0)
            between = [c - r for r, c in zip(root, cpus)]
            print(f"within a reading, the CPUs have up to {max(between) - min(between)} {event} more than /, "
                  f"{percent(around + max(between) - min(between), around):.2f} % of all")
        return worst


def scenario(url, control, name, bound, beside, steps):
    percents, faults, looks = (bound + ":0:0").split(":")[:3]
    run(control, "rm -f /tmp/task.*; spin 3 steps " + " ".join(steps) + " >/tmp/task.out 2>&1 & echo $! >/tmp/task.pid")
    watch = Watch(url)
    before = watch.read()
    watch.start()
    run(control, f"({beside or ':'}) >/tmp/task.beside 2>&1 & echo $! >/tmp/beside.pid; : >/tmp/task.go")
    deadline, text = time.monotonic() + 600, ""
    while "\nend" not in text and time.monotonic() < deadline and watch.is_alive():
        time.sleep(0.5)
        text = output_of(control, "cat /tmp/task.out; kill -0 $(cat /tmp/task.pid)")
    run(control, "while kill -0 $(cat /tmp/beside.pid) 2>/dev/null; do sleep 0.1; done")
    watch.ends.set()
    watch.join()
    watch.read()
    after = watch.read()
    run(control, "kill $(cat /tmp/task.pid)")
    if "\nend" not in text:
        raise SystemExit(f"NOT OK: the task did not finish its steps: {text}")
    own = {line.split()[0]: [int(word) for word in line.split()[1:]] for line in text.split("\nend")[0].splitlines()}
    moves = own.pop("-", [0, 0, 0, 0])
    own.pop(".", None)
    problems, worst = [f"{what}, {n} times; first {first}" for what, (n, first) in watch.problems.items()], {}
    for key, value in sorted(after.items(), key=str):
        collector, cgroup, _, event = key
        if collector != "cgroup" or cgroup == "/" or event not in EVENTS:
            continue
        kind = EVENTS[event]
        truth = sum(counted[kind] for path, counted in own.items() if f"/{path}/".startswith(cgroup + "/"))
        off = value - before.get(key, 0) - truth
        # The cost of the task's own moves may be counted in either cgroup.
        off -= min(max(off, 0), moves[kind])
        # A task that others move notices this only at its next lookup.
        slack = LOOK[kind] * int(looks)
        off -= min(max(off, -slack), slack)
        shown = off if kind == 2 else percent(off + truth, truth)
        if abs(shown) >= abs(worst.get(kind, 0)):
            worst[kind] = shown
        limit = 0.5 if cgroup == "/t.slice" and float(percents) > 3 else float(percents)
        if abs(off) > int(faults) if kind == 2 else abs(shown) > limit:
            problems.append(f"{cgroup} has {value - before.get(key, 0):.0f} {event}, the task {truth}: off by {off:.0f}"
                            + ("" if kind == 2 else f", {shown:+.2f} %"))
    for event, error in watch.compare_root().items():
        worst["/ " + event] = error
        if abs(error) > float(percents):
            problems.append(f"/ is {error:+.2f} % off the CPUs' {event}")
    if not worst:
        problems.append("nothing was compared")
    print(f"{name}: {watch.readings} readings; largest errors: " + ", ".join(
        f"{NAMES[kind] if kind in (0, 1, 2, 3) else kind} " + (f"{error:+.0f}" if kind == 2 else f"{error:+.2f} %")
        for kind, error in worst.items()))
    for problem in problems[:12]:
        print("problem:", problem)
    return 1 if problems else 0


def main():
    if sys.argv[3] == "scenario":
        return scenario(*sys.argv[1:3], *sys.argv[4:7], sys.argv[7:])
    url, control, cpu, load, *numbers = sys.argv[1:]
    seconds, readings, tolerance = map(float, numbers)
    board, start, seed = Board(url), time.monotonic(), os.environ.get("SEED", "1")
    random.seed(seed)

    run(control, f"spin {cpu} rest 1000000000 >/dev/null 2>&1 & echo $! >/tmp/rest.pid")
    for _ in range(3):
        board.read()
    run(control, f"spin {cpu} {load} 100000 >/dev/null 2>&1 & echo $! >/tmp/spin.pid")
    observe(board, control, seconds, readings)
    run(control, "kill $(cat /tmp/spin.pid)")
    for _ in range(3):
        time.sleep(0.3)
        board.read()
    run(control, "kill $(cat /tmp/rest.pid)")

    series, n, elapsed = board.series, board.readings, time.monotonic() - start
    truth = {s.event: s for s in series.values() if s.group == "pinned"}
    pinned = next(iter(truth.values()))
    problems = []

    print(f"{load} load, SEED={seed}: {n} readings over {pinned.growth('enabled_ns') / 1e9:.1f} s of the board ({elapsed:.0f} s here)")
    print(f"  {'group':8} {'event':10} {'ran':>6} {'total is':>12} {'off by':>8} | naive: {'off by':>8} {'falls':>6}")
    for s in sorted(series.values(), key=lambda s: (s.group != "pinned", s.event, s.group)):
        if not s.last or not s.first or s.first is s.last:
            problems.append(f"{s.group} {s.event} never counted")
            continue
        exact = s.expected(truth[s.event])
        error = percent(s.growth(), exact)
        naive = percent(s.naive_growth(), exact)
        print(
            f"  {s.group:8} {s.event:10} {s.ratio():6.1%} {s.growth():12} {error:+7.2f}% |"
            f"        {naive:+7.2f}% {s.naive_falls:6}"
        )
        if s.falls:
            problems.append(f"{s.group} {s.event} fell {s.falls} times")
        if abs(error) > tolerance:
            problems.append(f"{s.group} {s.event} is {error:+.2f} % off, more than {tolerance} %")
        if s.group == "pinned" and s.ratio() < 0.9999:
            problems.append(f"the pinned group ran only {s.ratio():.2%} of the time")
        if s.group != "pinned" and not 0.25 < s.ratio() < 0.42:
            problems.append(f"{s.group} ran {s.ratio():.1%} of the time, not about a third")
    if len({s.group for s in series.values()}) != GROUPS:
        problems.append(f"there are {len({s.group for s in series.values()})} groups, not {GROUPS}")
    print(f"  naive scaling fell {sum(s.naive_falls for s in series.values())} times, by up to "
          f"{max(s.depth for s in series.values()):.0f}; perfcountd's totals {sum(s.falls for s in series.values())} times")
    for problem in problems:
        print("problem:", problem)
    return 1 if problems else 0


sys.exit(main())
