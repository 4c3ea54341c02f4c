# SPDX-License-Identifier: Apache-2.0
"""Measures how costs grow with events, CPUs and cgroups on simulated machines, with real cgroups, and with clients.

Each curve is a table of points and a growth exponent: the slope of the least squares line through the logarithms of x
and y, for all points and for the largest ones, where constant costs no longer matter. Costs must grow at most linearly
with the number of groups, and work that clients share must not grow with their number.
"""
import contextlib
import math
import os
import re
import selectors
import statistics
import subprocess
import tempfile
import time

import callgrind
import lib
import peers

LINEAR = 1.1  # the largest exponent that counts as linear
CONSTANT = 0.1
SHARED_RATIO = 1.2  # limit of the reading rate with 64 clients, relative to the rate with one client
BYTES_PER_SERIES = 400
# Limits for the largest simulated machine whose cgroups are counted by BPF: the time of a reading without rendering,
# and memory.
BPF_US = 20000
BPF_BYTES_PER_CGROUP_AND_CPU = 300
# Limit for the time to create and remove one cgroup, which must cause almost no work for the others.
CHURN_US = 1000
ROUNDS = 3
STEPS = ("reading", "open", "reload", "close")
NOISE = 0.1  # relative error of a time; smaller differences are noise
# A time may exceed its limit by this factor, since larger data fits into fewer caches.
TIME_SLACK = 0.1
CONFIG = """
web: {min_interval: %s, local_operators: true}
collectors:
  cpu: {enabled: %s, groups: [{name: bench, events: context-switches}]}
  cgroup: {enabled: %s, include: ["%s"], max_cgroups: 2000, groups: [{name: bench, events: context-switches}]}
  self: {enabled: false}
"""


def exponent(xs, ys):
    """Returns the slope of the least squares line through (log x, log y)."""
    points = [(math.log(x), math.log(y)) for x, y in zip(xs, ys) if x > 0 and y > 0]
    if len(points) < 2:
        return math.nan
    mean_x, mean_y = (statistics.mean(p[i] for p in points) for i in (0, 1))
    return (sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points))


def readable(value):
    if value is None:
        return ""
    return value if isinstance(value, int) else "%.0f" % value if value >= 1000 else "%.3g" % value


class Report:
    """Prints curves and checks, and counts the failed checks."""

    def __init__(self):
        self.n_failed = 0

    def table(self, title, columns, rows):
        print("\n%s\n  %s" % (title, " ".join("%10s" % c for c in columns)))
        for row in rows:
            print("  " + " ".join("%10s" % readable(v) for v in row), flush=True)

    def check(self, what, value, at_most):
        """Checks a figure; NaN fails."""
        ok = value <= at_most
        self.n_failed += not ok
        print("  %-58s %8.3f  <= %-5g %s" % (what, value, at_most, "ok" if ok else "MISSED"), flush=True)

    def growth(self, what, xs, ys, at_most, timed=False):
        """Checks the exponent for all points, and for the largest three if there are enough points."""
        slack = TIME_SLACK if timed else 0
        self.check("exponent of " + what, exponent(xs, ys), at_most + slack)
        if len(xs) > 4 and not timed:
            self.check("exponent of %s, x >= %g" % (what, xs[-3]), exponent(xs[-3:], ys[-3:]), at_most)


# --- simulated machines

def simulated_points(build, curve, xs, steps=STEPS):
    """
    Runs bench-growth for each point. Returns the shortest times of several rounds over all points, so that other load
    on the machine affects all points alike, and the instructions of these steps.
    """
    program = os.path.join(build, "bench", "bench-growth")
    points = [{} for _ in xs]
    for _ in range(ROUNDS):
        for x, point in zip(xs, points):
            output = subprocess.run([program, curve, str(x)], check=True, capture_output=True, text=True).stdout
            for key, value in re.findall(r"(\w+)=([\d.]+)", output):
                point[key] = min(float(value), point.get(key, math.inf))
    for x, point in zip(xs, points):
        if steps and callgrind.available():
            # The second reading counts: the first one allocates the buffer for the text.
            for step, cost in callgrind.costs([program, curve, str(x), "2"], ["step_" + step for step in steps],
                                              callgrind.NO_STEPS)[1]:
                point[step.replace("step_", "") + " Ir"] = cost
    return points


