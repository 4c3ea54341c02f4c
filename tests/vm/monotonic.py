#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scrapes at random intervals: no counter may fall, and no series be there twice.

usage: monotonic.py URL CONTROL [READINGS]    without a number, until the board's loop of /tmp/hotplug.pid ends
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


def is_running(control):
    command = b"kill -0 $(cat /tmp/hotplug.pid) 2>/dev/null && echo yes || echo no"
    with urllib.request.urlopen(control, data=command, timeout=120) as response:
        return response.read().startswith(b"yes")


def is_over(control, scrapes, readings, asked):
    """Asks the board every two seconds at most; gives also when it was asked last."""
    if readings:
        return scrapes >= readings, asked
    if time.monotonic() - asked < 2:
        return False, asked
    return not is_running(control), time.monotonic()


def main():
    url, control = sys.argv[1:3]
    readings = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    connection = http.client.HTTPConnection(url.replace("http://", ""), timeout=60)
    last, scrapes, without, asked, over = {}, 0, 0, 0.0, False
    while not over:
        samples = scrape(connection)
        scrapes += 1
        without += not any('cpu="3"' in series for series in samples)
        for series, value in samples.items():
            if series.split("{")[0].endswith("_total") and value < last.get(series, 0):
                sys.exit("%s fell from %r to %r in scrape %d" % (series, last[series], value, scrapes))
        last.update(samples)
        over, asked = is_over(control, scrapes, readings, asked)
        time.sleep(random.random() * 0.02)
    print("%d scrapes of %d series, %d of them without CPU 3" % (scrapes, len(last), without))


main()
