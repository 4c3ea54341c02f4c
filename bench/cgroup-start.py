#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how much of the work of new cgroups is counted if it begins soon after mkdir(2): runs cgroup-start while a
daemon counts BELOW/daemon and the cgroups in it, and while a program that only opens counters watches BELOW/bare.

Prints a line for each delay, and writes the figures as JSON to FILE.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request

DELAYS = (0, 1, 2, 5)  # ms from mkdir(2) to the start of the process


def first_counted(faults, times, counted):
    """Returns the time in ms from mkdir(2) to the first page touch that was counted."""
    own = faults - len(times)  # page faults of the process before it touches the pages
    at = max(0, faults - counted - own)
    return times[at] / 1000 if counted > 0 and at < len(times) else float("inf")


def figures(caused, counted):
    """Summarises cgroups. `caused` has the page faults of each cgroup and the time of each page touch, and `counted`
    has the counted page faults, both by directory."""
    pairs = [(counted.get(name, 0), *of_one) for name, of_one in caused.items()]
    firsts = [first_counted(faults, times, value) for value, faults, times in pairs]
    total = sum(faults for _, faults, _ in pairs)
    return {"cgroups": len(pairs), "caused": total, "percent": 100 * sum(value for value, _, _ in pairs) / total,
            "full": sum(value == faults for value, faults, _ in pairs),
            "too_many": sum(value > faults for value, faults, _ in pairs),
            "never": sum(value == 0 for value, _, _ in pairs),
            "first": [min(firsts), statistics.median_low(firsts), max(firsts)]}


def text(title, of):
    return "%-18s %6.2f %% counted, %d of %d in full, %d never seen; first counted event after %.2f %.2f %.2f ms" % (
        title, of["percent"], of["full"], of["cgroups"], of["never"], *of["first"])


def counted_by_daemon(arguments):
    """Returns the counted page faults of all cgroups by directory, including the parent cgroup."""
    query = "/api/v1/counters?collector=cgroup&event=minor_faults"
    with urllib.request.urlopen(arguments.url + query) as answer:
        counters = json.load(answer)["counters"]
    return {arguments.hierarchy + counter["cgroup"]: counter["value"] for counter in counters}


def caused_in(arguments, places, delay):
    """Creates cgroups with this delay, alternately in the given directories. Returns the page faults of each cgroup and
    the time of each page touch, by directory."""
    command = [arguments.program, "work", str(arguments.cgroups), str(1000 * delay), str(arguments.pages), *places]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {name: (int(faults), [int(at) for at in times]) for name, faults, *times in map(str.split, lines)}


def in_place(caused, place):
    return {name: of_one for name, of_one in caused.items() if os.path.dirname(name) == place}


def measure(arguments, daemon, bare):
    """Returns the summary for each delay, by title, and the sum of the page faults in the daemon's directory."""
    rows, total, compared = {}, 0, {}
    counter = subprocess.Popen([arguments.program, "count", bare], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    counter.stdout.readline()
    for delay in DELAYS:
        caused = caused_in(arguments, (daemon, bare) if delay == 0 else (daemon,), delay)
        compared.update(in_place(caused, bare))
        mine = in_place(caused, daemon)
        time.sleep(0.2)
        rows["%d ms" % delay] = figures(mine, counted_by_daemon(arguments))
        total += sum(faults for faults, _ in mine.values())
    lines = counter.communicate()[0].splitlines()
    rows["0 ms, bare program"] = figures(compared, {name: int(value) for name, value in map(str.split, lines)})
    return rows, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("program", "hierarchy", "below", "url", "file"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--cgroups", type=int, default=300)
    parser.add_argument("--pages", type=int, default=500)
    arguments = parser.parse_args()
    daemon, bare = (arguments.hierarchy + arguments.below + name for name in ("/daemon", "/bare"))
    before = counted_by_daemon(arguments).get(daemon, 0)
    rows, total = measure(arguments, daemon, bare)
    for title, of in rows.items():
        print(text(title, of))
    parent = counted_by_daemon(arguments)[daemon] - before
    print("their parent       %6.2f %% counted" % (100 * parent / total))
    with open(arguments.file, "w", encoding="utf-8") as file:
        json.dump({"rows": rows, "caused": total, "parent": parent}, file)


if __name__ == "__main__":
    sys.exit(main())