def grow_simulated(report, build, curve, title, xs):
    points = simulated_points(build, curve, xs)
    columns = ["x", "groups", "series"] + [step + " us" for step in STEPS] + [step + " Ir" for step in STEPS]
    report.table(title, columns, [
        [x, int(p["groups"]), int(p["series"])] + [p[step] for step in STEPS] + [p.get(step + " Ir") for step in STEPS]
        for x, p in zip(xs, points)])
    # Subtracts the cost of a machine without groups, if it was measured: this constant cost is not growth.
    base = points.pop(0) if xs[0] == 0 else {}
    xs = [x for x in xs if x]

    def growth(what, key, timed=False):
        known = [(x, p[key] - base.get(key, 0)) for x, p in zip(xs, points) if key in p]
        if known:
            report.growth(what, [x for x, _ in known], [y for _, y in known], LINEAR, timed=timed)

    expected = [points[0]["groups"] / xs[0] * x for x in xs]
    report.check("missing groups, as a fraction of those expected", max(
        abs(p["groups"] / e - 1) for p, e in zip(points, expected)), 0)
    growth("the reading time", "reading", timed=True)
    for step in STEPS:
        growth("the instructions of %s" % ("a reading" if step == "reading" else step), step + " Ir")
    first, last = base or points[0], points[-1]
    report.check("bytes of memory per additional series",
                 (last["bytes"] - first["bytes"]) / (last["series"] - first["series"]), BYTES_PER_SERIES)


def grow_bpf(report, build):
    """
    Measures cgroups that are counted by BPF; in each second a cgroup runs on one of every 16 CPUs. Times also grow
    because larger tables no longer fit into the caches, so growth is judged by instructions.
    """
    cgroups, cpus = ([500, 1000, 2000, 4000], [4, 8, 16, 32, 64])
    for curve, title, xs in (
            ("bpf", "Simulated cgroups counted by BPF, three groups of two events on 64 CPUs", cgroups),
            ("bpf-cpus", "Simulated CPUs, 4,000 cgroups counted by BPF", cpus)):
        points = simulated_points(build, curve, xs, ["collect"])
        report.table(title, ["x", "groups", "series", "collect us", "reading us", "open us", "churn us", "bytes",
                             "collect Ir"], [
            [x, int(p["groups"]), int(p["series"])] +
            [p[key] for key in ("collect", "reading", "open", "churn", "bytes")] +
            [p.get("collect Ir")] for x, p in zip(xs, points)])
        if all("collect Ir" in p for p in points):
            report.growth("the instructions for collecting", xs, [p["collect Ir"] for p in points], LINEAR)
        report.check("us to collect 4,000 cgroups on 64 CPUs", points[-1]["collect"], BPF_US)
        report.check("us to add and remove a cgroup, with 4,000 others", points[-1]["churn"], CHURN_US)
        report.check("groups read on 64 CPUs", points[-1]["groups"], 3 * 64)
        if curve == "bpf":
            first, last = points[0], points[-1]
            report.check("bytes of memory per additional cgroup and CPU",
                         (last["bytes"] - first["bytes"]) / (xs[-1] - xs[0]) / 64, BPF_BYTES_PER_CGROUP_AND_CPU)


# --- cgroups of the real kernel

def config(min_interval, cpu="true", cgroup="false", pattern="/none"):
    return CONFIG % (min_interval, cpu, cgroup, pattern)


def reads(daemon):
    """Returns how often the daemon has called read(2) and the like, except on sockets."""
    with open("/proc/%d/io" % daemon.processes.roots[0]) as io:
        return int(re.search(r"^syscr: (\d+)", io.read(), re.M)[1])


def pattern_of(below, number):
    """Returns a glob for the first `number` cgroups. This number must be 10**n or 3 * 10**n."""
    tens = int(math.log10(number)) if number else 0
    if number == 0:
        return below + "/none"
    digits = "?" * tens
    first = "0" * (3 - tens) + ("0" if number == 10 ** tens else "[0-2]") if tens < 4 else ""
    return "%s/b%s%s" % (below, first, digits)


def grow_cgroups(report, build, directory, xs, rounds):
    with contextlib.ExitStack() as stack:
        try:
            cgroups = lib.Cgroups(max(xs), "b%04d", "/perfcountd-growth-%d" % os.getpid())
        except lib.Skipped as error:
            print("\nnot measured: cgroups of the kernel: %s" % error)
            return
        stack.callback(cgroups.remove)
        daemon = peers.Perfcountd(build, directory, config("0s", "false", "true", cgroups.below + "/none"))
        stack.callback(daemon.stop)
        rows = [cgroup_point(daemon, cgroups.below, x, rounds) for x in xs]
    report.table("Cgroups of this kernel: one software event on each of %d CPUs" % os.cpu_count(),
                 ["x", "watched", "reload ms", "collect us", "scrape us"], rows)
    report.check("cgroups that are not watched", sum(abs(row[0] - row[1]) for row in rows), 0)
    base, rest = rows[0], rows[1:]
    for column, what in ((3, "the collecting time"), (4, "the CPU time per scrape")):
        growth = [max(row[column] - base[column], base[column] * NOISE) for row in rest]
        report.growth(what, [row[0] for row in rest], growth, LINEAR, timed=True)


