# SPDX-License-Identifier: Apache-2.0
"""Measures memory over hours: runs tests/soak with many rounds, and measures how the memory of both daemons rises in
the second half.

Each round of the soak ends in the same state, in which memory is read. The rise is the slope of the least squares line
through these readings, less two standard errors.
"""
import os
import re
import subprocess
import sys


SOAK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tests/soak/run.sh")


def rise(readings):
    """Returns how much the line rises from the first to the last reading, and two standard errors of that rise."""
    n = len(readings)
    middle, mean = (n - 1) / 2, sum(readings) / n
    spread = sum((x - middle) ** 2 for x in range(n))
    slope = sum((x - middle) * (y - mean) for x, y in enumerate(readings)) / spread
    rest = sum((y - mean - slope * (x - middle)) ** 2 for x, y in enumerate(readings))
    return slope * (n - 1), 2 * (rest / (n - 2) / spread) ** 0.5 * (n - 1)


def add_options(parser):
    parser.add_argument("--rounds", type=int, default=1500, help="about 1500 take an hour")


def measure(arguments, table):
    environment = dict(os.environ, ROUNDS=str(arguments.rounds),
                       PERFCOUNTD=os.path.join(arguments.build, "perfcountd"))
    soak = subprocess.run([SOAK], env=environment, stdout=subprocess.PIPE, text=True)
    if soak.returncode:
        sys.exit("the soak failed:\n" + "\n".join(re.findall("NOT OK.*", soak.stdout)))
    for engine in "perf", "bpf":
        readings = [int(kilobytes) for kilobytes in re.findall(r"\b%s has (\d+) kB" % engine, soak.stdout)]
        found, error = rise(readings[len(readings) // 2:])
        table.row("memory growth in the second half, %s engine" % engine, max(0, found - error), "kB")
        table.row("    its noise", error, "kB")
        table.row("peak memory, %s engine" % engine, max(readings), "kB")
