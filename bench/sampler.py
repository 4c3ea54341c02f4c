# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of sampling: decoding and writing alone, a live stream during scrapes, the CPU time compared with
perf, the memory while programs start and end, and the cost while no client samples, which must be zero.
"""
import collections
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import crowd
import lib
import peers

CONFIG = """
history: {enabled: false}
collectors:
  cgroup: {enabled: false}
sampler: {enabled: true, allow: local, event: cpu-clock}
"""
FREQUENCY = 4000
# A program that spins in nested functions, so that its samples have callchains; it runs on each CPU.
SPIN = """
#include <stdlib.h>
int leaf(int n) { for (volatile int i = 0; i < 1000; i++) n += i; return n + 1; }
int middle(int n) { return leaf(n) + 1; }
int outer(int n) { return middle(n) + 1; }
int main(int argc, char **argv) {
    for (long n = 0, turns = argc > 1 ? atol(argv[1]) : -1; turns != 0; turns--) n = outer(n) & 1023;
}
"""


Memory = collections.namedtuple("Memory", ("daemon", "others", "tables"))


def rollup(pid, key):
    """Returns the value of `key` in the process's smaps_rollup, in bytes."""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        found = re.search(r"^%s: *(\d+) kB" % key, file.read(), re.M)
    return int(found[1]) * 1024 if found else 0


def memfds(pid):
    """Returns the size of each memfd that the process has mapped, by inode. All of its pages have been written, so all
    take memory, even those that this process has not touched."""
    with open("/proc/%d/maps" % pid) as maps:
        found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) \S+ 0+ \S+ (\d+) +/memfd:", maps.read(), re.M)
    return {inode: int(end, 16) - int(start, 16) for start, end, inode in found}


HINDSIGHT = CONFIG.replace("cpu-clock}", "cpu-clock, hindsight: {enabled: true, event: cpu-clock, frequency: %d}}")


class Daemon(peers.Perfcountd):
    def __init__(self, build, directory, config=CONFIG):
        super().__init__(build, directory, config)

    def cpu_seconds(self):
        """Returns the CPU time of all processes of the daemon, including those that have exited."""
        total = self.processes.cpu()
        for pid in self.processes.pids():
            with contextlib.suppress(OSError), open("/proc/%d/stat" % pid) as stat:
                total += sum(map(int, stat.read().rsplit(")", 1)[1].split()[13:15])) / os.sysconf("SC_CLK_TCK")
        return total

    def memory(self):
        """Returns the anonymous memory of the daemon and of its other processes, and the size of the symbol tables,
        each of which is counted once although processes share it, in bytes."""
        daemon, others, tables = 0, 0, {}
        for pid in self.processes.pids():
            with contextlib.suppress(OSError):
                anonymous = rollup(pid, "Pss_Anon")
                if pid == self.processes.roots[0]:
                    daemon = anonymous
                else:
                    others += anonymous
                tables.update(memfds(pid))
        return Memory(daemon, others, sum(tables.values()))


