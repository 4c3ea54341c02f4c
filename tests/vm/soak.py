#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that clients and a board do to a daemon, mixed, for long: scrapes, rates, samples, profiles, reloads, pauses,
garbage, cgroups and a CPU that come and go.

usage: soak.py URL CONTROL SECONDS SEED      SECONDS are the board's; the same seed makes the same plan
       soak.py --check                       that a leak is found, and noise is none

A round is some seconds of actions, which follow from the seed, and a quiet moment with the first configuration again:
memory, descriptors and watches are read there. In the last part of each CYCLE nobody samples, so that the sampler lets
go of its tables after its minute: readings are compared in such moments alone. Exit 1, with the reasons, if a scrape
failed, a total fell, an action had another answer than it should, or something grew.

The bound: in a process of 2 MB that grows by 50 KB an hour, a quarter of an hour has 12 KB, three pages, which is about
what readings scatter by. So the line of least squares through all but the first cycle may rise by three pages more than
twice its standard error. Descriptors and watches may not rise at all.
"""
import http.client
import json
import os
import random
import statistics
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from watch import Scraper

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../soak"))
from line import slope  # noqa: E402

PAGES = 12  # KB: see above
ROUND = 5.0
CYCLE, RESTING, LINGER = 140.0, 85.0, 62.0  # seconds of the board
SAMPLING = {"stream", "abort"}
TIMEOUT = 10  # seconds: Prometheus's default for a scrape
STREAMS = ["/api/v1/samples?seconds=1&frequency=50", "/api/v1/samples?max=20", "/api/v1/perf.data?seconds=1",
           "/api/v1/folded?seconds=1", "/debug/pprof/profile?seconds=1"]
GARBAGE = [(b"GET /nothing HTTP/1.1\r\nHost: b\r\n\r\n", b"404"), (b"BREW / HTTP/1.1\r\nHost: b\r\n\r\n", b"405"),
           (b"GET /api/v1/rates?seconds=-1 HTTP/1.1\r\nHost: b\r\n\r\n", b"400"),
           (b"\x16\x03\x01\x00\x05hello\r\n\r\n", b"400"),
           (b"GET / HTTP/1.1\r\nHost: b\r\nX: " + b"a" * 70000 + b"\r\n\r\n", b"431")]
# On the board: a line for each process with its name, anonymous KB, descriptors and watches; then the board's seconds.
READ = """pid=$(cat /tmp/daemon.pid)
for p in $pid $(cat /proc/$pid/task/$pid/children); do
    echo $(cat /proc/$p/comm) $(awk '$1 == "Anonymous:" { print $2 }' /proc/$p/smaps_rollup) $(ls /proc/$p/fd | wc -l) \
        $(cat /proc/$p/fdinfo/* 2>/dev/null | grep -c ^inotify)
done
cut -d' ' -f1 /proc/uptime"""
# Descriptors by their kinds, for a person.
KINDS_OF_FILES = """for p in $(cat /tmp/daemon.pid) $(cat /proc/$(cat /tmp/daemon.pid)/task/*/children); do
    ls -l /proc/$p/fd | sed "s/.*-> //; s/[0-9][0-9]*/N/g; s/^/$(cat /proc/$p/comm) /"
done | sort | uniq -c"""
CGROUPS = """cd /sys/fs/cgroup
for i in %s; do mkdir soak$i.slice; done
for i in %s; do sh -c "echo \\$\\$ >/sys/fs/cgroup/soak$i.slice/cgroup.procs; exec spin 1 1" >/dev/null; done
for i in %s; do
    n=0
    until rmdir soak$i.slice 2>/dev/null; do usleep 20000; n=$((n + 1)); [ $n -lt 500 ] || exit 1; done
done"""
HOTPLUG = "cd /sys/devices/system/cpu/cpu3; echo 0 >online; usleep %d; echo 1 >online"
RELOAD = """cp /tmp/%s.yaml /etc/perfcountd.yaml
wget -q -O - --post-data= http://127.0.0.1:10298/-/reload >/dev/null"""
BROKEN = """echo 'web: {min_interval: soon}' >/etc/perfcountd.yaml
! wget -q -O - --post-data= http://127.0.0.1:10298/-/reload >/dev/null 2>&1"""
PAUSE = "wget -q -O - --post-data= 'http://127.0.0.1:10298/api/v1/pause?seconds=1' >/dev/null"
# How often a round has one.
KINDS = {"rates": 2.0, "stream": 2.0, "abort": 1.0, "garbage": 1.0, "half_open": 0.5, "reload": 1.0,
         "broken_reload": 0.3, "pause": 0.3, "cgroups": 1.0, "hotplug": 0.7}


def grows(points):
    """Whether memory does, behind the first cycle of (seconds, KB)."""
    part = [point for point in points if point[0] >= points[0][0] + CYCLE]
    rise, error = (of_a_second * (part[-1][0] - part[0][0]) for of_a_second in slope(part))
    return rise - 2 * error > PAGES, rise, error


