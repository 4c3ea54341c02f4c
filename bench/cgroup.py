# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of counting cgroups: a scrape of 250 cgroups with the perf engine, compared with a bare read(2)
loop over as many descriptors; a scrape of 1,000 cgroups with the bpf engine, compared with that of the 250; the
response time while two Prometheus servers scrape; and the cost to the measured machine.
"""
import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import lib
import peers

CGROUPS = 250
BPF_CGROUPS = 1000
EVENTS = "{context-switches,cpu-migrations,minor-faults,major-faults}"
CONFIG = """
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu: {enabled: %s}
  self: {enabled: false}
  cgroup:
    enabled: true
    engine: %s
    include: ["%s"]
    max_cgroups: 1000
    groups:
      - {name: bench, events: "%s"}
"""
WATCHED = (0, 10, 100, 250)
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
TOOLS = os.path.join(SOURCES, "build", "tools")


class Daemon(peers.Perfcountd):
    def __init__(self, build, directory, engine, pattern):
        self.engine = engine
        super().__init__(build, directory, CONFIG % ("false", engine, pattern, EVENTS))

    def count(self, pattern, each_cpu=False):
        """With `each_cpu`, the default groups of the cpu collector are counted as well."""
        self.reload(CONFIG % (str(each_cpu).lower(), self.engine, pattern, EVENTS))

    def expect(self, number):
        if self.watched() != number:
            sys.exit("%d cgroups are counted by %s, expected %d" % (self.watched(), self.engine, number))

    def mapped(self):
        """Returns the memory of the BPF program's maps in the kernel, in KiB."""
        with open("/proc/%d/smaps" % self.processes.roots[0]) as smaps:
            return sum(int(size) for size in re.findall(r"bpf-map\nSize: +(\d+) kB", smaps.read()))

    def cpu_of(self, scrapes, headers=b""):
        """Returns the daemon's CPU time and the wall time of a scrape, in microseconds."""
        cpu, wall = self.processes.cpu(), time.monotonic()
        for _ in range(scrapes):
            self.client.get(headers)
        return ((self.processes.cpu() - cpu) / scrapes * 1e6, (time.monotonic() - wall) / scrapes * 1e6)


def pattern_of(cgroups, number):
    """Returns a glob that matches this number of cgroups."""
    return cgroups.below + {0: "/none", 10: "/b00?", 100: "/b0??", 250: "/b*"}[number]


def measure_bpf(table, daemon, build, directory):
    """`daemon` counts 250 cgroups with perf. Scrapes and bare reads alternate, so that other load affects both
    alike."""
    rounds, scrapes = (40, 20)
    figures = {"perf": [], "bpf": []}
    with contextlib.ExitStack() as stack:
        cgroups = lib.Cgroups(BPF_CGROUPS, "c%04d", "/perfcountd-bench-bpf-%d" % os.getpid())
        stack.callback(cgroups.remove)
        bpf = Daemon(build, directory, "bpf", cgroups.below + "/none")
        stack.callback(bpf.stop)
        bpf.expect(0)
        before, heap = bpf.processes.descriptors(), sum(bpf.processes.memory("Anonymous"))
        bpf.count(cgroups.below + "/c*")
        bpf.expect(BPF_CGROUPS)
        bpf.cpu_of(20)
        for _ in range(rounds):
            for one, name in ((daemon, "perf"), (bpf, "bpf")):
                figures[name].append(one.cpu_of(scrapes)[0])
        table.compare("CPU time per scrape: %d with bpf vs. %d with perf" % (BPF_CGROUPS, CGROUPS),
                      figures["bpf"], figures["perf"], "us")
        table.row("extra descriptors for %d cgroups with bpf" % BPF_CGROUPS,
                  bpf.processes.descriptors() - before)
        table.row("memory per cgroup with bpf", (sum(bpf.processes.memory("Anonymous")) - heap) * 1024 / BPF_CGROUPS,
                  "KiB")
        table.row("kernel memory per cgroup with bpf", bpf.mapped() / BPF_CGROUPS, "KiB")


def measure_scrapes(table, daemon, bare):
    rounds, scrapes = (40, 20)
    figures = {name: [] for name in ("own", "own wall", "gzip", "bare", "bare wall")}
    daemon.cpu_of(20)
    bare.read(20)
    for _ in range(rounds):
        for name, (cpu, wall) in (("own", daemon.cpu_of(scrapes)), ("bare", bare.read(scrapes))):
            figures[name].append(cpu)
            figures[name + " wall"].append(wall)
        figures["gzip"].append(daemon.cpu_of(scrapes, lib.GZIP)[0])
    collecting = [float(figure) * 1e6 for figure in re.findall(
        r'^perfcountd_collector_duration_seconds\{collector="cgroup"\} (\S+)', daemon.client.page(), re.M)]
    table.compare("CPU time per scrape vs. the bare read loop", figures["own"], figures["bare"], "us")
    table.compare("wall time per scrape vs. the bare read loop", figures["own wall"], figures["bare wall"], "us")
    table.compare("CPU time per scrape, gzip vs. the bare read loop", figures["gzip"], figures["bare"], "us")
    if collecting:
        table.row("the collector alone (last scrape)", collecting[0], "us")
    table.row("bytes per page", daemon.client.get())


