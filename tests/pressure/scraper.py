#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scraper.py URL INTERVAL-MS LOG [PATH]: a right client, which scrapes until SIGTERM while something else goes wrong.

Each scrape is a line of LOG: WHEN DURATION-MS STATUS SERIES, where WHEN is the Unix time of its begin, and STATUS is 0
where there was no answer. At the end come the figures, NAME VALUE a line, on the standard output: `scrapes`, `bad`
(not 200), `fell` (totals that were lower than before), `slowest_ms`, `slowest_at` (Unix time), `series_least` and
`series_most`; and a line `complaint TEXT` for the first of each kind.
"""
import http.client
import signal
import sys
import threading
import time
import urllib.parse

ends = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ends.set())
address = urllib.parse.urlsplit(sys.argv[1])
interval = float(sys.argv[2]) / 1000
path = sys.argv[4] if len(sys.argv) > 4 else "/metrics"
figures = {"scrapes": 0, "bad": 0, "fell": 0, "slowest_ms": 0.0, "slowest_at": 0.0}
least = most = None
last, complaints, connection = {}, [], None


def connect():
    return http.client.HTTPConnection(address.netloc, timeout=20)


def scrape():
    """The status and the text; a status of 0 with the error."""
    global connection
    try:
        connection = connection or connect()
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        connection = None
        return 0, "%s: %s" % (type(error).__name__, error)


def take(text):
    """Compares the totals with those before. Returns how many series there are."""
    n = 0
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        n += 1
        name, _, value = line.rpartition(" ")
        if "_total" not in name.partition("{")[0]:
            continue
        value = float(value)
        if value < last.get(name, 0):
            figures["fell"] += 1
            complaints.append("%s fell from %r to %r" % (name, last[name], value))
        last[name] = value
    return n


with open(sys.argv[3], "w", buffering=1) as log:
    next_time = time.monotonic()
    while not ends.is_set():
        next_time = max(next_time, time.monotonic() - interval) + interval
        when, begin = time.time(), time.monotonic()
        status, text = scrape()
        duration = (time.monotonic() - begin) * 1000
        series = take(text) if status == 200 else 0
        log.write("%.3f %.1f %d %d\n" % (when, duration, status, series))
        figures["scrapes"] += 1
        if status != 200:
            figures["bad"] += 1
            complaints.append("status %d: %s" % (status, text.strip()[:300]))
        else:
            least = series if least is None else min(least, series)
            most = series if most is None else max(most, series)
        if duration > figures["slowest_ms"]:
            figures["slowest_ms"], figures["slowest_at"] = duration, when
        ends.wait(max(0, next_time - time.monotonic()))
for name, value in figures.items():
    print(name, "%.3f" % value if name == "slowest_at" else "%.1f" % value if name == "slowest_ms" else value)
print("series_least", least or 0)
print("series_most", most or 0)
for complaint in dict.fromkeys(complaints[:10]):
    print("complaint", complaint.replace("\n", " "))
