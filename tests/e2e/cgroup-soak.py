#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes and removes cgroups at a steady rate, each with a program of a known number of page faults once a scrape has
it, while it scrapes the daemon at 10 Hz. Prints as JSON the faults that were caused and those that the scrapes had.

One in ten comes back under its name while it lingers, and one in ten once it is gone: a total then goes on, or starts
at 0. A step that is due waits for those it rests on, so that a busy machine makes it longer and not wrong.
"""
import argparse
import collections
import heapq
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
import http.client

SERIES = re.compile(r'perf_cgroup_minor_faults_total\{(.*)\} (\S+)$')
LABEL = re.compile(r'cgroup="([^"]*)"')
PAGES = 1500  # of each program, and a few more, so that each has its own number
STARTS_AFTER = 0.1  # by then a new cgroup is counted
PATIENCE = 20  # for a scrape to have it
ALIVE_MAX = 30  # at a time; with a machine that keeps up it is half of that
RATE = 10


class Scraper(threading.Thread):
    """Scrapes 10 times a second and notes how much each total grew, over all the lives of its series."""

    def __init__(self, url, below):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url)
        self.below = below
        self.ends = threading.Event()
        self.last = {}
        self.seen = {}, 0.0  # the same and when that scrape began, for other threads
        self.counted = collections.Counter()  # by name, over all its lives
        self.lives = collections.Counter()
        self.begun = 0
        self.appeared = {}  # by name, in which of those begun
        self.scrapes = self.failed = self.fell = self.failed_collectors = 0
        self.slowest = 0.0
        self.complaints = []

    def run(self):
        next_time = time.monotonic()
        connection = None
        while not self.ends.is_set():
            next_time = max(next_time, time.monotonic()) + 1 / RATE
            begin = time.monotonic()
            self.begun += 1
            try:
                connection = connection or http.client.HTTPConnection(self.address.netloc, timeout=5)
                connection.request("GET", "/metrics")
                response = connection.getresponse()
                text = response.read().decode()
                if response.status != 200:
                    raise OSError("status %d" % response.status)
                self.take(text, begin)
            except (OSError, http.client.HTTPException) as error:
                self.failed += 1
                self.complain("scrape: %s" % error)
                connection = None
            self.scrapes += 1
            self.slowest = max(self.slowest, time.monotonic() - begin)
            self.ends.wait(max(0, next_time - time.monotonic()))

    def has(self, name, since):
        """A scrape that began after that has it."""
        last, began = self.seen
        return began > since and name in last

    def lacks(self, name, since):
        last, began = self.seen
        return began > since and name not in last

    def take(self, text, began):
        now = {}
        for line in text.splitlines():
            match = SERIES.match(line)
            if match:
                name = LABEL.search(match[1])[1]
                now[name] = now.get(name, 0) + int(float(match[2]))
            elif line.startswith("perfcountd_collector_success") and not line.endswith(" 1"):
                self.failed_collectors += 1
        for name, value in now.items():
            if name not in self.last:
                self.lives[name] += 1
                self.appeared[name] = self.begun
            elif value < self.last[name]:
                self.fell += 1
                self.complain("%s fell from %d to %d" % (name, self.last[name], value))
            self.counted[name] += value - self.last.get(name, 0)
        self.last = now
        self.seen = now, began

    def complain(self, text):
        if len(self.complaints) < 10:
            self.complaints.append(text)
            print(text, file=sys.stderr)


class Churn:
    """The lives of the cgroups: made, loaded, removed; a heap of what is due next."""

    def __init__(self, arguments, scraper):
        self.arguments = arguments
        self.scraper = scraper
        self.due = []
        self.serial = 0
        self.caused = collections.Counter()
        self.soon, self.late = set(), set()  # names that came back so
        self.created = self.removed = self.unseen = self.too_late = 0
        self.alive = 0
        self.latest = 0.0
        self.seen_after = []  # in scrapes begun since it was made

    def at(self, when, action, *arguments):
        self.serial += 1
        heapq.heappush(self.due, (when, self.serial, action, arguments))

    def plan(self, begin):
        """When each name is made, and whether it returns: of those that have time, one in ten soon, one in ten late."""
        count, seconds, linger = self.arguments.cgroups, self.arguments.seconds, self.arguments.linger
        step = seconds / count
        returns = {3: self.return_soon, 7: self.return_late}
        names = []
        for number in range(count):
            name = "%s/%s%d" % (self.arguments.below, self.arguments.name, number)
            names.append((name, returns.get(number % 10) if number * step + linger + 1.5 < seconds else None))
        self.at(begin, self.create_next, iter(names), step)

    def create_next(self, names, step):
        """One after the other, never faster to make up for what was late."""
        if self.alive < ALIVE_MAX:
            name, again = next(names, (None, None))
            if not name:
                return
            self.create(name, again)
        self.at(time.monotonic() + step, self.create_next, names, step)

    def run(self):
        while self.due:
            when, _, action, arguments = heapq.heappop(self.due)
            time.sleep(max(0, when - time.monotonic()))
            self.latest = max(self.latest, time.monotonic() - when)
            action(*arguments)

    def create(self, name, again=None):
        begun = self.scraper.begun
        os.mkdir(self.arguments.root + name)
        self.created += 1
        self.alive += 1
        now = time.monotonic()
        self.at(now + STARTS_AFTER, self.load, name, again, now, begun)

    def load(self, name, again, created, begun):
        """Once a scrape that began later has it: one that lingered was in those before."""
        if not self.scraper.has(name, created):
            if time.monotonic() < created + PATIENCE:
                self.at(time.monotonic() + 0.01, self.load, name, again, created, begun)
                return
            self.unseen += 1
        elif self.scraper.appeared[name] >= begun:
            self.seen_after.append(self.scraper.appeared[name] - begun)
        pages = PAGES + self.created % 100
        process = subprocess.Popen([self.arguments.load, self.arguments.root + name, "faults", str(pages)])
        self.caused[name] += pages
        self.at(time.monotonic() + 0.02, self.remove, name, again, process)

    def remove(self, name, again, process):
        if process.poll() is None:
            self.at(time.monotonic() + 0.005, self.remove, name, again, process)
            return
        if process.returncode:
            sys.exit("the load failed with status %d" % process.returncode)
        try:
            os.rmdir(self.arguments.root + name)
        except OSError:  # EBUSY for a moment
            self.at(time.monotonic() + 0.005, self.remove, name, again, process)
            return
        self.removed += 1
        self.alive -= 1
        if again:
            self.at(time.monotonic() + self.arguments.linger / 2, again, name, time.monotonic())

    def return_soon(self, name, removed):
        """While it lingers, unless the machine was late."""
        self.create(name)
        if time.monotonic() < removed + 0.75 * self.arguments.linger:
            self.soon.add(name)
        else:
            self.too_late += 1

    def return_late(self, name, removed):
        """Once no scrape has it any more."""
        waited = time.monotonic() - removed
        if not self.scraper.lacks(name, removed) and waited < self.arguments.linger + PATIENCE:
            self.at(time.monotonic() + 0.01, self.return_late, name, removed)
            return
        self.late.add(name)
        self.create(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("load", "root", "below", "url", "name"):
        parser.add_argument("--" + name, required=True)
    for name in ("cgroups", "seconds", "linger"):
        parser.add_argument("--" + name, type=int, required=True)
    arguments = parser.parse_args()
    scraper = Scraper(arguments.url, arguments.below)
    churn = Churn(arguments, scraper)
    scraper.start()
    time.sleep(0.5)
    parent = scraper.last.get(arguments.below, 0)
    begin = time.monotonic()
    churn.plan(begin)
    churn.run()
    seconds = time.monotonic() - begin
    time.sleep(1)  # some more scrapes while the last ones linger
    scraper.ends.set()
    scraper.join()
    own = {name: value for name, value in scraper.counted.items() if name != arguments.below and name in churn.caused}
    short = sorted(((value - own.get(name, 0), name) for name, value in churn.caused.items()), reverse=True)
    for missing, name in short[:5]:
        if missing > 0.01 * PAGES:
            print("%s lacks %d of %d" % (name, missing, churn.caused[name]), file=sys.stderr)
    json.dump({
        "seconds": round(seconds, 1), "created": churn.created, "removed": churn.removed,
        "latest": round(churn.latest, 3), "unseen": churn.unseen,
        "seen_after": statistics.median(churn.seen_after), "scrapes": scraper.scrapes, "failed_scrapes": scraper.failed,
        "slowest_scrape": round(scraper.slowest, 3), "fell": scraper.fell,
        "failed_collectors": scraper.failed_collectors, "caused": sum(churn.caused.values()),
        "counted": sum(own.values()), "counted_by_parent": scraper.last.get(arguments.below, 0) - parent,
        "incomplete": sum(1 for missing, _ in short if missing > 0.01 * PAGES),
        "returns_within": len(churn.soon), "returns_after": len(churn.late), "returns_too_late": churn.too_late,
        "fresh_returns": sum(1 for name in churn.soon if scraper.lives[name] != 1),
        "stale_returns": sum(1 for name in churn.late if scraper.lives[name] != 2),
    }, sys.stdout)
    print()


if __name__ == "__main__":
    main()
