#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "LINES% BRANCHES%" of some files of the tree: what of them was run.

usage: coverage.py llvm EXPORT FILE...    EXPORT: llvm-cov export -summary-only
       coverage.py v8 DIRECTORY FILE...   DIRECTORY: NODE_V8_COVERAGE, which has no branches
"""
import json
import pathlib
import sys
from urllib.parse import unquote, urlparse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def percent(covered, count):
    return f"{100 * covered / count:.1f}%" if count else "-"


def llvm(export, files):
    sums = {"lines": [0, 0], "branches": [0, 0]}
    left = set(files)
    for file in json.loads(pathlib.Path(export).read_text())["data"][0]["files"]:
        path = pathlib.Path(file["filename"]).resolve()
        if path not in files:
            continue
        left.discard(path)
        for kind, total in sums.items():
            total[0] += file["summary"][kind]["covered"]
            total[1] += file["summary"][kind]["count"]
    if left:
        sys.exit(f"nothing is known of {', '.join(str(path) for path in sorted(left))}")
    return [percent(*total) for total in sums.values()]


def v8_lines(path, functions):
    """Of a file: how many lines have code that was run, and how many there are. An inner range overrides the outer."""
    text = path.read_text()
    run = bytearray(b"\1" * (len(text) + 1))
    ranges = [one for function in functions for one in function["ranges"]]
    for one in sorted(ranges, key=lambda one: (one["startOffset"], -one["endOffset"])):
        size = one["endOffset"] - one["startOffset"]
        run[one["startOffset"]:one["endOffset"]] = (b"\1" if one["count"] else b"\0") * size
    at = covered = count = 0
    for line in text.split("\n"):
        code = line.strip()
        if code and not code.startswith("//"):
            first = at + len(line) - len(line.lstrip())
            count += 1
            covered += run[first]
        at += len(line) + 1
    return covered, count


def v8(directory, files):
    covered = count = 0
    for file in pathlib.Path(directory).glob("coverage-*.json"):
        for script in json.loads(file.read_text())["result"]:
            path = pathlib.Path(unquote(urlparse(script["url"]).path))
            if path in files:
                lines = v8_lines(path, script["functions"])
                covered, count = covered + lines[0], count + lines[1]
    return [percent(covered, count), "-"]


if __name__ == "__main__":
    wanted = [(ROOT / name).resolve() for name in sys.argv[3:]]
    print(*{"llvm": llvm, "v8": v8}[sys.argv[1]](sys.argv[2], wanted))