def measure_writing(table, build):
    """Measures how fast one core decodes and writes samples that are in memory."""
    output = subprocess.run([os.path.join(build, "bench", "bench-ndjson")], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    plain = float(re.search(r"^ndjson: no symbols: (\d+) samples", output, re.M)[1])
    symbols = float(re.search(r"^ndjson: ten-deep callchain: (\d+) samples", output, re.M)[1])
    table.row("decoded and written as NDJSON, no symbols", plain, "/s")
    table.row("the same with ten-deep callchains and cached symbols", symbols, "/s")


@contextlib.contextmanager
def busy(commands):
    """Runs the commands while the context is active, each on the next CPU in turn."""
    cpus = sorted(os.sched_getaffinity(0))
    children = [subprocess.Popen(["taskset", "-c", str(cpus[n % len(cpus)])] + command, stdin=subprocess.DEVNULL)
                for n, command in enumerate(commands)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def count(url, answer):
    """A client that only counts the records of a stream."""
    counts, rest = {b"sample": 0, b"throttle": 0}, b""
    with urllib.request.urlopen(url, timeout=60) as response:
        while True:
            block = response.read1(1 << 18)
            if not block:
                break
            for kind in counts:
                counts[kind] += block.count(b'{"type":"%s"' % kind)
            rest = (rest + block)[-4096:]
    end = json.loads(rest.splitlines()[-1])
    answer.put((counts[b"sample"], counts[b"throttle"], end))


def measure_live(table, daemon, seconds):
    """Measures a stream of all CPUs while the daemon is scraped once a second."""
    answer = multiprocessing.Queue()
    client = multiprocessing.Process(target=count, args=(
        daemon.url("/api/v1/samples?seconds=%d&frequency=%d" % (seconds, FREQUENCY)), answer))
    scraper = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=30)
    latencies = []
    spent, begin = daemon.cpu_seconds(), time.monotonic()
    client.start()
    while client.is_alive():
        client.join(1)
        asked = time.monotonic()
        scraper.request("GET", "/metrics")
        scraper.getresponse().read()
        latencies.append((time.monotonic() - asked) * 1000)
    samples, throttled, end = answer.get(timeout=5)
    spent, wall = daemon.cpu_seconds() - spent, time.monotonic() - begin
    expected = FREQUENCY * len(os.sched_getaffinity(0)) * seconds
    print("live: %d CPUs x %d samples a second, %d s, a scrape every second; %d of %d samples, %d times throttled" % (
        len(os.sched_getaffinity(0)), FREQUENCY, seconds, samples, expected, throttled))
    table.row("samples received, as a fraction of those requested", samples / expected)
    table.row("lost", end["lost"])
    table.row("dropped", end["dropped"])
    table.row("CPU time of all processes, share of one core", 100 * spent / wall, "%")
    table.row("CPU time per sample", spent / max(samples, 1) * 1e6, "us")
    table.row("scrape during the stream, median", statistics.median(latencies), "ms")
    table.row("scrape during the stream, longest of %d" % len(latencies), max(latencies), "ms")


def wait_for(process):
    """Waits for a child process. Returns its CPU time in seconds."""
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def perf_seconds(seconds):
    record = subprocess.Popen(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(FREQUENCY), "-o", "-",
                               "sleep", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    script = subprocess.Popen(["perf", "script", "-i", "-"], stdin=record.stdout, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    record.stdout.close()
    return wait_for(record) + wait_for(script)


def own_seconds(daemon, seconds):
    spent = daemon.cpu_seconds()
    client = subprocess.Popen(["curl", "-sN", "-o", "/dev/null", daemon.url(
        "/api/v1/samples?seconds=%d&frequency=%d" % (seconds, FREQUENCY))])
    client_seconds = wait_for(client)
    return daemon.cpu_seconds() - spent, client_seconds


def measure_beside_perf(table, daemon, rounds, seconds):
    if not shutil.which("perf") or not shutil.which("curl"):
        print("not compared: perf record, since perf or curl is not installed")
        return
    figures = []
    for _ in range(rounds):
        figures.append((own_seconds(daemon, seconds), perf_seconds(seconds)))
    own = [figure[0][0] for figure in figures]
    client = [sum(figure[0]) for figure in figures]
    perf = [figure[1] for figure in figures]
    print("CPU time of %d s of all CPUs with callchains to /dev/null: perf record | perf script %.2f s, perfcountd %.2f s, "
          "with curl %.2f s" % (seconds, statistics.median(perf), statistics.median(own), statistics.median(client)))
    table.row("CPU time vs. perf record -a | perf script", statistics.median(a / b for a, b in zip(own, perf)))
    table.row("the same, client included", statistics.median(a / b for a, b in zip(client, perf)))


def measure_memory(table, daemon, before, load, seconds, what):
    """Measures memory while four clients use all formats, and programs start and end. Ring buffers are not included,
    since they are memory of the kernel."""
    query = "?seconds=%d&frequency=%d" % (seconds, FREQUENCY)
    most = before
    with busy(load):
        clients = [subprocess.Popen(["curl", "-sN", "-o", "/dev/null", daemon.url(path + query)]) for path in (
            "/api/v1/samples", "/api/v1/perf.data", "/api/v1/folded", "/debug/pprof/profile")]
        while any(client.poll() is None for client in clients):
            time.sleep(0.01)
            most = max(most, daemon.memory(), key=sum)
    if any(client.returncode for client in clients):
        sys.exit("a stream has failed")
    mega = 1 << 20
    print("peak memory, %.2f MB before: the daemon %.2f MB, its other processes %.2f MB, symbol tables %.2f MB" % (
        sum(before) / mega, *(figure / mega for figure in most)))
    table.row("memory growth with four formats, %d s of %s" % (seconds, what), (sum(most) - sum(before)) / mega, "MB")


SWITCHES = 2 * 100000  # `perf bench sched pipe` makes two switches per operation


def switching_seconds():
    """Runs two processes that constantly switch on one CPU. Returns their CPU time in seconds."""
    return wait_for(subprocess.Popen(["taskset", "-c", str(max(os.sched_getaffinity(0))), "perf", "bench", "sched", "pipe",
                                      "-l", str(SWITCHES // 2)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def measure_off_cpu(table, daemon, rounds):
    """
    Measures the cost of off-CPU time per context switch, in the programs that switch and in the daemon, and compares it
    with the cost of perf when it samples all switches. Rounds with and without them alternate.
    """
    alone, measured, sampled, own = [], [], [], []
    for _ in range(rounds):
        alone.append(switching_seconds())
        client = subprocess.Popen(["curl", "-sN", "-o", "/dev/null", daemon.url(
            "/api/v1/samples?event=off-cpu&seconds=60")])
        time.sleep(1)
        spent = daemon.cpu_seconds()
        measured.append(switching_seconds())
        own.append(daemon.cpu_seconds() - spent)
        client.kill()
        client.wait()
        perf = subprocess.Popen(["perf", "record", "-q", "-a", "-g", "-e", "context-switches", "-c", "1", "-o", "/dev/null",
                                 "sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        sampled.append(switching_seconds())
        perf.terminate()
        perf.wait()
    slower = [(a - b + c) / SWITCHES * 1e6 for a, b, c in zip(measured, alone, own)]
    print("context switch: %.2f us alone, %.2f us with off-CPU time measured, %.2f us with perf sampling all switches"
          % tuple(statistics.median(seconds) / SWITCHES * 1e6 for seconds in (alone, measured, sampled)))
    table.row("off-CPU time: extra CPU time per switch", statistics.median(slower), "us")
    table.row("off-CPU time: 50000 switches/s, share of one core", statistics.median(slower) * 5, "%")


WORK = 500000  # iterations of the program, which take about a quarter of a second


def working_seconds(spin):
    """Runs a fixed amount of work on all CPUs at the same time. Returns its CPU time in seconds."""
    workers = [subprocess.Popen(["taskset", "-c", str(cpu), spin, str(WORK)], stdin=subprocess.DEVNULL)
               for cpu in sorted(os.sched_getaffinity(0))]
    return sum(wait_for(worker) for worker in workers)


@contextlib.contextmanager
def perf_overwriting(directory):
    """Runs perf in the mode in which it keeps the last samples of all CPUs."""
    perf = subprocess.Popen(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", "19", "--overwrite",
                             "--switch-output=signal", "-o", os.path.join(directory, "overwritten")],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        perf.terminate()
        perf.wait()


@contextlib.contextmanager
def hindsight_at(build, directory, frequency):
    daemon = Daemon(build, directory, HINDSIGHT % frequency if frequency else CONFIG)
    try:
        yield
    finally:
        daemon.stop()


def measure_hindsight(table, build, directory, spin, rounds):
    """
    Measures how much longer a fixed amount of work on all CPUs takes while hindsight samples them. The shortest of many
    short runs is compared, because other load on the machine can only make a run longer.
    """
    ways = {"off": lambda: hindsight_at(build, directory, 0), "19 Hz": lambda: hindsight_at(build, directory, 19),
            "99 Hz": lambda: hindsight_at(build, directory, 99)}
    if shutil.which("perf"):
        ways["perf"] = lambda: perf_overwriting(directory)
    seconds = collections.defaultdict(list)
    for _ in range(rounds):
        for way, start in ways.items():
            with start():
                time.sleep(0.5)
                seconds[way] += [working_seconds(spin) for _ in range(10)]
    losses = {way: 100 * (min(seconds[way]) / min(seconds["off"]) - 1) for way in ways}
    table.row("hindsight at the default rate: slowdown of busy CPUs", losses["19 Hz"], "%")
    table.row("hindsight at 99 Hz: slowdown of busy CPUs", losses["99 Hz"], "%")
    if "perf" in losses:
        print("slowdown with perf record --overwrite at 19 Hz: %.2f %%" % losses["perf"])


def wakeups_in(daemon, seconds):
    before = daemon.processes.wakeups()
    time.sleep(seconds)
    return daemon.processes.wakeups() - before


def measure_idle(table, daemon, events, n_processes, seconds):
    """
    Measures the cost while no client samples. It waits until the symboliser has exited, which it does after 30 s
    without requests. The symbols are freed 60 s after the last stream, so no timer of the daemon expires in between.
    """
    deadline = time.monotonic() + 40
    while len(daemon.processes.pids()) > n_processes and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)
    table.row("open events at rest, besides the counters", daemon.processes.perf_events() - events)
    table.row("processes at rest, besides those that count", len(daemon.processes.pids()) - n_processes)
    table.row("wake-ups at rest in %d s" % seconds, wakeups_in(daemon, seconds))


def during(daemon):
    """Returns the number of open events while a client samples."""
    client = subprocess.Popen(["curl", "-sN", "-o", "/dev/null", daemon.url("/api/v1/samples?seconds=1")])
    time.sleep(0.5)
    events = daemon.processes.perf_events()
    client.wait()
    return events


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can sample all CPUs")
    measure_writing(table, arguments.build)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        spin = os.path.join(directory, "spin")
        subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-inline", "-xc", "-",
                        "-o", spin], input=SPIN, text=True, check=True)
        daemon = Daemon(arguments.build, directory)
        stack.callback(daemon.stop)
        cpus = len(os.sched_getaffinity(0))
        measure_hindsight(table, arguments.build, directory, spin, 5)
        events, memory = daemon.processes.perf_events(), daemon.memory()
        n_processes = len(daemon.processes.pids())
        measure_idle(table, daemon, events, n_processes, 5)
        table.row("open events while a client samples", during(daemon) - events)
        if shutil.which("perf") and shutil.which("curl"):
            measure_off_cpu(table, daemon, 5)
        with busy([[spin]] * cpus):
            measure_live(table, daemon, 30)
            measure_beside_perf(table, daemon, 3, 10)
        forks = [["sh", "-c", "while :; do /bin/true; (:); done"]] * cpus
        measure_memory(table, daemon, memory, forks, 20, "forks")
        measure_memory(table, daemon, memory, crowd.commands(directory, cpus), 60, "large programs")
        measure_idle(table, daemon, events, n_processes, 5)
