# SPDX-License-Identifier: Apache-2.0
"""Compares the cost of perfcountd with that of its peers and with the minimum possible cost, in a table of ratios."""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time

import cost
import lib
import peers

METHOD = """\
perfcountd and the other programs count the same five software events on each of %d CPUs, unless noted otherwise:
%s.
The programs are measured in alternating rounds. A ratio is perfcountd's figure divided by the other program's; it is
the median of the ratios of all rounds. CPU time is the user and system time of all processes of a program. All scrapes
use one kept connection. Each scrape reads the counters, except where "shared readings" is noted (web.min_interval:
100ms, the default). "The bare reads" is a loop with one read(2) for each group. "The bare page" is a libmicrohttpd
server that sends a constant page of the same size as perfcountd's. "A bare page with counter reads" does both in one
process.
"""
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


class Scale:
    """The number of rounds, scrapes and so on."""

    def __init__(self):
        self.rounds, self.scrapes = (150, 40)
        self.wrk_rounds, self.wrk_seconds = (9, 1)
        self.starts = 7
        self.idle_seconds, self.periods = (10, 10)
        self.cost_rounds = 9


class Bench:
    """The programs that are compared, called contestants; they run while the context is active."""

    def __init__(self, build):
        self.build = build
        self.tools = os.path.realpath(os.path.join(SOURCES, "build", "tools"))
        self.scale = Scale()
        self.stack, self.contestants = contextlib.ExitStack(), contextlib.ExitStack()
        self.stack.callback(self.dismiss)

    def __enter__(self):
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.fresh = self.start_perfcountd(peers.CPU_CONFIG % ("0s", peers.EVENTS))
        self.shared = self.start_perfcountd(peers.CPU_CONFIG % ("100ms", peers.EVENTS))
        self.default = self.start_perfcountd("history: {enabled: false}")
        self.page = self.enter(peers.BarePage(self.build, self.fresh.page_size))
        self.page_reads = self.enter(peers.BarePage(self.build, self.fresh.page_size, reads=True))
        self.reads = self.enter(peers.BareReads(self.build))
        self.node = self.invite("node_exporter", self.start_node)
        self.pcp = self.invite("PCP", self.start_pcp)
        self.netdata = self.invite("netdata", self.start_netdata)
        self.perf = self.invite("perf stat", lambda: peers.perf_stat(self.tools))
        self.periodic = [self.perf] if self.perf else []
        self.others = [one for one in (self.node, self.pcp, self.netdata) if one]
        return self

    def __exit__(self, *exception):
        self.stack.close()

    def enter(self, contestant):
        self.contestants.callback(contestant.stop)
        return contestant

    def dismiss(self):
        """Stops all contestants."""
        self.contestants.close()

    def start_perfcountd(self, config):
        return self.enter(peers.Perfcountd(self.build, self.directory, config))

    def start_node(self):
        return peers.NodeExporter(self.tools)

    def start_pcp(self):
        return peers.Pcp(self.tools, self.directory)

    def start_netdata(self):
        return peers.Netdata(self.tools, self.directory)

    def invite(self, name, start):
        try:
            return self.enter(start())
        except peers.Absent as reason:
            print("not compared: %s, since %s" % (name, reason))
            return None

    def measure_scrapes(self):
        """Runs all rounds and stores the figures in the contestants."""
        servers = [self.fresh, self.shared, self.page, self.page_reads, *self.others]
        compressing = [one for one in (self.fresh, *self.others) if one.client.compresses()]
        self.read_us, self.copy_us = [], []
        for server in servers:
            server.warm_up(self.scale.scrapes)
        for _ in range(self.scale.rounds):
            for server in servers:
                server.measure_cpu("plain")
            self.read_us.append(self.reads.read(self.scale.scrapes)[0])
            self.copy_us.append(self.reads.copy(self.scale.scrapes * 100, self.fresh.page_size)[0])
            for server in compressing:
                server.measure_cpu("gzip", lib.GZIP)
        for _ in range(self.scale.wrk_rounds if shutil.which("wrk") else 0):
            for server in (self.fresh, self.shared, self.page):
                server.measure_requests(self.scale.wrk_seconds)
            for peer in self.others:
                peer.try_requests(self.scale.wrk_seconds)


