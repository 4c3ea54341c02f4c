# SPDX-License-Identifier: Apache-2.0
"""Clients of a daemon: connections with or without TLS, and a scraper that compares each total with its previous
value."""
import collections
import contextlib
import gzip
import http.client
import json
import os
import re
import socket
import ssl
import struct
import threading
import time

TIMEOUT = 60  # seconds until a response must be complete
GOOD, BAD = "127.0.0.1", "127.0.0.2"  # addresses of ordinary and of malicious clients
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
GZIP = {"Accept-Encoding": "gzip"}
# The requests that the scraper makes in turn. Every second response has _created, which tells whether a decrease of a
# total is an error.
SCRAPES = [("/metrics", OPENMETRICS), ("/metrics", {}), ("/metrics", {**OPENMETRICS, **GZIP}), ("/api/v1/counters", {}),
           ("/metrics", OPENMETRICS), ("/metrics?collect[]=cpu&collect[]=self", GZIP), ("/metrics", OPENMETRICS),
           ("/api/v1/counters?collector=cgroup", GZIP)]


class Complaint(Exception):
    """Something that the daemon did wrong."""


def eventually(what, condition):
    """Waits for the condition; after a minute, complains about `what`."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise Complaint("not within 60 s: %s" % what)
        time.sleep(0.05)


class Target:
    """A daemon: its address, process and configuration."""

    def __init__(self, name, pid, port, config, ca):
        self.name, self.engine, self.pid, self.port, self.config = name, name, int(pid), int(port), config
        self.context = ssl.create_default_context(cafile=ca) if ca else None

    def socket(self, source=GOOD):
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT, source_address=(source, 0))

    def secured(self, plain):
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain

    @contextlib.contextmanager
    def response(self, path, method="GET", headers=None):
        if self.context:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=TIMEOUT, context=self.context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers or {})
            yield connection.getresponse()

    def ask(self, path, method="GET", headers=None):
        """Returns the status and the body."""
        with self.response(path, method, headers) as response:
            body = response.read()
            return response.status, gzip.decompress(body) if response.getheader("Content-Encoding") == "gzip" else body

    def get(self, path, method="GET", headers=None):
        status, body = self.ask(path, method, headers)
        if status != 200:
            raise Complaint("%s %s: status %d: %s" % (method, path, status, body[:300]))
        return body

    def json(self, path):
        return json.loads(self.get(path))

    def kept(self):
        """Returns how many descriptors of each kind, and inotify watches, the daemon's processes have."""
        found = collections.Counter()
        for process in self.json("/api/v1/status")["processes"]:
            directory = "/proc/%d" % process["pid"]
            for fd in os.listdir(directory + "/fd"):
                with contextlib.suppress(FileNotFoundError):
                    file = re.sub(r"\d+", "N", os.readlink("%s/fd/%s" % (directory, fd)))
                    with open("%s/fdinfo/%s" % (directory, fd)) as info:
                        found[process["process"] + "'s inotify watches"] += info.read().count("\ninotify ")
                    if not file.startswith(("socket:", "/proc/")):  # these come and go with clients
                        found["%s's %s" % (process["process"], file)] += 1
        return found

    def memory(self):
        """Returns the memory use in a form that bench/soak.py parses."""
        with open("/proc/%d/smaps_rollup" % self.pid) as rollup:
            return "%s has %s kB" % (self.name, re.search(r"^Anonymous: *(\d+) kB", rollup.read(), re.M)[1])