def check():
    choice = random.Random(1)
    noise = [(x, 2000 + choice.choice([0, 4, 8, 40])) for x in range(0, 900, 65)]
    leak = [(x, y + x / 7.5) for x, y in noise]  # 8 KB a minute
    for points, expected in (noise, False), (leak, True), ([(x, 2000 - 100 * (x < 100)) for x in range(900)], False):
        if grows(points)[0] != expected:
            sys.exit("the judge is wrong: %r" % (grows(points),))
    print("a leak of 8 KB a minute is found, and noise is none")


class Board:
    def __init__(self, control):
        self.control = control

    def run(self, script):
        with urllib.request.urlopen(self.control, data=script.encode(), timeout=120) as response:
            answer = response.read().decode()
        text, _, status = answer.rpartition("\nstatus ")
        if status.strip() != "0":
            raise RuntimeError("the board: status %s: %s" % (status.strip(), text[-200:]))
        return text


class Actions:
    """The functions do something to the daemon, and fail where the answer is not right."""

    def __init__(self, url, board):
        self.url, self.board, self.serial = url, board, 0
        address = urllib.parse.urlsplit(url)
        self.host, self.port = address.hostname, address.port
        self.configuration = threading.Lock()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            return response.read()

    def rates(self, choice):
        seconds = choice.choice([0.1, 0.5, 2])
        document = json.loads(self.get("/api/v1/rates?seconds=%s" % seconds))
        if not seconds <= document["seconds"] < seconds + 5:
            raise RuntimeError("rates of %s s are of %s" % (seconds, document["seconds"]))

    def stream(self, choice):
        path = choice.choice(STREAMS)
        body = self.get(path)
        if not body and "folded" not in path:
            raise RuntimeError("%s is empty" % path)
        if "samples" in path:
            end = json.loads(body.splitlines()[-1])
            if end["type"] != "end" or end["malformed"]:
                raise RuntimeError("a stream ends by %r" % end)

    def connect(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.connect()
        return connection.sock

    def abort(self, choice):
        with self.connect() as connected:
            connected.sendall(b"GET /api/v1/samples?seconds=60 HTTP/1.1\r\nHost: b\r\n\r\n")
            connected.recv(choice.choice([1, 4000]))

    def garbage(self, choice):
        data, status = choice.choice(GARBAGE)
        with self.connect() as connected:
            try:
                connected.sendall(data)
                answer = connected.recv(4096)
            except ConnectionError:
                return
            if answer and answer[9:12] != status:
                raise RuntimeError("%r has %r" % (data[:40], answer[:40]))

    def half_open(self, choice):
        opened = [self.connect() for _ in range(3)]
        for connected in opened:
            connected.sendall(b"GET /metrics HTTP/1.1\r\nHo")
        time.sleep(choice.choice([0.1, 1]))
        for connected in opened:
            connected.close()

    def reload(self, choice):
        with self.configuration:
            self.board.run(RELOAD % choice.choice(["one", "two"]))

    def broken_reload(self, _choice):
        with self.configuration:
            self.board.run(BROKEN)

    def pause(self, _choice):
        self.board.run(PAUSE)

    def cgroups(self, choice):
        first = self.serial
        self.serial += choice.choice([1, 3, 8])
        names = " ".join(map(str, range(first, self.serial)))
        self.board.run(CGROUPS % (names, names, names))

    def hotplug(self, choice):
        with self.configuration:  # one at a time
            self.board.run(HOTPLUG % choice.choice([1000, 100000, 500000]))


class Soak:
    def __init__(self, url, control, seed):
        self.board, self.seed = Board(control), seed
        self.actions = Actions(url, self.board)
        # Series of configurations that come and go begin again.
        self.scraper = Scraper(url, TIMEOUT, 'group="extra"|perfcountd_process')
        self.complaints, self.scrapes, self.slowest = [], [], (0.0, 0.0)
        self.times, self.lock, self.ended, self.held = [], threading.Lock(), threading.Event(), threading.Event()
        self.readings = {}  # by process, while the sampler is at rest: (seconds, KB)
        self.memory, self.files = "", 0  # for a person
        self.sampled = 0.0  # the board's seconds, when somebody may have last
        self.descriptors, self.watches, self.counts = [], [], {}

    def complain(self, text):
        with self.lock:
            self.complaints.append(text)
        print("BAD: " + text, flush=True)

    def scrape(self):
        while not self.ended.wait(0.1):
            if self.held.is_set():
                continue
            begin, seconds, series, outcome = self.scraper.scrape().split(" ", 3)
            if outcome != "ok":
                self.complain("a scrape: %s, beside: %s" % (outcome[:500], self.during(float(begin), float(seconds))))
            self.scrapes.append((float(seconds), float(begin), int(series)))

    def during(self, begin, seconds):
        with self.lock:
            return ", ".join(sorted({kind for since, until, kind in self.times
                                     if since < begin + seconds and until > begin})) or "nothing"

    def act(self, kind, seed):
        begin = time.monotonic()
        entry = [begin, float("inf"), kind]
        with self.lock:
            self.times = self.times[-500:] + [entry]
            self.counts[kind] = self.counts.get(kind, 0) + 1
        try:
            getattr(self.actions, kind)(random.Random(seed))
        except urllib.error.HTTPError as error:
            # Streams are limited in number, and none can be had in a pause.
            if error.code != 503 or kind != "stream":
                self.complain("%s: %s" % (kind, error))
        except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
            self.complain("%s: %r" % (kind, error))
        entry[1] = time.monotonic()

    def round(self, number, resting=False):
        choice = random.Random("%d/%d" % (self.seed, number))
        plan = sorted((choice.uniform(0, ROUND), kind, choice.getrandbits(32)) for kind, often in KINDS.items()
                      for _ in range(int(often) + (choice.random() < often % 1)) if not (resting and kind in SAMPLING))
        begin, threads = time.monotonic(), []
        for at, kind, seed in plan:
            time.sleep(max(0, begin + at - time.monotonic()))
            threads.append(threading.Thread(target=self.act, args=(kind, seed), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join(120)
        self.board.run(RELOAD % "one")

    def read(self, resting=False):
        """In a quiet moment: the removed cgroups linger no more. `resting`: nobody has sampled in this round."""
        self.held.set()
        time.sleep(2.5)
        *lines, uptime = self.board.run(READ).split("\n")[:-1] or [""]
        self.held.clear()
        self.sampled = self.sampled if resting else float(uptime)
        fields = [line.split() for line in lines]
        self.memory = " ".join("%s %s KB" % (name, memory) for name, memory, _, _ in fields)
        self.files = sum(int(line[2]) for line in fields)
        if float(uptime) - self.sampled > LINGER:
            self.descriptors.append(self.files)
            self.watches.append(sum(int(line[3]) for line in fields))
            for name, memory, _, _ in fields:
                self.readings.setdefault(name, []).append((float(uptime), int(memory)))
        return float(uptime)

    def row(self, seconds):
        slowest = max(self.scrapes[-200:], default=(0, 0, 0))
        print("%6.0f s  %-60s %4d files %6d scrapes of %d series, the slowest of late %.2f s beside %s" % (
            seconds, self.memory, self.files, len(self.scrapes), slowest[2], slowest[0],
            self.during(slowest[1], slowest[0])), flush=True)
        if slowest[0] > self.slowest[0]:
            self.slowest = slowest[0], self.during(slowest[1], slowest[0])

    def run(self, seconds):
        scraping = threading.Thread(target=self.scrape, daemon=True)
        scraping.start()
        self.round(0)
        first, number, now = self.read(), 1, 0.0
        while now < seconds:
            resting = now % CYCLE >= CYCLE - RESTING
            self.round(number, resting)
            number += 1
            now = self.read(resting) - first
            if number % max(1, int(seconds / 100)) == 0:
                self.row(now)
        self.ended.set()
        scraping.join()
        return number, now

    def judge(self):
        for name, points in self.readings.items():
            too_much, rise, error = grows(points)
            print("%s: %+.1f KB behind the first cycle, with a standard error of %.1f, by %d readings: %s" % (
                name, rise, error, len(points), " ".join(str(memory) for _, memory in points)))
            if error > 5 * PAGES:
                self.complain("the memory of %s cannot be judged" % name)
            if too_much:
                self.complain("the memory of %s grows" % name)
        for what, values in ("descriptors", self.descriptors), ("watches", self.watches):
            quarter = len(values) // 4
            growth = statistics.median(values[-quarter:]) - statistics.median(values[quarter:2 * quarter])
            print("%s: %+d from the second quarter to the last" % (what, growth))
            if growth > 0:
                self.complain("%s grow: there are now\n%s" % (what, self.board.run(KINDS_OF_FILES)))


def main():
    if sys.argv[1] == "--check":
        check()
        return
    url, control, seconds, seed = sys.argv[1:]
    soak = Soak(url, control, int(seed))
    rounds, lasted = soak.run(float(seconds))
    soak.judge()
    kinds = ", ".join("%d %s" % (n, kind.replace("_", " ")) for kind, n in sorted(soak.counts.items()))
    print("%d rounds in %d seconds of the board, %d scrapes, %d actions: %s; the slowest scrape took %.2f s, beside %s"
          % (rounds, lasted, len(soak.scrapes), sum(soak.counts.values()), kinds, *soak.slowest))
    if soak.complaints:
        sys.exit("%d complaints, the first: %s" % (len(soak.complaints), soak.complaints[0][:500]))


if __name__ == "__main__":
    main()