def print_scrapes(bench, table):
    fresh, page = bench.fresh.rounds, bench.page.rounds
    both = [a + b for a, b in zip(bench.read_us, page["plain"])]
    table.heading("One scrape after another")
    table.row("CPU time per scrape", fresh["plain"], "us")
    for peer in bench.others:
        table.of(peer.name, fresh["plain"], peer.rounds["plain"], "us")
    table.of("the bare reads plus the bare page", fresh["plain"], both, "us")
    table.of("a bare page with counter reads", fresh["plain"], bench.page_reads.rounds["plain"], "us")
    table.of("the bare page", fresh["plain"], page["plain"], "us")
    table.of("the bare reads", fresh["plain"], bench.read_us, "us")
    table.of("memcpy of the page", fresh["plain"], bench.copy_us, "us")
    table.row("CPU time per scrape, gzip", fresh["gzip"], "us")
    for peer in bench.others:
        if "gzip" in peer.rounds:
            table.of(peer.name, fresh["gzip"], peer.rounds["gzip"], "us")
    table.row("CPU time per scrape, shared readings", bench.shared.rounds["plain"], "us")
    for peer in bench.others:
        table.of(peer.name, bench.shared.rounds["plain"], peer.rounds["plain"], "us")
    table.of("the bare page", bench.shared.rounds["plain"], page["plain"], "us")


def print_requests(bench, table):
    if "requests" not in bench.fresh.rounds:
        print("not measured: requests per second, since wrk is not installed")
        return
    for name, own in (("shared readings", bench.shared), ("each with a new reading", bench.fresh)):
        table.row("requests per second, " + name, own.rounds["requests"], "/s")
        for peer in bench.others:
            if peer.refuses:
                continue
            table.of(peer.name, own.rounds["requests"], peer.rounds["requests"], "/s")
        table.of("the bare page", own.rounds["requests"], bench.page.rounds["requests"], "/s")


def print_calls(bench, table):
    if not shutil.which("strace"):
        print("not measured: system calls, since strace is not installed")
        return
    own = bench.fresh.measure_calls()
    table.row("system calls per scrape", own)
    table.row("    beyond one read for each of %d groups" % os.cpu_count(), own - os.cpu_count())
    for peer in (*bench.others, bench.page):
        table.of(peer.name, own, peer.measure_calls())
    table.row("system calls per scrape, shared readings", bench.shared.measure_calls())


def print_bytes(bench, table):
    plain, packed = bench.fresh.client.get(), bench.fresh.client.get(lib.GZIP)
    table.row("bytes per page", plain)
    for peer in bench.others:
        table.of(peer.name, plain, peer.client.get())
    table.row("bytes per page, gzip", packed)
    for peer in bench.others:
        table.of(peer.name + ("" if peer.client.compresses() else " (does not compress)"), packed,
                 peer.client.get(lib.GZIP))


def instructions(bench, start):
    """Instructions per scrape: the difference of two callgrind runs with different numbers of scrapes."""
    totals = []
    for scrapes in (20, 120):
        base = os.path.join(bench.directory, "callgrind-%d" % lib.free_port())
        server = start(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + base])
        for _ in range(scrapes):
            server.client.get()
        server.stop()
        totals.append(sum(int(re.search(r"^(?:summary|totals): (\d+)", open(file).read(), re.M)[1])
                          for file in glob.glob(base + "*")))
    return (totals[1] - totals[0]) / 100


def print_instructions(bench, table):
    if not shutil.which("valgrind"):
        return
    own = instructions(bench, lambda wrapper: peers.Perfcountd(
        bench.build, bench.directory, peers.CPU_CONFIG % ("0s", peers.EVENTS), wrapper, ["--no-opener"], patience=60))
    bare = instructions(bench, lambda wrapper: peers.BarePage(bench.build, bench.fresh.page_size, True, wrapper,
                                                              patience=60))
    table.row("user-space instructions per scrape (callgrind)", own)
    table.of("a bare page with counter reads", own, bare)


def print_each_second(bench, table):
    """Compares the CPU time of programs that read once a second. The caches are then cold, so a reading costs more than
    in a loop."""
    servers = [bench.fresh, *bench.others]
    everyone = servers + bench.periodic
    figures = {one.name: [] for one in everyone}
    for _ in range(bench.scale.periods):
        before = [one.processes.cpu() for one in everyone]
        for server in servers:
            time.sleep(0.05)
            server.client.get()
        time.sleep(1 - 0.05 * len(servers))
        for one, start in zip(everyone, before):
            figures[one.name].append((one.processes.cpu() - start) * 1e6)
    table.heading("One reading per second")
    own = figures[bench.fresh.name]
    table.row("CPU time per second", own, "us")
    for one in everyone[1:]:
        table.of(one.name, own, figures[one.name], "us")


