#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scrapes at random intervals: no counter may fall, and no series be there twice.

usage: monotonic.py URL CONTROL READINGS      that many times
       monotonic.py URL CONTROL --hotplug     until the board's loop of /tmp/hotplug.pid ends

With --hotplug the loop keeps CPU 3 away at first, and waits for /tmp/hotplug.go: this program makes that file after it
has scraped without CPU 3. In the end it must be served again.
"""
import http.client
import random
import sys
import time
import urllib.request


def scrape(connection):
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        series, value = line.rsplit(" ", 1)
        if series in samples:
            sys.exit("%s is there twice" % series)
        samples[series] = float(value)
    return samples


def ask(control, command):
    with urllib.request.urlopen(control, data=command, timeout=120) as response:
        answer = response.read()
    if b"\nstatus " not in answer:
        sys.exit("the board does not answer")
    return answer


class Monotonic:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(url.replace("http://", ""), timeout=60)
        self.last, self.scrapes, self.without = {}, 0, 0

    def read(self):
        """Whether CPU 3 is served."""
        time.sleep(random.random() * 0.02)
        samples = scrape(self.connection)
        self.scrapes += 1
        for series, value in samples.items():
            if series.split("{")[0].endswith("_total") and value < self.last.get(series, 0):
                sys.exit("%s fell from %r to %r in scrape %d" % (series, self.last[series], value, self.scrapes))
        self.last.update(samples)
        served = any('cpu="3"' in series for series in samples)
        self.without += not served
        return served

    def read_until(self, served):
        start = time.monotonic()
        while self.read() != served:
            if time.monotonic() - start > 60:
                sys.exit("CPU 3 is %s in all of %d scrapes" % ("missing" if served else "served", self.scrapes))

    def follow(self, control):
        """Asks the board every two seconds at most whether its loop runs."""
        self.read_until(served=False)
        ask(control, b"touch /tmp/hotplug.go")
        running = True
        while running:
            asked = time.monotonic()
            while time.monotonic() - asked < 2:
                self.read()
            running = ask(control, b"kill -0 $(cat /tmp/hotplug.pid) 2>/dev/null && echo yes").startswith(b"yes")
        self.read_until(served=True)


def main():
    url, control, length = sys.argv[1:]
    monotonic = Monotonic(url)
    if length == "--hotplug":
        monotonic.follow(control)
    else:
        while monotonic.scrapes < int(length):
            monotonic.read()
    print("%d scrapes of %d series, %d of them without CPU 3"
          % (monotonic.scrapes, len(monotonic.last), monotonic.without))


main()
