# SPDX-License-Identifier: Apache-2.0
"""Compares the cost of fixed workloads with their cost at the last release, and fails if one costs over 5 % more.

Costs are bytes and instructions, which callgrind counts reproducibly. Ratios compare the costs of two units of work.
The baseline file has one figure per line, and names the toolchain with which the figures were measured. With another
compiler, C library or processor the counts differ, so instructions are then printed but not checked; ratios and bytes
are checked with a larger tolerance. A figure close to its bound is reported, but is no failure.

A figure that rises by more than 2 % from one baseline to the next needs a reason in the fourth column; without one the
baseline is not written. Each new baseline drops the reasons of the previous one.
"""
import os
import re
import sys

import callgrind
import lib

TOLERANCE = 0.05
LOOSE = 0.25  # tolerance for bytes and ratios from another toolchain
NEAR = 0.02  # a figure closer to its bound than this is reported
EXPLAINED = 0.02  # a figure that rises by more than this needs a reason
STEP = "step_workload"
# Ratios of the costs per unit of work.
RATIOS = (
    ("openmetrics-series", "text-series"),
    ("json-counters", "text-series"),
    ("text-and-gzip", "text-series"),
    ("ndjson-samples", "decode-samples"),
    ("reload-groups", "open-groups"),
)
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# The cost of fixed workloads at a release: written by `make bench-baseline`, read by `make bench-check`. The fourth
# column explains why a figure rose by more than 2 % since the previous baseline.
"""


def compiler_flags(build):
    """Returns the compiler flags of the Makefile that change the generated code: no warnings, no path mappings."""
    with open(os.path.join(build, "Makefile")) as makefile:
        text = makefile.read()
    flags = []
    for name in ("CPPFLAGS", "CFLAGS", "PROJECT_CFLAGS"):
        found = re.search(r"^%s = (.*)$" % name, text, re.M)
        flags += found[1].split() if found else []
    return sorted({f for f in flags if not re.match(r"-(W|g\d?$|f\w+-prefix-map)", f)})


def count(build):
    """Runs the workloads. Returns the toolchain, and {(name, kind): figure}."""
    flags = compiler_flags(build)
    if any("sanitize" in flag for flag in flags):
        lib.skip("this is a build with sanitizers, whose instructions callgrind cannot count")
    if not callgrind.available():
        lib.skip("valgrind is not installed")
    output, calls = callgrind.costs([os.path.join(build, "bench", "bench-instructions")], [STEP],
                                     callgrind.NO_STRINGS)
    rows = re.findall(r"^([a-z-]+) (\d+) (\d+)$", output, re.M)
    if len(rows) != len(calls) + 1 or rows[-1][0] != "memory":
        raise RuntimeError("bench-instructions printed %d rows, callgrind saw %d calls" % (len(rows), len(calls)))
    figures, each = {}, {}
    for (name, units, size), (_, instructions) in zip(rows, calls):
        each[name] = instructions / int(units)
        figures[name, "instructions"] = each[name]
        if int(size):
            figures[name, "bytes"] = int(size) / int(units)
    figures["memory of a series", "bytes"] = int(rows[-1][2]) / int(rows[-1][1])
    for name, of in RATIOS:
        figures["%s / %s" % (name, of), "ratio"] = each[name] / each[of]
    toolchain = "%s; %s; %s" % (re.search(r"^toolchain (.*)$", output, re.M)[1], " ".join(flags), callgrind.version())
    return toolchain, figures


def release_of(build):
    with open(os.path.join(build, "Makefile")) as makefile:
        return re.search(r"^PACKAGE_VERSION = (.*)$", makefile.read(), re.M)[1]


class Baseline:
    """A baseline: the release, its toolchain, the figures, and the reasons for those that rose."""

    def __init__(self, release=None, toolchain=None, figures=None, reasons=None):
        self.release, self.toolchain = release, toolchain
        self.figures, self.reasons = figures or {}, reasons or {}

    def write(self, path):
        with open(path, "w") as file:
            file.write(HEAD + "release\t%s\ntoolchain\t%s\n" % (self.release, self.toolchain))
            for key, figure in self.figures.items():
                reason = self.reasons.get(key)
                file.write("%s\t%s\t%.6g%s\n" % (*key, figure, "\t" + reason if reason else ""))


def load(path):
    baseline = Baseline()
    with open(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\n").split("\t")
            if line.startswith("#") or not line.strip():
                continue
            if fields[0] in ("release", "toolchain") and len(fields) == 2:
                setattr(baseline, *fields)
            elif len(fields) in (3, 4):
                baseline.figures[fields[0], fields[1]] = float(fields[2])
                if len(fields) == 4:
                    baseline.reasons[fields[0], fields[1]] = fields[3]
            else:
                sys.exit("%s:%d: expected a release, a toolchain, or a name, a kind, a figure and perhaps a reason" % (
                    path, number))
    if not baseline.release or not baseline.toolchain or not baseline.figures:
        sys.exit("%s: contains no baseline; `make bench-baseline` writes one" % path)
    return baseline


def unexplained(before, figures, reasons, same):
    """Returns the figures that rose without a reason. Instructions from another toolchain are not compared."""
    return [key for key, figure in figures.items() if key in before and key not in reasons and
            (same or key[1] == "bytes") and figure > before[key] * (1 + EXPLAINED)]


def parse_reasons(words, figures):
    reasons = {}
    for text in words:
        head, _, why = text.partition(":")
        name, _, kind = head.strip().rpartition(" ")
        if (name, kind) not in figures or not why.strip():
            sys.exit("--reason '%s': expected 'NAME KIND: WHY', as in 'parse-config instructions: two more keys'" %
                     text)
        reasons[name, kind] = " ".join(why.split())
    return reasons


def update(path, now, words):
    """Writes the baseline, unless a figure rose without a reason."""
    before = load(path) if os.path.exists(path) else Baseline()
    now.reasons = parse_reasons(words, now.figures)
    same = before.toolchain == now.toolchain
    risen = unexplained(before.figures, now.figures, now.reasons, same)
    for key in risen:
        print("%s %s rose from %s to %s: give the reason with --reason '%s %s: WHY'" % (
            *key, readable(before.figures[key]), readable(now.figures[key]), *key))
    if risen:
        sys.exit("%s was not changed: %d figures rose by more than %.0f %% without a reason" % (
            path, len(risen), EXPLAINED * 100))
    if before.release == now.release:
        now.reasons = {key: why for key, why in before.reasons.items() if key in now.figures} | now.reasons
    now.write(path)
    print("%s: %d figures of %s, %d with a reason for their rise" % (path, len(now.figures), now.release,
                                                                     len(now.reasons)))


def judge(kind, before, now, same):
    """Returns ok, BETTER, NEAR with the distance to the bound, or REGRESSED; or the reason why the figure is not
    checked."""
    if before is None:
        return "new, not in the baseline"
    if now is None:
        return "GONE"
    # A ratio also rises if its denominator has become cheaper, so with the same toolchain only instructions count.
    if kind == ("ratio" if same else "instructions"):
        return "not checked"
    tolerance = TOLERANCE if same else LOOSE
    if now > before * (1 + tolerance):
        return "REGRESSED"
    if now > before * (1 + tolerance - NEAR):
        return "NEAR: within %.1f %% of the bound" % ((1 + tolerance - now / before) * 100)
    return "BETTER" if now < before * (1 - tolerance) else "ok"


def compare(baseline, figures, same):
    """Returns (name, kind, before, now, verdict) for each figure in the baseline or in the new measurement."""
    keys = list(figures) + [key for key in baseline if key not in figures]
    return [key + (baseline.get(key), figures.get(key), judge(key[1], baseline.get(key), figures.get(key), same))
            for key in keys]


def failed(rows):
    return [row for row in rows if row[4] in ("REGRESSED", "GONE")]


def near(rows):
    return [row for row in rows if row[4].startswith("NEAR")]


def self_test(figures):
    """
    Checks the check itself with falsified baselines: a large increase is REGRESSED, a small one is NEAR the bound, and
    an equal figure is neither.
    """
    n_caught = {}
    for same, lower in ((True, 0.9), (False, 0.75)):
        checked = [key for key in figures if key[1] != ("ratio" if same else "instructions")]
        little = 1 + (TOLERANCE if same else LOOSE) - NEAR / 2

        def rows(factor):
            return compare({key: figure * factor for key, figure in figures.items()}, figures, same)

        caught, close, unchanged = failed(rows(lower)), near(rows(1 / little)), rows(1)
        n_caught[same] = len(caught)
        if len(caught) != len(checked) or failed(unchanged) or near(unchanged):
            sys.exit("the check itself is wrong: of %d figures above a baseline it caught %d" % (
                len(checked), len(caught)))
        if len(close) != len(checked) or failed(rows(1 / little)):
            sys.exit("the check itself is wrong: of %d figures near their bounds it named %d" % (
                len(checked), len(close)))
    check_reasons(figures)
    print("self-test: with a baseline falsified by 10 %%, all %d figures are caught (by 25 %% and with another "
          "toolchain, all %d); with the true one, none\n" % (n_caught[True], n_caught[False]))


def check_reasons(figures):
    """Checks that a figure that rose needs a reason, and that no other figure does."""
    lower = {key: figure / (1 + 2 * EXPLAINED) for key, figure in figures.items()}
    reasons = dict.fromkeys(figures, "for a reason")
    if len(unexplained(lower, figures, {}, True)) != len(figures) or unexplained(lower, figures, reasons, True) or \
            unexplained(figures, figures, {}, True):
        sys.exit("the check itself is wrong: it does not find exactly the rises without a reason")


def readable(figure):
    return "-" if figure is None else "%.0f" % figure if figure >= 1000 else "%.4g" % figure


def print_table(rows):
    print("%-40s %-12s %12s %12s %8s" % ("each unit of", "", "baseline", "now", "ratio"))
    for name, kind, before, now, verdict in rows:
        ratio = "%.3f" % (now / before) if before and now is not None else ""
        print("%-40s %-12s %12s %12s %8s  %s" % (name, kind, readable(before), readable(now), ratio, verdict))


def add_options(parser):
    parser.add_argument("--write", action="store_true", help="write the new figures as the baseline")
    parser.add_argument("--reason", action="append", default=[], metavar="'NAME KIND: WHY'",
                        help="why a figure rose")
    parser.add_argument("--baseline", default=os.path.join(os.path.dirname(os.path.realpath(__file__)), "baseline.tsv"),
                        help="the file with the figures")


def measure(arguments, _table):
    toolchain, figures = count(arguments.build)
    if arguments.write:
        update(arguments.baseline, Baseline(release_of(arguments.build), toolchain, figures), arguments.reason)
        return 0
    self_test(figures)
    baseline = load(arguments.baseline)
    same = baseline.toolchain == toolchain
    print("baseline of " + baseline.release)
    rows = compare(baseline.figures, figures, same)
    print_table(rows)
    if not same:
        print("\nThe baseline is from another toolchain, so instructions are printed but not checked, and other "
              "figures may be %.0f %% higher:\n    baseline: %s\n    here:     %s" % (
                  LOOSE * 100, baseline.toolchain, toolchain))
    regressed, close = failed(rows), near(rows)
    print("\n%d figures, %d regressed" % (len(rows), len(regressed)))
    if close:
        print("near the bound: " + ", ".join("%s %s" % row[:2] for row in close))
    return 1 if regressed else 0
