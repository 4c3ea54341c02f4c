#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that clients and machines do to daemons, mixed, for a long time; see run.sh, which starts it.

usage: soak.py --plan ROUNDS SEED          prints what the first rounds would do
       soak.py SETUP.json SECONDS SEED     prints a table as it goes, and figures as JSON into SETUP.json.figures

A round is actions of each kind at times that follow from the seed, then a quiet second: the configuration is the first
one again, no cgroup lingers, nobody asks for anything. Memory, descriptors and watches are read there, so that all
readings are of the same situation; those of memory are compared at the end of each cycle, when nobody has sampled for a
minute, and nobody has asked for anything since.
"""
import json
import random
import signal
import statistics
import sys
import threading
import time

from churn import Machine, can_hotplug
from clients import Complaint, Target
from loads import Loads
from plan import KEPT, LONG, SHORT, Action, Configurations, is_quiet, round_actions, rounds_left
from readings import Reading, Uses, processes_of, quiet
from strangers import Strangers
from table import HEAD, Column
from watcher import WatcherProcess

ROWS = 20
LINGER = 70  # seconds: a minute, how exact its timer is, and 5 s in which a client that has gone is not missed
PATIENCE = 90  # seconds after which an action should have ended


class Log:
    """The actions that have been, and what was wrong."""

    def __init__(self):
        self.lock = threading.Lock()
        self.done, self.running, self.counts, self.complaints, self.n_complaints = [], {}, {}, [], 0

    def begin(self, action):
        with self.lock:
            self.running[action] = time.monotonic()
            self.counts[action.kind] = self.counts.get(action.kind, 0) + 1

    def end(self, action):
        with self.lock:
            now = time.monotonic()
            self.done = [entry for entry in self.done if entry[1] > now - 600]
            self.done.append((self.running.pop(action), now, action))

    def is_at_rest(self):
        """Whether nobody has asked for what is kept, for as long as it is kept."""
        with self.lock:
            return not any(action.kind in KEPT for action in self.running) and not any(
                action.kind in KEPT and until > time.monotonic() - LINGER for _, until, action in self.done)

    def complain(self, text):
        with self.lock:
            self.n_complaints += 1
            if len(self.complaints) < 100:
                self.complaints.append(text)
                print("BAD: %s" % text, flush=True)

    def during(self, begin, end):
        """Says which other actions there were then."""
        with self.lock:
            found = [str(action) for since, until, action in self.done if since < end and until > begin]
            found += [str(action) for action, since in self.running.items() if since < end]
        return ", ".join("%s%s" % (name, " x%d" % found.count(name) if found.count(name) > 1 else "")
                         for name in sorted(set(found))) or "nothing else"


class Soak:
    def __init__(self, setup, seconds, seed):
        self.seconds, self.seed, self.log = seconds, seed, Log()
        self.targets = [Target(n, target) for n, target in enumerate(setup["targets"])]
        self.watchers = [WatcherProcess(target) for target in self.targets]
        self.machine = Machine(setup["machine"])
        self.loads = [Loads(target, watcher, Configurations(target.engine, self.machine.below), self.machine)
                      for target, watcher in zip(self.targets, self.watchers)]
        self.strangers = [Strangers(target) for target in self.targets]
        self.uses = [Uses() for _ in self.targets]
        self.columns = [Column(target.name) for target in self.targets]
        self.hotplug = setup.get("hotplug") and can_hotplug()
        self.scrapes = [{"failures": [], "falls": [], "count": 0} for _ in self.targets]
        self.slowest = 0.0, ""
        self.processes, self.rounds = [], 0

    # --- actions

    def function(self, action):
        if action.target is None:
            return getattr(self.machine, action.kind)
        loads, strangers = self.loads[action.target], self.strangers[action.target]
        return getattr(loads, action.kind, None) or getattr(strangers, action.kind)

    def act(self, action):
        self.log.begin(action)
        try:
            self.function(action)(random.Random(action.seed))
        except Complaint as complaint:
            self.log.complain("%s: %s" % (action, complaint))
        except Exception as error:  # such as a connection that is refused, or ends early
            self.log.complain("%s: %s: %s" % (action, type(error).__name__, error))
        finally:
            self.log.end(action)

    def round(self, seconds):
        begin = time.monotonic()
        self.hold_watchers(is_quiet(self.rounds))
        threads = []
        for action in round_actions(self.seed, self.rounds, len(self.targets), seconds, self.hotplug):
            time.sleep(max(0, begin + action.at - time.monotonic()))
            threads.append((threading.Thread(target=self.act, args=(action,), daemon=True), action))
            threads[-1][0].start()
        for thread, action in threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                self.log.complain("%s has not ended after %d s" % (action, PATIENCE))
        if not is_quiet(self.rounds):
            self.settle()
        self.read()
        self.rounds += 1

    def hold_watchers(self, held):
        for watcher in self.watchers:
            watcher.order("hold", held)

    def settle(self):
        for target in self.targets:
            self.act(Action(0, "back_to_base", target.number, 0))
        deadline = time.monotonic() + 20
        for target in self.targets:
            while self.cgroups_of(target) != ["watched"]:
                if time.monotonic() > deadline:
                    self.log.complain("%s: cgroups that are gone stay, or %s is not there: %s; failures: %s" % (
                        target.name, self.machine.below, self.cgroups_of(target),
                        json.loads(target.get("/api/v1/status"))["failures"]))
                    break
                time.sleep(0.1)

    @staticmethod
    def cgroups_of(target):
        return sorted(entry["state"] for entry in json.loads(target.get("/api/v1/cgroups"))["cgroups"]
                      if entry["state"] != "unwatched")

    def is_at_rest(self):
        return rounds_left(self.rounds) == 1 and self.log.is_at_rest()

    def read(self):
        """In a quiet second."""
        if not is_quiet(self.rounds):
            self.processes = [processes_of(target) for target in self.targets]
        self.hold_watchers(True)
        time.sleep(0.3)
        wakeups = quiet(self.processes, self.uses)
        for column, processes, uses, woken in zip(self.columns, self.processes, self.uses, wakeups):
            column.add(Reading(processes, uses, self.is_at_rest()), woken)
        self.hold_watchers(is_quiet(self.rounds))

    # --- the table

    def row(self, begin):
        for target, watcher, column, sums in zip(self.targets, self.watchers, self.columns, self.scrapes):
            report = watcher.order("report")
            for text in report["failures"] + report["falls"]:
                self.log.complain("%s: a scrape: %s" % (target.name, text))
            sums["falls"] += report["falls"]
            sums["count"] += report["count"]
            sums.update({key: report[key] for key in ("failed", "compared", "restarts", "undecided")})
            slowest = "-"
            if report["slow"]:
                seconds, since, until, form = report["slow"][0]
                slowest = "%.0f ms %s" % (seconds * 1e3, form)
                if seconds > self.slowest[0]:
                    self.slowest = seconds, "%s of %s, after %.0f s, beside: %s" % (
                        slowest, target.name, since - begin, self.log.during(since, until))
            print(column.row(begin, report, slowest), flush=True)

    def run(self):
        length, pace = SHORT if self.seconds < 300 else LONG
        begin = time.monotonic()
        print(HEAD, flush=True)
        rows = 0
        while True:
            since = time.monotonic()
            self.round(length)
            now = time.monotonic()
            last = now + 1.5 * (now - since) - begin > self.seconds
            if last or (now - begin) * ROWS >= (rows + 1) * self.seconds:
                rows = int((now - begin) * ROWS / self.seconds)
                self.row(begin)
            if last:
                break
            time.sleep(max(0, since + pace - time.monotonic()))
        for watcher in self.watchers:
            watcher.process.terminate()
        return self.figures(time.monotonic() - begin)

    def figures(self, seconds):
        return {
            "seed": self.seed, "seconds": round(seconds, 1), "rounds": self.rounds,
            "actions": sum(self.log.counts.values()), "kinds": self.log.counts,
            "cgroups": self.machine.cgroups_made, "processes": self.machine.processes_made,
            "reloads": sum(loads.reloads for loads in self.loads),
            "complaints": self.log.complaints, "n_complaints": self.log.n_complaints,
            "slowest_ms": round(self.slowest[0] * 1e3, 1), "slowest": self.slowest[1],
            "daemons": {column.name: {
                "scrapes": sums["count"], "failed": sums["failed"], "falls": len(sums["falls"]),
                "compared": sums["compared"], "restarts": sums["restarts"], "undecided": sums["undecided"],
                "memory": column.memory(), "descriptors_growth": column.growth("descriptors"),
                "more_descriptors": column.more_descriptors(),
                "watches_growth": column.growth("watches"), "quiet_wakeups": statistics.median(column.quiet),
            } for column, sums in zip(self.columns, self.scrapes)},
        }


def main():
    if sys.argv[1] == "--plan":
        for number in range(int(sys.argv[2])):
            for action in round_actions(int(sys.argv[3]), number, 2, LONG[0]):
                print("%d %6.3f %s, %d" % (number, action.at, action, action.seed))
        return
    with open(sys.argv[1]) as file:
        setup = json.load(file)
    soak = Soak(setup, float(sys.argv[2]), int(sys.argv[3]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the watchers as well
    figures = soak.run()
    with open(sys.argv[1] + ".figures", "w") as file:
        json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