def print_rest(bench, table):
    everyone = [bench.default, *bench.others, *bench.periodic]
    for path in (b"/metrics", b"/api/v1/counters", b"/api/v1/status"):
        for headers in (b"", lib.GZIP):
            bench.default.client.get(headers, path)
    before = [one.processes.wakeups() for one in everyone]
    time.sleep(bench.scale.idle_seconds)
    wakeups = [one.processes.wakeups() - start for one, start in zip(everyone, before)]
    table.heading("At rest, perfcountd with its default configuration, but without the history, which takes 2 MiB more")
    resident, anonymous = (bench.default.processes.memory(key) for key in ("Rss", "Pss_Anon"))
    table.row("resident memory of the daemon", resident[0], "MB")
    if bench.node:
        table.of(bench.node.name, resident[0], sum(bench.node.processes.memory("Rss")), "MB")
    table.row("resident memory of all processes", sum(resident), "MB")
    for one in everyone[1:]:
        table.of(one.name, sum(resident), sum(one.processes.memory("Rss")), "MB")
    table.row("anonymous memory of all processes", sum(anonymous), "MB")
    for one in everyone[1:]:
        table.of(one.name, sum(anonymous), sum(one.processes.memory("Pss_Anon")), "MB")
    own = bench.default.processes.descriptors()
    table.row("descriptors", own)
    for one in everyone[1:]:
        table.of(one.name, own, one.processes.descriptors())
    table.row("wake-ups in %d s" % bench.scale.idle_seconds, wakeups[0])
    for one, count in zip(everyone[1:], wakeups[1:]):
        table.of(one.name, wakeups[0], count)


def print_starts(bench, table):
    starts = {"perfcountd": lambda: peers.Perfcountd(bench.build, bench.directory)}
    if bench.node:
        starts[bench.node.name] = bench.start_node
    if bench.pcp:
        starts[bench.pcp.name] = bench.start_pcp
    figures = {name: [] for name in starts}
    for _ in range(bench.scale.starts):
        for name, start in starts.items():
            server = start()
            server.stop()
            figures[name].append(server.first_scrape * 1000)
    # The shortest time is used: this is wall time, so the longer ones include other load on the machine.
    own = min(figures.pop("perfcountd"))
    table.row("start to first scrape, best of %d" % bench.scale.starts, own, "ms")
    for name, figure in figures.items():
        table.of(name, own, min(figure), "ms")


def print_sampler(bench, table):
    """Runs the benchmark sampler, and prints some of its figures."""
    output = subprocess.run([os.path.join(SOURCES, "bench", "run"), "sampler", bench.build],
                            stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"perf record \| perf script ([\d.]+) s, perfcountd ([\d.]+) s, with curl ([\d.]+) s", output)
    table.heading("Sampling all CPUs 4000 times a second with callchains (bench/run sampler)")
    if not found:
        print("not measured: " + (output.strip().splitlines() or ["bench/run sampler printed nothing"])[-1])
        return
    perf, own, with_client = map(float, found.groups())
    table.row("CPU time of sampling", own, "s")
    table.of("perf record -a | perf script", own, perf, "s")
    table.row("CPU time of sampling, including its client's", with_client, "s")
    table.of("perf record -a | perf script", with_client, perf, "s")


def print_series(bench, table):
    """Runs the program bench-series, and prints its figures."""
    output = subprocess.run([os.path.join(bench.build, "bench", "bench-series")], stdout=subprocess.PIPE,
                            text=True).stdout
    lines = output.splitlines() or ["bench-series printed nothing"]
    table.heading(lines[0])
    found = re.findall(r"^    (\S.*?)  +([\d.]+)$", output, re.M)
    for figure, value in found:
        table.row(figure, float(value))
    if not found:
        print("not measured: " + lines[-1])


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can count on all CPUs")
    subprocess.run([os.path.join(SOURCES, "bench", "peers.sh"), os.path.join(SOURCES, "build", "tools")], check=True)
    with Bench(arguments.build) as bench:
        print(METHOD % (os.cpu_count(), peers.EVENTS.replace(",", ", ")))
        bench.measure_scrapes()
        for part in (print_scrapes, print_requests, print_calls, print_bytes, print_instructions, print_each_second,
                     print_rest, print_starts, cost.print_cost, print_sampler, print_series):
            part(bench, table)
