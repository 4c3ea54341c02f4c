#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes and removes cgroups at a steady rate, each with a program of a known number of page faults 100 ms after its
creation, while it scrapes the daemon at 10 Hz. Prints as JSON what was caused and what the scrapes had of it.

One in ten comes back under its name while it lingers, and one in ten later: a total then goes on, or starts at 0.
"""
import argparse
import collections
import heapq
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import http.client

SERIES = re.compile(r'perf_cgroup_minor_faults_total\{(.*)\} (\S+)$')
LABEL = re.compile(r'cgroup="([^"]*)"')
PAGES = 1500  # of each program, and a few more to tell them apart
STARTS_AFTER = 0.1  # by then a new cgroup is counted
RATE = 10


class Scraper(threading.Thread):
    """What 10 scrapes a second see: what each total grew by, over all the lives of its series."""

    def __init__(self, url, below):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url)
        self.below = below
        self.ends = threading.Event()
        self.last = {}
        self.counted = collections.Counter()  # by name, over all its lives
        self.lives = collections.Counter()
        self.scrapes = self.failed = self.fell = self.failed_collectors = 0
        self.slowest = 0.0
        self.complaints = []

    def run(self):
        next_time = time.monotonic()
        connection = None
        while not self.ends.is_set():
            next_time += 1 / RATE
            begin = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection(self.address.netloc, timeout=5)
                connection.request("GET", "/metrics")
                response = connection.getresponse()
                text = response.read().decode()
                if response.status != 200:
                    raise OSError("status %d" % response.status)
                self.take(text)
            except (OSError, http.client.HTTPException) as error:
                self.failed += 1
                self.complain("scrape: %s" % error)
                connection = None
            self.scrapes += 1
            self.slowest = max(self.slowest, time.monotonic() - begin)
            self.ends.wait(max(0, next_time - time.monotonic()))

    def take(self, text):
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
            elif value < self.last[name]:
                self.fell += 1
                self.complain("%s fell from %d to %d" % (name, self.last[name], value))
            self.counted[name] += value - self.last.get(name, 0)
        self.last = now

    def complain(self, text):
        if len(self.complaints) < 10:
            self.complaints.append(text)
            print(text, file=sys.stderr)


class Churn:
    """The lives of the cgroups: made, loaded, removed; a heap of what is due next."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.due = []
        self.serial = 0
        self.caused = collections.Counter()
        self.made = collections.Counter()
        self.created = self.removed = self.returns_within = self.returns_after = 0
        self.latest = 0.0

    def at(self, when, action, *arguments):
        self.serial += 1
        heapq.heappush(self.due, (when, self.serial, action, arguments))

    def plan(self, begin):
        """Which name is made when: mostly new ones, one in ten twice soon, one in ten twice late."""
        count, seconds, linger = self.arguments.cgroups, self.arguments.seconds, self.arguments.linger
        step = seconds / count
        number = 0
        made = 0
        again = []
        while made < count:
            when = begin + made * step
            if again and again[0][0] <= when:
                name = heapq.heappop(again)[1]
            else:
                name = "%s/%s%d" % (self.arguments.below, self.arguments.name, number)
                # It lives about 0.2 s; its removal is noticed at once, and it is forgotten at a scrape or by a timer.
                if number % 10 == 3:
                    heapq.heappush(again, (when + 0.2 + linger / 2, name))
                elif number % 10 == 7:
                    heapq.heappush(again, (when + 0.2 + linger + 1.5, name))
                number += 1
            self.at(when, self.create, name)
            made += 1

    def run(self):
        while self.due:
            when, _, action, arguments = heapq.heappop(self.due)
            time.sleep(max(0, when - time.monotonic()))
            self.latest = max(self.latest, time.monotonic() - when)
            action(*arguments)

    def create(self, name):
        os.mkdir(self.arguments.root + name)
        self.created += 1
        self.made[name] += 1
        self.at(time.monotonic() + STARTS_AFTER, self.load, name)

    def load(self, name):
        pages = PAGES + self.created % 100
        process = subprocess.Popen([self.arguments.load, self.arguments.root + name, "faults", str(pages)])
        self.caused[name] += pages
        self.at(time.monotonic() + 0.02, self.remove, name, process)

    def remove(self, name, process):
        if process.poll() is None:
            self.at(time.monotonic() + 0.005, self.remove, name, process)
            return
        if process.returncode:
            sys.exit("the load failed with status %d" % process.returncode)
        try:
            os.rmdir(self.arguments.root + name)
            self.removed += 1
        except OSError:  # EBUSY for a moment
            self.at(time.monotonic() + 0.005, self.remove, name, process)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("load", "root", "below", "url", "name"):
        parser.add_argument("--" + name, required=True)
    for name in ("cgroups", "seconds", "linger"):
        parser.add_argument("--" + name, type=int, required=True)
    arguments = parser.parse_args()
    scraper = Scraper(arguments.url, arguments.below)
    churn = Churn(arguments)
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
    twice = [name for name, made in churn.made.items() if made == 2]
    # A name of this run was made again sooner or later: its number says which was meant.
    soon = [name for name in twice if int(name.rsplit(arguments.name, 1)[1]) % 10 == 3]
    late = [name for name in twice if name not in soon]
    short = sorted(((value - own.get(name, 0), name) for name, value in churn.caused.items()), reverse=True)
    for missing, name in short[:5]:
        if missing > 0.01 * PAGES:
            print("%s lacks %d of %d" % (name, missing, churn.caused[name]), file=sys.stderr)
    json.dump({
        "seconds": round(seconds, 1), "created": churn.created, "removed": churn.removed,
        "latest": round(churn.latest, 3), "scrapes": scraper.scrapes, "failed_scrapes": scraper.failed,
        "slowest_scrape": round(scraper.slowest, 3), "fell": scraper.fell,
        "failed_collectors": scraper.failed_collectors, "caused": sum(churn.caused.values()),
        "counted": sum(own.values()), "counted_by_parent": scraper.last.get(arguments.below, 0) - parent,
        "incomplete": sum(1 for missing, _ in short if missing > 0.01 * PAGES),
        "returns_within": len(soon), "returns_after": len(late),
        "fresh_returns": sum(1 for name in soon if scraper.lives[name] != 1),
        "stale_returns": sum(1 for name in late if scraper.lives[name] != 2),
    }, sys.stdout)
    print()


if __name__ == "__main__":
    main()
