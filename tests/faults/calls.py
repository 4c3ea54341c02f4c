#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes each system call of each process of a real daemon fail, on the real kernel, by strace(1).

usage: calls.py PROGRAM TOOLS SCRATCH HIERARCHY [--sample=HASH:N] [--only=REGEX] [--list] [--jobs=N] [POINT...]

A point is PROCESS:PHASE:CALL:ERROR:WHEN, such as daemon:serve:openat:EMFILE:10. Without points, all are tried. A first
run of each process and phase without failures shows which calls there are, and how many of each. With --sample, the
points of calls-known.txt are tried too, by which defects were found.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

import calls_errors
from calls_point import PHASES, play

WHENS = ("1", "2", "10", "every")
SECONDS_MAX = 60  # of one point, which is more than it may take
CALL = re.compile(r"^(?:\[pid\s+\d+\] |\d+ +)?(\w+)\(")


def calls_in(lines):
    return [match.group(1) for match in map(CALL.match, lines) if match]


def split_linker(lines):
    """Of a program from its first instruction on: the calls of the dynamic linker, and the others."""
    end = next((i for i, line in enumerate(lines) if "munmap(" in line), -1)
    return lines[:end + 1], lines[end + 1:]


def run_points(arguments, names, counts):
    """Each in a process of its own; yields the results as they come."""
    waiting, running = collections.deque(names), {}
    own = os.path.abspath(__file__)
    with open(arguments.scratch + "/counts", "w", encoding="utf-8") as file:
        json.dump(counts, file)
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            name = waiting.popleft()
            scratch = "%s/%d" % (arguments.scratch, time.monotonic_ns())
            os.mkdir(scratch)
            os.chmod(scratch, 0o755)
            process = subprocess.Popen([sys.executable, own, arguments.program, arguments.tools, scratch,
                                        arguments.hierarchy, "--counts=" + arguments.scratch + "/counts",
                                        "--one=" + name], stdout=open(scratch + "/result", "w", encoding="utf-8"))
            running[process] = (name, scratch, time.monotonic())
        for process, (name, scratch, began) in list(running.items()):
            late = time.monotonic() - began > SECONDS_MAX
            if process.poll() is None and not late:
                continue
            process.kill() if late else None
            process.wait()
            del running[process]
            try:
                with open(scratch + "/result", encoding="utf-8") as file:
                    result = json.load(file)
            except ValueError:
                result = {"name": name, "outcome": "DEFECT", "defects": ["the point hangs"] if late else
                          ["no result of the point"], "injected": 0, "degraded": [], "said": [], "seconds": SECONDS_MAX}
            if not arguments.keep:
                shutil.rmtree(scratch)
            yield result
        time.sleep(0.01)


def measure(arguments, pairs):
    """Counts the calls of each process in each phase."""
    counts = {}
    for result in run_points(arguments, ["%s:%s:*:none:1" % pair for pair in pairs], {}):
        if result["defects"]:
            sys.exit("without a failure, %s: %s" % (result["name"], "; ".join(result["defects"])))
        process, phase = result["name"].split(":")[:2]
        lines, skipped = result["lines"], []
        if phase == "start" and process in ("daemon", "symboliser"):
            skipped, lines = split_linker(lines)
        counts["%s:%s" % (process, phase)] = {"skipped": dict(collections.Counter(calls_in(skipped))),
                                              "calls": dict(collections.Counter(calls_in(lines)))}
        if (process, phase) == ("daemon", "serve"):
            counts["descriptors"] = result["descriptors"]
    return counts


def is_brief(call, error):
    return error in calls_errors.NOT_EVERY or (call, error) in calls_errors.NOT_EVERY_OF


def points_of(process, phase, calls):
    for call, n in sorted(calls.items()):
        if call in calls_errors.NEVER or (process, phase, call) in calls_errors.REMOVES:
            continue
        for error in calls_errors.injections(process, call):
            for when in WHENS:
                if when.isdigit() and (int(when) > n or (call, error) in calls_errors.ONLY_EVERY):
                    continue
                if when == "every" and is_brief(call, error) or phase == "end" and when == "10":
                    continue
                yield "%s:%s:%s:%s:%s" % (process, phase, call, error, when)


