#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what is wrong with a text exposition on standard input: a series that is there twice, a sample without its TYPE,
labels that do not parse, a value that is not a number. promtool sees neither of the first two."""
import re
import sys

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')

seen, typed, samples = set(), set(), 0
for number, line in enumerate(sys.stdin.read().splitlines(), 1):
    problem = None
    if line.startswith("# TYPE "):
        name = line.split()[2]
        problem = "second TYPE" if name in typed else None
        typed.add(name)
    elif line and not line.startswith("#"):
        match = SAMPLE.match(line)
        labels = match and match[2] or ""
        key = match and (match[1], tuple(sorted(LABEL.findall(labels))))
        samples += 1
        if not match or LABEL.sub("", labels):
            problem = "not a sample"
        elif key in seen:
            problem = "the same series again"
        elif match[1] not in typed:
            problem = "no TYPE"
        else:
            float(match[3])
        seen.add(key)
    if problem:
        print(f"line {number}: {problem}: {line}")
        samples = -1
        break
sys.exit(0 if samples > 0 else 1)
