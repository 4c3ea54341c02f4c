#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary client, which scrapes until SIGTERM while the daemon is under pressure.

usage: scraper.py URL LOG [--path PATH] [--timeout SECONDS] [--restarts REGEX] [--failures]

LOG has a line for each scrape: "ok N" with the number of series, or what was wrong. The first complaints are printed at
the end. The exit status is 1 if a scrape failed (allowed with --failures), a total decreased (allowed for series that
match --restarts), a response had a series twice, or no scrape succeeded.
"""
import argparse
import http.client
import re
import signal
import sys
import time

ended = False


def on_term(*_):
    # threading.Event.set() will not do: it may need a lock that the interrupted main thread holds.
    global ended
    ended = True


signal.signal(signal.SIGTERM, on_term)
parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("log")
parser.add_argument("--path", default="/metrics")
parser.add_argument("--timeout", type=float, default=60)
parser.add_argument("--restarts", default="(?!)")
parser.add_argument("--failures", action="store_true")
arguments = parser.parse_args()
last, connection = {}, None


def scrape():
    """Returns the text of the response. The connection is kept open."""
    global connection
    if not connection:
        connection = http.client.HTTPConnection(arguments.url.split("://")[1], timeout=arguments.timeout)
    connection.request("GET", arguments.path)
    response = connection.getresponse()
    text = response.read().decode()
    if response.status != 200:
        raise http.client.HTTPException("status %d: %s" % (response.status, text[:200].strip()))
    return text


def take(text):
    """Compares the totals with the previous ones; returns the number of series, and a list of what is wrong."""
    seen, wrong = set(), []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        series, _, value = line.rpartition(" ")
        if series in seen:
            wrong.append("duplicate series: " + series)
        seen.add(series)
        if "_total" in series.partition("{")[0]:
            if float(value) < last.get(series, 0) and not re.search(arguments.restarts, series):
                wrong.append("%s fell from %r to %s" % (series, last[series], value))
            last[series] = float(value)
    return len(seen), wrong


complaints, good = [], 0
with open(arguments.log, "w", buffering=1) as log:
    while not ended:
        time.sleep(0.05)
        try:
            n, wrong = take(scrape())
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection, wrong = None, [] if arguments.failures else ["failed: %r" % error]
            log.write("failed: %r\n" % error)
        else:
            good += 1
            log.write("; ".join(wrong).replace("\n", " ") + "\n" if wrong else "ok %d\n" % n)
        complaints += wrong
print("%d scrapes" % good)
print("\n".join(complaints[:10]))
sys.exit(1 if complaints or not good else 0)
