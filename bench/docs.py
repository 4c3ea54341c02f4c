#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Keeps the figures of `make bench` consistent across the documents. doc/performance.md contains the last table as it was
printed, and this script generates every other mention of its figures. `bench/run scrapes --write-docs` writes a new
table.

usage: docs.py [--write] SOURCE-DIRECTORY
"""
import collections
import os
import re
import sys
import textwrap

sys.dont_write_bytecode = True  # the source tree may be read-only
import table  # noqa: E402

PERFORMANCE = "doc/performance.md"
# For each benchmark: the document that --write-docs updates, and the mark around the part to replace.
WRITTEN = {
    "scrapes": (PERFORMANCE, "make bench"),
    "cgroup": ("doc/cgroups.md", "make bench-cgroup"),
    "page": (PERFORMANCE, "make bench-page"),
}
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
SERIES = " of 100,000 series"
# Longer names for figures whose names are unclear without the heading of their table.
WORDS = {
    "beyond one read for each of N groups": "system calls per scrape, beyond one read for each group",
    "text, ms": "time for a text" + SERIES + ", ms",
    "JSON, relative to the text": "time for JSON" + SERIES + ", relative to the text",
    "gzip, ms": "time for gzip" + SERIES + ", ms",
    "allocations": "allocations for a text or a document" + SERIES,
    "start to first scrape, best of N": "start to first scrape",
    "CPU time per scrape, relative to the bare reads plus the bare page":
        "CPU time per scrape, relative to a program that only reads the counters plus a server that only sends a "
        "constant page",
    "CPU time per scrape, relative to a bare page with counter reads":
        "CPU time per scrape, relative to a server that only reads the counters and sends a constant page",
    "requests per second, shared readings, relative to the bare page":
        "requests per second, shared readings, relative to a server that only sends a constant page",
}
Row = collections.namedtuple("Row", "own other ratio bound met")
ROW = re.compile(r"^    (    )?(relative to )?(\S.{0,51}?)  +(.*)$")


def parse(text):
    """Parses a printed table. Returns {figure: row}; figures have the same names as in bounds.tsv."""
    rows, head = {}, ""
    for line in text.splitlines():
        match = ROW.match(line)
        if not match:
            continue
        indent, relative, name, rest = match.groups()
        columns = re.split(r"  +", rest.strip())
        bound = [column for column in columns if re.match(r"[<>]= ", column)]
        met = columns[-1] if columns[-1] in ("met", "missed") else ""
        values = [column for column in columns if column not in bound and column != met]
        if relative and len(values) == 2:
            rows.setdefault("%s, relative to %s" % (head, name), Row("", *values, *(bound or [""]), met))
        elif values and not relative:
            head = head if indent else name
            rows.setdefault(table.key_of(name), Row(values[0], "", "", *(bound or [""]), met))
    return rows


class Tee:
    """Writes to standard output and keeps a copy."""

    def __init__(self, to):
        self.to, self.text = to, ""

    def write(self, text):
        self.text += text
        return self.to.write(text)

    def flush(self):
        self.to.flush()


def words_of(bound):
    return bound.replace("<=", "at most").replace(">=", "at least")


def verdicts(rows, wanted):
    """Renders the verdicts on (figure, name) as a Markdown table."""
    lines = ["| figure | bound | measured | |", "| --- | --- | --- | --- |"]
    for figure, words in wanted:
        row = rows.get(figure)
        if not row or not row.met:
            sys.exit("%s: the table has no verdict for: %s" % (PERFORMANCE, figure))
        lines.append("| %s | %s | %s | %s |" % (words.replace("|", "\\|"), words_of(row.bound), row.ratio or row.own,
                                                "**missed**" if row.met == "missed" else row.met))
    return "\n".join(lines) + "\n"


def all_verdicts(rows):
    judged = [(figure, WORDS.get(figure, figure)) for figure, row in rows.items() if row.met]
    text = verdicts(rows, judged) + "\n"
    bounds = table.load_bounds("scrapes")
    known = [figure for figure, _ in judged if rows[figure].met == "missed" and bounds[figure].reason]
    reasons = ["%s: %s." % (words, bounds[figure].reason) for figure, words in judged if figure in known]
    return text + "Why bounds are missed:\n\n" * bool(reasons) + "".join(
        textwrap.fill(reason, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) + "\n"
        for reason in reasons)


def peers_row(rows):
    name = "CPU time per scrape"
    found = [rows[name + peer] for peer in ("", ", relative to node_exporter", ", relative to PCP")]
    return "| %s | %s | node_exporter %s, PCP %s |\n" % (
        name, *((row.own or row.other).replace("us", "µs") for row in found))


def replaced(text, mark, new, path):
    """Replaces the text between the comments "MARK: begin" and "MARK: end"."""
    pattern = r"(<!-- %s: begin[^\n]*-->\n).*?(<!-- %s: end -->)" % (mark, mark)
    result, count = re.subn(pattern, lambda match: match[1] + new.strip("\n") + "\n" + match[2], text, flags=re.S)
    if count != 1:
        sys.exit("%s: expected one part between the comments \"%s: begin\" and \"%s: end\"" % (path, mark, mark))
    return result


def printed_in(text):
    return re.search(r"<!-- make bench: begin[^\n]*-->\n(.*?)<!-- make bench: end", text, re.S)[1]


def derive(texts):
    """Returns the documents with the figures of the printed table filled in."""
    rows = parse(printed_in(texts[PERFORMANCE]))
    performance = replaced(texts[PERFORMANCE], "bounds", all_verdicts(rows), PERFORMANCE)
    readme, count = re.subn(r"^\| CPU time per scrape \|.*\n", lambda _: peers_row(rows), texts["README.md"], count=1,
                            flags=re.M)
    if count != 1:
        sys.exit("README.md: no row for the CPU time per scrape")
    return {PERFORMANCE: performance, "README.md": readme}


def load(root):
    texts = {}
    for name in (PERFORMANCE, "README.md"):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            texts[name] = file.read()
    return texts


def indented(printed):
    return "".join(("    " + line).rstrip() + "\n" for line in printed.strip("\n").splitlines())


def write(name, printed):
    """Writes the output of a benchmark into its document, and updates what is generated from it."""
    path, mark = WRITTEN[name]
    file = os.path.join(SOURCES, path)
    with open(file, encoding="utf-8") as opened:
        text = replaced(opened.read(), mark, indented(printed), path)
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(text)
    if path == PERFORMANCE:
        write_derived(SOURCES)


def write_derived(root):
    for name, text in derive(load(root)).items():
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    root = sys.argv[-1]
    if sys.argv[1:-1] == ["--write"]:
        write_derived(root)
        return
    texts = load(root)
    wrong = [name for name, text in derive(texts).items() if text != texts[name]]
    for name in wrong:
        print("%s: the figures differ from the table in %s: run bench/docs.py --write" % (name, PERFORMANCE))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
