#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs loads in cgroups that two daemons count, one with each engine, and prints both counts of each load as JSON.

The counts are compared while no load runs, so that it does not matter which daemon is read first. Both daemons are read
all the time: no total may decrease, and no cgroup may have less than the sum of its children.
"""
import argparse
import collections
import http.client
import json
import os
import re
import select
import signal
import subprocess
import threading
import time
import urllib.parse

EVENTS = {"task_clock_seconds": "task_clock", "minor_faults": "minor_faults", "context_switches": "context_switches"}
SERIES = re.compile(r'perf_cgroup_(%s)_total\{cgroup="([^"]*)"[^ ]* (\S+)' % "|".join(EVENTS))
# A total of times and its parts are each rounded to microseconds.
ROUNDING = 1e-6
# The kernel adds an event to the counters of a cgroup and its parents one after the other, so a reading in between may
# find the parent one event short on each CPU.
IN_FLIGHT = os.cpu_count()


class Daemon:
    """Reads totals by cgroup and event over a persistent connection."""

    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(self.address.netloc, timeout=30)

    def get(self, path):
        self.connection.request("GET", path)
        response = self.connection.getresponse()
        body = response.read().decode("utf-8", "surrogateescape")
        if response.status != 200:
            raise RuntimeError("%s: %d" % (path, response.status))
        return body

    def totals(self):
        found = SERIES.findall(self.get("/metrics?collect[]=cgroup"))
        return {(cgroup, EVENTS[event]): float(value) for event, cgroup, value in found}

    def unknown_seconds(self):
        return json.loads(self.get("/api/v1/status"))["cgroups"]["unknown_seconds"]


class Watcher(threading.Thread):
    """Scrapes one daemon continuously, and compares its totals."""

    def __init__(self, url, below, clock_slack):
        super().__init__(daemon=True)
        self.daemon_read = Daemon(url)
        self.clock_slack = clock_slack
        self.below = below
        self.ends = threading.Event()
        self.readings = self.fell = self.less_than_inside = 0
        self.complaints = []
        self.failure = None

    def complain(self, text):
        if len(self.complaints) < 5:
            self.complaints.append(text)

    def compare(self, totals, last):
        for key, value in totals.items():
            if value < last.get(key, 0):
                self.fell += 1
                self.complain("%s fell from %r to %r" % (key, last[key], value))
        inside = collections.Counter()
        for (cgroup, event), value in totals.items():
            inside[os.path.dirname(cgroup), event] += value
        for key, value in inside.items():
            if key[1] == "task_clock":
                slack = ROUNDING + self.clock_slack * totals.get(key, 0)
            else:
                slack = IN_FLIGHT
            if key in totals and value > totals[key] + slack:
                self.less_than_inside += 1
                self.complain("%s has %r, its children %r" % (key, totals[key], value))

    def run(self):
        last = {}
        try:
            while not self.ends.is_set():
                totals = self.daemon_read.totals()
                self.compare(totals, last)
                # A removed cgroup keeps its last values while it lingers.
                last.update(totals)
                self.readings += 1
        except Exception as error:
            self.failure = repr(error)


class Scenario:
    def __init__(self, arguments):
        self.root, self.below, self.load = arguments.hierarchy, arguments.below, arguments.load
        self.daemons = {"perf": Daemon(arguments.perf), "bpf": Daemon(arguments.bpf)}

    def make(self, *names):
        for name in names:
            os.mkdir(self.root + self.below + "/" + name)
        deadline = time.monotonic() + 60
        for engine, daemon in self.daemons.items():
            while not all((self.below + "/" + name, "minor_faults") in daemon.totals() for name in names):
                if time.monotonic() > deadline:
                    raise RuntimeError("%s does not watch %r: %s" % (engine, names, daemon.get("/api/v1/cgroups")))
                time.sleep(0.02)

    def command(self, name, *work):
        return [self.load, self.root + self.below + "/" + name, *map(str, work)]

    def worker(self, name, milliseconds):
        """Starts a process that joins the cgroup and waits. It is killed at the end, so that its exit is not
        counted."""
        process = subprocess.Popen(self.command(name, "work", milliseconds), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        return process

    def measure(self, names, work):
        """Returns what each daemon counts in the cgroups while work() runs, and the seconds that bpf could not
        attribute."""
        before = {engine: daemon.totals() for engine, daemon in self.daemons.items()}
        unknown = self.daemons["bpf"].unknown_seconds()
        extra = work() or {}
        after = {engine: daemon.totals() for engine, daemon in self.daemons.items()}
        rows = [{"cgroup": name, "event": event,
                 **{engine: after[engine][self.below + "/" + name, event] -
                    before[engine].get((self.below + "/" + name, event), 0) for engine in self.daemons}}
                for name in names for event in EVENTS.values()]
        return {"rows": rows, "unknown": self.daemons["bpf"].unknown_seconds() - unknown, **extra}

    def inside(self):
        """Tasks that stay in their cgroups: one in the cgroup itself, one three levels below."""
        self.make("inside", "one", "one/two", "one/two/three")
        workers = [self.worker("inside", 1500), self.worker("one/two/three", 1500)]

        def work():
            for worker in workers:
                worker.stdin.write(b"\n")
                worker.stdin.flush()
            for worker in workers:
                worker.stdout.readline()
        measured = self.measure(["inside", "one", "one/two", "one/two/three"], work)
        for worker in workers:
            worker.kill()
            worker.wait()
        return measured

    def entering(self):
        """Short tasks that are already running when they enter the cgroup."""
        self.make("entering")

        def work():
            for _ in range(40):
                subprocess.run(self.command("entering", "spin", 20), check=True)
            return {"entries": 40}
        return self.measure(["entering"], work)

    def staying(self):
        """A task that nothing interrupts: while it runs, the totals of bpf, perf and again bpf are read ten times."""
        self.make("staying")
        key = self.below + "/staying", "task_clock"
        readings = []

        def work():
            process = subprocess.Popen(["chrt", "--fifo", "1"] + self.command("staying", "spin", 60000))
            while len(readings) < 10 and process.poll() is None:
                time.sleep(0.03)
                readings.append([self.daemons[engine].totals()[key] for engine in ("bpf", "perf", "bpf")])
            process.kill()
            process.wait()
        measured = self.measure(["staying"], work)
        return {**measured, "readings": readings}

    def move(self, name, process, is_over):
        """Moves a process between name/a and name/b every 20 ms; returns the number of moves."""
        moves = 0
        while not is_over():
            moves += 1
            try:
                with open(self.root + self.below + "/%s/%s/cgroup.procs" % (name, "ab"[moves % 2]), "w") as procs:
                    procs.write(str(process.pid))
            except ProcessLookupError:
                break
            time.sleep(0.02)
        return moves

    def moving(self):
        """A task that is moved between two cgroups while it runs, and that nothing else interrupts."""
        self.make("moving", "moving/a", "moving/b")

        def work():
            process = subprocess.Popen(self.command("moving/a", "spin", 1200))
            time.sleep(0.05)
            moves = self.move("moving", process, lambda: process.poll() is not None)
            process.wait()
            return {"moves": moves}
        return self.measure(["moving", "moving/a", "moving/b"], work)

    def dozing(self):
        """Like moving(), but the task sleeps after each millisecond, so that its CPU switches soon after each move."""
        self.make("dozing", "dozing/a", "dozing/b")
        worker = self.worker("dozing/a", 1200)

        def work():
            worker.stdin.write(b"\n")
            worker.stdin.flush()
            moves = self.move("dozing", worker, lambda: select.select([worker.stdout], [], [], 0)[0])
            worker.stdout.readline()
            return {"moves": moves}
        measured = self.measure(["dozing", "dozing/a", "dozing/b"], work)
        worker.kill()
        worker.wait()
        return measured

    def going(self, n):
        """Cgroups that are created, cause page faults and are removed: their parent keeps their counts."""
        self.make("going")

        def work():
            for i in range(n):
                self.make("going/%d" % i)
                subprocess.run(self.command("going/%d" % i, "faults", 500), check=True)
                os.rmdir(self.root + self.below + "/going/%d" % i)
            return {"faults": 500 * n}
        return self.measure(["going"], work)


def main():
    parser = argparse.ArgumentParser()
    for name in ("perf", "bpf", "hierarchy", "below", "load"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--readings", type=int, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    scenario = Scenario(arguments)
    # With the engine perf, each event reads the clock separately when a task is switched in or out (doc/cgroups.md).
    watchers = {engine: Watcher(getattr(arguments, engine), arguments.below, slack)
                for engine, slack in (("perf", 5e-3), ("bpf", 0))}
    for watcher in watchers.values():
        watcher.start()
    figures = {}
    while not figures or any(one.readings < arguments.readings and not one.failure for one in watchers.values()):
        if not figures:
            figures = {"inside": scenario.inside(), "entering": scenario.entering(), "staying": scenario.staying(),
                       "moving": scenario.moving(), "dozing": scenario.dozing(), "going": scenario.going(20)}
        else:
            subprocess.run(scenario.command("inside", "spin", 20), check=True)
    for watcher in watchers.values():
        watcher.ends.set()
        watcher.join()
    figures["watched"] = {engine: {name: getattr(watcher, name)
                                   for name in ("readings", "fell", "less_than_inside", "complaints", "failure")}
                          for engine, watcher in watchers.items()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