@contextlib.contextmanager
def prometheus_servers(number, directory, port):
    """Runs this number of Prometheus servers, each of which scrapes the port every second."""
    servers = []
    try:
        for n in range(number):
            file = os.path.join(directory, "prometheus-%d.yml" % n)
            with open(file, "w") as config:
                config.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
                             "  - job_name: bench\n    static_configs: [{targets: ['127.0.0.1:%d']}]\n" % port)
            own_port = lib.free_port()
            servers.append((subprocess.Popen(
                [peers.find(TOOLS, "prometheus", "usr/bin/prometheus"), "--config.file=" + file, "--log.level=error",
                 "--storage.tsdb.path=" + os.path.join(directory, "tsdb-%d" % n),
                 "--web.listen-address=127.0.0.1:%d" % own_port],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), own_port))
        yield servers
    finally:
        for server, _ in servers:
            server.terminate()
        for server, _ in servers:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def successful_scrapes(port):
    import json
    import urllib.parse
    query = urllib.parse.urlencode({"query": "sum_over_time(up[1h])"})
    with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/query?%s" % (port, query), timeout=5) as response:
        result = json.load(response)["data"]["result"]
    return int(result[0]["value"][1]) if result else 0


def measure_response(table, daemon, directory):
    """Measures response times, from the first byte of a request to the last byte of the answer, with a request every 50
    ms."""
    seconds = 60
    try:
        peers.find(TOOLS, "prometheus", "usr/bin/prometheus")
    except peers.Absent as reason:
        print("not measured: the response time while Prometheus scrapes: %s" % reason)
        return
    with prometheus_servers(2, directory, daemon.port) as servers:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if all(successful_scrapes(port) >= 2 for _, port in servers):
                    break
            time.sleep(0.5)
        else:
            sys.exit("Prometheus does not scrape the daemon")
        times = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            begin = time.monotonic()
            daemon.client.get()
            times.append((time.monotonic() - begin) * 1000)
        scrapes = [successful_scrapes(port) for _, port in servers]
    times.sort()
    table.row("response with 2 Prometheus servers, median", statistics.median(times), "ms")
    table.row("response, 99th percentile of %d" % len(times), times[int(len(times) * 0.99)], "ms")
    print("Prometheus had %s successful scrapes." % " and ".join(map(str, scrapes)))


def measure_cost(cgroups, daemons):
    """Measures each number of cgroups in rounds, in random order, and compares it with no cgroups in the same round."""
    rounds, loops = (15, 100000)
    if not shutil.which("perf"):
        print("not measured: the cost to the machine, since perf is not installed")
        return
    cpu = max(os.sched_getaffinity(0))
    kinds = [(number, daemon, each_cpu) for number in WATCHED for daemon in daemons for each_cpu in (False, True)]
    figures = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for number, daemon, each_cpu in random.sample(kinds, len(kinds)):
            daemon.count(pattern_of(cgroups, number), each_cpu)
            daemon.expect(number)
            figures[number, daemon, each_cpu].append(lib.sched_pipe(cgroups, loops, cpu)[0])
            daemon.count(cgroups.below + "/none")
    nothing = figures[0, daemons[0], False]
    print("\nCost to the measured machine: perf bench sched pipe between two cgroups on one CPU, medians of %d rounds,\n"
          "and their ratio to counting nothing; then the same while the default groups of each CPU are counted as well"
          % rounds)
    print("%8s %8s %10s %8s %14s %8s" % ("engine", "watched", "us/op", "ratio", "us/op, CPUs", "ratio"))
    for daemon in daemons:
        for number in WATCHED:
            row = []
            for each_cpu in (False, True):
                times = figures[number, daemon, each_cpu]
                row += [statistics.median(times), statistics.median(a / b for a, b in zip(times, nothing))]
            print("%8s %8d %10.2f %8.2f %14.2f %8.2f" % (daemon.engine, number, *row), flush=True)


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can create cgroups")
    subprocess.run([os.path.join(SOURCES, "bench", "peers.sh"), TOOLS], check=True)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        cgroups = lib.Cgroups(CGROUPS)
        stack.callback(cgroups.remove)
        daemon = Daemon(arguments.build, directory, "perf", pattern_of(cgroups, CGROUPS))
        stack.callback(daemon.stop)
        daemon.expect(CGROUPS)
        bare = peers.BareReads(arguments.build, 4, cgroups.directories())
        try:
            print("%d cgroups, four software events on %d CPUs, one series each; counted by perf unless a row says bpf."
                  % (CGROUPS, os.cpu_count()))
            measure_scrapes(table, daemon, bare)
        finally:
            bare.stop()
        measure_bpf(table, daemon, arguments.build, directory)
        measure_response(table, daemon, directory)
        bpf = Daemon(arguments.build, directory, "bpf", cgroups.below + "/none")
        stack.callback(bpf.stop)
        measure_cost(cgroups, (daemon, bpf))
