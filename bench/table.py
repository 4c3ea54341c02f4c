# SPDX-License-Identifier: Apache-2.0
"""
The table that a benchmark prints, with the verdict on each figure by its bound in bounds.tsv.

Figures of several rounds are lists. Their ratio is the median of the rounds' ratios, since other load on the machine
affects both figures of a round alike.
"""
import collections
import os
import re
import statistics

BOUNDS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bounds.tsv")
Bound = collections.namedtuple("Bound", "sign limit accepted reason")
Verdict = collections.namedtuple("Verdict", "figure bound value met accepted")


def key_of(figure):
    return re.sub(r"\d+", "N", figure.strip())


def load_bounds(program, path=BOUNDS):
    """Returns {figure: bound}. Exits with the line number if a row is malformed."""
    bounds = {}
    with open(path) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            match = len(fields) in (3, 5) and re.fullmatch(r"(<=|>=) ([\d.]+)", fields[2])
            if not match or fields[:2] != [fields[0], key_of(fields[1])] or len(fields) == 5 and not all(fields[3:]):
                raise SystemExit("%s:%d: expected a benchmark, a figure with N for its numbers and a bound; "
                                 "optionally also the accepted value and the reason" % (path, number))
            if fields[0] == program:
                accepted, reason = (float(fields[3]), fields[4]) if len(fields) == 5 else (None, None)
                bounds[fields[1]] = Bound(match[1], float(match[2]), accepted, reason)
    if not bounds:
        raise SystemExit("%s: no bound for %s" % (path, program))
    return bounds


def excess(value, sign, limit):
    """Returns the factor by which the value is worse than the limit; above 1, the bound is missed."""
    if sign == "<=":
        return value / limit if limit else 1 + value
    return limit / value if value else float("inf")


class Table:
    """A table that compares figures of perfcountd with those of other programs, and shows their ratios and whether
    bounds are met."""

    def __init__(self, program, path=BOUNDS):
        self.bounds = load_bounds(program, path)
        self.verdicts = []
        self.head = ""
        self.begun = False

    def begin(self):
        """Prints the column names before the first row or heading, below the description of the method."""
        if not self.begun:
            print("%-52s %12s %12s %8s %9s" % ("", "perfcountd", "other", "ratio", "bound"))
        self.begun = True

    def heading(self, text):
        self.begin()
        print("\n" + text)

    def row(self, figure, own, unit=""):
        own = statistics.median(listed(own))
        self.head = figure if not figure.startswith(" ") else self.head
        self.print(figure, readable(own, unit), "", "", self.judge(figure, own))

    def of(self, name, own, other, unit=""):
        """Prints a row that compares perfcountd's figure, which the row above shows, with another program's figure."""
        own, other = listed(own), listed(other)
        ratio = statistics.median(a / b for a, b in zip(own, other)) if all(other) else None
        self.print("    relative to " + name, "", readable(statistics.median(other), unit),
                   "" if ratio is None else readable_ratio(ratio),
                   ("", "") if ratio is None else self.judge("%s, relative to %s" % (self.head, name), ratio))

    def compare(self, figure, own, other, unit=""):
        """Prints both figures in one row."""
        own, other = listed(own), listed(other)
        ratio = statistics.median(a / b for a, b in zip(own, other))
        self.print(figure, readable(statistics.median(own), unit), readable(statistics.median(other), unit),
                   readable_ratio(ratio), self.judge(figure, ratio))

    def judge(self, figure, value):
        bound = self.bounds.get(key_of(figure))
        if bound is None:
            return "", ""
        met = excess(value, bound.sign, bound.limit) <= 1
        accepted = met or (bound.accepted is not None and excess(value, bound.sign, bound.accepted) <= 1)
        self.verdicts.append(Verdict(figure.strip(), bound, value, met, accepted))
        return "%s %g" % bound[:2], "met" if met else "missed"

    def conclude(self):
        """Prints the verdicts. Returns the exit status: 1 if a bound is missed and the miss is not accepted."""
        missed = [verdict for verdict in self.verdicts if not verdict.met]
        failed = [verdict for verdict in missed if not verdict.accepted]
        judged = {key_of(verdict.figure) for verdict in self.verdicts}
        absent = [figure for figure in self.bounds if figure not in judged]
        print()
        for figure, bound, value, _, accepted in missed:
            print("missed: %s: %s, bound %s %g: %s" % (figure, readable(value, ""), *bound[:2],
                                                       "known: " + bound.reason if accepted else "FAILED"))
        for figure in sorted({verdict.figure for verdict in self.verdicts if verdict.bound.reason} -
                             {verdict.figure for verdict in missed}):
            print("met again: %s, a known miss in bench/bounds.tsv" % figure)
        for figure in absent:
            print("not judged: FAILED: " + figure)
        print("%d bounds missed, %d of them accepted; %d met, %d not judged" % (
            len(missed), len(missed) - len(failed), len(self.verdicts) - len(missed), len(absent)))
        return 1 if failed or absent else 0

    def print(self, figure, own, other, ratio, judged):
        self.begin()
        print(("%-52s %12s %12s %8s %9s  %s" % (figure, own, other, ratio, *judged)).rstrip(), flush=True)


def readable(figure, unit):
    return (("%.0f %s" if figure >= 1000 or figure == int(figure) else "%.3g %s") % (figure, unit)).rstrip()


def readable_ratio(ratio):
    return "%.4f" % ratio if ratio < 0.01 else "%.2f" % ratio if ratio < 100 else "%.0f" % ratio


def listed(figure):
    return figure if isinstance(figure, list) else [figure]
