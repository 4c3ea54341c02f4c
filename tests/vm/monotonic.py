#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scrapes until the board's shell loop of /tmp/hotplug.pid ends: no counter may fall, and no series be there twice.

usage: monotonic.py URL CONTROL
"""
import sys
import time
import urllib.request


def scrape(url):
    with urllib.request.urlopen(url + "/metrics", timeout=60) as response:
        text = response.read().decode()
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


def main():
    url, control = sys.argv[1:]
    last, scrapes, without = {}, 0, 0
    asked = 0.0
    while True:
        samples = scrape(url)
        scrapes += 1
        without += not any('cpu="3"' in series for series in samples)
        for series, value in samples.items():
            if series.split("{")[0].endswith("_total") and value < last.get(series, 0):
                sys.exit("%s fell from %r to %r in scrape %d" % (series, last[series], value, scrapes))
        last.update(samples)
        if time.monotonic() - asked > 2:
            if not is_running(control):
                break
            asked = time.monotonic()
        time.sleep(0.05)
    print("%d scrapes, %d of them without CPU 3" % (scrapes, without))


main()
