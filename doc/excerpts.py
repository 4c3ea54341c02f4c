#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Checks that the output shown in README.md and doc/*.md is that of a running daemon: the same metrics, labels, keys and
words in the same order, with other numbers.

usage: excerpts.py [--print] [--plan FILE] CONTEXT URL
       excerpts.py --list

A code block with output follows a comment, <!-- excerpt: CONTEXT -->, and contains each command as "$ COMMAND", with
its output below. CONTEXT says where the output comes from: `board`, the emulated one of tests/vm, or `cgroup`, the
cgroups that tests/e2e/excerpts.sh creates. Each `curl` in a block is sent to URL; FILE contains the output of
`perfcountd plan`. --print shows the output of the commands, --list the blocks. Each line of text must occur in the
output; JSON must have the same keys and words. A block that looks like output but has no comment is an error.
"""
import argparse
import collections
import glob
import json
import os
import re
import sys
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
Excerpt = collections.namedtuple("Excerpt", "file line context command output")
OUTPUT = re.compile(r"^\$ |^perf\w*\{[^}]*\} [\d.]+$|^\{\"|^ *\"\w+\": ")


def blocks(name):
    """Yields (line, context, lines) for each indented block of code."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        lines = file.read().splitlines() + [""]
    context, block, begin = None, [], 0
    for number, line in enumerate(lines, 1):
        if line.startswith("    ") or (block and not line):
            begin = begin or number
            block.append(line[4:])
            continue
        if block:
            yield begin, context, block
            context, block, begin = None, [], 0
        found = re.fullmatch(r"<!-- excerpt: (\w+) -->", line)
        context = found[1] if found else context if not line else None


def excerpts(name):
    """Yields the excerpts of a file. Exits if a block of output has no comment."""
    for begin, context, block in blocks(name):
        if not context:
            for offset, line in enumerate(block):
                if OUTPUT.match(line):
                    sys.exit("%s:%d: this looks like output: put <!-- excerpt: CONTEXT --> before the block, and the "
                             "command into it" % (name, begin + offset))
            continue
        command, output, line = None, [], begin
        for offset, text in enumerate(block + ["$ "]):
            if text.startswith("$ "):
                if command:
                    yield Excerpt(name, line, context, command, output)
                command, output, line = text[2:], [], begin + offset
            elif command:
                output.append(text)
            else:
                sys.exit("%s:%d: the command is missing before this output" % (name, begin + offset))


def shape_of_line(line):
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "N", " ".join(line.split()))


def shape_of_json(value, key=""):
    if isinstance(value, dict):
        return {name: shape_of_json(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [shape_of_json(member) for member in value]
    if isinstance(value, str):
        return "a name" if key == "hostname" else value
    return "a truth" if isinstance(value, bool) else "a number"


def differences(excerpt, live):
    """Returns the parts of an excerpt that the live output does not have."""
    text = "\n".join(excerpt.output).strip()
    if text.startswith("{"):
        shown, given = (json.dumps(shape_of_json(json.loads(one))) for one in (text, live))
        return [] if shown == given else ["the output is %s\n    instead of %s" % (given, shown)]
    lines = {shape_of_line(line) for line in live.splitlines()}
    return ["the output has no such line: " + line for line in excerpt.output
            if line.strip() not in ("", "...") and shape_of_line(line) not in lines]


def live_output(command, url, plan):
    if re.fullmatch(r"(sudo )?(build/run/)?perfcountd plan", command):
        if not plan:
            sys.exit("`%s` is shown, but --plan is missing" % command)
        with open(plan, encoding="utf-8") as file:
            return file.read()
    path = re.fullmatch(r"curl -s '?localhost:10298(/[^' ]*)'?", command)
    if not path:
        sys.exit("neither a curl of localhost:10298 nor `perfcountd plan`: %s" % command)
    with urllib.request.urlopen(url + path[1], timeout=60) as response:
        return response.read().decode()


def self_test():
    """Checks that stale excerpts are found, and nothing else."""
    def found(shown, live):
        return differences(Excerpt("", 0, "", "", shown.splitlines()), live)

    for shown, live, n in (
            ('m_total{cpu="0"} 1', 'm_total{cpu="3"} 2.5e+09\nother 1', 0), ('m_total{cpu="0"} 1', 'm{cpu="3"} 2', 1),
            ('m{cpu="0",pmu="a"} 1', 'm{cpu="0"} 2', 1), ("a  b  3\n...", "x\na b 17", 0), ("a c 3", "x\na b 17", 1),
            ('{"a": 1, "b": ["x"]}', '{"a": 7.5, "b": ["x"]}', 0), ('{"a": 1, "b": "x"}', '{"a": 1, "b": "y"}', 1),
            ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', 1), ('{"a": 1}', '{"a": 1, "b": 2}', 1)):
        if len(found(shown, live)) != n:
            sys.exit("excerpts.py does not work: %r beside %r gave %r" % (shown, live, found(shown, live)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("--print", action="store_true", help="show the output of the commands")
    parser.add_argument("--list", action="store_true", help="show the commands, and check nothing")
    parser.add_argument("--plan", help="a file with the output of `perfcountd plan`")
    parser.add_argument("context", nargs="?", help="context of the excerpts")
    parser.add_argument("url", nargs="?", help="URL of the daemon, without a trailing slash")
    arguments = parser.parse_args()
    self_test()
    names = ["README.md"] + sorted(os.path.relpath(name, ROOT) for name in glob.glob(os.path.join(ROOT, "doc", "*.md")))
    everything = [excerpt for name in names if name != "doc/performance.md" for excerpt in excerpts(name)]
    if arguments.list:
        for excerpt in everything:
            print("%s:%d: %s: %s" % excerpt[:4])
        return
    wanted = [excerpt for excerpt in everything if excerpt.context == arguments.context]
    if not wanted or not arguments.url:
        parser.error("there is no excerpt with this context, or the URL is missing")
    wrong = 0
    for excerpt in wanted:
        live = live_output(excerpt.command, arguments.url, arguments.plan)
        if arguments.print:
            print("$ %s\n%s" % (excerpt.command, live))
            continue
        found = differences(excerpt, live)
        wrong += len(found)
        print("%s:%d: %s: %s" % (*excerpt[:2], excerpt.command, "as shown" if not found else "\n    ".join(found)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
