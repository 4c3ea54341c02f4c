#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the totals of multiplexed groups against a pinned group that counts the same events all the time.

usage: truth.py URL CONTROL CPU LOAD SECONDS READINGS TOLERANCE

Starts the load (steady or changing) on the board's CPU and reads /api/v1/counters READINGS times at random intervals,
and then about once in a second of the board's time until the group called `pinned` has been enabled for SECONDS of it.
No total may fall; each group's growth must be within TOLERANCE percent of the pinned one's. Beside it stands what naive
scaling, raw * enabled / running, makes of the same readings.

A reading is some milliseconds of the daemon on this CPU, which the groups that run just then extrapolate. So how many
there are in a second must not depend on how fast this machine is. And the CPU is never idle: while all CPUs are, QEMU
follows this machine's clock, and where that is busy, the board's leaps within one turn of the groups. Where the load
rests, the kernel works, so that instructions of user space change and all instructions do not.

The groups of one reading are read one after the other. So the first and the last reading are taken while the load rests;
what is counted also then is compared by the time each group was enabled.
"""
import http.client
import json
import os
import random
import sys
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
        self.depth = 0.0  # of the naive total's deepest fall

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


def run(control, script):
    with urllib.request.urlopen(control, script.encode(), timeout=120) as answer:
        if not answer.read().endswith(b"status 0\n"):
            raise SystemExit(f"NOT OK: the board cannot run {script}")


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
    """Reads short intervals, within a turn of the kernel's, and long ones."""
    while board.readings < readings:
        time.sleep(random.choice((0.0, random.uniform(0, 0.02), random.uniform(0, 0.1))))
        board.read()
    while board.pinned().growth("enabled_ns") < seconds * 1e9:
        run(control, f"sleep {random.uniform(0.5, 1):.3f}")
        board.read()


def main():
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