def all_points(counts):
    unknown = {call for key, known in counts.items() if ":" in key for call in known["calls"]
               if call not in calls_errors.ERRORS and call not in calls_errors.NEVER}
    if unknown:
        sys.exit("no errors are known of: %s; calls_errors.py has those of other calls" % ", ".join(sorted(unknown)))
    return [name for process, phases in PHASES.items() for phase in phases
            for name in points_of(process, phase, counts["%s:%s" % (process, phase)]["calls"])]


def sample(names, text):
    seed, n = text.rsplit(":", 1)
    return sorted(names, key=lambda name: hashlib.sha256((seed + name).encode()).digest())[:int(n)]


def known_points(names):
    """A machine that makes fewer calls has fewer of them."""
    with open(os.path.dirname(os.path.abspath(__file__)) + "/calls-known.txt", encoding="utf-8") as file:
        known = [line.strip() for line in file if line[0] not in "#\n"]
    return [name for name in known if name in names]


def print_table(results):
    rows = collections.defaultdict(list)
    for result in results:
        process, _, call = result["name"].split(":")[:3]
        rows[process, call].append(result["outcome"])
    print("%-11s %-20s %6s  %s" % ("process", "call", "points", "what became of it"))
    for (process, call), outcomes in sorted(rows.items()):
        became = collections.Counter(outcomes)
        print("%-11s %-20s %6d  %s" % (process, call, len(outcomes),
                                       ", ".join("%s %d" % pair for pair in sorted(became.items()))))


def try_points(arguments, names, counts):
    began, results = time.monotonic(), []
    for result in run_points(arguments, names, counts):
        results.append(result)
        good = result["outcome"] not in ("DEFECT", "MISSED")
        if arguments.verbose or not good:
            print("%s %s (%.1f s): %s" % ("ok:" if good else "NOT OK:", result["name"], result["seconds"],
                                          result["outcome"]))
            for line in [] if good and not arguments.verbose else result["defects"] + [
                    "then: " + wrong for wrong in result["degraded"]] + ["log: " + said for said in result["said"]]:
                print("    " + line[:300])
            sys.stdout.flush()
    print_table(results)
    outcomes = collections.Counter(result["outcome"] for result in results)
    print("%d points of %d tried in %d s, %d calls failed: %s" % (
        len(results), len(names), time.monotonic() - began, sum(result["injected"] for result in results),
        ", ".join("%s %d" % pair for pair in sorted(outcomes.items()))))
    return outcomes["DEFECT"] + outcomes["MISSED"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "tools", "scratch", "hierarchy"):
        parser.add_argument(name)
    for name in ("--sample", "--only", "--one", "--counts", "--save-counts"):
        parser.add_argument(name)
    for name in ("--list", "--verbose", "--keep"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count())
    parser.add_argument("points", nargs="*")
    arguments = parser.parse_intermixed_args()
    counts = {}
    if arguments.counts:
        with open(arguments.counts, encoding="utf-8") as file:
            counts = json.load(file)
    if arguments.one:
        print(json.dumps(play(arguments.one, arguments.program, arguments.tools, arguments.scratch,
                              arguments.hierarchy, counts)))
        return
    if not counts:
        counts = measure(arguments, [(p, phase) for p, phases in PHASES.items() for phase in phases])
    if arguments.save_counts:
        with open(arguments.save_counts, "w", encoding="utf-8") as file:
            json.dump(counts, file, indent=1)
    names = arguments.points or all_points(counts)
    print("%d points" % len(names))
    if arguments.only:
        names = [name for name in names if re.search(arguments.only, name)]
    if arguments.sample:
        names = list(dict.fromkeys(known_points(names) + sample(names, arguments.sample)))
    if arguments.list:
        print("\n".join(names))
        return
    sys.exit(1 if try_points(arguments, names, counts) else 0)


if __name__ == "__main__":
    main()
