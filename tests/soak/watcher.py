# SPDX-License-Identifier: Apache-2.0
"""The right client of a daemon, a process: it scrapes in each format, and must get all that it asked for each time."""
import contextlib
import gzip
import http.client
import json
import multiprocessing
import time

from totals import Reader, Totals

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
INTERVAL = 0.4
# Path, headers, and how its body is read. Each second one has _created.
FORMS = [
    ("/metrics", {"Accept": OPENMETRICS}, "openmetrics"),
    ("/metrics", {}, "text"),
    ("/metrics", {"Accept": OPENMETRICS, "Accept-Encoding": "gzip"}, "openmetrics"),
    ("/api/v1/counters", {}, "json"),
    ("/metrics", {"Accept": OPENMETRICS}, "openmetrics"),
    ("/metrics?collect[]=cpu&collect[]=self", {"Accept-Encoding": "gzip"}, "text"),
    ("/metrics", {"Accept": OPENMETRICS}, "openmetrics"),
    ("/api/v1/counters?collector=cpu&cpu=0", {"Accept-Encoding": "gzip"}, "json"),
    ("/metrics", {"Accept": OPENMETRICS}, "openmetrics"),
    ("/api/v1/counters?collector=cgroup", {}, "json"),
]


class Scrapes:
    """The scrapes since the last report."""

    def __init__(self):
        self.count, self.bytes, self.slow, self.series = 0, 0, [], 0

    def note(self, begin, end, size, series, form):
        self.count += 1
        self.bytes += size
        self.series = max(self.series, series)
        self.slow = sorted(self.slow + [(end - begin, begin, end, form)], reverse=True)[:3]


class Watcher:
    def __init__(self, target):
        self.target, self.reader, self.totals = target, Reader(), Totals()
        self.scrapes, self.failures, self.n_failed, self.complained = Scrapes(), [], 0, 0
        self.connection, self.number, self.held = None, 0, False

    def scrape(self):
        path, headers, form = FORMS[self.number % len(FORMS)]
        self.number += 1
        begin, wall = time.monotonic(), time.time()
        try:
            self.connection = self.connection or self.target.connection()
            self.connection.request("GET", path, headers=headers)
            response = self.connection.getresponse()
            body = response.read()
            end = time.monotonic()
            page = self.read(response, body, form)
        except (OSError, http.client.HTTPException, ValueError, KeyError, EOFError) as error:
            self.fail("%s %s: %s: %s" % (path, form, type(error).__name__, error))
            self.leave()
            return
        for labels in page.failed:
            self.fail("%s: the collector failed: %s" % (path, labels))
        self.totals.take(page, wall, form == "openmetrics")
        self.scrapes.note(begin, end, len(body), page.series, "%s %s" % (path, form))

    def read(self, response, body, form):
        if response.status != 200:
            raise ValueError("status %d: %s" % (response.status, body[:200]))
        if response.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        text = body.decode()
        if form == "json":
            return self.reader.read_counters(json.loads(text))
        if form == "openmetrics" and not text.endswith("# EOF\n"):
            raise ValueError("it ends without # EOF")
        page = self.reader.read_text(text)
        if not page.series:
            raise ValueError("it has no series")
        return page

    def fail(self, text):
        self.n_failed += 1
        if len(self.failures) < 20:
            self.failures.append(text)

    def report(self):
        """All since the last report; falls and failures are words."""
        totals, scrapes = self.totals, self.scrapes
        self.scrapes = Scrapes()
        falls, failures = totals.falls, self.failures
        totals.falls, self.failures = [], []
        return {"count": scrapes.count, "bytes": scrapes.bytes, "series": scrapes.series, "slow": scrapes.slow,
                "falls": falls, "failures": failures, "failed": self.n_failed, "compared": totals.compared,
                "restarts": totals.restarts, "undecided": totals.undecided}

    def leave(self):
        """The daemon ends connections that stand idle."""
        if self.connection:
            self.connection.close()
        self.connection = None

    def obey(self, pipe, order):
        if order[0] == "announce":
            self.totals.announce(*order[1:])
        elif order[0] == "hold":
            self.held = order[1]
            self.leave()
        elif order[0] == "report":
            pipe.send(self.report())
            return
        pipe.send(None)

    def run(self, pipe):
        next_time = time.monotonic()
        while True:
            while pipe.poll(None if self.held else max(0, next_time - time.monotonic())):
                self.obey(pipe, pipe.recv())
            self.scrape()
            next_time = max(next_time + INTERVAL, time.monotonic())


def run_watcher(target, pipe):
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        Watcher(target).run(pipe)


class WatcherProcess:
    """The other side: orders to a watcher."""

    def __init__(self, target):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=run_watcher, args=(target, other), daemon=True)
        self.process.start()
        self.lock = multiprocessing.Lock()

    def order(self, *order):
        """Returns when it is heard: between two scrapes."""
        with self.lock:
            self.pipe.send(order)
            if not self.pipe.poll(60):
                raise RuntimeError("a watcher does not answer")
            return self.pipe.recv()
