#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the dependencies of the sources: a folder includes only the folders that TABLE permits, there is no cycle of
includes or calls between files or between folders, and only the file TIMERS arms timers of sd-event.

usage: check-includes.py [SOURCES [OBJECTS]]

SOURCES is the root of a source tree (default: this one). OBJECTS is its build directory (default: the working
directory, if it has objects); without it, calls are not checked. A call is a symbol that is undefined in one object and
defined in another one. Before that, the checks themselves are tested on small trees.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Each folder, and the folders and headers that it may include besides its own. FOLDER/* includes the subfolders.
TABLE = """
base:
process: base
metrics: base
systemd: base
web:
perf: base process
bpf: base process perf
cgroups: base process perf
symbols: base process perf
config: base perf cgroups/names.h
opener: base process perf bpf cgroups
collectors: base process perf bpf cgroups config metrics
collectors/cgroup: base process perf bpf cgroups config metrics collectors
sampler: base perf bpf cgroups config symbols
formats: base perf metrics cgroups/names.h cgroups/path.h cgroups/lookup.h collectors sampler/writer.h symbols
http: base config formats web collectors/snapshot.h collectors/rates.h sampler/stream.h
daemon: base process perf bpf cgroups symbols config opener collectors/* metrics sampler formats http systemd
top: base metrics cgroups/names.h collectors formats daemon
cmd: base process perf bpf cgroups symbols config opener collectors/* metrics sampler formats http systemd daemon top
tests: base process perf bpf cgroups symbols config opener collectors/* metrics sampler formats http systemd daemon top
tests: cmd web
bench: base process perf bpf cgroups symbols config opener collectors/* metrics sampler formats http systemd daemon top
bench: cmd tests
"""
# In these folders and below, every file may include every other one.
WHOLE = ("tests", "bench")
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*"([^"]*)"')
# Timers are set relative to the current time, never to an absolute time, since tests may simulate the clock.
TIMERS = "base/timer.c"
ARMS = re.compile(r"\bsd_event_(add_time|source_set_time)(_relative)?\((?!3\))")


def allowed():
    may = collections.defaultdict(set)
    for row in TABLE.strip().splitlines():
        folder, _, targets = row.partition(":")
        may[folder] |= {folder, *targets.split()}
    return may


def house(path):
    return path.partition("/")[0]


def lines(root):
    """Yields (file, line number, line) for all C files of the tree; paths are relative to its root."""
    for path in sorted(pathlib.Path(root).glob("*/**/*")):
        name = str(path.relative_to(root))
        if path.suffix in (".c", ".h") and not name.startswith(("build", ".", "_")):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                yield name, number, line


def includes(root):
    """Yields (file, line number, header) for each include."""
    for name, number, line in lines(root):
        match = INCLUDE.match(line)
        if match:
            yield name, number, match[1]


def check_timers(root):
    return ["%s:%d: only %s may arm timers" % (name, number, TIMERS) for name, number, line in lines(root)
            if name != TIMERS and ARMS.search(line)]


def check_tree(root):
    """Returns a message for each violation of the table."""
    may, wrong = allowed(), []
    for name, number, header in includes(root):
        folder, target = os.path.dirname(name), os.path.dirname(header)
        if house(folder) in WHOLE:
            folder = house(folder)
        if house(target) in WHOLE:
            target = house(target)
        if folder not in may:
            wrong.append("%s:%d: the folder %s/ is not in the table" % (name, number, folder))
        elif header != "config.h" and house(header) in ("", ".", "..", header):
            wrong.append('%s:%d: "%s" is not relative to the root of the tree' % (name, number, header))
        elif header != "config.h" and not may[folder] & {target, header, house(header) + "/*"}:
            wrong.append('%s:%d: %s/ may not include "%s"' % (name, number, folder, header))
    return wrong


def noun(path):
    """
    Returns the path without the extension and the suffix of a variant, so that all variants of a module have one name:
    x/y-portable.c and x/y.h belong to the module x/y.
    """
    return re.sub(r"-(fallback|portable|arm64|x86)$", "", re.sub(r"\.[cho]$", "", path))


def include_edges(root):
    """Returns (from, to, reason) for each include in the product; from and to are modules as noun() names them."""
    return [(noun(name), noun(header), "includes " + header) for name, _, header in includes(root)
            if "/" in header and house(name) not in WHOLE]


def call_edges(root, objects):
    """Returns (from, to, reason) for each symbol that one module uses and another one defines."""
    defines, lacks = {}, []
    # Objects without a source file are left over from files that were removed.
    files = [str(path.relative_to(objects)) for path in pathlib.Path(objects).glob("*/**/*.o")]
    files = [name for name in files if house(name) not in WHOLE and pathlib.Path(root, name).with_suffix(".c").exists()]
    if not files:
        return []
    listing = subprocess.run(["nm", "-A", "-P", *files], cwd=objects, stdout=subprocess.PIPE, check=True, text=True)
    for file, symbol, kind, *_ in map(str.split, listing.stdout.splitlines()):
        if kind in "TDBRVWC":
            defines[symbol] = noun(file.rstrip(":"))
        elif kind == "U":
            lacks.append((noun(file.rstrip(":")), symbol))
    return [(user, defines[symbol], "calls " + symbol) for user, symbol in lacks if symbol in defines]


def folder_edges(edges):
    """Yields the edges between top-level folders, and between subfolders of the same folder."""
    for start, end, reason in edges:
        folder, other = os.path.dirname(start), os.path.dirname(end)
        if house(start) != house(end):
            yield house(start), house(end), "%s %s" % (start, reason)
        elif "/" in folder and "/" in other:
            yield folder, other, "%s %s" % (start, reason)


def reachable(targets, start):
    found, left = set(), [start]
    while left:
        new = targets[left.pop()] - found
        found |= new
        left.extend(new)
    return found


def circles(what, edges):
    """
    Returns each cycle: a set of nodes that can reach each other, with the edges between them and some reasons for each.
    """
    reasons, targets, found = collections.defaultdict(set), collections.defaultdict(set), []
    for start, end, reason in edges:
        if start != end:
            reasons[start, end].add(reason)
            targets[start].add(end)
    reach = {node: reachable(targets, node) for node in sorted(targets)}
    for node in reach:
        circle = [other for other in reach if other in reach[node] and node in reach[other]]
        if not circle or circle[0] != node:
            continue
        found.append("a cycle of %s: %s" % (what, "+".join(circle)))
        for pair in sorted(pair for pair in reasons if set(pair) <= set(circle)):
            some = sorted(reasons[pair])
            found.append("    %s -> %s: %s" % (*pair, ", ".join(some[:4] + ["..."] * (len(some) > 4))))
    return found


def check(root, objects=None):
    edges = include_edges(root) + (call_edges(root, objects) if objects else [])
    return check_tree(root) + check_timers(root) + circles("files", edges) + circles("folders", folder_edges(edges))


# --- tests of the checks themselves

# The folder of a file, a header that the file includes, and whether this is allowed.
RULES = [
    ("base", "base/util.h", True), ("base", "perf/sys.h", False), ("base", "config.h", True), ("base", "util.h", False),
    ("base", "../perf/sys.h", False), ("elsewhere", "base/util.h", False),
    ("collectors", "collectors/cgroup/x.h", False), ("collectors/cgroup", "collectors/x.h", True),
    ("formats", "cgroups/names.h", True), ("formats", "cgroups/tree.h", False),
    ("tests/unit", "tests/unit/test.h", True), ("bench", "tests/unit/fake-sys.h", True), ("daemon", "tests/x.h", False),
]
# Files with their contents, and the cycle that must be found (None: no cycle).
TREES = [
    ({"base/a.c": '#include "base/b.h"', "base/b.h": ""}, None),
    ({"base/a.c": '#include "base/b.h"', "base/b-fallback.c": '#include "base/a.h"'}, "files: base/a+base/b"),
    ({"base/a.c": '#include "perf/b.h"', "perf/c.c": '#include "config/d.h"', "config/e.c": '#include "base/f.h"',
      "http/g.c": '#include "http/h.h"', "http/i.c": '#include "http/j.h"'}, "folders: base+config+perf"),
]
CALLS = {"a.c": "void b(void); void a(void); void a(void) { b(); }", "b.c": "void a(void); void b(void) { a(); }",
         "removed.c": "void b(void); void c(void) { b(); }"}


def write(root, files):
    for name, text in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def self_test():
    for folder, header, may in RULES:
        with tempfile.TemporaryDirectory() as root:
            write(root, {folder + "/x.c": '#include <errno.h>\n#include "%s"' % header})
            found = check_tree(root)
            assert len(found) == (0 if may else 1), (folder, header, found)
    with tempfile.TemporaryDirectory() as root:
        write(root, {name: "    r = sd_event_add_time_relative(event, &timer);" for name in ("base/timer.c", "http/x.c")})
        assert check(root) == ["http/x.c:1: only base/timer.c may arm timers"], check(root)
    for files, circle in TREES:
        with tempfile.TemporaryDirectory() as root:
            write(root, files)
            found = [line for line in check(root) if line.startswith("a cycle")]
            assert found == (["a cycle of " + circle] if circle else []), (files, found)
    with tempfile.TemporaryDirectory() as root:
        write(root, {"base/" + name: text for name, text in CALLS.items()})
        subprocess.run([*os.environ.get("CC", "cc").split(), "-c", *CALLS], cwd=root + "/base", check=True)
        os.unlink(root + "/base/removed.c")
        found = check(root, root)
        assert found == ["a cycle of files: base/a+base/b", "    base/a -> base/b: calls b",
                         "    base/b -> base/a: calls a"], found


if __name__ == "__main__":
    self_test()
    ours = os.environ.get("srcdir") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    tree = sys.argv[1] if len(sys.argv) > 1 else ours
    built = sys.argv[2] if len(sys.argv) > 2 else "." if os.path.exists("libperfcountd.a") else None
    findings = check(tree, built)
    print(*findings, sep="\n", end="\n" if findings else "")
    sys.exit(1 if findings else 0)
