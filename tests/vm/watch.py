#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A right client that scrapes all the time, while something presses on the daemon, and what it saw.

usage: watch.py URL LOG [--every SECONDS] [--timeout SECONDS] [--restarts REGEX]
                scrapes until SIGTERM: a line for each scrape in LOG. Series that match --restarts may begin again.
       watch.py --judge LOG BEGIN END [--hangs] [--slow SECONDS] [--back SECONDS]
                the pressure was from BEGIN to END (seconds of CLOCK_MONOTONIC). Says how many scrapes there were, the
                slowest, and how long after END all was as before. Exit 1 if a total fell, a series was there twice, a
                scrape failed or took longer than --slow (both allowed between BEGIN and END with --hangs), or if it
                took longer than --back.

A line of LOG: when the scrape began, how long it took, how many series, and "ok" or what was wrong.
"""
import argparse
import http.client
import re
import signal
import sys
import time


class Scraper:
    """Scrapes over a connection that is kept, and holds each total against the largest one that was seen."""

    def __init__(self, url, timeout, restarts):
        self.address, self.timeout = url.split("://")[1], timeout
        self.restarts = re.compile(restarts) if restarts else None
        self.connection, self.last = None, {}

    def fetch(self):
        if not self.connection:
            self.connection = http.client.HTTPConnection(self.address, timeout=self.timeout)
        self.connection.request("GET", "/metrics")
        response = self.connection.getresponse()
        body = response.read().decode()
        if response.status != 200:
            raise http.client.HTTPException("status %d: %s" % (response.status, body[:200].strip()))
        return body

    def read(self, text):
        """How many series there are, and what is wrong with them."""
        seen, wrong = set(), []
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            series, value = line.rsplit(" ", 1)
            if series in seen:
                wrong.append("twice: " + series)
            seen.add(series)
            if series.split("{")[0].endswith("_total"):
                if float(value) < self.last.get(series, 0) and not (self.restarts and self.restarts.search(series)):
                    wrong.append("fell: %s from %r to %s" % (series, self.last[series], value))
                self.last[series] = float(value)
        return len(seen), wrong

    def scrape(self):
        begin = time.monotonic()
        try:
            text = self.fetch()
            seconds = time.monotonic() - begin
            series, wrong = self.read(text)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection = None
            seconds, series, wrong = time.monotonic() - begin, 0, ["failed: %r" % error]
        return "%.3f %.3f %d %s" % (begin, seconds, series, "; ".join(wrong) or "ok")


def watch(arguments):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    scraper = Scraper(arguments.log[0], arguments.timeout, arguments.restarts)
    with open(arguments.log[1], "w", encoding="utf-8") as log:
        while not ended:
            log.write(scraper.scrape() + "\n")
            log.flush()
            time.sleep(arguments.every)


class Scrape:
    def __init__(self, line):
        begin, seconds, series, self.outcome = line.rstrip("\n").split(" ", 3)
        self.begin, self.seconds, self.series = float(begin), float(seconds), int(series)
        self.end = self.begin + self.seconds

    def complaint(self, slow):
        """Its defect, None if it has none."""
        if self.outcome != "ok":
            return self.outcome
        return "took %.2f s" % self.seconds if self.seconds > slow else None


def judge(arguments):
    path, begin, end = arguments.log[0], float(arguments.log[1]), float(arguments.log[2])
    with open(path, encoding="utf-8") as log:
        scrapes = [Scrape(line) for line in log if line.endswith("\n")]
    complaints, back = [], None
    for scrape in scrapes:
        complaint = scrape.complaint(arguments.slow)
        if scrape.begin >= end and complaint or back is None and scrape.end >= end and not complaint:
            back = None if complaint else max(0, scrape.end - end)
        excused = arguments.hangs and scrape.end >= begin and scrape.begin <= end and \
            (scrape.outcome == "ok" or scrape.outcome.startswith("failed: "))
        if complaint and not excused:
            complaints.append("at %+.2f s of %.2f: %s" % (scrape.begin - begin, end - begin, complaint))
    meanwhile = [scrape for scrape in scrapes if scrape.end >= begin and scrape.begin <= end]
    slowest = max(scrapes, key=lambda scrape: scrape.seconds, default=None)
    if not slowest or slowest.begin < 0 or back is None:
        sys.exit("no scrape after the end: " + "; ".join(complaints[:5]))
    print("%d scrapes, %d of them in these %.1f s; the slowest took %.3f s, at %+.1f s; back %.2f s after the end"
          % (len(scrapes), len(meanwhile), end - begin, slowest.seconds, slowest.begin - begin, back))
    if back > arguments.back:
        complaints.append("it took %.2f s to be back" % back)
    if complaints:
        sys.exit("\n".join(complaints[:20]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--every", type=float, default=0.05)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--restarts")
    parser.add_argument("--hangs", action="store_true")
    parser.add_argument("--slow", type=float, default=1.0)
    parser.add_argument("--back", type=float, default=1.0)
    parser.add_argument("log", nargs="+")
    arguments = parser.parse_args()
    if arguments.judge:
        judge(arguments)
    else:
        watch(arguments)


if __name__ == "__main__":
    main()
