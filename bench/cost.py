# SPDX-License-Identifier: Apache-2.0
"""
Measures how much perfcountd and its peers (the contestants) slow down the machine that they measure: the CPU time of a
workload while one contestant counts, and while none does.
Each contestant is started for its turn and exits before the next one, since the events of a process that is merely
stopped keep counting in the kernel.
"""
import contextlib
import glob
import os
import random
import shutil
import threading

import lib
import peers

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


@contextlib.contextmanager
def scraped(server):
    """Scrapes the server once a second while the context is active."""
    done = threading.Event()

    def scrape():
        while not done.wait(1):
            server.client.get()

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        server.stop()


@contextlib.contextmanager
def printing(periodic):
    try:
        yield
    finally:
        periodic.stop()


def watchers(bench, cgroups):
    """Returns, for each contestant that is available on this machine, a function that starts it."""
    own = {
        "off": contextlib.nullcontext,
        "perfcountd, one group per CPU": lambda: scraped(peers.Perfcountd(
            bench.build, bench.directory, peers.CPU_CONFIG % ("100ms", peers.EVENTS))),
        "perfcountd, %d cgroups" % len(cgroups.names): lambda: scraped(peers.Perfcountd(
            bench.build, bench.directory, peers.CGROUP_CONFIG % (cgroups.below, peers.EVENTS))),
    }
    for server, start in ((bench.node, bench.start_node), (bench.pcp, bench.start_pcp),
                          (bench.netdata, bench.start_netdata)):
        if server:
            own[server.name] = lambda start=start: scraped(start())
    if bench.perf:
        own[bench.perf.name] = lambda: printing(peers.perf_stat(bench.tools))
    return own


class Compile:
    """A workload: compiles the C files of base/ with make."""

    FLAGS = "CFLAGS = -O1 -I. -include config.h -w\n"

    def __init__(self, build, directory):
        self.directory = os.path.join(directory, "sources")
        os.mkdir(self.directory)
        for file in glob.glob(os.path.join(SOURCES, "base", "*.[ch]")):
            shutil.copy(file, self.directory)
        shutil.copy(os.path.join(build, "config.h"), self.directory)
        os.symlink(".", self.directory + "/base")
        self.objects = [file[:-2] + ".o" for file in sorted(glob.glob(self.directory + "/*.c"))]
        with open(self.directory + "/Makefile", "w") as makefile:
            makefile.write(self.FLAGS + "all: %s\n" % " ".join(map(os.path.basename, self.objects)))

    def milliseconds(self, cgroups):
        """Returns the CPU time in milliseconds. Fails unless every object file exists afterwards and contains code."""
        seconds, _ = lib.work(cgroups, ["make", "-s", "-C", self.directory])
        for file in self.objects:
            with open(file, "rb") as code:
                if code.read(4) != b"\x7fELF":
                    raise SystemExit("the compilation failed: %s is not an object file" % file)
            os.unlink(file)
        return seconds * 1e3


def works(bench, cgroups):
    """Returns a function for each workload, which runs it and returns its CPU time."""
    cpu = max(os.sched_getaffinity(0))
    sources = Compile(bench.build, bench.directory)
    memcpy = ["perf", "bench", "mem", "memcpy", "-s", "64MB", "-l", "8", "-f", "default"]
    return {
        "perf bench sched pipe, between two cgroups (us/op)": lambda: lib.sched_pipe(cgroups, 30000, cpu)[1],
        "compiling %d C files (ms)" % len(sources.objects): lambda: sources.milliseconds(cgroups),
        "perf bench mem memcpy, 64 MB (ms)": lambda: lib.work(cgroups, memcpy)[0] * 1e3,
    }


def measure(bench, on, work):
    """Returns {workload: {contestant: figures}}, and the processes that had perf events open while no contestant
    was running."""
    figures = {name: {watcher: [] for watcher in on} for name in work}
    strangers = set()
    for _ in range(bench.scale.cost_rounds):
        for watcher in random.sample(list(on), len(on)):
            strangers.update(lib.counting())  # all contestants have exited at this point
            with on[watcher]():
                for name, take in work.items():
                    figures[name][watcher].append(take())
    return figures, strangers


def print_cost(bench, table):
    if not bench.scale.cost_rounds:
        return
    if not shutil.which("perf") or os.geteuid() != 0:
        print("not measured: the cost to the machine, since that needs root and perf")
        return
    bench.dismiss()
    cgroups = lib.Cgroups(10)
    bench.stack.callback(cgroups.remove)
    figures, strangers = measure(bench, watchers(bench, cgroups), works(bench, cgroups))
    print_figures_of_cost(table, figures)
    table.row("processes with perf events open between turns", len(strangers))
    if strangers:
        print("processes with perf events open between turns: " + ", ".join(sorted(strangers)))


def print_figures_of_cost(table, figures):
    table.heading("Cost to the measured machine: CPU time of a workload while a program counts, and while none does.\n"
                  "The columns are the CPU time with and without the program. One program counts at a time, and is\n"
                  "scraped once a second.")
    for name, by_watcher in figures.items():
        print(name)
        off = by_watcher.pop("off")
        for watcher, on in by_watcher.items():
            table.compare("    " + watcher, on, off)
