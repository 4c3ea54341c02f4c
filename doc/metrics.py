#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
The table of derived metrics in doc/metrics.md, from the table that the daemon has:

    perfcountd list-metrics --json | doc/metrics.py [--write] doc/metrics.md

Without --write it fails where the page has another table.
"""
import json
import os
import sys

START = "<!-- the table, written by metrics.py -->\n"
SEEN = {True: "", False: " *Never seen on hardware.*"}


def cell(text):
    return text.replace("|", "\\|")


def formula_line(formula):
    where = " on `%s`" % formula["pmu"] if formula["pmu"] else ""
    return "- `%s`%s: %s.%s\n" % (formula["formula"], where, formula["source"].rstrip("."), SEEN[formula["seen"]])


def table_of(metrics):
    """An overview, and then the formulas of each metric with their sources."""
    lines = ["| metric | unit | of | |\n", "| --- | --- | --- | --- |\n"]
    for metric in metrics:
        lines.append("| [`%s`](#%s) | %s | %s | %s |\n" % (metric["name"], metric["name"], metric["unit"],
                                                        ", ".join(metric["collectors"]), cell(metric["help"])))
    for metric in metrics:
        lines.append("\n### %s\n\n%s In %s.\n\n" % (metric["name"], metric["help"], metric["unit"])
                     if metric["unit"] != "ratio" else "\n### %s\n\n%s\n\n" % (metric["name"], metric["help"]))
        lines += [formula_line(formula) for formula in metric["formulas"]]
    return "".join(lines)


def main():
    write = "--write" in sys.argv
    path = sys.argv[-1]
    with open(path, encoding="utf-8") as file:
        before, _, old = file.read().partition(START)
    new = "\n" + table_of(json.load(sys.stdin)["metrics"])
    if old == new:
        return
    if not write:
        sys.exit("%s: its table is not that of `perfcountd list-metrics`; write it by "
                 "perfcountd list-metrics --json | doc/metrics.py --write doc/metrics.md" % os.path.relpath(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + START + new)


if __name__ == "__main__":
    main()