def cgroup_point(daemon, below, x, rounds):
    begin = time.monotonic()
    daemon.reload(config("0s", "false", "true", pattern_of(below, x)))
    reload_ms = (time.monotonic() - begin) * 1000
    collecting, scrapes = [], []
    for _ in range(rounds // 4):
        daemon.client.get()
    for _ in range(rounds):
        begin = daemon.processes.cpu()
        daemon.client.get()
        scrapes.append((daemon.processes.cpu() - begin) * 1e6)
        duration = re.search(r'^perfcountd_collector_duration_seconds\{collector="cgroup"\} (\S+)', daemon.client.text(),
                             re.M)
        collecting.append(float(duration[1]) * 1e6)
    return [x, daemon.watched(), reload_ms, min(collecting), min(scrapes)]


# --- clients

def scrape_together(daemon, number, seconds):
    """Runs clients that scrape without pause. Returns the number of scrapes and of read(2) calls, and the CPU time in
    seconds."""
    clients = [lib.Client(daemon.port) for _ in range(number)]
    scrapes = 0
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        before, cpu, begin = reads(daemon), daemon.processes.cpu(), time.monotonic()
        for client in clients:
            client.send()
        while time.monotonic() < begin + seconds:
            for key, _ in selector.select(1):
                if key.data.take():
                    scrapes += 1
                    key.data.send()
        result = scrapes, reads(daemon) - before, daemon.processes.cpu() - cpu
    for client in clients:
        client.socket.close()
    return result


def reads_of_a_reading(build, directory, scrapes=20):
    """With min_interval 0, each scrape reads the counters."""
    daemon = peers.Perfcountd(build, directory, config("0s"))
    try:
        before = reads(daemon)
        for _ in range(scrapes):
            daemon.client.get()
        return (reads(daemon) - before) / scrapes
    finally:
        daemon.stop()


def grow_clients(report, build, directory, xs, seconds):
    try:
        each = reads_of_a_reading(build, directory)
    except PermissionError as error:
        print("\nnot measured: clients, since readings cannot be counted: %s" % error)
        return
    if not each:
        print("\nnot measured: clients, since no software event can be opened")
        return
    daemon = peers.Perfcountd(build, directory, config("100ms"))
    try:
        rows = []
        for x in xs:
            scrapes, calls, cpu = scrape_together(daemon, x, seconds)
            rows.append([x, scrapes / seconds, calls / each / seconds, cpu / scrapes * 1e6])
    finally:
        daemon.stop()
    report.table("Clients that scrape without pause, web.min_interval 100ms; a reading is %g read(2) calls" % each,
                 ["x", "scrapes/s", "readings/s", "us/scrape"], rows)
    report.check("read(2) calls per reading and group", each / os.cpu_count(), 1)
    report.growth("the readings", xs, [row[2] for row in rows], CONSTANT)
    report.growth("the CPU time per scrape", xs, [row[3] for row in rows], CONSTANT, timed=True)
    report.check("readings with %d clients vs. with one" % xs[-1], rows[-1][2] / rows[0][2], SHARED_RATIO)


def measure(arguments, _table):
    build, report = arguments.build, Report()
    if not callgrind.available():
        print("not measured: instructions, since valgrind is not installed")
    for curve, title, xs in (
            ("events", "Events on eight simulated CPUs, in groups of two", [2, 4, 8, 16, 32]),
            ("cpus", "Simulated CPUs, four groups of two events each",
             [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]),
            ("cgroups", "Simulated cgroups, two groups of two events on two CPUs",
             [0, 10, 30, 100, 300, 1000])):
        grow_simulated(report, build, curve, title, xs)
    grow_bpf(report, build)
    with tempfile.TemporaryDirectory() as directory:
        grow_cgroups(report, build, directory, [0, 10, 30, 100, 300, 1000], 80)
        grow_clients(report, build, directory, [1, 2, 4, 8, 16, 32, 64], 3)
    print("\n%d bounds missed" % report.n_failed)
    return 1 if report.n_failed else 0