def reset(connected):
    """Closes a connection with a reset."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connected.close()


def series_key(name, labels):
    return name + "{" + ",".join('%s="%s"' % item for item in sorted(labels)) + "}"


class Page:
    """The totals of a response by series, and the creation times of the series, if the response has them."""

    def __init__(self, body):
        self.totals, self.created, self.failed = {}, {}, []
        self.has_created = body.endswith(b"# EOF\n")
        if body.startswith(b"{"):
            self.read_counters(json.loads(body))
        else:
            self.read_text(body.decode())
            if not self.totals:
                raise Complaint("a response without totals: %r" % body[:200])

    def read_text(self, text):
        for match in filter(None, map(SAMPLE.match, text.splitlines())):
            name, labels, value = match[1], LABEL.findall(match[2] or ""), float(match[3])
            if name.endswith("_total"):
                self.totals[series_key(name, labels)] = value
            elif name.endswith("_created"):
                self.created[series_key(name[:-len("_created")] + "_total", labels)] = value
            elif name == "perfcountd_process_start_time_seconds":  # a restarted helper starts at 0
                self.created[series_key("perfcountd_process_cpu_seconds_total", labels)] = value
            elif name == "perfcountd_collector_success" and value != 1:
                self.failed.append(match[0])

    def read_counters(self, document):
        for counter in document["counters"]:
            if counter["collector"] == "self" or counter["value"] is None:
                continue
            name = "perf_%s_%s%s_total" % (counter["collector"], counter["event"],
                                           "_" + counter["unit"] if counter["unit"] else "")
            labels = [(label, str(counter[label])) for label in ("cgroup", "cpu", "pmu", "group") if label in counter]
            self.totals[series_key(name, labels)] = float(counter["value"])


class Totals:
    """A total may decrease only if its _created is later than the last scrape, or if a reload since then may have
    removed it. If the format has no _created, the next OpenMetrics response decides."""

    def __init__(self):
        self.last, self.doubtful, self.reloads = {}, {}, []
        self.falls, self.compared = [], 0

    def announce(self, pattern):
        """Must be called before a reload: from now on, totals of series that match the pattern may decrease."""
        if pattern:
            self.reloads.append((time.time(), re.compile(pattern)))

    def take(self, page, now):
        """Compares the totals of a page that was requested at the time `now`."""
        for key, value in page.totals.items():
            before, seen = self.last.get(key, (0.0, now))
            self.compared += 1
            if value < before and not any(when > seen - 2 and pattern.search(key) for when, pattern in self.reloads):
                self.doubtful.setdefault(key, (before, seen, value))
            self.last[key] = value, now
        for key in [key for key in self.doubtful if page.has_created]:
            before, seen, value = self.doubtful.pop(key)
            # _created has a resolution of a millisecond.
            if key in page.totals and page.created.get(key, 0) < seen - 0.002:
                self.falls.append("%s fell from %.9g to %.9g" % (key, before, value))


class Scraper(threading.Thread):
    """An ordinary client, whose requests must all succeed."""

    def __init__(self, target, complain):
        super().__init__(daemon=True)
        self.target, self.complain, self.totals = target, complain, Totals()
        self.count, self.ends = 0, threading.Event()

    def scrape(self, path, headers):
        now = time.time()
        body = self.target.get(path, headers=headers)
        if headers.get("Accept") and not body.endswith(b"# EOF\n"):
            raise Complaint("%s ends without # EOF" % path)
        page = Page(body)
        if page.failed:
            raise Complaint("a collector failed: %s" % page.failed)
        self.totals.take(page, now)
        self.count += 1

    def run(self):
        while not self.ends.wait(0.2):
            path, headers = SCRAPES[self.count % len(SCRAPES)]
            try:
                self.scrape(path, headers)
            except Exception as error:  # any error, since a scrape must succeed
                self.complain("a scrape of %s: %s: %s" % (self.target.name, type(error).__name__, error))
                self.count += 1
        for fall in self.totals.falls:
            self.complain("%s: %s" % (self.target.name, fall))


def check_judge():
    """Tests Totals: a decrease is noticed, unless the series was recreated."""
    def falls(*pages):
        totals = Totals()
        for second, page in enumerate(pages):
            totals.take(Page(page), 1000.0 + second)
        return len(totals.falls)

    end = b"\n# EOF\n"
    assert falls(b"a_total 5\na_created 1" + end, b"a_total 5\na_created 1" + end) == 0
    assert falls(b"a_total 5\na_created 1" + end, b"a_total 4\na_created 1" + end) == 1
    assert falls(b"a_total 5", b"a_total 4", b"a_total 4\na_created 1000.5" + end) == 0
    assert falls(b"a_total 5", b"a_total 4", b"a_total 4\na_created 900" + end) == 1
    assert falls(b"a_total 5", b"b_total 1", b"a_total 4", b"a_total 4" + end) == 1
